"""The events that reach an observer: every call, skip, search and breaker change, exactly once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sift.errors import SourceError
from sift.observe import NullObserver, NullUsage, Observer, Observers, Spared, Usages
from sift.search.calls import Calls
from sift.search.model import SearchRequest, SourceOut
from tests.fakes import PATIENCE, FakeClock, FakeLedger, FakeSource, FakeThreads, Gate, ask, engine_of, find, out
from tests.waiting import threads_in, wait_for

PAGE = "https://docs.example/1"
DOWN = SourceError("unreachable", sent=False, counts=True)


class Recorder(NullObserver):
    """Record events without their durations."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []

    def call_ended(self, source: str, outcome: str, seconds: float, credits: int, detail: str = "") -> None:
        """Record a call."""
        assert seconds >= 0
        self.events.append(("call", source, outcome, credits))

    def call_skipped(self, source: str, reason: str) -> None:
        """Record a skip."""
        self.events.append(("skip", source, reason))

    def search_ended(self, caller_class: str, cache: str, seconds: float, *, answered: bool) -> None:
        """Record a search."""
        assert seconds >= 0
        self.events.append(("search", caller_class, cache, answered))

    def breaker_changed(self, source: str, state: str) -> None:
        """Record a change of a breaker."""
        self.events.append(("breaker", source, state))


@pytest.fixture
def recorder() -> Recorder:
    """Record what an engine reports."""
    return Recorder()


def test_search_is_answered_each_call_is_reported_with_its_price(recorder: Recorder) -> None:
    """Observer: one event per vendor call with the credits booked, then one for the search."""
    paid = FakeSource("s2", out(PAGE, credits=2))
    engine = engine_of(FakeSource("s1", out(PAGE)), paid, ledger=FakeLedger({"s2": 9}), observer=recorder)
    ask(engine)
    assert sorted(recorder.events[:2]) == [("call", "s1", "ok", 1), ("call", "s2", "ok", 2)]
    assert recorder.events[2:] == [("search", "fleet", "miss", True)]


def test_answer_comes_from_the_cache_no_call_is_reported(recorder: Recorder) -> None:
    """Observer: a hit is a search without calls, through either entry."""
    engine = engine_of(FakeSource("s1", out(PAGE)), observer=recorder)
    ask(engine)
    del recorder.events[:]
    ask(engine)
    assert engine.cached(SearchRequest(("q",)), "restricted") is None
    assert engine.cached(SearchRequest(("q",)), "fleet")
    assert recorder.events == [("search", "fleet", "hit", True)] * 2


def test_source_fails_until_its_breaker_opens_and_comes_back(recorder: Recorder) -> None:
    """Observer: failures by their word, each change of the breaker in order, and the skip in between."""
    clock = FakeClock(0.0)
    source = FakeSource("s1", DOWN, DOWN, out(PAGE))
    engine = engine_of(source, observer=recorder, clock=clock, breaker_failures=2, breaker_seconds=30.0)
    for _ in range(3):
        find(engine)
    clock.tick(30)
    ask(engine)
    failed = [("call", "s1", "unreachable", 0), ("search", "fleet", "miss", False)]
    assert recorder.events == [
        *failed,
        ("breaker", "s1", "open"),
        *failed,
        ("skip", "s1", "skipped after repeated failures"),
        ("search", "fleet", "miss", False),
        ("breaker", "s1", "half-open"),
        ("breaker", "s1", "closed"),
        ("call", "s1", "ok", 1),
        ("search", "fleet", "miss", True),
    ]


def test_source_is_capped_or_declines_it_is_reported_as_skipped(recorder: Recorder) -> None:
    """Observer: a source at its cap and one that declines the query count as skipped, not as called."""
    capped, silent = FakeSource("s1", out(PAGE)), FakeSource("s2", SourceOut(asked=False))
    engine = engine_of(capped, silent, FakeSource("s3", out(PAGE)), ledger=FakeLedger({"s1": 0}), observer=recorder)
    ask(engine)
    assert sorted(recorder.events[:-1]) == [
        ("call", "s3", "ok", 1),
        ("skip", "s1", "daily cap"),
        ("skip", "s2", "not asked"),
    ]


def test_no_thread_is_left_the_call_is_reported_as_skipped(recorder: Recorder) -> None:
    """Observer: a call that no thread could make is a skip, once."""
    pool = FakeThreads()
    pool.wanted = "none"
    ask(engine_of(FakeSource("s1", out(PAGE)), FakeSource("s2", out(PAGE)), pool=pool, observer=recorder))
    assert recorder.events[:-1] == [("call", "s2", "ok", 1), ("skip", "s1", "no thread left")]


