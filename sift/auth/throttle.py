"""Throttling of refused attempts, per peer address.

A valid key is never delayed, so guessing does not lock out others behind the same proxy. Delayed attempts hold a
bounded share of the threads, so guessing in parallel cannot stop the service.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from cachetools import TTLCache

FREE_FAILURES = 5
FIRST_DELAY = 0.1
MAX_DELAY = 1.0
MEMORY = 60  # seconds without a refusal after which an address is forgotten
PEERS = 4096


class Throttle:
    """Delays refusals of an address that keeps failing.

    threads: request threads of this worker, of which at most one in eight may be delayed at a time.
    """

    def __init__(
        self,
        threads: int,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sleep = sleep
        self._places = threading.BoundedSemaphore(threads // 8) if threads >= 8 else None
        self._lock = threading.Lock()
        self._failures: TTLCache[str, int] = TTLCache(PEERS, MEMORY, timer=clock)

    def refused(self, peer: str) -> None:
        """Count a refused attempt of an address, and sleep: not at first, then 0.1 s, doubling up to 1 s."""
        with self._lock:
            count = self._failures.get(peer, 0) + 1
            self._failures[peer] = count
        over = count - FREE_FAILURES
        if over > 0 and self._places is not None and self._places.acquire(blocking=False):
            try:
                self._sleep(min(MAX_DELAY, FIRST_DELAY * 2 ** min(over - 1, 10)))
            finally:
                self._places.release()
