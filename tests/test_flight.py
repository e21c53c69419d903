"""Single flight: equal searches that arrive while one is under way share its answer (contract: Shared searches)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sift.flight import SingleFlight
from tests.fakes import PATIENCE


class Slow:
    """A call that lasts until the test ends it; `arrived` is set once it has begun."""

    def __init__(self, value: object) -> None:
        self.value = value
        self.calls = 0
        self.arrived = threading.Event()
        self.go = threading.Event()

    def __call__(self) -> object:
        self.calls += 1
        self.arrived.set()
        assert self.go.wait(PATIENCE)
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


def test_call_alone_is_made_and_not_shared() -> None:
    """contract: Shared searches: a search on its own is made, and not shared."""
    assert SingleFlight[int]().run(b"k", lambda: 5) == (5, False)


def test_calls_one_after_another_are_each_made() -> None:
    """contract: Shared searches: an outcome is not kept once the search is over; keeping is the cache's job."""
    flight: SingleFlight[int] = SingleFlight()
    numbers = iter(range(5))
    assert [flight.run(b"k", lambda: next(numbers)) for _ in range(3)] == [(0, False), (1, False), (2, False)]


def test_calls_at_the_same_time_share_one() -> None:
    """contract: Shared searches: everyone who arrives before the end gets the one value, and is told so."""
    flight: SingleFlight[object] = SingleFlight()
    slow = Slow("value")
    with ThreadPoolExecutor(21) as pool:
        leader = pool.submit(flight.run, b"k", slow)
        assert slow.arrived.wait(PATIENCE)
        followers = [pool.submit(flight.run, b"k", slow) for _ in range(19)]
        other = pool.submit(flight.run, b"other", lambda: "another")
        assert other.result(PATIENCE) == ("another", False)  # another key does not wait
        slow.go.set()
        assert leader.result(PATIENCE) == ("value", False)
        results = [follower.result(PATIENCE) for follower in followers]
    assert all(value == "value" for value, _ in results)
    # A thread that the pool started too late leads a flight of its own.
    assert slow.calls == 1 + sum(not shared for _, shared in results)


def test_call_that_raises_raises_for_all_and_the_key_is_free_again() -> None:
    """contract: Shared searches: a failure is shared too, and the next search tries afresh."""
    flight: SingleFlight[object] = SingleFlight()
    slow = Slow(RuntimeError("no"))
    with ThreadPoolExecutor(2) as pool:
        leader = pool.submit(flight.run, b"k", slow)
        assert slow.arrived.wait(PATIENCE)
        follower = pool.submit(flight.run, b"k", slow)
        slow.go.set()
        for each in (leader, follower):
            with pytest.raises(RuntimeError, match="no"):
                each.result(PATIENCE)
    assert flight.run(b"k", lambda: 5) == (5, False)


def test_waiter_is_out_of_time_it_gives_up_and_the_call_goes_on() -> None:
    """contract: Fetch: each caller has a timeout of its own, whoever makes the call."""
    flight: SingleFlight[object] = SingleFlight()
    slow = Slow("value")
    with ThreadPoolExecutor(1) as pool:
        leader = pool.submit(flight.run, b"k", slow)
        assert slow.arrived.wait(PATIENCE)
        with pytest.raises(TimeoutError):
            flight.run(b"k", slow, 0)
        slow.go.set()
        assert leader.result(PATIENCE) == ("value", False)
    assert slow.calls == 1
