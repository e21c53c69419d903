"""A stand-in for the service's batches: it answers as `/v1/batch` does, and never opens anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

ID = "b_" + "abcdefghijklmnopqrstuvwxyz"
PAGE: dict[str, Any] = {
    "final_url": "https://a.example/one",
    "status": 200,
    "content_type": "text/html",
    "title": "One",
    "format": "markdown",
    "content": "# One\n\nfirst\n\n    code",
    "chars": 23,
    "start": 0,
    "extractor": "trafilatura",
    "cached": False,
    "fetched_at": "2026-11-29T12:00:00Z",
    "sizes": {"wire": 300, "body": 900, "content": 23},
    "warnings": [],
}
Answer = tuple[int, Any]


def failed(error: str = "fetch failed", hint: str = "status 404") -> dict[str, Any]:
    """Return what is said of a page that could not be had."""
    return {"state": "failed", "error": error, "hint": hint}


@dataclass
class Batches:
    """One batch, if any.

    ends: what becomes of a URL, PAGE unless it is here. invalid: URLs that are refused at once, with their hint.
    pace: how many pages end with each question for the state. lost: how many submissions get no answer.
    limit: places of a page of results. instead: called with method and path, answers in place of all that.
    """

    ends: dict[str, dict[str, Any]] = field(default_factory=dict)
    invalid: dict[str, str] = field(default_factory=dict)
    pace: int = 100
    lost: int = 0
    limit: int = 50
    instead: Callable[[str, str], Answer | None] = lambda method, path: None
    asked: list[tuple[str, str]] = field(default_factory=list)
    submitted: list[Any] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    done: int = 0
    cancelled: bool = False

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: Any) -> Answer | None:
        """Return status and payload; None for a connection that is closed without an answer."""
        self.asked.append((method, target))
        path, given = urlsplit(target).path, parse_qs(urlsplit(target).query)
        if instead := self.instead(method, target):
            return instead
        if path == "/v1/batch":
            return self._submit(headers, body) if method == "POST" else (200, {"batches": [self._numbers()]})
        if not path.startswith(f"/v1/batch/{ID}"):
            return 404, {"error": "not found", "hint": ""}
        if method == "DELETE":
            self.cancelled = True
            return 200, {"id": ID, "status": "cancelled"}
        if path.endswith("/results"):
            return 200, self._page(int(given["offset"][0]), int(given["limit"][0]), given.get("only", [""])[0])
        if path.endswith("/errors"):
            errors = [item | {"at": "2026-11-29T12:00:00Z"} for item in self._items() if item["state"] == "failed"]
            return 200, {"errors": errors, "robots_disallowed": []}
        self.done = min(self.done + self.pace, len(self.urls))
        return 200, self._numbers()

    def _submit(self, headers: Mapping[str, str], body: Any) -> Answer | None:
        self.submitted.append(body)
        self.keys.append(headers["Idempotency-Key"])
        self.urls = [url for url in body["urls"] if url not in self.invalid]
        if self.lost:
            self.lost -= 1
            return None
        invalid = [
            {"index": body["urls"].index(url), "url": url, "error": "url not allowed", "hint": hint}
            for url, hint in self.invalid.items()
            if url in body["urls"]
        ]
        receipt = {"id": ID, "status": "queued", "total": len(self.urls), "duplicates": 0, "invalid": invalid}
        return 202, receipt | {"expires_at": "2026-11-30T12:00:00Z"}

    @property
    def status(self) -> str:
        """The state that the batch is in."""
        return "cancelled" if self.cancelled else "done" if self.done == len(self.urls) else "running"

    def _numbers(self) -> dict[str, Any]:
        states = [item["state"] for item in self._items()]
        counts = {name: states.count(name) for name in ("ok", "failed")}
        pending = len(states) - sum(counts.values())
        times = {"created_at": "2026-11-29T12:00:00Z", "expires_at": "2026-11-30T12:00:00Z"}
        return {"id": ID, "status": self.status, "total": len(states), **counts, "pending": pending, **times}

    def _items(self) -> list[dict[str, Any]]:
        items = []
        for index, url in enumerate(self.urls):
            item: dict[str, Any] = {"index": index, "url": url, "state": "queued", "attempts": 1}
            if index < self.done:
                end = self.ends.get(url, {})
                item |= end if "state" in end else {"state": "ok", "result": {"url": url} | PAGE | end}
            items.append(item)
        return items

    def _page(self, offset: int, limit: int, only: str) -> dict[str, Any]:
        items = [item for item in self._items() if only in ("", item["state"])]
        end = offset + min(limit, self.limit)
        more = {"next_offset": end} if end < len(items) else {}
        return {"id": ID, "status": self.status, "items": items[offset:end], **more}
