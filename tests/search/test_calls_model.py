"""Any sequence of searches, vendor behaviours, missing threads and locked ledgers, against a model of one source.

contract: Breaker, Credits: a source that works is asked again with the first search after its rest, and no search
costs it a second credit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from sift.errors import SourceError
from sift.search.calls import GRACE, Calls
from sift.search.model import Outcome, SearchRequest, Skip, SourceOut
from sift.search.protocols import LedgerError
from sift.search.threads import Job
from tests.fakes import PATIENCE, FakeClock, FakeLedger, FakeSource, FakeThreads, Gate, Step, out

FAILURES, REST, TIMEOUT, CREDITS = 3, 30.0, 5.0, 60
USUAL, LONG = "usual words", "x" * 300


class Behaviour(NamedTuple):
    """What the vendor does, what that costs, and what it means to the breaker.

    verdict: `answer`, `counts`, `query` (counts only beside another query's), `other`, `none`. rest: its `Retry-After`.
    """

    step: Step
    price: int
    verdict: str
    rest: float = 0.0


BEHAVIOURS = {
    "answers": Behaviour(out("https://docs.example/1"), 1, "answer"),
    "answers for three": Behaviour(out(credits=3), 3, "answer"),
    "refuses connections": Behaviour(SourceError("unreachable", sent=False, counts=True), 0, "counts"),
    "hangs up": Behaviour(SourceError("unreachable", counts=True), 1, "query"),
    "times out": Behaviour(SourceError("timeout", counts=True), 1, "counts"),
    "is broken": Behaviour(SourceError("http 500", counts=True), 1, "counts"),
    "asks for a rest": Behaviour(SourceError("http 429", counts=True, retry_after=120.0), 1, "counts", 120.0),
    "refuses": Behaviour(SourceError("http 403"), 1, "other"),
    "breaks the source": Behaviour(RuntimeError("unexpected"), 1, "other"),
    "is not asked": Behaviour(SourceOut(asked=False), 0, "none"),
}


class Hung(NamedTuple):
    """A call that runs although its request has stopped waiting."""

    thread: threading.Thread
    gate: Gate
    price: int


class CallsMachine(RuleBasedStateMachine):
    """Search one at a time; calls may overrun their request, or get a thread only after it."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock(0.0)
        self.ledger = FakeLedger({"s1": CREDITS})
        self.source = FakeSource("s1", SourceOut(), timeout=TIMEOUT)
        other = FakeSource("s2", out("https://docs.example/2"), timeout=10 * TIMEOUT)
        self.pool = FakeThreads(lambda: self.clock.tick(TIMEOUT + GRACE))
        self.calls = Calls(
            [self.source, other],
            self.ledger,
            pool=self.pool,
            breaker_failures=FAILURES,
            breaker_seconds=REST,
            now=FakeClock(),
            clock=self.clock,
        )
        self.hung: list[Hung] = []
        self.spent = 0
        self.row = 0
        self.rests_until: float | None = None  # None: the breaker is closed

    # --- what the contract says

    def may_ask(self) -> bool:
        """Whether the source is to be asked now."""
        return self.rests_until is None or self.clock() >= self.rests_until

    def expect(self, behaviour: Behaviour, query: str) -> None:
        """Follow the table of states and events for one call that was made."""
        verdict = behaviour.verdict
        if verdict == "query" and query == USUAL:
            verdict = "counts"
        is_trial = self.rests_until is not None
        if verdict == "answer":
            self.row, self.rests_until = 0, None
        elif is_trial and verdict in ("counts", "other"):
            self.rests_until = self.clock() + max(REST, behaviour.rest)
        elif not is_trial and (verdict == "counts" or (verdict == "query" and self.row)):
            self.row += 1
            rest = max(behaviour.rest, REST if self.row >= FAILURES else 0.0)
            self.rests_until = self.clock() + rest if rest else None

    # --- what happens

    def ask(self, query: str) -> Outcome:
        """Search with both sources; the other one must never be disturbed."""
        found = self.calls.ask(query, SearchRequest((query,)), ("s1", "s2"))
        assert isinstance(found["s2"], SourceOut)
        assert not found["s2"].warn
        return found["s1"]

    @rule(name=st.sampled_from(sorted(BEHAVIOURS)), query=st.sampled_from([USUAL, LONG]))
    def search(self, name: str, query: str) -> None:
        """The vendor does something within its time."""
        behaviour = BEHAVIOURS[name]
        self.source._steps = [behaviour.step]
        before, may_ask, has_credit = len(self.source.calls), self.may_ask(), self.ledger.credits["s1"] > 0
        is_trial = self.rests_until is not None
        found = self.ask(query)
        asked = self.source.calls[before:]
        assert len(asked) == (may_ask and has_credit)
        if asked:
            assert asked[0].fresh == is_trial
            self.spent += behaviour.price
            self.expect(behaviour, query)
        else:
            assert isinstance(found, Skip)

    @rule()
    def search_without_a_thread(self) -> None:
        """The host allows no more threads."""
        self.pool.wanted = "none"
        before = len(self.source.calls)
        assert self.ask(USUAL) == Skip("no thread left")
        assert len(self.source.calls) == before
        self.pool.wanted = "now"

    @rule()
    def search_whose_thread_starts_late(self) -> None:
        """The request has given up before its thread gets going."""
        self.pool.wanted = "late"
        found = self.ask(USUAL)
        assert isinstance(found, SourceOut)
        assert found.warn == "s1: timeout"
        self.pool.wanted = "now"

    @precondition(lambda self: self.pool.late)
    @rule()
    def late_thread_gets_going(self) -> None:
        """Nothing is asked, and nothing changes."""
        before = len(self.source.calls)
        self.pool.late.pop()()
        assert len(self.source.calls) == before

    @rule()
    def search_while_the_ledger_is_locked(self) -> None:
        """All the time goes by in the ledger."""
        reserve = self.ledger.reserve

        def locked(name: str, *, deadline: float) -> str | None:
            if name == "s1":
                self.clock.tick(deadline - self.clock())
                raise LedgerError
            return reserve(name, deadline=deadline)

        before = len(self.source.calls)
        self.ledger.reserve = locked  # type: ignore[method-assign]
        self.ask(USUAL)
        self.ledger.reserve = reserve  # type: ignore[method-assign]
        assert len(self.source.calls) == before

    @precondition(lambda self: len(self.hung) < 3 and self.may_ask() and self.ledger.credits["s1"] > 0)
    @rule(name=st.sampled_from(["answers", "answers for three", "refuses connections", "is broken"]))
    def search_that_overruns(self, name: str) -> None:
        """The vendor holds its call beyond the deadline: the request stops waiting, and that is a timeout."""
        behaviour = BEHAVIOURS[name]
        gate = Gate(behaviour.step)  # type: ignore[arg-type]
        self.source._steps = [gate]
        run, self.pool.run = self.pool.run, self._in_a_thread(gate, behaviour.price)  # type: ignore[method-assign]
        found = self.ask(USUAL)
        self.pool.run = run  # type: ignore[method-assign]
        assert isinstance(found, SourceOut)
        assert found.warn == "s1: timeout"
        self.expect(BEHAVIOURS["times out"], USUAL)

    def _in_a_thread(self, gate: Gate, price: int) -> Callable[[Job, Job], bool]:
        def run(job: Job, ended: Job) -> bool:
            thread = threading.Thread(target=lambda: (job(), ended()))
            thread.start()
            assert gate.entered.wait(PATIENCE)
            self.clock.tick(TIMEOUT + GRACE)
            self.hung.append(Hung(thread, gate, price))
            return True

        return run

    @precondition(lambda self: self.hung)
    @rule()
    def overrun_call_ends(self) -> None:
        """Its price is booked, and nobody hears of it otherwise."""
        hung = self.hung.pop()
        hung.gate.open()
        hung.thread.join(PATIENCE)
        assert not hung.thread.is_alive()
        self.spent += hung.price

    @rule(seconds=st.sampled_from([1.0, REST - 1, REST, 120.0]))
    def time_passes(self, seconds: float) -> None:
        """The clock goes on."""
        self.clock.tick(seconds)

    # --- what always holds

    @invariant()
    def every_call_costs_its_price_and_no_more(self) -> None:
        """A call under way holds one credit; one that ended costs its price; what was not made costs nothing."""
        assert self.ledger.credits["s1"] == CREDITS - self.spent - len(self.hung)

    def teardown(self) -> None:
        """Let everything end: after the longest rest a source that works is asked at once."""
        while self.hung:
            self.overrun_call_ends()
        while self.pool.late:
            self.late_thread_gets_going()
        self.clock.tick(300)
        self.ledger.credits["s1"] = CREDITS
        self.source._steps = [out()]
        before = len(self.source.calls)
        self.ask(USUAL)
        assert len(self.source.calls) == before + 1


def test_anything_happens_a_source_that_works_is_asked_after_its_rest_and_no_search_costs_twice() -> None:
    """contract: Breaker, Credits: whatever vendor, threads and ledger do, in any order."""
    run_state_machine_as_test(CallsMachine, settings=settings(max_examples=100, stateful_step_count=40))
