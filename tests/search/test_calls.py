"""The calls of a search: breaker, credit, deadline, one outcome each (contract: HTTP calls, Credits, Breaker)."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from sift.errors import NoThreadError, SourceError
from sift.search.model import Filter
from sift.search.protocols import LedgerError
from tests.fakes import (
    DAY,
    PATIENCE,
    FakeCache,
    FakeClock,
    FakeLedger,
    FakeSource,
    FakeThreads,
    Gate,
    ask,
    engine_of,
    out,
    page,
    summary,
    three,
    unavailable,
    urls,
)
from tests.waiting import wait_for

TIMEOUT = SourceError("timeout", counts=True)


def test_call_gets_the_deadline_of_its_own_source() -> None:
    """contract: HTTP calls: the deadline of a call is that of its own source."""
    sources = [FakeSource("s1", out(page(1)), timeout=2.0), FakeSource("s2", out(page(2)), timeout=9.0)]
    ask(engine_of(*sources))
    assert sources[1].calls[0].deadline - sources[0].calls[0].deadline == pytest.approx(7.0)


def test_unexpected_error_is_logged_by_type_and_place_never_by_text(caplog: pytest.LogCaptureFixture) -> None:
    """R9: the text of an exception may hold the query or a host; no record of any logger does."""
    secret = "zq-secret.example"
    caplog.set_level(logging.DEBUG)
    propagates, logging.getLogger("sift").propagate = logging.getLogger("sift").propagate, True
    try:
        for caller_class in ("restricted", "fleet"):
            engine = engine_of(*three(s1=ValueError(secret), s2=SourceError(f"http 500 {secret}"[:8])))
            filters = Filter(include_domains=(secret,))
            ask(engine, f"{secret} one", f"{secret} two", f"{secret} three", caller_class=caller_class, filter=filters)
    finally:
        logging.getLogger("sift").propagate = propagates
    # pytest also attaches to loggers that do not propagate, so a record may come twice.
    records = {id(record): record for record in caplog.records}.values()
    assert [record.fields["type"] for record in records] == ["ValueError"] * 6  # type: ignore[attr-defined]
    for record in records:
        assert secret not in repr(vars(record)), record
        assert record.fields["at"].startswith("fakes.py:")  # type: ignore[attr-defined]
        assert record.exc_info is None


def test_retry_after_mid_batch_skips_the_source_for_the_rest() -> None:
    """contract: Breaker: `Retry-After` is honoured at once, between the queries of a request too."""
    cache = FakeCache()
    limited = FakeSource("s1", SourceError("http 429", counts=True, retry_after=60.0))
    answer = ask(engine_of(limited, FakeSource("s2", out(page(1))), cache=cache), "q1", "q2", "q3")
    assert limited.queries == ["q1"]
    assert summary(answer) == (("s2",), ("s1",), ("s1: http 429", "s1: skipped after repeated failures"))
    assert len(cache) == 0


def test_source_that_hangs_is_a_timeout_and_the_others_answer(gates: list[Gate]) -> None:
    """contract: HTTP calls: no request waits past the deadline, whatever a source in the pool does."""
    gates.append(Gate(out(page("late"))))
    sources = [FakeSource("s1", gates[0], timeout=0.05), FakeSource("s2", out(page(2)))]
    answer = ask(engine_of(*sources))
    assert summary(answer) == (("s2",), ("s1",), ("s1: timeout",))
    assert urls(answer) == [page(2)]


def test_late_answer_is_dropped_but_its_credits_are_booked(gates: list[Gate]) -> None:
    """contract: Credits: nobody sees late hits, and their price is booked all the same."""
    gates.append(Gate(out(page("late"), credits=2)))
    ledger, cache = FakeLedger({"s1": 9}), FakeCache()
    hanging, other = FakeSource("s1", gates[0], out(page(1)), timeout=0.05), FakeSource("s2", out(page(2)))
    engine = engine_of(hanging, other, ledger=ledger, cache=cache)
    answer = ask(engine, "q1", "q2")
    before = answer.result
    assert (hanging.queries, other.queries) == (["q1", "q2"], ["q1", "q2"])
    gates[0].open()
    wait_for(lambda: len(ledger.settled) == 2)
    assert sorted(ledger.settled) == [("s1", DAY, 1), ("s1", DAY, 2)]
    assert ledger.credits == {"s1": 6}
    assert (hanging.queries, other.queries) == (["q1", "q2"], ["q1", "q2"])
    assert answer.result == before
    assert page("late") not in urls(answer)
    assert len(cache) == 0


def test_thread_starts_after_the_timeout_call_is_not_made_and_counts_for_nothing() -> None:
    """contract: Credits, Breaker: a call that nobody waits for any more takes no credit, and asks no vendor."""
    clock, ledger = FakeClock(0.0), FakeLedger({"s1": 9})
    source = FakeSource("s1", out(page(1)), timeout=2.0)
    pool = FakeThreads(lambda: clock.tick(3))
    engine = engine_of(
        source, FakeSource("s2", out(page(2))), ledger=ledger, clock=clock, pool=pool, breaker_failures=1
    )
    pool.wanted = "late"
    assert ask(engine, "q1").result.warnings == ("s1: timeout",)
    pool.late.pop()()
    assert (source.calls, ledger.reserved) == ([], [])
    pool.wanted = "now"
    assert summary(ask(engine, "q2")) == (("s1", "s2"), (), ())


def test_no_thread_can_be_started_the_call_is_not_made_and_the_others_answer() -> None:
    """contract: Skips: on a host out of threads a call costs no credit, is never made later, and the answer says so."""
    ledger, cache, pool = FakeLedger({"s2": 9}), FakeCache(), FakeThreads()
    sources = three()
    engine = engine_of(*sources, ledger=ledger, cache=cache, pool=pool, breaker_failures=1)
    pool.wanted = "none"
    for query in ("q1", "q2"):
        answer = ask(engine, query)
        assert summary(answer) == (("s3",), (), ("s1: no thread left", "s2: no thread left"))
    assert len(cache) == 0
    pool.wanted = "now"
    assert summary(ask(engine, "q1")) == (("s1", "s2", "s3"), (), ())
    assert [source.queries for source in sources] == [["q1"], ["q1"], ["q1", "q2", "q1"]]
    assert ledger.reserved == ["s2"]


def test_no_thread_and_no_other_source_is_unavailable_without_a_time() -> None:
    """contract: Unavailable: when the only source that needs no thread is at its cap, nobody answers."""
    pool = FakeThreads()
    engine = engine_of(
        FakeSource("s1", out(page(1))), FakeSource("s2", out(page(2))), ledger=FakeLedger({"s2": 1}, rival=1), pool=pool
    )
    pool.wanted = "none"
    failure = unavailable(engine)
    assert failure.warnings == ("s1: no thread left", "s2: daily cap")
    assert failure.sources_failed == ()


def test_source_itself_finds_no_thread_the_call_is_not_made() -> None:
    """contract: Skips: a name that cannot be resolved for want of a thread is nobody's failure, and costs nothing."""
    clock, ledger = FakeClock(0.0), FakeLedger({"s1": 9})
    source = FakeSource("s1", TIMEOUT, NoThreadError(), out(page(1)))
    engine = engine_of(source, FakeSource("s2", out(page(2))), ledger=ledger, clock=clock, breaker_failures=1)
    ask(engine, "q1")
    clock.tick(30)
    assert summary(ask(engine, "q2")) == (("s2",), (), ("s1: no thread left",))
    assert summary(ask(engine, "q3")) == (("s1", "s2"), (), ())
    assert ledger.settled == [("s1", DAY, 1), ("s1", DAY, 0), ("s1", DAY, 1)]


