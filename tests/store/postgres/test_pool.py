"""Connections for the threads of a process (contract: Store)."""

from __future__ import annotations

import threading
import time

import pytest

from sift.store.postgres.pool import Pool
from tests.waiting import wait_for


class Fake:
    """A connection. quiet: whether the server has said nothing."""

    def __init__(self) -> None:
        self.quiet = True
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True

    def is_quiet(self) -> bool:
        return self.quiet


def later() -> float:
    return time.monotonic() + 20


def soon() -> float:
    return time.monotonic() + 0.05


def test_connection_is_given_back_it_is_lent_again() -> None:
    """contract: Store: connections are opened as they are needed."""
    made: list[Fake] = []
    pool = Pool(lambda: made.append(Fake()) or made[-1], 2)  # type: ignore[func-returns-value]
    first = pool.take(later())
    pool.give(first)
    assert pool.take(later()) is first
    assert pool.take(later()) is not first
    assert len(made) == 2


def test_all_are_lent_waiting_ends_at_the_deadline_or_with_one_that_comes_back() -> None:
    """contract: Store: there are never more than its size."""
    pool = Pool(Fake, 1)
    only = pool.take(later())
    with pytest.raises(TimeoutError):
        pool.take(soon())
    got: list[Fake] = []
    waiting = threading.Thread(target=lambda: got.append(pool.take(later())))
    waiting.start()
    wait_for(lambda: pool._waiting == 1)
    pool.drop(only)
    waiting.join(20)
    assert only.is_closed
    assert got != [only]


def test_connection_has_died_meanwhile_another_is_opened() -> None:
    """contract: Store: one on which the server said farewell is not used."""
    pool = Pool(Fake, 1)
    old = pool.take(later())
    pool.give(old)
    old.quiet = False
    assert pool.take(later()) is not old
    assert old.is_closed


def test_connecting_fails_whoever_waits_is_told() -> None:
    """contract: Store: and the next one tries again."""
    answers = [OSError("first"), OSError("second")]

    def connect() -> Fake:
        if answers:
            raise answers.pop(0)
        return Fake()

    pool = Pool(connect, 1)
    for _ in range(2):
        with pytest.raises(OSError, match=r"first|second"):
            pool.take(later())
    assert pool.take(later()).is_quiet()


def test_connection_comes_too_late_it_serves_the_next_one() -> None:
    """contract: Store: a slow name server holds up nobody past its deadline."""
    gate, made = threading.Event(), list[Fake]()

    def connect() -> Fake:
        gate.wait(20)
        made.append(Fake())
        return made[-1]

    pool = Pool(connect, 1)
    with pytest.raises(TimeoutError):
        pool.take(soon())
    gate.set()
    assert pool.take(later()) is made[0]
    assert len(made) == 1


def test_pool_is_closed_all_are_closed_when_they_come_back() -> None:
    """contract: Store: nothing is left open."""
    pool = Pool(Fake, 2)
    lent, idle = pool.take(later()), pool.take(later())
    pool.give(idle)
    pool.close()
    assert idle.is_closed
    pool.give(lent)
    assert lent.is_closed
