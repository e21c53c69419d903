"""Waiting for the end of a batch, in the threads of requests: bounded, so that other requests keep theirs."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

EACH = 2
"""Waits of one caller at a time."""
_FIRST, _LONGEST = 0.1, 1.0  # seconds between two looks: short batches end soon, long ones leave the store alone

_T = TypeVar("_T")


class Waits:
    """The waits of one process, at most one for every eight of its threads.

    is_stopping: whether the process should end; waits then end within a second. clock: monotonic seconds.
    """

    def __init__(
        self,
        threads: int,
        is_stopping: Callable[[], bool] = lambda: False,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._most = threads // 8
        self._is_stopping = is_stopping
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._waiting: Counter[str] = Counter()

    def until(self, caller: str, seconds: float, look: Callable[[], _T], is_over: Callable[[_T], bool]) -> _T:
        """Look until it is over or the seconds have passed; return what was seen last.

        At once, when there are too many waits already. Raises what `look` raises.
        """
        end = self._clock() + seconds
        seen = look()
        if seconds <= 0 or is_over(seen) or not self._enter(caller):
            return seen
        try:
            pause = _FIRST
            while not is_over(seen) and (left := end - self._clock()) > 0 and not self._is_stopping():
                self._sleep(min(pause, left))
                pause = min(pause * 2, _LONGEST)
                seen = look()
            return seen
        finally:
            with self._lock:
                self._waiting[caller] -= 1
                self._waiting += Counter()  # forgets callers without a wait

    def _enter(self, caller: str) -> bool:
        with self._lock:
            if self._waiting[caller] >= EACH or self._waiting.total() >= self._most:
                return False
            self._waiting[caller] += 1
            return True
