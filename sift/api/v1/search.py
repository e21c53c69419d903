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
"""Bytes; larger bodies are read anew each time, so that the memo stays under 2 MiB."""


class Reading(NamedTuple):
    """What a body says: the request, its queries encoded, and the warnings that are its own."""

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
    """Read a body. Raises InvalidJsonError, InvalidQueryError, InvalidSearchError."""
    return (_read_again if len(body) <= MEMO_BODY else _read)(body)


def envelope(answer: Answer, queries: bytes, warnings: tuple[str, ...]) -> bytes:
    """Build the body, keys in the contract's order, around the hits that are encoded already."""
    result = answer.result
    rest = encode(
        {
            "sources_ok": result.sources_ok,
            "sources_failed": result.sources_failed,
            "warnings": result.warnings + result.skips + warnings,
            "cached": answer.cached,
            "sizes": result.sizes._asdict(),
        }
    )
    return b'{"queries": %b, "results": %b, %b' % (queries, result.results, rest[1:])


def _read(body: bytes) -> Reading:
    payload = parse_object(body)
    loaded = load_search(payload)
    warnings = unknown_field_warnings(payload)
    return Reading(loaded, encode(loaded.queries), (("digest ignored",) if loaded.digest else ()) + warnings)


# Agents repeat themselves, and what a body says depends on nothing but its bytes.
_read_again = lru_cache(maxsize=512)(_read)
