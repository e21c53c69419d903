"""`POST /tavily/extract` as Tavily's clients call it (contract: Tavily door)."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from flask import Response, g
from flask import request as http_request

from sift.api.body import parse_object, read_body
from sift.api.doors.many import open_all
from sift.api.doors.tavily import fields
from sift.api.errors import BUSY_SECONDS, json_response, refuse
from sift.api.fetch import run_fetch
from sift.api.services import services
from sift.errors import FetchError, InvalidFetchError
from sift.fetch.cut import cut
from sift.fetch.extract.model import Format
from sift.fetch.model import FetchRequest
from sift.fetch.schema import load_fetch

MAX_URLS = 20
TIMEOUT = 10.0
MAX_TIMEOUT = 30.0
SHARE = 0.9
"""Of the time that the client gives: clients wait as long themselves, and would otherwise miss the answer."""
MAX_TEXT = 200_000
"""Characters of a page; twenty whole ones could be hundreds of megabytes."""
_CUT = f"raw_content cut at {MAX_TEXT} characters"
_UNFIT = re.compile("[\x00\ud800-\udfff]")
_KNOWN = ("urls", "format", "timeout")


class Reading(NamedTuple):
    """A body as read: different URLs, as asked and hostile; seconds for all of them; the warnings on the request."""

    urls: tuple[str, ...]
    format: Format
    seconds: float
    warnings: tuple[str, ...]


class Opened(NamedTuple):
    """The text of a page, cut, and the warnings on it."""

    content: str
    warnings: tuple[str, ...]


def extract() -> Response:
    """Open up to 20 pages."""
    began = time.monotonic()
    reading = read(parse_object(read_body(http_request.environ)))
    parts, caller = services(), g.caller
    assert parts.fetcher is not None  # the route is there only with it

    def open_page(url: str, seconds: float) -> Opened:
        page, _ = run_fetch(parts, caller, FetchRequest(url, format=reading.format, timeout=seconds))
        content, following = cut(page.text.content, 0, MAX_TEXT)
        return Opened(content, page.warnings if following is None else (*page.warnings, _CUT))

    outcomes = open_all(
        open_page,
        reading.urls,
        # One place less than the caller has: its other requests go on.
        at_once=max(1, parts.fetcher().each - 1),
        deadline=began + reading.seconds,
    )
    if all(isinstance(outcome, FetchError) and outcome.state == "busy" for outcome in outcomes):
        response = refuse(429, "busy", details="too many pages are being opened")
        response.headers["Retry-After"] = BUSY_SECONDS
        return response
    return json_response(
        {
            **shown(reading.urls, outcomes),
            "response_time": round(time.monotonic() - began, 2),
            "request_id": str(uuid.uuid4()),
            "warnings": _warnings(outcomes) + reading.warnings,
        }
    )


def read(payload: Mapping[str, Any]) -> Reading:
    """Return what a body asks for. Raises InvalidFetchError naming the field."""
    urls = payload.get("urls")
    if isinstance(urls, str):
        urls = [urls]
    if not isinstance(urls, list) or not 1 <= len(urls) <= MAX_URLS or not all(map(_is_text, urls)):
        raise InvalidFetchError("urls")
    rules = load_fetch({"url": "-", "format": payload.get("format")})  # v1's rules; each URL is judged by itself
    seconds = payload.get("timeout")
    if seconds is None:
        seconds = TIMEOUT
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise InvalidFetchError("timeout")
    return Reading(
        tuple(dict.fromkeys(urls)),
        rules.format,
        min(max(seconds, 1), MAX_TIMEOUT) * SHARE,
        fields.warnings(payload, _KNOWN, fields.EXTRACT),
    )


def shown(urls: Sequence[str], outcomes: Iterable[Opened | FetchError]) -> dict[str, list[dict[str, Any]]]:
    """Return the outcomes in Tavily's form, each list in the order of the request."""
    results: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    for url, outcome in zip(urls, outcomes, strict=True):
        if isinstance(outcome, FetchError):
            failed.append({"url": url, "error": ": ".join(filter(None, (outcome.state, outcome.hint)))})
        else:
            results.append({"url": url, "raw_content": outcome.content, "images": []})
    return {"results": results, "failed_results": failed}


def _is_text(url: object) -> bool:
    return isinstance(url, str) and bool(url) and not _UNFIT.search(url)


def _warnings(outcomes: Iterable[Opened | FetchError]) -> tuple[str, ...]:
    """Return the warnings on all pages, without repeats."""
    found = [warning for each in outcomes if isinstance(each, Opened) for warning in each.warnings]
    return tuple(dict.fromkeys(found))
