"""Keeping to the rate that a vendor states (contract: Pacing)."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.config import Config
from sift.health import SourceHealth
from sift.search.engine import Engine
from sift.search.model import Filter, SearchRequest, Skip, SourceOut
from sift.sources import DECLARED, build_source
from sift.sources.brave import Brave
from sift.sources.pace import Pace, Rates, Window, read_rates
from tests.calls import failure_of, later
from tests.fakes import FakeClock, FakeSource, ask, engine_of, out, page, summary, unavailable
from tests.search.moderate import moderate
from tests.vendors import BODIES, Vendors, hit, reply

MONTH = 1_419_704


def headers(limit: str, remaining: str, reset: str) -> dict[str, str]:
    """Return the headers of an answer."""
    return {"x-ratelimit-limit": limit, "x-ratelimit-remaining": remaining, "x-ratelimit-reset": reset}


FREE, FULL = headers("1, 2000", "0, 1999", f"1, {MONTH}"), headers("50, 0", "49, 0", "1, 0")
ABSENT: dict[str, str] = {}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(100.0)


@pytest.fixture
def pace(clock: FakeClock) -> Pace:
    return Pace(clock, clock.tick)


def waited(pace: Pace, clock: FakeClock, deadline: float = 1e9) -> float:
    """Return how long a call waits for its turn."""
    before = clock.now
    pace.wait(deadline)
    return clock.now - before


# --- reading


@pytest.mark.parametrize(
    ("stated", "rates"),
    [
        (FREE, Rates(Window(1, 0, 1), Window(2000, 1999, MONTH))),
        (headers("1,2000", "0,1999", f"1,{MONTH}"), Rates(Window(1, 0, 1), Window(2000, 1999, MONTH))),
        (FULL, Rates(Window(50, 49, 1), None)),
        (headers("1", "0", "1"), Rates(Window(1, 0, 1), None)),
        (headers("2000", "0", str(MONTH)), Rates(None, Window(2000, 0, MONTH))),
        (ABSENT, Rates(None, None)),
        (headers("1, 2000", "0", f"1, {MONTH}"), Rates(None, None)),
        (headers("1, 2000", "0, -5", f"1, {MONTH}"), Rates(None, None)),
        (headers("1, x", "0, 1", "1, 2"), Rates(None, None)),
        (headers("", "", ""), Rates(None, None)),
        (headers("1, 2, 3", "0, 0, 0", "1, 2, 3"), Rates(None, None)),
        (headers("١", "0", "1"), Rates(None, None)),
        (headers("1", "0", "1" * 13), Rates(None, None)),
        ({"x-ratelimit-remaining": "0, 0"}, Rates(None, None)),
    ],
)
def test_rates_are_read_in_all_their_forms(stated: Mapping[str, str], rates: Rates) -> None:
    """contract: Pacing: one window, two, none, nonsense; a limit of 0 is none."""
    assert read_rates(stated) == rates


@moderate
@given(st.lists(st.text("0123456789,; -xw=", max_size=12), min_size=3, max_size=3))
def test_any_headers_are_read_without_an_error(values: list[str]) -> None:
    """contract: Pacing: whatever a vendor sends; no wait is longer than a second."""
    clock = FakeClock(0.0)
    pace = Pace(clock, clock.tick)
    pace.hear(headers(*values))
    assert waited(pace, clock) <= 1.0


# --- the second


def test_call_waits_until_the_second_is_over(pace: Pace, clock: FakeClock) -> None:
    """contract: Pacing: as long as the second has left, and not if it is over."""
    assert waited(pace, clock) == 0
    pace.hear(FREE)
    clock.tick(0.25)
    assert waited(pace, clock) == 0.75
    pace.hear(FREE)
    clock.tick(1.0)
    assert waited(pace, clock) == 0


def test_call_that_would_pass_its_deadline_does_not_wait(pace: Pace, clock: FakeClock) -> None:
    """contract: Pacing: a call that waits only to end is of no use."""
    pace.hear(FREE)
    assert waited(pace, clock, clock.now + 1.0) == 0
    assert waited(pace, clock, clock.now + 1.1) == 1.0


def test_no_call_waits_for_more_than_a_second(pace: Pace, clock: FakeClock) -> None:
    """contract: Pacing: not for a longer reset, and not for a second turn."""
    pace.hear(headers("1, 2000", "0, 5", f"30, {MONTH}"))
    assert waited(pace, clock) == 1.0

    def sleep(seconds: float) -> None:
        clock.tick(seconds)
        pace.hear(FREE)  # another call's answer: the turn is gone

    busy = Pace(clock, sleep)
    pace = busy
    pace.hear(FREE)
    assert waited(pace, clock) == 1.0


def test_calls_of_one_second_share_what_is_left(pace: Pace, clock: FakeClock) -> None:
    """contract: Pacing: calls under way count before their answers come."""
    pace.hear(headers("3, 2000", "2, 5", f"1, {MONTH}"))
    assert [waited(pace, clock) for _ in range(3)] == [0, 0, 1.0]
    assert [waited(pace, clock) for _ in range(3)] == [0, 0, 1.0]


def test_answer_without_headers_changes_nothing(pace: Pace, clock: FakeClock) -> None:
    """contract: Pacing: neither does nonsense."""
    pace.hear(FREE)
    pace.hear(headers("2000", "0", str(MONTH)))
    for nothing in (ABSENT, headers("x", "y", "z")):
        pace.hear(nothing)
    assert waited(pace, clock) == 1.0
    assert pace.rest() == MONTH - 1.0


# --- the month


def test_month_that_is_used_up_rests_until_its_reset(pace: Pace, clock: FakeClock) -> None:
    """contract: Pacing: the time of the reset is the wait; an answer with some left ends it."""
    assert pace.rest() is None
    pace.hear(headers("1, 2000", "1, 0", "1, 500"))
    assert pace.rest() == 500
    clock.tick(499)
    assert pace.rest() == 1
    clock.tick(1)
    assert pace.rest() is None
    pace.hear(headers("1, 2000", "1, 0", "1, 500"))
    pace.hear(FREE)
    assert pace.rest() is None


def test_source_that_says_so_is_skipped_before_and_within_a_search() -> None:
    """contract: Pacing, Skips: from the start, and part-way when an answer says so; the wait is in `Retry-After`."""
    b = FakeSource("b", out(page(2)))

    def last() -> SourceOut:
        b.skipped = Skip("monthly quota", 500.0)
        return out(page(2))

    b._steps = [last]
    engine = engine_of(FakeSource("a", out(page(1))), b)
    partly = ask(engine, "one", "two")
    assert summary(partly) == (("a", "b"), (), ("b: monthly quota",))
    assert len(b.calls) == 1
    assert ask(engine, "one", "two").cache == "miss"  # a skip part-way is not cached
    assert len(b.calls) == 1
    plan = engine.plan(SearchRequest(("three",)), "fleet")
    assert [source.asked for source in plan.sources] == [True, "monthly quota"]
    alone = unavailable(engine_of(b), "q")
    assert (alone.warnings, alone.retry_after) == (("b: monthly quota",), 500)


def test_status_of_a_source_without_quota_is_capped() -> None:
    """contract: Operations: as of one without credits."""
    assert SourceHealth().status("b", Skip("monthly quota", 5.0))["state"] == "capped"


# --- Brave, over HTTP


def brave(vendors: Vendors) -> tuple[Brave, FakeClock]:
    """Return Brave's source as the settings make it, on a clock of its own."""
    config = Config.from_env({**vendors.environ, "SIFT_AUTH": "off", "SIFT_STATE_DIR": "/nowhere"}, DECLARED)
    source: Any = build_source(next(each for each in config.sources if each.name == "brave_llm"), 2)
    clock = FakeClock(0.0)
    source._pace._clock, source._pace._sleep = clock, clock.tick
    return source, clock


