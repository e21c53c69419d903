"""Turns at something of which there are few: who waits longest is next, and nobody waits beyond a deadline."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Turns:
    """Let a number of threads pass at a time, in the order in which they came."""

    def __init__(self, places: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free = places
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Wait for a place and hold it inside the block. Raises TimeoutError at the deadline (monotonic)."""
        self._take(deadline)
        try:
            yield
        finally:
            self._give()

    @property
    def waiting(self) -> int:
        """How many threads wait."""
        return len(self._waiting)

    def _take(self, deadline: float) -> None:
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                return
            called = threading.Event()
            self._waiting.append(called)
        if called.wait(max(0.0, deadline - self._clock())):
            return
        with self._lock:
            if not called.is_set():
                self._waiting.remove(called)
                raise TimeoutError
        # It was called at the very last moment: the place is its own, and the next one's.
        self._give()
        raise TimeoutError

    def _give(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1
