"""The vendor calls of a search: the sources of one query in parallel, each with a breaker, a credit and one outcome."""

from __future__ import annotations

import logging
import re
import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

from sift.errors import NoThreadError, SourceError
from sift.observe import NullObserver, NullUsage, Observer, Usage
from sift.search.breaker import Breaker, Permit
from sift.search.model import CAPPED, Outcome, Round, SearchRequest, SearchResult, Skip, SourceOut
from sift.search.protocols import Ledger, LedgerError, LedgerLostError, Source
from sift.search.threads import Threads

if TYPE_CHECKING:
    from sift.search.plan import Plan

_log = logging.getLogger("sift.search")

GRACE = 0.25
"""Seconds past its deadline that a request still waits for a call in the pool to report."""
DAY = 86_400
_NO_THREAD = NoThreadError().reason
_UNCOUNTED = "daily cap unavailable"
_USUAL = re.compile(r"""[\w\s.,:?!'"&+-]{0,200}""")


class Calls:
    """Call the sources.

    threads: concurrent requests; there is a thread for each source of each of them, so no call waits for one.
    pool: where calls run; without it, threads of its own.
    now: Unix time in seconds. clock: the monotonic clock of deadlines, in seconds.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        ledger: Ledger,
        *,
        threads: int = 64,
        pool: Threads | None = None,
        breaker_failures: int = 5,
        breaker_seconds: float = 30.0,
        observer: Observer | None = None,
        usage: Usage | None = None,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sources = tuple(sources)
        self._by_name = {source.name: source for source in self._sources}
        self.reranked = {source.name: source.reranked for source in self._sources}
        self._ledger = ledger
        self._observer = observer or NullObserver()
        self._usage = usage or NullUsage()
        self._breakers = {
            name: Breaker(breaker_failures, breaker_seconds, clock, partial(self._observer.breaker_changed, name))
            for name in self.reranked
        }
        # Threads start with the first call, so an engine made before a fork is whole after it.
        self._pool = pool or Threads(threads * len(self._sources))
        self._now = now
        self._clock = clock

    def skip(self, name: str) -> Skip | None:
        """Return why a source cannot be asked now, as far as is known without asking it; None if it can be."""
        if (wait := self._breakers[name].wait()) is not None:
            return _resting(wait)
        if skip := self._by_name[name].skip():
            return skip
        try:
            return self._capped() if self._ledger.left(name) == 0 else None
        except LedgerLostError:
            return Skip(_UNCOUNTED)
        except LedgerError:
            return None  # it may only be busy: the call itself can wait for it, within its timeout

    def plan(self, request: SearchRequest, skips: Mapping[str, Skip], found: SearchResult | None) -> Plan:
        """Return what would become of each source, and the longest wait for them; call nobody.

        skips: the sources excluded before the first call. found: the cached answer, if there is one.
        """
        from sift.search.plan import plan_all, plan_cached  # a worker that plans nothing spares the memory

        left = self.balances()
        if found is not None:
            return plan_cached(self._sources, request, found, skips, left)
        # A call would not be made uncounted.
        uncounted = {name: Skip(_UNCOUNTED) for name, rest in left.items() if rest is None}
        return plan_all(self._sources, request, uncounted | dict(skips), left)

    def balances(self) -> dict[str, int | None]:
        """Return the credits left of each source that has a cap; None where the ledger cannot be read."""
        found: dict[str, int | None] = {}
        for name in self.reranked:
            try:
                left = self._ledger.balance(name)
            except LedgerError:
                found[name] = None
            else:
                if left is not None:
                    found[name] = left
        return found

    def ask(self, query: str, request: SearchRequest, planned: Collection[str]) -> Round:
        """Ask the planned sources one query concurrently, and return every outcome."""
        started = self._clock()
        calls = [_Call(source, started + source.timeout) for source in self._sources if source.name in planned]
        runs = [self._pool.run(partial(self._run, call, query, request), call.ended.release) for call in calls[:-1]]
        # This thread would only wait otherwise, so it makes the last call itself.
        last = [self._make(call, query, request) for call in calls[-1:]]
        outcomes = [self._outcome(call, runs=each) for call, each in zip(calls, runs, strict=False)]
        return {call.source.name: out for call, out in zip(calls, outcomes + last, strict=True)}

    def _run(self, call: _Call, query: str, request: SearchRequest) -> None:
        """Make one call in a thread of the pool."""
        try:
            call.outcome = self._make(call, query, request)
        except BaseException as error:
            call.error = error

    def _outcome(self, call: _Call, *, runs: bool) -> Outcome:
        """Wait for a call in the pool, until GRACE past its deadline."""
        name = call.source.name
        if not runs:
            self._observer.call_skipped(name, _NO_THREAD)
            return Skip(_NO_THREAD)
        if call.ended.acquire(timeout=max(0.0, call.deadline + GRACE - self._clock())):
            return call.result()
        if call.claim():
            if call.permit is not None:  # the vendor was asked: the breaker must not wait until the call ends
                self._breakers[name].failed(call.permit, counts=True)
            self._observer.call_ended(name, "timeout", call.source.timeout, 0)
        # Its credit, if it has one, is gone: the call was begun.
        return replace(_timeout(name), measured=(call.source.timeout, 1 if call.day else 0))

    def _make(self, call: _Call, query: str, request: SearchRequest) -> Outcome:
        """Make one call unless its breaker or the cap forbids it."""
        breaker = self._breakers[call.source.name]
        permit = breaker.admit()
        if isinstance(permit, Permit):
            try:
                out = self._admitted(call, permit, query, request)
            finally:
                breaker.withdrawn(permit)  # without this, a trial that failed to report would shut the source out
        else:
            out = _resting(permit)
        if isinstance(out, Skip) and call.claim():
            self._observer.call_skipped(call.source.name, out.reason)
        return out

    def _admitted(self, call: _Call, permit: Permit, query: str, request: SearchRequest) -> Outcome:
        """Make one call that the breaker admitted, on a credit."""
        name = call.source.name
        if self._is_late(call):
            return _timeout(name)
        if skip := call.source.skip():  # an answer since the plan said so
            return skip
        try:
            day = self._ledger.reserve(name, deadline=call.deadline)
        except LedgerError:
            return Skip(_UNCOUNTED)
        if day is None:
            self._usage.refused(name, 1)
            return self._capped()
        if self._is_late(call):  # the ledger kept it waiting
            self._ledger.settle(name, day, 0)
            if call.claim():
                self._observer.call_ended(name, "timeout", 0.0, 0)
            return _timeout(name)
        call.day = day
        call.permit = permit
        if not day:  # counted as a credit is: before the call, so that a kill in between leaves too many, never too few
            self._usage.calling(name)
        started = self._clock()
        out, error = self._fetch(call, permit, query, request)
        price = 0 if (error and not error.sent) or not out.asked else out.credits
        self._ledger.settle(name, day, price)
        if not (price or day):
            self._usage.not_called(name)
        if isinstance(error, NoThreadError):
            return Skip(_NO_THREAD)
        if call.claim():
            self._report(name, permit, out, error, odd=not _USUAL.fullmatch(query))
            if out.asked:
                outcome, detail = (error.reason, error.detail) if error else ("ok", "")
                self._observer.call_ended(name, outcome, self._clock() - started, price, detail)
            else:
                self._observer.call_skipped(name, "not asked")
        if request.explain:
            out = replace(out, measured=(self._clock() - started, price if day else 0))
        return out

    def _is_late(self, call: _Call) -> bool:
        """Whether nobody would see the answer to a call that begins now."""
        return call.is_claimed() or self._clock() >= call.deadline

    def _fetch(
        self, call: _Call, permit: Permit, query: str, request: SearchRequest
    ) -> tuple[SourceOut, SourceError | None]:
        name = call.source.name
        try:
            out = call.source.search(query, request.k, request.filter, deadline=call.deadline, fresh=permit.is_trial)
            return out, None
        except SourceError as error:
            return SourceOut(warn=f"{name}: {error.reason}", notes=error.notes), error
        except Exception as error:
            # The one broad catch: a bug in one source must not cost the others' hits. Its text may hold the query.
            place = _place(error)
            _log.error("source_error", extra={"fields": {"source": name, "type": type(error).__name__, "at": place}})
            return SourceOut(warn=f"{name}: internal error"), SourceError("internal error")

    def _report(self, name: str, permit: Permit, out: SourceOut, error: SourceError | None, *, odd: bool) -> None:
        """Report to the breaker how a call ended."""
        breaker = self._breakers[name]
        if error:
            blames_query = odd and error.hung_up
            breaker.failed(permit, counts=error.counts, blames_query=blames_query, retry_after=error.retry_after)
        elif out.asked:
            breaker.succeeded(permit)

    def _capped(self) -> Skip:
        return Skip(CAPPED, DAY - self._now() % DAY)


class _Call:
    """One call, reported once: by whoever claims it first.

    permit: its breaker's, once the vendor is asked. day: that of its credit, "" without one.
    ended: released when a thread of the pool has made it.
    """

    __slots__ = ("_claim", "day", "deadline", "ended", "error", "outcome", "permit", "source")

    outcome: Outcome

    def __init__(self, source: Source, deadline: float) -> None:
        self.source = source
        self.deadline = deadline
        self.permit: Permit | None = None
        self.day = ""
        self.error: BaseException | None = None
        self.ended = threading.Lock()
        self.ended.acquire()
        self._claim = threading.Lock()

    def claim(self) -> bool:
        """Return True to the first caller only: the call as it ends, or the request that stopped waiting for it."""
        return self._claim.acquire(blocking=False)

    def is_claimed(self) -> bool:
        """Whether it has been claimed."""
        return self._claim.locked()

    def result(self) -> Outcome:
        """Return the outcome, or raise what the call raised."""
        if self.error is not None:
            raise self.error
        return self.outcome


def _timeout(name: str) -> SourceOut:
    return SourceOut(warn=f"{name}: timeout")


def _resting(wait: float) -> Skip:
    return Skip("skipped after repeated failures", wait)


def _place(error: BaseException) -> str:
    """Return the file and line where an error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
