"""What one call knows of itself: its deadline, and how far it has come."""

from __future__ import annotations

import time
from collections.abc import Callable

CLOCK_SLACK = 0.03
"""Seconds by which a wait may end before the deadline it was made from."""


class Call:
    """One request to one host, from the look-up of its name to the end of its answer.

    Whoever makes a call makes this, and hands it to all that works for it.

    deadline: seconds of `clock` at which the call ends.
    fresh: whether it takes a new connection, and none that was kept.
    sent: whether some of the request may have left this host.
    answered: whether a status line has come.
    """

    __slots__ = ("_clock", "answered", "deadline", "fresh", "sent")

    def __init__(self, deadline: float, clock: Callable[[], float] = time.monotonic, *, fresh: bool = False) -> None:
        self.deadline = deadline
        self.fresh = fresh
        self.sent = False
        self.answered = False
        self._clock = clock

    def left(self) -> float:
        """Return the seconds left. Raises TimeoutError when there are none."""
        left = self.deadline - self._clock()
        if left <= 0:
            raise TimeoutError("deadline")
        return left

    def is_over(self) -> bool:
        """Return whether a failure at this moment is the deadline's."""
        return self._clock() >= self.deadline - CLOCK_SLACK
