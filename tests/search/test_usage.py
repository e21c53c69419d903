"""Which calls a search counts as made, spared and refused (contract: Usage)."""

from __future__ import annotations

import threading
from collections import Counter

from sift.errors import NoThreadError, SourceError
from sift.flight import Flight
from sift.observe import Spared
from sift.search.calls import Calls
from sift.search.engine import Engine
from sift.search.model import SearchRequest, Skip, SourceOut
from tests.fakes import PATIENCE, FakeCache, FakeClock, FakeLedger, FakeSource, Gate, ask, find, out, page
from tests.waiting import threads_in, wait_for


class Tally:
    """Count in memory."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def calling(self, source: str) -> None:
        """Count a call."""
        self.counts[source, "calls"] += 1

    def not_called(self, source: str) -> None:
        """Take a call back."""
        self.counts[source, "calls"] -= 1

    def refused(self, source: str, calls: int) -> None:
        """Count calls without a credit."""
        self.counts[source, "refused"] += calls

    def spared(self, calls: Spared, *, shared: bool) -> None:
        """Count calls that were not needed."""
        for source, count in calls:
            self.counts[source, "shared" if shared else "cached"] += count


def counting(*sources: FakeSource, ledger: FakeLedger | None = None, caching: bool = True) -> tuple[Engine, Tally]:
    """Make an engine and its tally."""
    tally = Tally()
    clocks = {"now": FakeClock(), "clock": FakeClock(0.0)}
    calls = Calls(sources, ledger or FakeLedger(), threads=8, usage=tally, **clocks)
    return Engine(calls, FakeCache() if caching else None, usage=tally, **clocks), tally


def test_free_calls_that_were_sent_are_counted() -> None:
    """contract: Usage: answered or not; not one that was never sent, was not asked for, or had no thread."""
    by_query = {
        "ok": out(page(1)),
        "late": SourceError("timeout"),
        "unsent": SourceError("unreachable", sent=False),
        "long": SourceOut(asked=False, notes=("a: query too long, not asked",)),
    }
    engine, tally = counting(FakeSource("a", NoThreadError(), by_query=by_query))
    for query in (*by_query, "no thread"):
        find(engine, query)
    assert tally.counts == {("a", "calls"): 2}


def test_free_call_is_counted_before_it_is_made() -> None:
    """contract: Usage: a process that is killed in between has counted too many, never too few."""
    gate = Gate(out(page(1)))
    engine, tally = counting(FakeSource("a", gate))
    thread = threading.Thread(target=ask, args=(engine, "q"))
    thread.start()
    assert gate.entered.wait(PATIENCE)
    assert tally.counts == {("a", "calls"): 1}
    gate.open()
    thread.join()
    assert tally.counts == {("a", "calls"): 1}


def test_paid_calls_are_left_to_the_ledger() -> None:
    """contract: Usage: they are counted with their credit, not twice."""
    engine, tally = counting(FakeSource("a", out(page(1))), ledger=FakeLedger({"a": 5}))
    ask(engine, "q")
    assert tally.counts == {}


def test_cached_answer_spares_the_calls_that_it_took() -> None:
    """contract: Usage: by every way to the cache; queries that a source was not asked are none of them."""
    too_long = SourceOut(asked=False, notes=("b: query too long, not asked",))
    b = FakeSource("b", out(page(2)), by_query={"long": too_long})
    engine, tally = counting(FakeSource("a", out(page(1))), b, ledger=FakeLedger({"b": 9}))
    ask(engine, "q", "long")
    assert ask(engine, "q", "long").cache == "hit"
    assert engine.cached(SearchRequest(("q", "long")), "fleet") is not None
    assert engine.cached(SearchRequest(("other",)), "fleet") is None
    assert tally.counts == {("a", "calls"): 2, ("a", "cached"): 4, ("b", "cached"): 2}


def test_shared_answer_spares_them_too_failed_or_not(gates: list[Gate]) -> None:
    """contract: Usage: whoever waited for an equal search."""
    for then in (out(page(1)), SourceError("timeout")):
        gates.append(gate := Gate(then))
        engine, tally = counting(FakeSource("a", gate), caching=False)
        threads = [threading.Thread(target=find, args=(engine, "q")) for _ in range(3)]
        for thread in threads:
            thread.start()
        wait_for(lambda: threads_in(Flight.wait) == 2)
        gate.open()
        for thread in threads:
            thread.join(20)
        assert tally.counts == {("a", "calls"): 1, ("a", "shared"): 2}


def test_calls_without_a_credit_are_counted_for_each_query() -> None:
    """contract: Usage: skipped from the start, and part-way; not those of a cached answer."""
    engine, tally = counting(FakeSource("a", out(page(1))), FakeSource("b", out(page(2))), ledger=FakeLedger({"b": 1}))
    ask(engine, "one", "two")
    assert tally.counts["b", "refused"] == 1
    ask(engine, "three", "four")
    assert tally.counts["b", "refused"] == 3
    assert ask(engine, "three", "four").cache == "hit"
    assert tally.counts["b", "refused"] == 3


def test_source_that_is_skipped_for_another_reason_was_not_refused_by_the_cap() -> None:
    """contract: Usage: a quota of the vendor's own, or a breaker, is not the cap."""
    b = FakeSource("b", out(page(2)))
    b.skipped = Skip("monthly quota", 5.0)
    engine, tally = counting(FakeSource("a", out(page(1))), b, ledger=FakeLedger({"b": 9}))
    ask(engine, "one")
    assert tally.counts == {("a", "calls"): 1}
