"""What every way to a search does alike: ask the engine, and leave exactly one record."""

from __future__ import annotations

from flask import g

from sift.api.services import Services, services
from sift.auth.caller import Caller
from sift.errors import SearchUnavailableError
from sift.search.engine import Answer
from sift.search.model import SearchRequest


def run_search(request: SearchRequest) -> Answer:
    """Answer a valid request for the current caller, and log it. Raises SearchUnavailableError."""
    parts, caller = services(), g.caller
    try:
        answer = parts.engine.search(request, caller.cls)
    except SearchUnavailableError as error:
        parts.log.search(caller, request, sources=error.sources_failed, n=0, cache=error.cache, rerank_ms=0)
        raise
    record(parts, caller, request, answer)
    return answer


def record(parts: Services, caller: Caller, request: SearchRequest, answer: Answer) -> None:
    """Log an answered search."""
    result = answer.result
    asked = result.sources_ok
    if result.sources_failed:
        asked = tuple(name for name in parts.engine.names if name in asked + result.sources_failed)
    parts.log.search(
        caller,
        request,
        sources=asked,
        n=result.sizes.results,
        cache=answer.cache,
        rerank_ms=0 if answer.cached else result.rerank_ms,
    )
