"""The circuit breaker: a dead source must not cost every search its timeout (contract: Breaker)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from sift.search.breaker import Breaker, Permit
from tests.fakes import FakeClock, in_parallel


@pytest.fixture
def clock() -> FakeClock:
    """Start at a time other than 0, so that an ignored clock shows."""
    return FakeClock(1000.0)


@pytest.fixture
def breaker(clock: FakeClock) -> Breaker:
    """A breaker that opens after 3 failures for 30 seconds."""
    return Breaker(3, 30.0, clock)


def admitted(breaker: Breaker) -> Permit:
    """Admit a call."""
    permit = breaker.admit()
    assert isinstance(permit, Permit)
    return permit


def fail(breaker: Breaker, times: int = 1, **more: Any) -> None:
    """Admit calls and let them fail, by default in a way that counts."""
    for _ in range(times):
        breaker.failed(admitted(breaker), **{"counts": True, **more})


def test_failures_fewer_than_the_limit_keep_it_closed(breaker: Breaker) -> None:
    """contract: Breaker: one failure short of the limit changes nothing."""
    fail(breaker, 2)
    assert breaker.wait() is None
    assert [admitted(breaker).is_trial for _ in range(5)] == [False] * 5


def test_failures_in_a_row_open_it_for_the_full_time(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: the source is skipped for that long, and the wait counts down."""
    fail(breaker, 3)
    assert breaker.wait() == 30.0
    assert breaker.admit() == 30.0
    clock.tick(29.5)
    assert breaker.admit() == 0.5
    clock.tick(0.5)
    assert breaker.wait() is None


def test_success_between_failures_starts_the_row_afresh(breaker: Breaker) -> None:
    """contract: Breaker: only failures in a row count."""
    fail(breaker, 2)
    breaker.succeeded(admitted(breaker))
    fail(breaker, 2)
    assert breaker.wait() is None
    fail(breaker)
    assert breaker.wait() == 30.0


def test_failure_that_does_not_count_neither_adds_nor_resets(breaker: Breaker) -> None:
    """contract: Breaker: 4xx, redirects and bad bodies neither extend nor end a row."""
    fail(breaker, 2)
    fail(breaker, 9, counts=False)
    assert breaker.wait() is None
    fail(breaker)
    assert breaker.wait() == 30.0


def test_failures_that_only_their_queries_cause_never_open_it(breaker: Breaker) -> None:
    """contract: Breaker: what may be the query's fault counts only when another query fails too."""
    fail(breaker, 9, blames_query=True)
    assert breaker.wait() is None
    fail(breaker)
    fail(breaker, blames_query=True)
    assert breaker.wait() is None
    fail(breaker, blames_query=True)
    assert breaker.wait() == 30.0


