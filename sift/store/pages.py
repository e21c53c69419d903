"""The cache of pages: their text, in memory (contract: Fetch)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from cachetools import TTLCache

MAX_SECONDS = 86_400.0
"""The oldest copy that anybody may ask for."""
ENTRIES = 1024
MEMORY = 64 * 1024 * 1024
"""Bytes of all texts together, by an upper bound of what Python takes for them."""

Page = TypeVar("Page")


class _Entry(NamedTuple, Generic[Page]):
    page: Page
    size: int


class PageCache(Generic[Page]):
    """Keep pages within a bound on their number and one on their bytes.

    clock: monotonic seconds.
    """

    def __init__(
        self, memory: int = MEMORY, entries: int = ENTRIES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._entries = entries
        self._lock = threading.Lock()  # cachetools' classes are not thread-safe, not even for reading
        self._kept: TTLCache[bytes, _Entry[Page]] = TTLCache(
            memory, MAX_SECONDS, timer=clock, getsizeof=lambda entry: entry.size
        )

    def get(self, key: bytes) -> Page | None:
        """Return the page stored under `key`, None if there is none."""
        with self._lock:
            entry = self._kept.get(key)
        return None if entry is None else entry.page

    def put(self, key: bytes, page: Page, size: int) -> None:
        """Store a page of so many bytes; one that is larger than the whole cache is not kept."""
        with self._lock:
            if size > self._kept.maxsize:
                return
            self._kept[key] = _Entry(page, size)
            while len(self._kept) > self._entries:
                self._kept.popitem()

    def __len__(self) -> int:
        """Return the number of pages kept."""
        with self._lock:
            return len(self._kept)
