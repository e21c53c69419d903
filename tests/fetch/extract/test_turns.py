"""Turns at the children (contract: Page text)."""

from __future__ import annotations

import threading
import time

import pytest

from sift.fetch.extract.turns import Turns
from tests.waiting import wait_for


def soon() -> float:
    return time.monotonic() + 20


def test_who_waits_longest_is_next() -> None:
    """contract: Page text. First come, first served: nobody is overtaken."""
    turns, order = Turns(1), list[int]()

    def wait(number: int) -> None:
        with turns.turn(soon()):
            order.append(number)

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(8)]
    with turns.turn(soon()):
        for number, thread in enumerate(threads):
            thread.start()
            wait_for(lambda number=number: turns.waiting == number + 1)  # type: ignore[misc]
        assert order == []
    for thread in threads:
        thread.join(20)
    assert order == list(range(8))


def test_no_more_than_the_places_pass_at_a_time() -> None:
    """contract: Page text. However many come."""
    turns, inside, most = Turns(3), list[int](), list[int]()

    def pass_through(number: int) -> None:
        for _ in range(50):
            with turns.turn(soon()):
                inside.append(number)
                most.append(len(inside))
                inside.remove(number)

    threads = [threading.Thread(target=pass_through, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(most) == 16 * 50
    assert max(most) <= 3


def test_wait_ends_at_the_deadline_and_takes_no_place() -> None:
    """contract: Page text. The deadline is that of the whole fetch."""
    turns = Turns(1)
    with turns.turn(soon()), pytest.raises(TimeoutError), turns.turn(time.monotonic() - 1):
        pass
    with turns.turn(time.monotonic() - 1):
        assert turns.waiting == 0


def test_place_of_one_that_fails_is_free_again() -> None:
    """contract: Page text. Whatever happens inside."""
    turns = Turns(1)
    with pytest.raises(KeyError), turns.turn(soon()):
        raise KeyError
    with turns.turn(time.monotonic() - 1):
        pass
