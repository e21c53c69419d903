"""Loopback vendors for tests: one server for all of them, whose behaviour each test chooses."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from sift import demo
from sift.sources import DECLARED, VENDORS

NAMES = tuple(each.name for each in DECLARED)
STAND_INS = tuple(module for module in VENDORS if demo.has(module))
"""The vendors that the demo has a stand-in for, by the names of their modules."""
KEYS = {each.name: f"{each.name}-test-key" for each in DECLARED if each.key}


def for_all(suffix: str, value: str) -> dict[str, str]:
    """Return settings of one variable, such as `TIMEOUT`, for each vendor that has it."""
    return {one.name: value for each in DECLARED for one in each.settings() if one.name == each.variable(suffix)}


class Seen(NamedTuple):
    """A request as a vendor saw it; header names in lower case."""

    vendor: str
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of the query string."""
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.target).query, True).items()}

    def json(self) -> Any:
        """Return the parsed body."""
        return json.loads(self.body)


Behaviour = Callable[[socket.socket, Seen], object]
"""A function that answers one request on a raw socket; the connection is kept if it returns True."""


def reply(body: Any, status: int = 200, headers: Iterable[tuple[str, str]] = ()) -> Behaviour:
    """Return a behaviour that answers with bytes as they are, or with anything else as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Reason", f"Content-Length: {len(data)}", *(f"{k}: {v}" for k, v in headers)]
    whole = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data

    def behave(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(whole)
        return True

    return behave


def hit(
    url: str, title: str = "Title", text: str = "Text.", score: float = 0.5, date: str | None = None
) -> dict[str, Any]:
    """Return a hit, from which each vendor's body is built."""
    return {"url": url, "title": title, "text": text, "score": score, "date": date}


def searxng_body(hits: Iterable[dict[str, Any]], unresponsive: Sequence[Any] = ()) -> dict[str, Any]:
    """Return SearXNG's answer."""
    rows = [
        {"url": h["url"], "title": h["title"], "content": h["text"], "score": h["score"], "publishedDate": h["date"]}
        for h in hits
    ]
    return {"query": "q", "results": rows, "answers": [], "unresponsive_engines": list(unresponsive)}


def brave_body(hits: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return Brave's answer."""
    rows = [{"url": h["url"], "title": h["title"], "snippets": [h["text"]]} for h in hits]
    sources = {row["url"]: {"title": row["title"], "hostname": "", "age": None} for row in rows}
    return {"grounding": {"generic": rows, "map": []}, "sources": sources}


def tavily_body(hits: Iterable[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return Tavily's answer."""
    rows = []
    for h in hits:
        row = {"url": h["url"], "title": h["title"], "content": h["text"], "score": h["score"], "raw_content": None}
        rows.append(row | ({"published_date": h["date"]} if h["date"] is not None else {}))
    return {"query": "q", "answer": None, "images": [], "results": rows, "response_time": 0.5, **more}


class Wire(NamedTuple):
    """A vendor's format. body: an answer from hits. rows: the path to its list of hits."""

    body: Callable[[Iterable[dict[str, Any]]], dict[str, Any]]
    rows: tuple[str, ...]


WIRES = {
    "searxng": Wire(searxng_body, ("results",)),
    "brave_llm": Wire(brave_body, ("grounding", "generic")),
    "tavily": Wire(tavily_body, ("results",)),
}
BODIES = {name: wire.body for name, wire in WIRES.items()}


def usual(vendor: str) -> Behaviour:
    """Return a behaviour that answers with one hit of the vendor's own and one that all share."""
    own = hit(f"https://{vendor.replace('_', '-')}.example/page", f"From {vendor}")
    return reply(BODIES[vendor]([own, hit("https://shared.example/page", "Shared")]))


class Vendors:
    """All vendors on one loopback port, served until the `with` block ends.

    behaviour: of each vendor; replace an entry to change it. seen: every request, in order of arrival, but for those
    in which a vendor is asked to describe itself. description: the answer to those; None refuses them.
    """

    def __init__(self) -> None:
        self.behaviour: dict[str, Behaviour] = {name: usual(name) for name in NAMES}
        self.seen: list[Seen] = []
        self.description: Any = None
        self.described = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Vendors:
        self._acceptor.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # The acceptor must end before the descriptor is free, else it could accept on the next socket that gets it.
        if self._acceptor.is_alive():
            self._listener.shutdown(socket.SHUT_RDWR)
            self._acceptor.join(10)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                connection.close()

    @property
    def environ(self) -> dict[str, str]:
        """The settings that point Sift at these vendors."""
        base = f"http://127.0.0.1:{self.port}"
        urls = {each.variable("URL"): f"{base}/{each.name}{urlsplit(each.url).path}" for each in DECLARED}
        return urls | {each.variable("API_KEY"): KEYS[each.name] for each in DECLARED if each.key}

    def restore(self) -> None:
        """Restore the usual behaviour of every vendor, and forget what was seen."""
        self.behaviour = {name: usual(name) for name in NAMES}
        self.seen.clear()

    def calls(self, vendor: str) -> list[Seen]:
        """Return the requests to one vendor."""
        return [seen for seen in list(self.seen) if seen.vendor == vendor]

    @property
    def connections(self) -> int:
        """The number of open connections."""
        with self._lock:
            return len(self._open)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.add(connection)
        try:
            with connection.makefile("rb") as stream:
                while (seen := _read_request(stream)) is not None:
                    if urlsplit(seen.target).path.endswith("/config"):
                        self.described += 1
                        reply(self.description or {}, 200 if self.description else 404)(connection, seen)
                        continue
                    self.seen.append(seen)
                    if not self.behaviour[seen.vendor](connection, seen):
                        return
        except (OSError, ValueError):
            pass
        finally:
            connection.close()  # before it counts as closed
            with self._lock:
                self._open.discard(connection)


def _read_request(stream: Any) -> Seen | None:
    first = stream.readline().decode("latin-1").split()
    if len(first) != 3:
        return None
    headers: dict[str, str] = {}
    while (line := stream.readline().decode("latin-1").strip()) != "":
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    vendor = urlsplit(first[1]).path.split("/")[1]
    return Seen(vendor, first[0], first[1], headers, body)
