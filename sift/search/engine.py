"""The engine: one request in, one answer out. It uses the cache, shares equal searches and plans whom to ask."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sift.flight import SingleFlight
from sift.observe import NullObserver, NullUsage, Observer, Usage
from sift.search.answer import compose, may_be_cached, skip_warnings, unavailable
from sift.search.cachekey import cache_key, hour_bucket
from sift.search.calls import Calls
from sift.search.model import (
    CAPPED,
    Answer,
    CacheUse,
    CallerClass,
    SearchRequest,
    SearchResult,
    Skip,
    Unavailable,
    unique,
)
from sift.search.protocols import Cache
from sift.search.query import normalise_query

if TYPE_CHECKING:
    from sift.search.plan import Plan

HOUR = 3600


class Engine:
    """Answer searches, asking the queries of a request one after another (R5).

    cache: None disables caching. now: Unix time in seconds, read once per request. clock: a monotonic clock in seconds.
    """

    def __init__(
        self,
        calls: Calls,
        cache: Cache | None,
        *,
        observer: Observer | None = None,
        usage: Usage | None = None,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._calls = calls
        self.names = tuple(calls.reranked)
        self.in_sum = frozenset(name for name, reranked in calls.reranked.items() if reranked)
        """The sources whose lists take part in the RRF sum."""
        self._cache = cache
        self._unshared: CacheUse = "off" if cache is None else "miss"
        self._observer = observer or NullObserver()
        self._usage = usage or NullUsage()
        self._flight: SingleFlight[tuple[SearchResult | Unavailable, CacheUse]] = SingleFlight()
        self._now = now
        self._clock = clock

    def cached(self, request: SearchRequest, caller_class: CallerClass) -> Answer | None:
        """Return the cached answer of all sources, whatever cap and breakers say now; None if there is none."""
        started = self._clock()
        found = self._lookup(cache_key(request, self.names, caller_class, hour_bucket(self._now())))
        if found is None:
            return None
        self._observer.search_ended(caller_class, "hit", self._clock() - started, answered=True)
        self._usage.spared(found.calls, shared=False)
        answer = Answer(found, "hit")
        return self._explained(answer, started) if request.explain else answer

    def search(self, request: SearchRequest, caller_class: CallerClass) -> Answer | Unavailable:
        """Return the answer to a request, or why no source answered."""
        started = self._clock()
        self._observer.work_began()
        try:
            found = self._search(request, caller_class)
        finally:
            self._observer.work_ended()
        self._observer.search_ended(
            caller_class, found.cache, self._clock() - started, answered=isinstance(found, Answer)
        )
        if found.cache in ("hit", "shared"):
            calls = found.result.calls if isinstance(found, Answer) else found.calls
            self._usage.spared(calls, shared=found.cache == "shared")
        return self._explained(found, started) if request.explain and isinstance(found, Answer) else found

    def _search(self, request: SearchRequest, caller_class: CallerClass) -> Answer | Unavailable:
        now = self._now()  # read once: a request that runs past the hour keeps its key
        hour, hour_ends = hour_bucket(now), (now // HOUR + 1) * HOUR
        key = cache_key(request, self.names, caller_class, hour)
        if found := self._lookup(key):
            return Answer(found, "hit")
        key, planned, skips = self._choose(request, caller_class, hour, key)

        def lead() -> tuple[SearchResult | Unavailable, CacheUse]:
            # Again: another leader may have stored the answer since the lookup above.
            if found := self._lookup(key):
                return found, "hit"
            result, may_stay = self._ask(request, planned, skips)
            if self._cache is not None and isinstance(result, SearchResult) and may_stay:
                self._cache.put(key, result, hour_ends - self._now())  # after that nobody can find it
            return result, self._unshared

        (result, use), shared = self._flight.run(key, lead)
        use = "shared" if shared else use
        if isinstance(result, Unavailable):
            return replace(result, cache=use)
        return Answer(replace(result, skips=unique(skip_warnings(skips) + result.skips)), use)

    def plan(self, request: SearchRequest, caller_class: CallerClass) -> Plan:
        """Return what `search` would do now; ask nobody, spend nothing, report nothing."""
        hour = hour_bucket(self._now())
        key = cache_key(request, self.names, caller_class, hour)
        skips: Mapping[str, Skip] = {}
        if (found := self._lookup(key)) is None:
            key, _, skips = self._choose(request, caller_class, hour, key)
            found = self._lookup(key) if skips else None
        return self._calls.plan(request, skips, found)

    def _choose(
        self, request: SearchRequest, caller_class: CallerClass, hour: str, key: bytes
    ) -> tuple[bytes, tuple[str, ...], dict[str, Skip]]:
        """Return the key, the sources that will be asked, and those that will not and why (R5).

        key: that of all sources. Decided before the first call.
        """
        skips = {name: skip for name in self.names if (skip := self._calls.skip(name))}
        if not skips:
            return key, self.names, skips
        planned = tuple(name for name in self.names if name not in skips)
        return cache_key(request, planned, caller_class, hour), planned, skips

    def _ask(
        self, request: SearchRequest, planned: tuple[str, ...], skips: Mapping[str, Skip]
    ) -> tuple[SearchResult | Unavailable, bool]:
        """Ask the planned sources; return what came of it, and whether it may be cached."""
        for name, skip in skips.items():
            self._observer.call_skipped(name, skip.reason)
            if skip.reason == CAPPED:
                self._usage.refused(name, len(request.queries))
        # In the form that is in the key: what the vendors are asked must not depend on who asked first.
        begun = self._clock()
        rounds = [self._calls.ask(normalise_query(query), request, planned) for query in request.queries]
        started = self._clock()
        result = compose(request, rounds, self._calls.reranked, skips)
        if result is None:
            return unavailable(rounds, skips, self.names), False
        result = replace(result, rerank_ms=round((self._clock() - started) * 1000))
        if result.explanation is not None:
            sources_ms = round((started - begun) * 1000)
            timed = result.explanation._replace(sources_ms=sources_ms, merge_ms=result.rerank_ms)
            result = replace(result, explanation=timed)
        return result, may_be_cached(result, rounds)

    def _explained(self, answer: Answer, started: float) -> Answer:
        """Return an answer with its explanation for this very request, which began at `started`."""
        explanation = answer.result.explanation
        if explanation is None:  # pragma: no cover - `explain` is in the key
            return answer
        left, total = self._calls.balances(), round((self._clock() - started) * 1000)
        return answer._replace(explained=explanation.as_dict(asked=not answer.cached, left=left, total_ms=total))

    def _lookup(self, key: bytes) -> SearchResult | None:
        return None if self._cache is None else self._cache.get(key)
