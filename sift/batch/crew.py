"""The threads of a process that open the pages of batches (contract: Batch work)."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import Protocol

from sift.batch.model import LEASE_SECONDS, Claim, Outcome
from sift.batch.outage import Outage
from sift.batch.protocols import Jobs
from sift.batch.result import wanted
from sift.batch.verdict import INTERNAL, Again, Untried, decide
from sift.batch.visit import Visit, Visits
from sift.errors import StoreError
from sift.fetch.model import Fetched, FetchRequest
from sift.observe import NULL_OBSERVER, Observer

LOOK_EVERY = 1.0
"""Seconds after which a process looks for what others have submitted, or let go."""
RENEW_EVERY = 2.0
"""Seconds after which a lease is renewed; a visit whose item was cancelled goes on for as long."""
SWEEP_EVERY = 60.0
_SHORTEST = 0.002  # seconds; whoever has just taken what is due now may not have said so yet
_log = logging.getLogger("sift.batch")


class Opener(Protocol):
    """What opens pages, of batches only."""

    def fetch(
        self, request: FetchRequest, caller: str, cls: str, is_given_up: Callable[[], bool] | None = None
    ) -> Fetched:
        """Open a page; what it came to means nothing once it is given up. Never raises for what a page does."""


class Crew:
    """Open the pages of batches with up to `size` threads, which are there as long as items wait.

    One more thread, the keeper, is there all the time: it looks for work, renews leases, sweeps and tells of batches
    that have ended. jobs, opener: return the store's batches, and what opens pages, made at their first call.
    observer: is told of what ended and what waits. clock: monotonic seconds.
    """

    def __init__(
        self,
        size: int,
        jobs: Callable[[], Jobs],
        opener: Callable[[], Opener],
        *,
        lease: float = LEASE_SECONDS,
        renew_every: float = RENEW_EVERY,
        observer: Observer = NULL_OBSERVER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._size = size
        self._jobs = jobs
        self._opener = opener
        self._renew_every = renew_every
        self._observer = observer
        self._clock = clock
        self._waiting = 0  # as the observer knows it
        self._visits = Visits(clock, lease)
        self._outage = Outage()
        self._owner = secrets.token_hex(8)
        self._looking = threading.Lock()  # one thread looks for work at a time, the others wait for their turn
        self._is_dry = False
        self._news = threading.Event()  # for the thread that looks for work
        self._woken = threading.Event()  # for the keeper
        self._stopping = threading.Event()
        self._threads: dict[int, threading.Thread] = {}
        self._reports = 0
        self._keeper = threading.Thread(target=self._keep, name="sift-batches", daemon=True)

    def start(self) -> None:
        """Start the keeper. Raises RuntimeError when the host has no thread left."""
        self._keeper.start()

    def wake(self) -> None:
        """Look for work at once: something was submitted."""
        self._news.set()
        self._woken.set()

    def stop(self) -> None:
        """Have everything end, and what is under way be given back; return at once."""
        self._stopping.set()
        self.wake()

    def join(self, seconds: float) -> None:
        """Wait, so long at most, until everything was given back after a stop."""
        end = self._clock() + seconds
        for thread in (self._keeper, *self._threads.values()):
            if thread.ident is not None:
                thread.join(max(0.0, end - self._clock()))

    # --- the keeper ---

    def _keep(self) -> None:
        told, swept = 0, self._clock()
        while not self._stopping.is_set():
            try:
                self._renew()
                is_time = self._clock() - swept >= SWEEP_EVERY
                if is_time:
                    self._jobs().sweep()
                    swept = self._clock()
                if is_time or self._reports != told:
                    reports = self._reports
                    self._tell()
                    told = reports
                self._man()
                self._count()
                pause = LOOK_EVERY
            except StoreError:
                pause = max(LOOK_EVERY, self._outage.failed())
            except Exception as error:
                _report_fault(error)
                pause = LOOK_EVERY
            self._wait(self._woken, min(pause, self._renew_every))
        self._give_back_all()

    def _renew(self) -> None:
        """Renew the leases that were not for a while, and end the visits that nobody wants or that may be another's."""
        for visit in self._visits.all():
            asked = self._clock()
            if asked - visit.renewed < self._renew_every:
                continue
            try:
                if self._jobs().renew(visit.owner, visit.claim.host):
                    visit.renewed = asked
                else:
                    visit.end()
            except StoreError:
                if self._clock() >= visit.until:
                    visit.end()
                raise

    def _tell(self) -> None:
        for ended in self._jobs().ended():
            _log.info("batch", extra={"fields": ended._asdict()})
            cancelled = ended.total - ended.ok - ended.failed
            for state, count in (("ok", ended.ok), ("failed", ended.failed), ("cancelled", cancelled)):
                self._observer.batch_items_ended(state, count)

    def _count(self) -> None:
        """Say how many items wait; not while there are none, which would cost an idle process a look each second."""
        if self._waiting or self._is_manned():
            self._waiting = self._jobs().waiting()
            self._observer.batch_items_waiting(self._waiting)

    def _is_manned(self) -> bool:
        return any(thread.is_alive() for thread in self._threads.values())

    def _man(self) -> None:
        """Start the threads that work when there is something to do."""
        if self._is_manned():
            return
        due = self._jobs().due()
        self._outage.answered()
        if due is None or due > LOOK_EVERY:
            return
        self._is_dry = False
        for number in range(self._size):
            thread = threading.Thread(target=self._work, args=(number,), name=f"sift-batch-{number}", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the host lets us start no more threads: those that there are do it, or later ones
                break
            self._threads[number] = thread

    def _give_back_all(self) -> None:
        """End all visits, then let their hosts go: nobody else may come before this process has left."""
        visits = self._visits.all()
        for visit in visits:
            visit.end()
        for visit in visits:
            try:
                self._jobs().give_back(visit.claim)
            except StoreError:
                return  # the lease ends by itself

    # --- the threads that work ---

    def _work(self, number: int) -> None:
        owner = f"{self._owner}-{number}"
        while True:
            with self._looking:
                visit = self._next(owner)
            if visit is None:
                return
            try:
                self._report(visit, Untried() if visit.is_ended() else self._open(visit))
            finally:
                self._visits.over(visit)
                self._reports += 1
                self._news.set()

    def _next(self, owner: str) -> Visit | None:
        """Wait for a host that is free and return the visit; None when nothing waits any more, or at a stop."""
        while not (self._is_dry or self._stopping.is_set()):
            asked = self._clock()
            try:
                claim = self._jobs().claim(owner)
                if claim is None:
                    self._await_turn()
                self._outage.answered()
            except StoreError:
                self._wait(self._stopping, self._outage.failed())
                continue
            except Exception as error:
                _report_fault(error)
                self._wait(self._stopping, LOOK_EVERY)
                continue
            if claim:
                visit = self._visits.begin(claim, owner, asked)
                if self._stopping.is_set():  # what is under way may have been given back before this one was
                    visit.end()
                return visit
        return None

    def _await_turn(self) -> None:
        """Wait until something can be claimed, as far as is known. What others let go changes that; so do they."""
        while not self._stopping.is_set():
            self._news.clear()
            due = self._jobs().due()
            if due is None:
                self._is_dry = True
                return
            if due <= 0:
                self._stopping.wait(_SHORTEST)
                return
            if not self._news.wait(min(due, LOOK_EVERY)):
                return

    def _open(self, visit: Visit) -> Outcome | Again | Untried:
        claim = visit.claim
        try:
            request = wanted(claim)
            fetched = self._opener().fetch(request, claim.caller, claim.cls, visit.is_ended)
            return decide(claim, request, fetched, claim.seconds - (self._clock() - visit.began))
        except Exception as error:
            _report_fault(error)
            return INTERNAL

    def _report(self, visit: Visit, verdict: Outcome | Again | Untried) -> None:
        """Tell the store, again and again while it does not answer and the lease may hold."""
        if isinstance(verdict, Untried):
            self._wait(self._stopping, LOOK_EVERY)  # others need this host's threads or files now
        while True:
            try:
                _tell_store(self._jobs(), visit, verdict)
                self._outage.answered()
                return
            except StoreError:
                pause = self._outage.failed()
                if self._stopping.is_set() or self._clock() >= visit.until:
                    return
                self._wait(self._stopping, pause)
            except Exception as error:
                _report_fault(error)
                return

    def _wait(self, event: threading.Event, seconds: float) -> None:
        event.wait(seconds)
        if event is self._woken:
            event.clear()


def _tell_store(jobs: Jobs, visit: Visit, verdict: Outcome | Again | Untried) -> None:
    claim: Claim = visit.claim
    if visit.is_ended() or isinstance(verdict, Untried):
        jobs.give_back(claim)  # also of an item that is no longer wanted: its host is let go
    elif isinstance(verdict, Again):
        jobs.retry(claim, verdict.seconds, delay=verdict.delay)
    else:
        jobs.finish(claim, verdict)


def _report_fault(error: Exception) -> None:
    """Log a fault of ours by its type and place: its text may hold anything."""
    at = error.__traceback__
    while at and at.tb_next:
        at = at.tb_next
    place = f"{at.tb_frame.f_globals.get('__name__')}:{at.tb_lineno}" if at else ""
    _log.error("internal_error", extra={"fields": {"type": type(error).__name__, "at": place}})