def test_trial_without_a_thread_leaves_the_next_one_the_place() -> None:
    """contract: Breaker: a source is asked again with the first search after the rest that can ask it."""
    clock, pool = FakeClock(0.0), FakeThreads()
    source = FakeSource("s1", TIMEOUT, out(page(1)))
    engine = engine_of(source, FakeSource("s2", out(page(2))), clock=clock, pool=pool, breaker_failures=1)
    ask(engine, "q1")
    clock.tick(30)
    pool.wanted = "none"
    ask(engine, "q2")
    pool.wanted = "now"
    assert summary(ask(engine, "q3")) == (("s1", "s2"), (), ())


def test_trial_alone_asks_for_a_new_connection() -> None:
    """contract: Breaker: kept connections may have died with the vendor; other calls may use them."""
    clock = FakeClock(0.0)
    source = FakeSource("s1", out(page(1)), TIMEOUT, out(page(1)))
    engine = engine_of(source, clock=clock, breaker_failures=1)
    ask(engine, "q1")
    unavailable(engine, "q2")
    clock.tick(30)
    ask(engine, "q3")
    ask(engine, "q4")
    assert [call.fresh for call in source.calls] == [False, False, True, False]


HUNG_UP = SourceError("unreachable", counts=True)


@pytest.mark.parametrize("query", ["long " * 41, "' or 1=1; --", "../../etc/passwd", "<script>"])
def test_vendor_hangs_up_on_certain_queries_only_the_others_are_still_asked(query: str) -> None:
    """contract: Breaker: a front that drops long or suspicious requests does not cost everybody the source."""
    queries = [f"{query}{number}" for number in range(5)]
    source = FakeSource("s1", out(page(1)), by_query=dict.fromkeys(queries, HUNG_UP))
    engine = engine_of(source, breaker_failures=3)
    assert {unavailable(engine, each).warnings for each in queries} == {("s1: unreachable",)}
    assert urls(ask(engine, "usual words")) == [page(1)]


