"""The state of one call: its deadline, and how far it has got."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

CLOCK_SLACK = 0.03
"""Seconds by which a wait may end before the deadline that bounds it."""
LOOK_EVERY = 0.25
"""Seconds after which a call that can be given up notices that it was."""
MAX_STEPS = 32_768
"""Reads and waits of one call, so that bytes that arrive one by one do not keep a CPU busy until the deadline. 4 MiB in
the smallest usual segments take half of it."""


class Call:
    """One request to one host, from resolving its name to the end of its answer.

    The caller creates it and passes it to everything that works on the call.

    deadline: when the call ends, in seconds of `clock`.
    fresh: whether it takes a new connection and no kept one.
    sent: whether any part of the request may have left this host.
    answered: whether a status line has arrived.
    fresh: whether it needs a new connection, because it is to show whether the host can be reached.
    reused_at: when an idle connection was taken for it, in seconds of `clock`; None if its connection is new.
    is_given_up: says whether another thread has given the call up; None if none can. longest_wait: seconds after which
    a wait for the host looks again.
    """

    __slots__ = (
        "_clock",
        "_is_given_up",
        "_steps_left",
        "answered",
        "deadline",
        "fresh",
        "longest_wait",
        "reused_at",
        "sent",
    )

    def __init__(
        self,
        deadline: float,
        clock: Callable[[], float] = time.monotonic,
        *,
        fresh: bool = False,
        is_given_up: Callable[[], bool] | None = None,
    ) -> None:
        self.deadline = deadline
        self.longest_wait = math.inf if is_given_up is None else LOOK_EVERY
        self.fresh = fresh
        self.sent = False
        self.answered = False
        self.reused_at: float | None = None
        self._steps_left = MAX_STEPS
        self._clock = clock
        self._is_given_up = is_given_up

    def left(self) -> float:
        """Return the seconds left, for the next read or wait.

        Raises TimeoutError when none are left, or the call is given up; ValueError after MAX_STEPS of them.
        """
        self._steps_left -= 1
        if self._steps_left < 0:
            raise ValueError("too many small pieces")
        left = self.deadline - self._clock()
        if left <= 0 or (self._is_given_up is not None and self._is_given_up()):
            raise TimeoutError("deadline")
        return left

    def is_over(self) -> bool:
        """Return whether a failure now is to be put down to the deadline."""
        if self._is_given_up is not None and self._is_given_up():
            return True
        return self._clock() >= self.deadline - CLOCK_SLACK
