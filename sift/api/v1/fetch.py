"""`POST /v1/fetch` (contract: Fetch)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from flask import Blueprint, Response, g, request

from sift.api.body import parse_object, read_body
from sift.api.errors import json_response
from sift.api.fetch import run_fetch
from sift.api.services import services
from sift.fetch.cut import cut
from sift.fetch.model import FetchRequest, Page
from sift.fetch.schema import load_fetch, unknown_field_warnings

bp = Blueprint("v1_fetch", __name__, url_prefix="/v1")

MEMO_BODY = 2048
"""Bytes; larger bodies are not memoised, which bounds the memory of the memo."""


class Reading(NamedTuple):
    """A parsed body: the request, and the warnings on it."""

    request: FetchRequest
    warnings: tuple[str, ...]


@bp.post("/fetch")
def fetch() -> Response:
    """Open one page."""
    reading = read(read_body(request.environ))
    page, is_cached = run_fetch(services(), g.caller, reading.request)
    return json_response(envelope(reading.request, page, reading.warnings, is_cached=is_cached))


def read(body: bytes) -> Reading:
    """Parse and validate a body. Raises InvalidJsonError, InvalidFetchError."""
    return (_read_memoised if len(body) <= MEMO_BODY else _read)(body)


def _read(body: bytes) -> Reading:
    payload = parse_object(body)
    return Reading(load_fetch(payload), unknown_field_warnings(payload))


# Agents repeat requests, and the result depends on nothing but the bytes.
_read_memoised = lru_cache(maxsize=512)(_read)


def envelope(wanted: FetchRequest, page: Page, warnings: tuple[str, ...], *, is_cached: bool) -> dict[str, Any]:
    """Return the answer, keys in the contract's order; what the page does not declare is left out."""
    text = page.text
    content, following = cut(text.content, wanted.start, wanted.max_chars)
    declared = {
        "title": text.title,
        "author": text.author,
        "published_date": text.published_date,
        "lang": text.lang,
    }
    return {
        "url": wanted.url,
        "final_url": page.url,
        "status": page.status,
        "content_type": page.content_type,
        **{name: value for name, value in declared.items() if value},
        "format": wanted.format,
        "content": content,
        "chars": len(text.content),
        "start": wanted.start,
        **({} if following is None else {"next_start": following}),
        "extractor": text.extractor,
        "cached": is_cached,
        "fetched_at": page.fetched_at,
        "sizes": page.sizes._asdict(),
        "warnings": page.warnings + warnings,
    }
