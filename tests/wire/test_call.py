"""The deadline of a call, and how far it has got."""

from __future__ import annotations

import math

import pytest

from sift.wire.call import CLOCK_SLACK, LOOK_EVERY, Call
from tests.fakes import FakeClock


def test_left_deadline_is_ahead_seconds_until_then() -> None:
    """contract: HTTP calls: every wait of a call is bounded by the time it has left."""
    clock = FakeClock(100.0)
    call = Call(108.0, clock)
    clock.tick(3)
    assert call.left() == 5.0


@pytest.mark.parametrize("late", [0.0, 1.0])
def test_left_deadline_has_come_timeout(late: float) -> None:
    """contract: HTTP calls: nothing starts at the deadline or after it."""
    with pytest.raises(TimeoutError):
        Call(100.0, FakeClock(100.0 + late)).left()


@pytest.mark.parametrize(("before", "is_over"), [(1.0, False), (CLOCK_SLACK / 2, True), (0.0, True), (-1.0, True)])
def test_is_over_wait_ended_slightly_early_counts_as_the_deadline(before: float, is_over: bool) -> None:
    """contract: Failures: a failure at the deadline is a `timeout`, an earlier one is not."""
    assert Call(100.0, FakeClock(100.0 - before)).is_over() is is_over


def test_call_is_new_neither_sent_nor_answered() -> None:
    """contract: Credits: a call that ends before it is sent costs nothing."""
    call = Call(100.0)
    assert (call.sent, call.answered) == (False, False)


def test_call_is_given_up_no_wait_begins_and_it_is_over() -> None:
    """contract: Batch work: whoever nobody wants an answer from any more is left soon."""
    is_given_up = False
    call = Call(108.0, FakeClock(100.0), is_given_up=lambda: is_given_up)
    assert call.left() == 8.0
    assert not call.is_over()
    is_given_up = True
    assert call.is_over()
    with pytest.raises(TimeoutError):
        call.left()


def test_longest_wait_call_can_be_given_up_it_looks_now_and_then() -> None:
    """contract: HTTP calls: only such a call wakes up before anything happens."""
    assert Call(108.0).longest_wait == math.inf
    assert Call(108.0, is_given_up=lambda: False).longest_wait == LOOK_EVERY
