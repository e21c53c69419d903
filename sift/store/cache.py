"""Answers kept in memory for a while (contract: Cache)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from cachetools import LRUCache

from sift.search.model import SearchResult

MAX_BODY = 256 * 1024
"""Larger answers are not kept: with 2,048 entries the cache would otherwise have no useful bound."""


class MemoryCache:
    """Keep up to `entries` answers for `ttl` seconds.

    An LRUCache whose values carry their end, and not a TTLCache: that one drops all that has expired inside one
    access, a stall of 99 ms at 10^5 entries, and the hour in the key makes whole caches expire together.
    """

    def __init__(self, entries: int, ttl: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._ttl = ttl
        self._clock = clock
        self._lock = threading.Lock()  # cachetools' classes are not safe between threads, for reading either
        self._answers: LRUCache[bytes, tuple[float, SearchResult]] = LRUCache(entries)

    def get(self, key: bytes) -> SearchResult | None:
        """Give the answer stored under `key`, if it is still fresh."""
        with self._lock:
            ends, result = self._answers.get(key, (0.0, None))
            if result is not None and self._clock() >= ends:
                del self._answers[key]
                result = None
            return result

    def put(self, key: bytes, result: SearchResult) -> None:
        """Store an answer."""
        if len(result.results) > MAX_BODY:
            return
        with self._lock:
            self._answers[key] = (self._clock() + self._ttl, result)

    def __len__(self) -> int:
        with self._lock:
            return len(self._answers)
