"""`POST /v1/search` (§2, contract §4)."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from flask import Response

from sift.api.body import parse_object, read_body
from sift.api.search import run_search
from sift.api.services import services
from sift.api.v1 import bp
from sift.errors import SearchUnavailableError
from sift.search.engine import Answer
from sift.search.model import SearchRequest, encode
from sift.search.schema import load_search, unknown_field_warnings

MEMO_BODY = 2048
"""Bytes; larger bodies are read anew, so that the memo stays under 2 MiB."""


class Reading(NamedTuple):
    """Hold what a body says: the request, its queries encoded, and the warnings that are its own."""

    request: SearchRequest
    queries: bytes
    warnings: tuple[str, ...]


@bp.post("/search")
def search() -> Response:
    """Search all sources."""
    body = read_body()
    reading = read_again(body) if len(body) <= MEMO_BODY else read(body)
    own = reading.warnings + services().notices
    try:
        answer = run_search(reading.request)
    except SearchUnavailableError as error:
        error.warnings += own
        raise
    return Response(envelope(answer, reading.queries, own), mimetype="application/json")


def read(body: bytes) -> Reading:
    """Read a body. Raises InvalidJsonError, InvalidQueryError, InvalidSearchError."""
    payload = parse_object(body)
    request = load_search(payload)
    warnings = unknown_field_warnings(payload)
    return Reading(request, encode(request.queries), (("digest ignored",) if request.digest else ()) + warnings)


# An agent repeats itself, and what a body says depends on nothing but its bytes: 60 µs less on each repetition.
read_again = lru_cache(maxsize=512)(read)


def envelope(answer: Answer, queries: bytes, warnings: tuple[str, ...]) -> bytes:
    """Build the body, keys in the contract's order, round the hits that are encoded already."""
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
