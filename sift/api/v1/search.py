"""`POST /v1/search` (contract: Search request, Search answer)."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from flask import Response, g, request

from sift.api.body import parse_object, read_body
from sift.api.search import run_search
from sift.api.services import services
from sift.api.v1 import bp
from sift.search.model import Answer, SearchRequest, encode
from sift.search.schema import load_search, unknown_field_warnings

PATH = "/search"
MEMO_BODY = 2048
"""Bytes; larger bodies are not memoised, which bounds the memory of the memo."""


class Reading(NamedTuple):
    """A parsed body: the request, its queries as JSON, and the warnings on the request itself."""

    request: SearchRequest
    queries: bytes
    warnings: tuple[str, ...]


@bp.post(PATH)
def search() -> Response:
    """Search all sources."""
    reading = read(read_body(request.environ))
    parts = services()
    warnings = reading.warnings + parts.notices
    answer = run_search(parts, g.caller, reading.request, warnings)
    return Response(envelope(answer, reading.queries, warnings), mimetype="application/json")


def read(body: bytes) -> Reading:
    """Parse and validate a body. Raises InvalidJsonError, InvalidQueryError, InvalidSearchError."""
    return (_read_memoised if len(body) <= MEMO_BODY else _read)(body)


def envelope(answer: Answer, queries: bytes, warnings: tuple[str, ...]) -> bytes:
    """Return the response body, keys in the contract's order, around the hits that are already encoded."""
    result = answer.result
    described = {
        "sources_ok": result.sources_ok,
        "sources_failed": result.sources_failed,
        "warnings": result.warnings + result.skips + warnings,
        "cached": answer.cached,
        "sizes": result.sizes._asdict(),
    }
    if answer.explained is not None:
        described["explain"] = answer.explained
    rest = encode(described)
    return b'{"queries": %b, "results": %b, %b' % (queries, result.results, rest[1:])


def _read(body: bytes) -> Reading:
    payload = parse_object(body)
    loaded = load_search(payload)
    warnings = unknown_field_warnings(payload)
    return Reading(loaded, encode(loaded.queries), (("digest ignored",) if loaded.digest else ()) + warnings)


# Agents repeat requests, and the result depends on nothing but the bytes.
_read_memoised = lru_cache(maxsize=512)(_read)