def answers(stated: Mapping[str, str], status: int = 200) -> Any:
    """Return a behaviour with such headers."""
    return reply(BODIES["brave_llm"]([hit("https://a.example/")]), status, headers=list(stated.items()))


@pytest.mark.parametrize("status", [200, 429])
@pytest.mark.parametrize(("stated", "seconds"), [(FREE, 1.0), (FULL, 0), (ABSENT, 0), (headers("1", "0", "1"), 1.0)])
def test_brave_paces_by_the_headers_of_any_answer(
    vendors: Vendors, stated: dict[str, str], seconds: float, status: int
) -> None:
    """contract: Pacing: a refusal states them, too."""
    source, clock = brave(vendors)
    vendors.behaviour["brave_llm"] = answers(stated, status)
    for _ in range(2):
        if status == 200:
            assert source.search("q", 5, Filter(), deadline=later()).found == 1
        else:
            failure_of(lambda: source.search("q", 5, Filter(), deadline=later()))
    assert clock.now == seconds


def test_brave_without_quota_is_not_asked(vendors: Vendors) -> None:
    """contract: Pacing: the vendor's own word, and the time that it named."""
    source, clock = brave(vendors)
    vendors.behaviour["brave_llm"] = answers(headers("1, 2000", "0, 0", f"1, {MONTH}"), 429)
    engine: Engine = engine_of(FakeSource("a", out(page(1))), source, clock=time.monotonic)
    assert ask(engine, "q").result.warnings == ("brave_llm: http 429",)
    assert summary(ask(engine, "r"))[2] == ("brave_llm: monthly quota",)
    assert len(vendors.calls("brave_llm")) == 1
    clock.tick(MONTH)
    assert source.skip() is None


def test_waiting_call_costs_the_answer_nothing(vendors: Vendors) -> None:
    """contract: Pacing: what would have been a 429 is an answer that may be cached."""
    source, clock = brave(vendors)

    def behave(connection: Any, seen: Any) -> object:
        late = clock.now < len(vendors.calls("brave_llm")) - 1
        return answers(FREE, 429 if late else 200)(connection, seen)

    vendors.behaviour["brave_llm"] = behave
    answer = ask(engine_of(source, clock=time.monotonic), "one", "two", "three")
    assert answer.result.sources_failed == ()
    assert clock.now == 2.0


def test_threads_share_a_pace() -> None:
    """contract: Pacing: of many calls at once no more than the limit begin in a second."""
    clock = FakeClock(0.0)
    pace = Pace(clock, lambda seconds: None)  # nobody's wait ends: the clock stands still
    pace.hear(headers("5, 0", "5, 0", "1, 0"))
    began = []
    threads = [threading.Thread(target=lambda: began.append(pace._take())) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(began) == [0.0] * 5 + [1.0] * 15