def test_vendor_hangs_up_on_usual_queries_too_it_is_skipped() -> None:
    """contract: Breaker: once a usual query fails as well, the vendor is to blame, for long ones too."""
    source = FakeSource("s1", HUNG_UP)
    engine = engine_of(source, breaker_failures=3)
    for query in ("x" * 201, 'C++ "std::vector" don\'t?', "x" * 201, "x" * 201):
        unavailable(engine, query)
    assert unavailable(engine, "q").warnings == ("s1: skipped after repeated failures",)


@pytest.mark.parametrize("error", [SourceError("unreachable", sent=False, counts=True), TIMEOUT])
def test_vendor_fails_otherwise_long_queries_count(error: SourceError) -> None:
    """contract: Breaker: only a vendor that hangs up after the request was sent may be objecting to the query."""
    source = FakeSource("s1", error)
    engine = engine_of(source, breaker_failures=3)
    for number in range(3):
        unavailable(engine, f"{'x' * 201} {number}")
    assert unavailable(engine, "q").warnings == ("s1: skipped after repeated failures",)


def test_ledger_takes_all_the_time_the_source_is_not_blamed() -> None:
    """contract: Breaker: a vendor that was never asked, as the ledger was locked, is not skipped afterwards."""
    clock = FakeClock(0.0)

    class SlowLedger(FakeLedger):
        is_slow = True

        def reserve(self, name: str, *, deadline: float) -> str | None:
            clock.tick(deadline - clock() if self.is_slow else 0)
            return super().reserve(name, deadline=deadline)

    ledger = SlowLedger({"s1": 10})
    engine = engine_of(FakeSource("s1", out(page(1))), ledger=ledger, clock=clock, breaker_failures=1)
    unavailable(engine, "q1")
    ledger.is_slow = False
    assert urls(ask(engine, "q2")) == [page(1)]


def test_late_failure_counts_once_for_the_breaker(gates: list[Gate]) -> None:
    """contract: Breaker: a timeout counts when it happens, and not again when the call at last ends."""
    gates.append(Gate(SourceError("timeout", counts=True)))
    ledger = FakeLedger({"s1": 9})
    source = FakeSource("s1", gates[0], TIMEOUT, TIMEOUT, timeout=0.05)
    engine = engine_of(source, FakeSource("s2", out(page(2))), ledger=ledger, breaker_failures=3)
    ask(engine, "q1")
    gates[0].open()
    wait_for(lambda: len(ledger.settled) == 1)
    source.timeout = PATIENCE
    assert ask(engine, "q2").result.warnings == ("s1: timeout",)
    assert ask(engine, "q3").result.warnings == ("s1: timeout",)
    assert ask(engine, "q4").result.skips == ("s1: skipped after repeated failures",)
    assert source.queries == ["q1", "q2", "q3"]


def test_late_success_does_not_close_the_breaker(gates: list[Gate]) -> None:
    """contract: Breaker: a call that nobody waited for is a failure, even if it answers in the end."""
    gates.append(Gate(out(page(1))))
    ledger = FakeLedger({"s1": 9})
    hanging, other = FakeSource("s1", gates[0], timeout=0.05), FakeSource("s2", out(page(2)))
    engine = engine_of(hanging, other, ledger=ledger, breaker_failures=1)
    ask(engine, "q1")
    gates[0].open()
    wait_for(lambda: len(ledger.settled) == 1)
    assert ask(engine, "q2").result.skips == ("s1: skipped after repeated failures",)


