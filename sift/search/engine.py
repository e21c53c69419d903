"""The engine: one request in, one answer out. It looks in the cache, shares equal searches and plans who is asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from sift.observe import NullObserver, Observer
from sift.search.answer import compose, may_be_cached, named, unavailable
from sift.search.cachekey import cache_key, hour_bucket
from sift.search.calls import Calls
from sift.search.flight import SingleFlight
from sift.search.model import Answer, CacheUse, CallerClass, SearchRequest, SearchResult, Skip, Unavailable, unique
from sift.search.protocols import Cache
from sift.search.query import normalise_query


class Engine:
    """Answer searches: the queries of a request one after another (R5).

    cache: None keeps nothing. now: Unix time in seconds, read once per request. clock: a monotonic clock in seconds.
    """

    def __init__(
        self,
        calls: Calls,
        cache: Cache | None,
        *,
        observer: Observer | None = None,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._calls = calls
        self.names = tuple(calls.reranked)
        self._cache = cache
        self._unshared: CacheUse = "off" if cache is None else "miss"
        self._observer = observer or NullObserver()
        self._flight: SingleFlight[tuple[SearchResult | Unavailable, CacheUse]] = SingleFlight()
        self._now = now
        self._clock = clock

    def cached(self, request: SearchRequest, caller_class: CallerClass) -> Answer | None:
        """Return a whole answer that is at hand, whatever cap or breakers say now; None without one."""
        started = self._clock()
        found = self._look(cache_key(request, self.names, caller_class, hour_bucket(self._now())))
        if found is None:
            return None
        self._observer.search_ended(caller_class, "hit", self._clock() - started, answered=True)
        return Answer(found, "hit")

    def search(self, request: SearchRequest, caller_class: CallerClass) -> Answer | Unavailable:
        """Answer a request, or return why no source answered."""
        started = self._clock()
        found = self._search(request, caller_class)
        self._observer.search_ended(
            caller_class, found.cache, self._clock() - started, answered=isinstance(found, Answer)
        )
        return found

    def _search(self, request: SearchRequest, caller_class: CallerClass) -> Answer | Unavailable:
        hour = hour_bucket(self._now())  # read once: a request that runs over the hour keeps its key
        key = cache_key(request, self.names, caller_class, hour)
        if found := self._look(key):
            return Answer(found, "hit")
        planned = self.names
        if skips := self._plan():
            planned = tuple(name for name in self.names if name not in skips)
            key = cache_key(request, planned, caller_class, hour)

        def lead() -> tuple[SearchResult | Unavailable, CacheUse]:
            # Looked up again: the answer may have come in between the look above and taking the lead.
            if found := self._look(key):
                return found, "hit"
            return self._ask(request, planned, skips, key), self._unshared

        (result, use), shared = self._flight.run(key, lead)
        use = "shared" if shared else use
        if isinstance(result, Unavailable):
            return replace(result, cache=use)
        return Answer(replace(result, skips=unique(named(skips) + result.skips)), use)

    def _plan(self) -> dict[str, Skip]:
        """Return the sources that will not be asked, decided before the first call (R5)."""
        return {name: skip for name in self.names if (skip := self._calls.skip(name))}

    def _ask(
        self, request: SearchRequest, planned: tuple[str, ...], skips: Mapping[str, Skip], key: bytes
    ) -> SearchResult | Unavailable:
        for name, skip in skips.items():
            self._observer.call_skipped(name, skip.reason)
        # In the form that is in the key: what the vendors are asked must not depend on who asked first.
        rounds = [self._calls.ask(normalise_query(query), request, planned) for query in request.queries]
        started = self._clock()
        result = compose(request, rounds, self._calls.reranked)
        if result is None:
            return unavailable(rounds, skips, self.names)
        result = replace(result, rerank_ms=round((self._clock() - started) * 1000))
        if self._cache is not None and may_be_cached(result, rounds):
            self._cache.put(key, result)
        return result

    def _look(self, key: bytes) -> SearchResult | None:
        return None if self._cache is None else self._cache.get(key)
