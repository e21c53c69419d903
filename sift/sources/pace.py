"""Keeping to a rate that a vendor states in the headers of its answers (contract: Pacing)."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

LONGEST_WAIT = 1.0
"""Seconds that a call waits for its turn at most: what a window of a second can ask for."""
SHORT = 60
"""Seconds up to whose reset a window that stands alone is taken for a short one."""
_NUMBER = re.compile(r"[0-9]{1,12}")


class Window(NamedTuple):
    """What is left of a limit. reset: seconds until it begins anew."""

    limit: int
    left: int
    reset: int


class Rates(NamedTuple):
    """The limits that an answer states: for about a second, and for about a month."""

    second: Window | None
    month: Window | None


class Pace:
    """What a vendor said last of its limits. All threads of a worker share it.

    clock: monotonic seconds, as of deadlines. sleep: waits.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._limit = 0  # calls in a second; 0 while no answer has said
        self._left = 0  # of this second
        self._ends = 0.0
        self._rests_until = 0.0

    def hear(self, headers: Mapping[str, str]) -> None:
        """Take note of an answer's headers, names in lower case. Those that say nothing, or nonsense, change nothing.

        Returns at once and never raises.
        """
        if "x-ratelimit-remaining" not in headers:
            return
        second, month = read_rates(headers)
        now = self._clock()
        with self._lock:
            if second:
                self._limit, self._left, self._ends = second.limit, second.left, now + min(second.reset, LONGEST_WAIT)
            if month:
                self._rests_until = 0.0 if month.left else now + month.reset

    def rest(self) -> float | None:
        """Return the seconds until the month's quota begins anew; None while some of it is left."""
        if not self._rests_until:
            return None
        left = self._rests_until - self._clock()
        return left if left > 0 else None

    def wait(self, deadline: float) -> None:
        """Wait for the turn of a call: no longer than a second, and not at all if the deadline would pass."""
        waited = 0.0
        while (seconds := self._take()) and waited + seconds <= LONGEST_WAIT and self._clock() + seconds < deadline:
            self._sleep(seconds)
            waited += seconds

    def _take(self) -> float:
        """Take a place among the calls of this second; return the seconds until the next one if none is left."""
        if not self._limit:
            return 0.0
        with self._lock:
            now = self._clock()
            if now >= self._ends:
                self._left, self._ends = self._limit, now + LONGEST_WAIT
            if self._left > 0:
                self._left -= 1
                return 0.0
            return self._ends - now


def read_rates(headers: Mapping[str, str]) -> Rates:
    """Return the limits of `X-RateLimit-Limit`, `-Remaining` and `-Reset`; none if they do not fit together.

    Two windows are those of a second and of a month, in this order. One that stands alone is told by its reset. A limit
    of 0 is none.
    """
    lists = [headers.get(f"x-ratelimit-{name}", "").split(",") for name in ("limit", "remaining", "reset")]
    if len({*map(len, lists)}) != 1 or not all(_NUMBER.fullmatch(each.strip()) for row in lists for each in row):
        return Rates(None, None)
    windows = [Window(*map(int, numbers)) for numbers in zip(*lists, strict=True)]
    limits = [window if window.limit else None for window in windows]
    if len(windows) == 1:
        return Rates(limits[0], None) if windows[0].reset <= SHORT else Rates(None, limits[0])
    return Rates(limits[0], limits[1]) if len(windows) == 2 else Rates(None, None)