BOOKINGS = [
    pytest.param(out(page(1), credits=1), 1, id="answered"),
    pytest.param(out(page(1), credits=3), 3, id="answered-for-three"),
    pytest.param(SourceError("http 500", counts=True), 1, id="failed-after-it-was-sent"),
    pytest.param(SourceError("unreachable", sent=False, counts=True), 0, id="never-sent"),
    pytest.param(RuntimeError("unexpected"), 1, id="unexpected"),
    pytest.param(out(notes=("s1: query too long, not asked",), asked=False), 0, id="chose-not-to-be-asked"),
]


@pytest.mark.parametrize(("step", "cost"), BOOKINGS)
def test_credit_is_settled_to_what_the_call_cost(step: Any, cost: int) -> None:
    """contract: Credits: one credit is reserved before the call; only a call that was never sent is refunded."""
    ledger = FakeLedger({"s1": 10})
    ask(engine_of(FakeSource("s1", step), FakeSource("s2", out(page(2))), ledger=ledger))
    assert ledger.reserved == ["s1"]
    assert ledger.settled == [("s1", DAY, cost)]


def test_ledger_that_cannot_be_read_skips_the_source_and_never_calls_it() -> None:
    """contract: Credits: a source is never called uncounted; the answer without it is not stored."""
    cache = FakeCache()
    source = FakeSource("s1", out(page(1)))
    ledger = FakeLedger({"s1": 9}, is_broken=True)
    answer = ask(engine_of(source, FakeSource("s2", out(page(2))), cache=cache, ledger=ledger))
    assert summary(answer) == (("s2",), (), ("s1: daily cap unavailable",))
    failure = unavailable(engine_of(source, cache=cache, ledger=ledger))
    assert failure.warnings == ("s1: daily cap unavailable",)
    assert (failure.sources_failed, failure.retry_after) == ((), None)
    assert source.calls == []
    assert len(cache) == 0


def test_ledger_that_is_lost_leaves_the_source_out_of_the_plan() -> None:
    """contract: Skips: as no later search can ask it either, the answer of the others may be cached."""
    ledger = FakeLedger({"s1": 9})
    ledger.is_lost = True
    engine = engine_of(FakeSource("s1", out(page(1))), FakeSource("s2", out(page(2))), ledger=ledger)
    assert summary(ask(engine)) == (("s2",), (), ("s1: daily cap unavailable",))
    assert ask(engine).cache == "hit"


def test_busy_ledger_does_not_keep_the_other_sources_from_being_asked() -> None:
    """contract: Credits: waiting for the ledger holds up no other source (docs/decisions.md 6)."""
    gate = Gate(out(page(1)))
    gate.open()

    class BusyLedger(FakeLedger):
        def reserve(self, name: str, *, deadline: float) -> str | None:
            if name == "s2" and not gate.entered.wait(PATIENCE):
                raise LedgerError
            return super().reserve(name, deadline=deadline)

    ledger = BusyLedger({"s2": 10})
    answer = ask(engine_of(FakeSource("s1", gate), FakeSource("s2", out(page(2))), ledger=ledger))
    assert summary(answer) == (("s1", "s2"), (), ())
    assert ledger.settled == [("s2", DAY, 1)]


def test_call_whose_time_went_by_in_the_ledger_is_never_sent() -> None:
    """contract: Credits: waiting for the ledger counts into the source's timeout; the credit is refunded."""

    clock = FakeClock(0.0)

    class SlowLedger(FakeLedger):
        def reserve(self, name: str, *, deadline: float) -> str | None:
            clock.tick(deadline - clock())
            return super().reserve(name, deadline=deadline)

    ledger = SlowLedger({"s1": 10})
    source = FakeSource("s1", out(page(1)))
    failure = unavailable(engine_of(source, ledger=ledger, clock=clock))
    assert failure.warnings == ("s1: timeout",)
    assert source.calls == []
    assert ledger.settled == [("s1", DAY, 0)]


def test_source_that_keeps_failing_is_skipped_then_tried_once() -> None:
    """contract: Breaker: a skipped source is neither ok nor failed; an answer to the half-open call brings it back."""
    clock, cache = FakeClock(0.0), FakeCache()
    flaky = FakeSource("s1", *[TIMEOUT] * 5, out(page("back")))
    engine = engine_of(flaky, FakeSource("s2", out(page(2))), cache=cache, clock=clock)
    for number in range(5):
        assert summary(ask(engine, f"q{number}"))[1] == ("s1",)
    assert len(cache) == 0
    skipped = ask(engine, "q")
    assert summary(skipped) == (("s2",), (), ("s1: skipped after repeated failures",))
    assert len(flaky.calls) == 5
    assert ask(engine, "q").cache == "hit"
    clock.tick(30)
    back = ask(engine, "q")  # the answer without the source hides nothing of it
    assert back.cache == "miss"
    assert summary(back) == (("s1", "s2"), (), ())
    assert page("back") in urls(back)


