"""Waiting for the end of a batch, in the threads of requests (contract: Batch)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sift.batch.waits import Waits


class Time:
    """A clock that moves when somebody sleeps. nap: called at each sleep, with how often there was one."""

    def __init__(self, nap: Callable[[int], object] = lambda count: None) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self._nap = nap

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(seconds)
        self._nap(len(self.slept))


def waits(time: Time, threads: int = 64, *, stops_after: int = 10**9) -> Waits:
    return Waits(threads, lambda: len(time.slept) >= stops_after, clock=lambda: time.now, sleep=time.sleep)


def looks(over_after: int) -> tuple[Callable[[], int], Callable[[int], bool]]:
    """Return a look that counts itself, and whether it is over at this count."""
    seen = iter(range(1, 10_000))
    return lambda: next(seen), lambda count: count >= over_after


def test_wait_ends_when_it_is_over_and_looks_ever_more_rarely() -> None:
    """contract: Batch: the store is asked a second apart at most often, once a batch takes long."""
    time = Time()
    assert waits(time).until("ann", 20, *looks(8)) == 8
    assert time.slept == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0]


def test_wait_ends_when_the_seconds_have_passed() -> None:
    """contract: Batch: with a last look at the end."""
    time = Time()
    assert waits(time).until("ann", 2, *looks(100)) == 6
    assert time.now == pytest.approx(2)


@pytest.mark.parametrize(("seconds", "over_after"), [(0, 100), (20, 1)])
def test_nothing_to_wait_for_it_is_answered_at_once(seconds: float, over_after: int) -> None:
    time = Time()
    assert waits(time).until("ann", seconds, *looks(over_after)) == 1
    assert time.slept == []


def test_process_is_to_end_the_wait_ends() -> None:
    """contract: Batch: within a second, however long was asked for."""
    time = Time()
    waits(time, stops_after=3).until("ann", 20, *looks(100))
    assert len(time.slept) == 3


def test_third_wait_of_a_caller_is_answered_at_once() -> None:
    """contract: Batch: two for each caller; an ended wait makes room."""
    seen: list[int] = []

    def nap(count: int) -> None:  # within the first and the second wait
        if count == 1:
            made.until("ann", 0.1, *looks(100))
        elif count == 2:
            seen.append(made.until("ann", 20, *looks(100)))
            seen.append(made.until("bob", 0.1, *looks(100)))

    time = Time(nap)
    made = waits(time)
    made.until("ann", 0.3, *looks(100))
    assert seen == [1, 2]
    assert made.until("ann", 0.1, *looks(100)) == 2


def test_one_thread_in_eight_may_wait() -> None:
    """contract: Batch: a worker of few threads lets nobody wait."""
    assert waits(Time(), 7).until("ann", 20, *looks(100)) == 1
    seen: list[int] = []

    def nap(count: int) -> None:
        if count == 1:
            seen.append(made.until("bob", 20, *looks(100)))

    time = Time(nap)
    made = waits(time, 15)
    made.until("ann", 0.1, *looks(100))
    assert seen == [1]


def test_look_fails_the_wait_is_over_and_its_place_free() -> None:
    time = Time()
    made = waits(time, 8)

    def fails() -> int:
        if time.slept:
            raise LookupError
        return 0

    with pytest.raises(LookupError):
        made.until("ann", 20, fails, lambda _: False)
    assert made.until("ann", 0.1, *looks(100)) == 2
