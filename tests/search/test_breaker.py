"""The circuit breaker: a dead source must not cost every search its timeout (contract: Breaker)."""

from __future__ import annotations

import pytest

from sift.search.breaker import Breaker
from tests.fakes import FakeClock, in_parallel


@pytest.fixture
def clock() -> FakeClock:
    """Start at a time other than 0, so that an ignored clock shows."""
    return FakeClock(1000.0)


@pytest.fixture
def breaker(clock: FakeClock) -> Breaker:
    """A breaker that opens after 3 failures for 30 seconds."""
    return Breaker(3, 30.0, clock)


def fail(breaker: Breaker, times: int = 1) -> None:
    """Admit calls and let them fail in a way that counts."""
    for _ in range(times):
        assert breaker.admit() is None
        breaker.failed(counts=True)


def test_new_breaker_admits_everything(breaker: Breaker) -> None:
    """contract: Breaker: closed until something fails."""
    assert breaker.wait() is None
    assert [breaker.admit() for _ in range(5)] == [None] * 5


def test_failures_fewer_than_the_limit_keep_it_closed(breaker: Breaker) -> None:
    """contract: Breaker: one failure short of the limit changes nothing."""
    fail(breaker, 2)
    assert breaker.wait() is None


def test_failures_in_a_row_open_it_for_the_full_time(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: the source is skipped for that long, and the wait counts down."""
    fail(breaker, 3)
    assert breaker.wait() == 30.0
    assert breaker.admit() == 30.0
    clock.tick(29.5)
    assert breaker.admit() == 0.5
    clock.tick(0.5)
    assert breaker.wait() is None


def test_success_between_failures_starts_the_row_anew(breaker: Breaker) -> None:
    """contract: Breaker: only failures in a row count."""
    fail(breaker, 2)
    breaker.succeeded()
    fail(breaker, 2)
    assert breaker.wait() is None
    fail(breaker)
    assert breaker.wait() == 30.0


def test_failure_that_does_not_count_neither_adds_nor_resets(breaker: Breaker) -> None:
    """contract: Breaker: 4xx, redirects and bad bodies neither extend nor end a row."""
    fail(breaker, 2)
    for _ in range(9):
        breaker.failed(counts=False)
    assert breaker.wait() is None
    fail(breaker)
    assert breaker.wait() == 30.0


def test_trial_after_the_time_is_for_one_request_only(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: half-open admits a single call; all others are skipped."""
    fail(breaker, 3)
    clock.tick(30)
    admitted = in_parallel(20, lambda _: breaker.admit())
    assert admitted.count(None) == 1
    assert set(admitted) == {None, 30.0}
    assert breaker.wait() == 30.0


def test_trial_that_succeeds_closes_it(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: a recovered source is asked by everyone again, and its row starts afresh."""
    fail(breaker, 3)
    clock.tick(30)
    assert breaker.admit() is None
    breaker.succeeded()
    assert [breaker.admit() for _ in range(3)] == [None] * 3
    fail(breaker, 2)
    assert breaker.wait() is None


@pytest.mark.parametrize("counts", [True, False])
def test_trial_that_fails_opens_it_for_the_full_time(breaker: Breaker, clock: FakeClock, counts: bool) -> None:
    """contract: Breaker: any failure of the half-open call opens it for the full time."""
    fail(breaker, 3)
    clock.tick(30)
    assert breaker.admit() is None
    breaker.failed(counts=counts)
    assert breaker.wait() == 30.0
    clock.tick(30)
    assert breaker.admit() is None


def test_trial_that_was_not_made_gives_its_place_to_the_next(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: a half-open call that is withdrawn leaves the place to the next one."""
    fail(breaker, 3)
    clock.tick(30)
    assert breaker.admit() is None
    breaker.release()
    assert breaker.wait() is None
    assert breaker.admit() is None
    assert breaker.admit() == 30.0


def test_late_failure_that_does_not_count_does_not_open_it_again(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: a call from before the opening that ends in a 404 does not extend the rest."""
    fail(breaker, 3)
    clock.tick(30)
    breaker.failed(counts=False)
    assert breaker.wait() is None


def test_calls_under_way_at_the_same_time_are_no_trials(breaker: Breaker) -> None:
    """contract: Breaker: one failure among concurrent calls of a closed breaker is one failure."""
    breaker.failed(counts=True)
    assert breaker.wait() is None
    breaker.succeeded()
    breaker.failed(counts=True)
    assert breaker.wait() is None


def test_retry_after_opens_it_at_once(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: one 429 with Retry-After is enough, for as long as the vendor asks."""
    breaker.failed(counts=True, retry_after=7.0)
    assert breaker.wait() == 7.0
    clock.tick(7)
    assert breaker.admit() is None


def test_retry_after_of_hours_is_cut_to_five_minutes(breaker: Breaker) -> None:
    """contract: Breaker: for at most 5 minutes."""
    breaker.failed(counts=True, retry_after=86_400.0)
    assert breaker.wait() == 300.0


def test_retry_after_counts_as_one_failure_of_the_row(breaker: Breaker, clock: FakeClock) -> None:
    """contract: Breaker: a 429 is one failure of the row; the half-open call after it decides."""
    breaker.failed(counts=True, retry_after=7.0)
    clock.tick(7)
    assert breaker.admit() is None
    breaker.succeeded()
    fail(breaker, 2)
    assert breaker.wait() is None


def test_limit_of_0_never_opens(clock: FakeClock) -> None:
    """contract: Breaker: `SIFT_BREAKER_FAILURES=0` disables it, Retry-After included."""
    breaker = Breaker(0, 30.0, clock)
    for _ in range(50):
        breaker.failed(counts=True, retry_after=60.0)
    assert breaker.wait() is None
    assert breaker.admit() is None