@pytest.mark.parametrize("failure", [SourceError("http 404"), RuntimeError("unexpected")])
def test_failure_that_does_not_count_never_opens_the_breaker(failure: Exception) -> None:
    """contract: Breaker: 4xx, redirects, bad bodies and bugs neither extend nor end a row."""
    source = FakeSource("s1", failure)
    engine = engine_of(source, breaker_failures=2)
    for number in range(5):
        unavailable(engine, f"q{number}")
    assert len(source.calls) == 5


def test_source_not_asked_does_not_reset_the_breaker() -> None:
    """contract: Breaker: a source that declines a query says nothing about its vendor."""
    source = FakeSource("s1", TIMEOUT, out(asked=False, notes=("s1: n",)), TIMEOUT)
    engine = engine_of(source, breaker_failures=2)
    for number in range(3):
        unavailable(engine, f"q{number}")
    assert unavailable(engine, "q").warnings == ("s1: skipped after repeated failures",)


@pytest.mark.parametrize("reason", ["not-asked", "cap", "ledger"])
def test_trial_that_is_not_made_leaves_the_next_one_the_place(reason: str) -> None:
    """contract: Breaker: a half-open call lost to cap, ledger or the query's length leaves its place to the next."""
    clock = FakeClock(0.0)
    not_asked = out(notes=("s1: n",), asked=False)
    source = FakeSource("s1", TIMEOUT, *([not_asked] if reason == "not-asked" else []), out(page(1)))
    ledger = FakeLedger({"s1": 9})
    engine = engine_of(source, FakeSource("s2", out(page(2))), ledger=ledger, clock=clock, breaker_failures=1)
    ask(engine, "q0")
    clock.tick(30)
    if reason == "cap":
        ledger.rival = 9
    ledger.is_broken = reason == "ledger"
    ask(engine, "q1")
    ledger.rival, ledger.is_broken, ledger.credits["s1"] = 0, False, 9
    assert summary(ask(engine, "q2")) == (("s1", "s2"), (), ())


def test_only_source_resting_says_when_to_come_back() -> None:
    """contract: Unavailable: the wait for a breaker is named."""
    engine = engine_of(FakeSource("s1", SourceError("http 503", counts=True, retry_after=12.5)))
    assert unavailable(engine, "q1").retry_after is None
    assert unavailable(engine, "q2").retry_after == 13


def test_trial_starts_after_its_timeout_the_source_comes_back() -> None:
    """contract: Breaker: on a loaded host a thread may get going when nobody waits any more; it keeps no place."""
    clock = FakeClock(0.0)
    pool = FakeThreads(lambda: clock.tick(3))
    source = FakeSource("s1", SourceError("http 429", counts=True, retry_after=7.0), out(page(1)), timeout=2.0)
    engine = engine_of(source, FakeSource("s2", out(page(2))), clock=clock, pool=pool)
    ask(engine, "q1")
    clock.tick(7)
    pool.wanted = "late"
    assert summary(ask(engine, "q2"))[2] == ("s1: timeout",)
    pool.late.pop()()
    pool.wanted = "now"
    assert summary(ask(engine, "q3")) == (("s1", "s2"), (), ())


def test_call_breaks_down_outside_its_source_the_search_does_and_the_source_comes_back() -> None:
    """contract: Breaker: a fault in Sift ends the search, and does not shut the source out for ever."""
    clock = FakeClock(0.0)

    class BrokenLedger(FakeLedger):
        is_faulty = False

        def reserve(self, name: str, *, deadline: float) -> str | None:
            if self.is_faulty and name == "s1":
                raise RuntimeError("a fault")
            return super().reserve(name, deadline=deadline)

    ledger = BrokenLedger()
    source = FakeSource("s1", TIMEOUT, out(page(1)))
    engine = engine_of(source, FakeSource("s2", out(page(2))), ledger=ledger, clock=clock, breaker_failures=1)
    ask(engine, "q1")
    clock.tick(30)
    ledger.is_faulty = True
    with pytest.raises(RuntimeError, match="a fault"):
        ask(engine, "q2")
    ledger.is_faulty = False
    assert summary(ask(engine, "q3")) == (("s1", "s2"), (), ())
