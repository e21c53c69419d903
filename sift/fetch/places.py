"""How many fetches run at a time, in all and for one caller, so that searches are never held up by them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from sift.errors import FetchError


class Places:
    """The places of a process. A caller may take a quarter of them, at least one."""

    def __init__(self, total: int) -> None:
        self._total = total
        self.each = max(1, total // 4)
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    @contextmanager
    def place(self, caller: str) -> Iterator[None]:
        """Hold a place for a caller. Raises FetchError at once when there is none: waiting would hold a thread."""
        with self._lock:
            if self._taken[caller] >= self.each or self._taken.total() >= self._total:
                raise FetchError("busy")
            self._taken[caller] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken[caller] -= 1
                if not self._taken[caller]:
                    del self._taken[caller]
