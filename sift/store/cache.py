"""The answer cache, in memory (contract: Cache)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from cachetools import LRUCache

from sift.search.model import SearchResult

MAX_BODY = 256 * 1024
"""Bytes of the largest answer that is kept; a bound on entries alone would be no bound on memory."""


class MemoryCache:
    """Keep up to `entries` answers for `ttl` seconds.

    An LRUCache whose values carry their expiry, not a TTLCache: a TTLCache drops everything that has expired within one
    access, and the hour in the key makes whole caches expire together.
    """

    def __init__(self, entries: int, ttl: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._ttl = ttl
        self._clock = clock
        self._lock = threading.Lock()  # cachetools' classes are not thread-safe, not even for reading
        self._answers: LRUCache[bytes, tuple[float, SearchResult]] = LRUCache(entries)

    def get(self, key: bytes) -> SearchResult | None:
        """Return the answer stored under `key`; None if there is none or it has expired."""
        with self._lock:
            expires, result = self._answers.get(key, (0.0, None))
            if result is not None and self._clock() >= expires:
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
