"""The state of one call: its deadline, and how far it has got."""

from __future__ import annotations

import time
from collections.abc import Callable

CLOCK_SLACK = 0.03
"""Seconds by which a wait may end before the deadline that bounds it."""


class Call:
    """One request to one host, from resolving its name to the end of its answer.

    The caller creates it and passes it to everything that works on the call.

    deadline: when the call ends, in seconds of `clock`.
    fresh: whether it takes a new connection and no kept one.
    sent: whether any part of the request may have left this host.
    answered: whether a status line has arrived.
    """

    __slots__ = ("_clock", "answered", "deadline", "fresh", "sent")

    def __init__(self, deadline: float, clock: Callable[[], float] = time.monotonic, *, fresh: bool = False) -> None:
        self.deadline = deadline
        self.fresh = fresh
        self.sent = False
        self.answered = False
        self._clock = clock

    def left(self) -> float:
        """Return the seconds left. Raises TimeoutError when none are."""
        left = self.deadline - self._clock()
        if left <= 0:
            raise TimeoutError("deadline")
        return left

    def is_over(self) -> bool:
        """Return whether a failure now is to be put down to the deadline."""
        return self._clock() >= self.deadline - CLOCK_SLACK