def test_late_call_ends_in_a_skip_it_is_reported_once(recorder: Recorder) -> None:
    """Observer: the timeout was reported; that the late thread then finds no credit is no second event."""
    clock = FakeClock(0.0)
    pool = FakeThreads(lambda: clock.tick(3))
    pool.wanted = "late"
    source = FakeSource("s1", SourceError("http 503", counts=True, retry_after=60.0), timeout=2.0)
    engine = engine_of(source, FakeSource("s2", out(PAGE)), pool=pool, clock=clock, observer=recorder)
    ask(engine, "q1")
    pool.wanted = "now"
    ask(engine, "q2")  # opens the breaker, which the late call then meets
    del recorder.events[:]
    pool.late.pop()()
    assert recorder.events == []


def test_call_outlives_its_deadline_it_is_reported_once(recorder: Recorder) -> None:
    """Observer: the request that stops waiting reports the timeout; the late end of the call adds no event."""
    gate = Gate(out(PAGE))
    late = FakeSource("s1", gate, timeout=1.0)
    ledger = FakeLedger({"s1": 9})
    clock = FakeClock(0.0)

    def start_anyway() -> SourceOut:
        assert gate.entered.wait(PATIENCE)
        clock.tick(60)
        return out(PAGE)

    ask(engine_of(late, FakeSource("s2", start_anyway), ledger=ledger, clock=clock, observer=recorder))
    gate.open()
    wait_for(lambda: threads_in(Calls._make) == 0)
    assert len(ledger.settled) == 1
    assert [event for event in recorder.events if event[:2] == ("call", "s1")] == [("call", "s1", "timeout", 0)]


def test_work_under_way_is_reported_from_its_beginning_to_its_end() -> None:
    """Observer: also when nobody answered; what is cached when it is asked for is no work."""

    class Work(Recorder):
        def work_began(self) -> None:
            """Record a beginning."""
            self.events.append(("began",))

        def work_ended(self) -> None:
            """Record an end."""
            self.events.append(("ended",))

    work = Work()
    engine = engine_of(FakeSource("s1", DOWN, out(PAGE)), observer=work)
    find(engine)
    assert [work.events[0], *work.events[-2:]] == [("began",), ("ended",), ("search", "fleet", "miss", False)]
    find(engine)
    work.events.clear()
    assert engine.cached(SearchRequest(("q",)), "fleet") is not None
    assert work.events == [("search", "fleet", "hit", True)]


def test_events_are_passed_on_to_every_observer() -> None:
    """Observer: all events of the protocol, in the order of the observers."""
    heard: list[tuple[str, str, tuple[object, ...]]] = []

    class Listener:
        def __init__(self, name: str) -> None:
            self.name = name

        def __getattr__(self, event: str) -> Callable[..., None]:
            return lambda *values, **named: heard.append((self.name, event, (*values, *named.values())))

    events: dict[str, tuple[object, ...]] = {
        "call_ended": ("s1", "ok", 0.1, 1, ""),
        "call_skipped": ("s1", "daily cap"),
        "breaker_changed": ("s1", "open"),
        "work_began": (),
        "work_ended": (),
        "fetch_ended": ("ok", "miss", 0.1),
        "batch_items_ended": ("ok", 2),
        "batch_items_waiting": (3,),
        "cache_resized": (4,),
        "auth_failed": (),
        "line_dropped": (),
    }
    observers: Any = Observers(Listener("a"), Listener("b"))
    null: Any = NullObserver()
    for event, values in events.items():
        getattr(observers, event)(*values)
        assert getattr(null, event)(*values) is None
    observers.search_ended("fleet", "hit", 0.1, answered=True)
    expected = [(name, *each) for each in events.items() for name in "ab"]
    expected += [(name, "search_ended", ("fleet", "hit", 0.1, True)) for name in "ab"]
    assert heard == expected
    methods = {name for name in vars(Observer) if not name.startswith("_")}
    assert methods == {*events, "search_ended"} == {name for name in vars(NullObserver) if not name.startswith("_")}


def test_counts_of_usage_are_passed_on() -> None:
    """Usage: to each of several, in their order."""
    heard: list[tuple[object, ...]] = []

    class Listener(NullUsage):
        def calling(self, source: str) -> None:
            heard.append(("calling", source))

        def not_called(self, source: str) -> None:
            heard.append(("not called", source))

        def refused(self, source: str, calls: int) -> None:
            heard.append(("refused", source, calls))

        def spared(self, calls: Spared, *, shared: bool) -> None:
            heard.append(("spared", calls, shared))

    usages = Usages(Listener(), NullUsage(), Listener())
    usages.calling("s1")
    usages.not_called("s1")
    usages.refused("s2", 3)
    usages.spared((("s1", 2),), shared=True)
    told = (("calling", "s1"), ("not called", "s1"), ("refused", "s2", 3), ("spared", (("s1", 2),), True))
    assert heard == [each for each in told for _ in range(2)]
