"""What all search routes share: asking the engine, writing exactly one log record, raising a failure once."""

from __future__ import annotations

from sift.api.services import Services
from sift.auth.caller import Caller
from sift.errors import SearchUnavailableError
from sift.search.model import Answer, SearchRequest, Unavailable


def run_search(services: Services, caller: Caller, request: SearchRequest, warnings: tuple[str, ...] = ()) -> Answer:
    """Answer a valid request of a caller, and log it.

    warnings: those on the request itself; a failure carries them after those of the search.
    Raises SearchUnavailableError.
    """
    found = services.engine.search(request, caller.cls)
    record(services, caller, request, found)
    if isinstance(found, Unavailable):
        raise SearchUnavailableError(found.warnings + warnings, found.sources_failed, found.retry_after)
    return found


def record(services: Services, caller: Caller, request: SearchRequest, found: Answer | Unavailable) -> None:
    """Write the single log record of a search."""
    if isinstance(found, Unavailable):
        sources, n, rerank_ms = found.sources_failed, 0, 0
    else:
        result = found.result
        sources, n = result.sources_ok, result.sizes.results
        if result.sources_failed:
            asked = sources + result.sources_failed
            sources = tuple(name for name in services.engine.names if name in asked)
        rerank_ms = 0 if found.cached else result.rerank_ms
    services.log.record_search(caller, request, sources=sources, n=n, cache=found.cache, rerank_ms=rerank_ms)
