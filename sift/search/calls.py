"""The calls of a search: the sources of one query in parallel, each with its breaker, credit and one outcome."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from pathlib import PurePath

from sift.errors import SourceError
from sift.observe import NullObserver, Observer
from sift.search.breaker import Breaker
from sift.search.model import Outcome, Round, SearchRequest, Skip, SourceOut
from sift.search.protocols import Ledger, LedgerError, Source

_log = logging.getLogger("sift.search")

GRACE = 0.25
"""Seconds after its deadline that a call in the pool may take to report; it is not waited for any longer."""
DAY = 86_400


class Calls:
    """Call the sources.

    threads: requests at a time; the pool has a thread for each source of each of them, so nothing queues inside.
    now: Unix time in seconds. clock: the monotonic clock that deadlines are read from.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        ledger: Ledger,
        *,
        threads: int = 64,
        breaker_failures: int = 5,
        breaker_seconds: float = 30.0,
        observer: Observer | None = None,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sources = tuple(sources)
        self.reranked = {source.name: source.reranked for source in self._sources}
        self._ledger = ledger
        self._observer = observer or NullObserver()
        self._breakers = {
            name: Breaker(breaker_failures, breaker_seconds, clock, partial(self._observer.breaker_changed, name))
            for name in self.reranked
        }
        # Threads start with the first call, so an engine made before a fork is whole after it.
        self._pool = ThreadPoolExecutor(max(1, threads * len(self._sources)), "sift-source")
        self._now = now
        self._clock = clock

    def skip(self, name: str) -> Skip | None:
        """Return why a source cannot be asked now, as far as is known without asking; None when it may be."""
        if (wait := self._breakers[name].wait()) is not None:
            return _resting(wait)
        try:
            return self._capped() if self._ledger.left(name) == 0 else None
        except LedgerError:
            return None  # busy perhaps: the call itself may wait for it, within its own timeout

    def ask(self, query: str, request: SearchRequest, planned: Collection[str]) -> Round:
        """Ask the planned sources one query, all at the same time, and wait for every outcome."""
        started = self._clock()
        calls = [_Call(source, started + source.timeout) for source in self._sources if source.name in planned]
        futures = [self._pool.submit(self._make, call, query, request) for call in calls[:-1]]
        # This thread would only wait, so it makes the last call itself.
        last = [self._make(call, query, request) for call in calls[-1:]]
        outcomes = [self._outcome(call, future) for call, future in zip(calls, futures, strict=False)]
        return {call.source.name: out for call, out in zip(calls, outcomes + last, strict=True)}

    def _outcome(self, call: _Call, future: Future[Outcome]) -> Outcome:
        """Wait for one call until its deadline and a little more."""
        name = call.source.name
        try:
            return future.result(max(0.0, call.deadline + GRACE - self._clock()))
        except FutureTimeoutError:
            first = call.claim()
            if not future.cancel() and first:  # it runs: the breaker must not wait until it ends
                self._breakers[name].failed(counts=True)
                self._observer.call_ended(name, "timeout", call.source.timeout, 0)
            return SourceOut(warn=f"{name}: timeout")

    def _make(self, call: _Call, query: str, request: SearchRequest) -> Outcome:
        """Make one call, unless its breaker or the cap forbids it."""
        out = self._admitted(call, query, request)
        if isinstance(out, Skip):
            self._observer.call_skipped(call.source.name, out.reason)
        return out

    def _admitted(self, call: _Call, query: str, request: SearchRequest) -> Outcome:
        name, breaker = call.source.name, self._breakers[call.source.name]
        if (wait := breaker.admit()) is not None:
            return _resting(wait)
        if call.is_claimed():  # reported as a timeout before it got going; a trial's place would be kept for ever
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
        started = self._clock()
        out, error = self._fetch(call, query, request)
        price = 0 if (error and not error.sent) or not out.asked else out.credits
        self._ledger.settle(name, day, price)
        if call.claim():
            self._report(name, out, error, self._clock() - started, price)
        return out

    def _fetch(self, call: _Call, query: str, request: SearchRequest) -> tuple[SourceOut, SourceError | None]:
        name = call.source.name
        try:
            if self._clock() >= call.deadline:  # the ledger kept it waiting; nobody would see the answer
                raise SourceError("timeout", sent=False, counts=True)
            return call.source.search(query, request.k, request.filter, deadline=call.deadline), None
        except SourceError as error:
            return SourceOut(warn=f"{name}: {error.reason}", notes=error.notes), error
        except Exception as error:
            # The one broad catch: a fault in one source must not take the others' hits. Its text may hold the query.
            place = _place(error)
            _log.error("source_error", extra={"fields": {"source": name, "type": type(error).__name__, "at": place}})
            return SourceOut(warn=f"{name}: internal error"), SourceError("internal error")

    def _report(self, name: str, out: SourceOut, error: SourceError | None, seconds: float, price: int) -> None:
        """Tell breaker and observer how a call ended."""
        breaker = self._breakers[name]
        if error:
            breaker.failed(counts=error.counts, retry_after=error.retry_after)
        elif out.asked:
            breaker.succeeded()
        else:
            breaker.release()
            self._observer.call_skipped(name, "not asked")
            return
        self._observer.call_ended(name, error.reason if error else "ok", seconds, price)

    def _capped(self) -> Skip:
        return Skip("daily cap", DAY - self._now() % DAY)


class _Call:
    """One call, made by the pool or by the thread that asks; it counts once, for whoever claims it first."""

    __slots__ = ("_claim", "deadline", "source")

    def __init__(self, source: Source, deadline: float) -> None:
        self.source = source
        self.deadline = deadline
        self._claim = threading.Lock()

    def claim(self) -> bool:
        """Return True to the first who asks: the call when it ends, or the request that stopped waiting for it."""
        return self._claim.acquire(blocking=False)

    def is_claimed(self) -> bool:
        """Whether somebody has."""
        return self._claim.locked()


def _resting(wait: float) -> Skip:
    return Skip("skipped after repeated failures", wait)


def _place(error: BaseException) -> str:
    """Return file and line where an error was raised; its text stays out of the log."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
