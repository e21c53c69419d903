"""The engine: one request in, one answer out. It knows sources, cache and ledger by their protocols only."""

from __future__ import annotations

import logging
import math
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Literal, NamedTuple, TypedDict

from sift.errors import SearchUnavailableError, SourceError
from sift.search.breaker import Breaker
from sift.search.cachekey import cache_key, hour_bucket
from sift.search.domains import host_filter
from sift.search.flight import SingleFlight
from sift.search.merge import SourceList, build_hits, fuse_queries, merge
from sift.search.model import CallerClass, SearchRequest, SearchResult, Sizes, SourceOut, encode, unique
from sift.search.protocols import Cache, Ledger, LedgerError, Source

_log = logging.getLogger("sift.search")

GRACE = 0.25
"""Seconds after its deadline that a call in the pool may take to report; it is not waited for any longer."""
DAY = 86_400

CacheUse = Literal["hit", "miss", "shared", "off"]


class Skip(NamedTuple):
    """Say why a source is not asked; `wait` is the time in seconds until it may be, where that is known."""

    reason: str
    wait: float | None = None


class Answer(NamedTuple):
    """Hold a result, and how it was come by."""

    result: SearchResult
    cache: CacheUse

    @property
    def cached(self) -> bool:
        """Tell whether no vendor was asked for this very request."""
        return self.cache in ("hit", "shared")


@dataclass(slots=True)
class _Call:
    """Hold one call, of the pool or of the thread that asks."""

    source: Source
    deadline: float
    abandoned: bool = False  # nobody waits any more; its result must not count twice


Outcome = SourceOut | Skip
Round = dict[str, Outcome]
"""What each planned source came to for one query, in source order."""