def test_trial_after_the_time_is_for_one_request_only(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: half-open admits a single call; all others are skipped."""
    fail(breaker, 3)
    clock.tick(30)
    outcomes = in_parallel(20, lambda _: breaker.admit())
    assert [each.is_trial for each in outcomes if isinstance(each, Permit)] == [True]
    assert outcomes.count(30.0) == 19
    assert breaker.wait() == 30.0


def test_trial_that_succeeds_closes_it(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: a recovered source is asked by everyone again, and its row starts afresh."""
    fail(breaker, 3)
    clock.tick(30)
    breaker.succeeded(admitted(breaker))
    assert [admitted(breaker).is_trial for _ in range(3)] == [False] * 3
    fail(breaker, 2)
    assert breaker.wait() is None


@pytest.mark.parametrize("counts", [True, False])
def test_trial_that_fails_opens_it_for_the_full_time(breaker: Breaker, clock: FakeClock, counts: bool) -> None:
    """contract: Breaker: any failure of the trial opens it for the full time."""
    fail(breaker, 3)
    clock.tick(30)
    fail(breaker, counts=counts)
    assert breaker.wait() == 30.0
    clock.tick(30)
    assert admitted(breaker).is_trial


def test_trial_that_decides_nothing_gives_its_place_to_the_next(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: a trial that was not made, or failed for its query's sake, keeps nobody out."""
    fail(breaker, 3)
    clock.tick(30)
    breaker.withdrawn(admitted(breaker))
    fail(breaker, blames_query=True)
    assert breaker.wait() is None
    assert admitted(breaker).is_trial
    assert breaker.admit() == 30.0


def test_calls_from_before_the_opening_do_not_disturb_the_trial(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: what an older call reports, or that it was not made, changes nothing any more."""
    old = [admitted(breaker) for _ in range(4)]
    fail(breaker, 3)
    clock.tick(29)
    breaker.failed(old[0], counts=True)
    clock.tick(1)
    trial = admitted(breaker)
    breaker.failed(old[1], counts=True)
    breaker.withdrawn(old[2])
    breaker.succeeded(old[3])
    assert breaker.admit() == 30.0
    breaker.succeeded(trial)
    assert breaker.wait() is None


def test_calls_from_before_a_recovery_cannot_shut_the_source_out_again(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: many calls that hang on a dead vendor time out after its trial was answered."""
    old = [admitted(breaker) for _ in range(9)]
    fail(breaker, 3)
    clock.tick(30)
    breaker.succeeded(admitted(breaker))
    for permit in old:
        breaker.failed(permit, counts=True)
    assert breaker.wait() is None


def test_late_answer_does_not_cut_short_the_rest_that_the_vendor_asked_for(breaker: Breaker) -> None:
    """contract: Breaker: of two calls at the same time one gets a 429 with `Retry-After`, then the other an answer."""
    old = admitted(breaker)
    fail(breaker, retry_after=60.0)
    breaker.succeeded(old)
    assert breaker.wait() == 60.0


def test_retry_after_opens_it_at_once(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: one 429 with Retry-After is enough, for as long as the vendor asks."""
    fail(breaker, retry_after=7.0)
    assert breaker.wait() == 7.0
    clock.tick(7)
    assert admitted(breaker).is_trial


def test_retry_after_of_an_older_call_still_holds(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: the vendor's word is about the time to come, whenever the call began."""
    old = admitted(breaker)
    fail(breaker, 3)
    breaker.failed(old, counts=True, retry_after=60.0)
    assert breaker.wait() == 60.0


def test_shorter_rest_does_not_cut_a_longer_one_short(breaker: Breaker) -> None:
    """contract: Breaker: the longer of two rests counts."""
    old = admitted(breaker)
    fail(breaker, retry_after=60.0)
    breaker.failed(old, counts=True, retry_after=5.0)
    assert breaker.wait() == 60.0


def test_retry_after_of_hours_is_cut_to_five_minutes(breaker: Breaker) -> None:
    """contract: Breaker: for at most 5 minutes."""
    fail(breaker, retry_after=86_400.0)
    assert breaker.wait() == 300.0


def test_limit_of_0_never_opens(clock: FakeClock) -> None:
    """contract: Breaker: `SIFT_BREAKER_FAILURES=0` disables it, Retry-After included."""
    breaker = Breaker(0, 30.0, clock)
    fail(breaker, 50, retry_after=60.0)
    assert breaker.wait() is None


# --- any sequence of events, against a model


@dataclass
class Known:
    """An admitted call, as the model knows it: the era is that of its admission."""

    permit: Permit
    era: int


class BreakerMachine(RuleBasedStateMachine):
    """Compare a breaker of 3 failures and 30 seconds with the table of contract: Breaker."""

    calls: Bundle[Known] = Bundle("calls")

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock(1000.0)
        self.told: list[str] = []
        self.breaker = Breaker(3, 30.0, self.clock, self.told.append)
        self.state = "closed"
        self.era = 0
        self.row = 0
        self.until = 0.0
        self.expected: list[str] = []

    def go(self, state: str) -> None:
        """Change the model's state."""
        if state != self.state:
            self.state, self.row = state, 0
            self.era += 1
            self.expected.append(state)

    @rule(target=calls)
    def admit(self) -> Any:
        outcome = self.breaker.admit()
        is_free = self.state == "closed" or (self.state == "open" and self.clock() >= self.until)
        if not is_free:
            assert isinstance(outcome, float)
            assert 0 < outcome <= 300
            return multiple()
        is_trial = self.state == "open"
        if is_trial:
            self.go("half-open")
        assert isinstance(outcome, Permit)
        assert outcome.is_trial == is_trial
        return Known(outcome, self.era)

    @rule(call=consumes(calls))
    def answer(self, call: Known) -> None:
        self.breaker.succeeded(call.permit)
        if call.era == self.era:
            self.row = 0
            self.go("closed")

    @rule(call=consumes(calls), counts=st.booleans(), blames=st.booleans(), wanted=st.sampled_from([None, 5.0, 400.0]))
    def fail(self, call: Known, counts: bool, blames: bool, wanted: float | None) -> None:
        retry_after = wanted if counts and not blames else None
        self.breaker.failed(call.permit, counts=counts, blames_query=counts and blames, retry_after=retry_after)
        rest = min(retry_after or 0.0, 300.0)
        if call.era == self.era and self.state == "half-open":
            rest = 0.0 if counts and blames else max(rest, 30.0)
            self.go("open")
        elif call.era == self.era:
            self.row += counts and (not blames or self.row > 0)
            rest = max(rest, 30.0 * (self.row == 3))
        if rest:
            self.until = max(self.until, self.clock() + rest)
            self.go("open")

    @rule(call=consumes(calls))
    def withdraw(self, call: Known) -> None:
        self.breaker.withdrawn(call.permit)
        if call.era == self.era and self.state == "half-open":
            self.go("open")

    @rule(seconds=st.sampled_from([1.0, 29.0, 30.0, 300.0]))
    def tick(self, seconds: float) -> None:
        self.clock.tick(seconds)

    @invariant()
    def wait_is_that_of_the_model(self) -> None:
        wait = self.breaker.wait()
        if self.state == "closed" or (self.state == "open" and self.clock() >= self.until):
            assert wait is None
        else:
            assert wait == (self.until - self.clock() if self.clock() < self.until else 30.0)
        assert self.told == self.expected


def test_any_sequence_of_events_breaker_and_model_agree() -> None:
    """contract: Breaker: states, waits and reported changes are those of the table, in any order of events."""
    run_state_machine_as_test(BreakerMachine, settings=settings(max_examples=100, stateful_step_count=40))
