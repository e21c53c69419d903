"""The answer cache, in memory (contract: Cache)."""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from cachetools import LRUCache

from sift.search.model import SearchResult

MAX_BODY = 256 * 1024
"""Bytes of the largest answer that is kept; a bound on entries alone would be no bound on memory."""
SWEEP_SECONDS = 10.0
"""Seconds between two sweeps: what has expired is gone within half a minute, also while nobody searches."""
SWEEP_ENTRIES = 256
"""Expired answers dropped while the lock is held: whole caches expire together, and others must not wait for that."""


def _start_thread(job: Callable[[], None]) -> None:
    threading.Thread(target=job, name="sift-cache", daemon=True).start()


class _Answers(LRUCache[bytes, SearchResult]):
    """The answers, and until when each is kept.

    expiries: by key, in the order of storing, which is that of expiring too. cachetools' TTLCache would drop everything
    that has expired within one access.
    """

    def __init__(self, entries: int) -> None:
        super().__init__(entries)
        self.expiries: OrderedDict[bytes, float] = OrderedDict()

    def popitem(self) -> tuple[bytes, SearchResult]:
        """Evict the answer unused for longest."""
        key, result = super().popitem()
        del self.expiries[key]
        return key, result

    def drop(self, key: bytes) -> None:
        """Drop one answer."""
        del self[key], self.expiries[key]


class MemoryCache:
    """Keep up to `entries` answers for `ttl` seconds at most.

    Expired answers are swept by a thread, which is there as long as there are answers.

    clock: monotonic seconds. sleep: waits between two sweeps. start: starts the thread, or raises RuntimeError.
    resized: called with the number of answers when that may have changed, under the lock.
    """

    def __init__(
        self,
        entries: int,
        ttl: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        start: Callable[[Callable[[], None]], None] = _start_thread,
        resized: Callable[[int], None] = lambda entries: None,
    ) -> None:
        self._ttl = ttl
        self._clock = clock
        self._sweeping = partial(_keep_sweeping, weakref.ref(self), sleep)
        self._start = start
        self._resized = resized
        self._lock = threading.Lock()  # cachetools' classes are not thread-safe, not even for reading
        self._answers = _Answers(entries)
        self._is_swept = False

    def get(self, key: bytes) -> SearchResult | None:
        """Return the answer stored under `key`; None if there is none or it has expired."""
        with self._lock:
            result = self._answers.get(key)
            if result is not None and self._clock() >= self._answers.expiries[key]:
                self._answers.drop(key)
                self._resized(len(self._answers))
                result = None
            return result

    def put(self, key: bytes, result: SearchResult, seconds: float = math.inf) -> None:
        """Store an answer for `seconds` at most."""
        if len(result.results) > MAX_BODY or seconds <= 0:
            return
        with self._lock:
            if not self._is_swept and not self._start_sweeping():
                return
            self._answers[key] = result
            self._answers.expiries[key] = self._clock() + min(self._ttl, seconds)
            self._answers.expiries.move_to_end(key)
            self._resized(len(self._answers))

    def __len__(self) -> int:
        """Return the number of answers that have not expired."""
        while self._sweep():
            pass
        return len(self._answers)

    def _start_sweeping(self) -> bool:
        """Start the thread that sweeps; return False on a host out of threads, where nothing could be kept in time."""
        try:
            self._start(self._sweeping)
        except RuntimeError:
            return False
        self._is_swept = True
        return True

    def _sweep(self) -> bool:
        """Drop some of the answers that have expired; return whether there may be more of them."""
        with self._lock:
            now, expiries = self._clock(), self._answers.expiries
            try:
                for _ in range(SWEEP_ENTRIES):
                    key = next(iter(expiries), None)
                    if key is None or now < expiries[key]:
                        return False
                    self._answers.drop(key)
                return True
            finally:
                self._resized(len(self._answers))

    def _ends_sweeping(self) -> bool:
        """Return whether there is nothing left to sweep; the next answer that is stored then starts it again."""
        with self._lock:
            self._is_swept = bool(self._answers)
            return not self._is_swept


def _keep_sweeping(cache: weakref.ref[MemoryCache], sleep: Callable[[float], object]) -> None:
    """Sweep a cache until it is empty, or nobody uses it any more."""
    while True:
        sleep(SWEEP_SECONDS)
        swept = cache()
        if swept is None:
            return
        while swept._sweep():
            pass
        if swept._ends_sweeping():
            return
        del swept