class Engine:
    """Answer searches: the sources of one query in parallel, the queries one after another (R5).

    threads: requests at a time; the pool has a thread for each source of each of them, so nothing queues inside.
    The last source of each runs in the thread that asks.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        cache: Cache,
        ledger: Ledger,
        *,
        threads: int = 64,
        breaker_failures: int = 5,
        breaker_seconds: float = 30.0,
        caching: bool = True,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sources = tuple(sources)
        self.names = tuple(source.name for source in sources)
        self._cache = cache
        self._ledger = ledger
        self._breakers = {name: Breaker(breaker_failures, breaker_seconds, clock) for name in self.names}
        # Threads start with the first call, so an engine made before a fork is whole after it (B129).
        self._pool = ThreadPoolExecutor(max(1, threads * len(self._sources)), "sift-source")
        self._flight: SingleFlight[tuple[SearchResult | SearchUnavailableError, CacheUse]] = SingleFlight()
        self._now = now
        self._miss: CacheUse = "miss" if caching else "off"
        self._lock = threading.Lock()
        self._uses: Counter[CacheUse] = Counter()

    def cached(self, request: SearchRequest, caller_class: CallerClass) -> Answer | None:
        """Give a whole answer that is at hand, whatever cap or breakers say now (contract §8); None without one."""
        found = self._cache.get(cache_key(request, self.names, caller_class, hour_bucket(self._now())))
        return self._count(Answer(found, "hit")) if found else None

    def search(self, request: SearchRequest, caller_class: CallerClass) -> Answer:
        """Answer a request. Raises SearchUnavailableError when no source answered."""
        hour = hour_bucket(self._now())  # read once: a request that runs over the hour keeps its key
        key = cache_key(request, self.names, caller_class, hour)
        if found := self._cache.get(key):
            return self._count(Answer(found, "hit"))
        planned = self.names
        if skips := self._plan():
            planned = tuple(name for name in self.names if name not in skips)
            key = cache_key(request, planned, caller_class, hour)

        def lead() -> tuple[SearchResult | SearchUnavailableError, CacheUse]:
            # Looked up again: the answer may have come in between the look above and taking the lead.
            if found := self._cache.get(key):
                return found, "hit"
            return self._answer(request, planned, skips, key), self._miss

        (result, use), shared = self._flight.run(key, lead)
        use = "shared" if shared else use
        if isinstance(result, SearchUnavailableError):
            raise result.seen_as(use)
        return self._count(Answer(replace(result, skips=unique(_named(skips) + result.skips)), use))

    def stats(self) -> dict[str, float]:
        """Count cache entries, and give the share of searches that were answered without asking a vendor."""
        with self._lock:
            asked, found = self._uses.total(), self._uses["hit"] + self._uses["shared"]
        return {"entries": len(self._cache), "hit_rate": round(found / asked, 4) if asked else 0.0}

    def _count(self, answer: Answer) -> Answer:
        with self._lock:
            self._uses[answer.cache] += 1
        return answer

    def _plan(self) -> dict[str, Skip]:
        """Name the sources that will not be asked, before the first call (R5)."""
        skips = {}
        for name in self.names:
            if (wait := self._breakers[name].wait()) is not None:
                skips[name] = _resting(wait)
            else:
                try:
                    if self._ledger.left(name) == 0:
                        skips[name] = self._capped()
                except LedgerError:
                    pass  # busy perhaps: the call itself may wait for it, within its own timeout
        return skips

    def _answer(
        self, request: SearchRequest, planned: tuple[str, ...], skips: dict[str, Skip], key: bytes
    ) -> SearchResult | SearchUnavailableError:
        rounds = [self._ask(query, request, planned) for query in request.queries]
        outs = [out for each in rounds for out in each.values()]
        if not any(isinstance(out, SourceOut) and out.asked and not out.warn for out in outs):
            return self._unavailable(rounds, skips)
        result = self._merge(request, rounds)
        # R1, R5: the one place where it is decided what may be kept.
        if not result.sources_failed and not any(isinstance(out, Skip) for out in outs):
            self._cache.put(key, result)
        return result

    def _ask(self, query: str, request: SearchRequest, planned: tuple[str, ...]) -> Round:
        """Ask the planned sources one query, all at the same time."""
        started = time.monotonic()
        calls = [_Call(source, started + source.timeout) for source in self._sources if source.name in planned]
        futures = [self._pool.submit(self._call, call, query, request) for call in calls[:-1]]
        # This thread would only wait, so it makes the last call itself: a tenth of an uncached search at 16 threads.
        last = [self._call(call, query, request) for call in calls[-1:]]
        outcomes = [self._outcome(call, future) for call, future in zip(calls, futures, strict=False)]
        return {call.source.name: out for call, out in zip(calls, outcomes + last, strict=True)}

    def _outcome(self, call: _Call, future: Future[Outcome]) -> Outcome:
        """Wait for one call until its deadline and a little more."""
        try:
            return future.result(max(0.0, call.deadline + GRACE - time.monotonic()))
        except FutureTimeoutError:
            call.abandoned = True
            if not future.cancel():  # it runs: the breaker must not wait until it ends
                self._breakers[call.source.name].failed(counts=True)
            return SourceOut(warn=f"{call.source.name}: timeout")

    def _call(self, call: _Call, query: str, request: SearchRequest) -> Outcome:
        """Make one call: breaker, credit, vendor, and the books after it."""
        name, breaker = call.source.name, self._breakers[call.source.name]
        if (wait := breaker.admit()) is not None:
            return _resting(wait)
        if call.abandoned:  # reported as a timeout before it got going; a trial's place would be kept for ever
            breaker.release()
            return _resting(0.0)
        try:
            day = self._ledger.reserve(name, deadline=call.deadline)
        except LedgerError:
            breaker.release()
            return Skip("daily cap unavailable")
        if day is None:
            breaker.release()
            return self._capped()
        out, error = self._fetch(call, query, request)
        self._ledger.settle(name, day, 0 if (error and not error.sent) or not out.asked else out.credits)
        if not call.abandoned:
            if error:
                breaker.failed(counts=error.counts, retry_after=error.retry_after)
            elif out.asked:
                breaker.succeeded()
            else:
                breaker.release()
        return out

    def _fetch(self, call: _Call, query: str, request: SearchRequest) -> tuple[SourceOut, SourceError | None]:
        name = call.source.name
        try:
            if time.monotonic() >= call.deadline:  # the ledger kept it waiting; nobody would see the answer
                raise SourceError("timeout", sent=False, counts=True)
            return call.source.search(query, request.k, request.filter, deadline=call.deadline), None
        except SourceError as error:
            return SourceOut(warn=f"{name}: {error.reason}"), error
        except Exception as error:
            # The one broad catch: a fault in one source must not take the others' hits. Its text may hold the query.
            place = _place(error)
            _log.error("source_error", extra={"fields": {"source": name, "type": type(error).__name__, "at": place}})
            return SourceOut(warn=f"{name}: internal error"), SourceError("internal error")

    def _merge(self, request: SearchRequest, rounds: Sequence[Round]) -> SearchResult:
        started = time.perf_counter()
        may_stay = host_filter(request.filter)
        lists, rankings = [], []
        for each in rounds:
            given = self._lists(each)
            ranking = merge(given, rerank=request.rerank)
            if may_stay:  # R3: for every source, on the host a browser would go to
                gone = {hit.key for source in given for hit in source.hits if not may_stay(hit.host)}
                if gone:
                    ranking = {key: score for key, score in ranking.items() if key not in gone}
            lists.append(given)
            rankings.append(ranking)
        fused = fuse_queries(rankings)
        hits = build_hits(fused, lists, request.k)  # R4: cut only here
        outs = [out for each in rounds for out in each.values() if isinstance(out, SourceOut)]
        return SearchResult(
            results=encode([hit.as_dict() for hit in hits]),
            sizes=Sizes(sum(out.found for out in outs if not out.warn), len(fused), len(hits)),
            rerank_ms=round((time.perf_counter() - started) * 1000),
            **_summary(self.names, rounds),
        )

    def _lists(self, outs: Round) -> list[SourceList]:
        """Give the lists of the sources that answered, in source order (R1: a failed one's hits are discarded)."""
        return [
            SourceList(source.name, out.hits, source.reranked)
            for source in self._sources
            if isinstance(out := outs.get(source.name), SourceOut) and not out.warn
        ]

    def _unavailable(self, rounds: Sequence[Round], skips: dict[str, Skip]) -> SearchUnavailableError:
        summary = _summary(self.names, rounds)
        waits = [skip.wait for skip in skips.values() if skip.wait is not None]
        waits += [
            out.wait for each in rounds for out in each.values() if isinstance(out, Skip) and out.wait is not None
        ]
        return SearchUnavailableError(
            unique(summary["warnings"] + _named(skips) + summary["skips"]),
            summary["sources_failed"],
            # A source that was asked and failed may answer the very next request.
            math.ceil(min(waits)) if waits and not summary["sources_failed"] else None,
        )

    def _capped(self) -> Skip:
        return Skip("daily cap", DAY - self._now() % DAY)


class _Summary(TypedDict):
    sources_ok: tuple[str, ...]
    sources_failed: tuple[str, ...]
    warnings: tuple[str, ...]
    skips: tuple[str, ...]


def _summary(names: Sequence[str], rounds: Sequence[Round]) -> _Summary:
    """Say which sources were asked and which failed; warnings are failures, then notes, each once (contract §4)."""
    outs = [(name, out) for each in rounds for name, out in each.items()]
    answered = [(name, out) for name, out in outs if isinstance(out, SourceOut)]
    failed = {name for name, out in answered if out.warn}
    asked = {name for name, out in answered if out.asked}
    failures = tuple(out.warn for _, out in answered if out.warn)
    notes = tuple(note for _, out in answered for note in out.notes)
    return {
        "sources_ok": tuple(name for name in names if name in asked and name not in failed),
        "sources_failed": tuple(name for name in names if name in failed),
        "warnings": unique(failures + notes),
        "skips": unique(tuple(f"{name}: {out.reason}" for name, out in outs if isinstance(out, Skip))),
    }


def _named(skips: dict[str, Skip]) -> tuple[str, ...]:
    return tuple(f"{name}: {skip.reason}" for name, skip in skips.items())


def _resting(wait: float) -> Skip:
    return Skip("skipped after repeated failures", wait)


def _place(error: BaseException) -> str:
    """Name file and line where an error was raised; its text stays out of the log."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
