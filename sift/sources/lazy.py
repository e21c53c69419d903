"""A source constructed on its first call."""

from __future__ import annotations

import threading
from collections.abc import Callable

from sift.search.model import Filter, SourceOut
from sift.search.protocols import Source


class LazySource:
    """A source constructed on the first call: constructing it starts threads, so it must not precede a fork."""

    def __init__(self, name: str, timeout: float, *, reranked: bool, make: Callable[[], Source]) -> None:
        self.name = name
        self.timeout = timeout
        self.reranked = reranked
        self._make = make
        self._made: Source | None = None
        self._lock = threading.Lock()

    def search(self, query: str, k: int, filter: Filter, *, deadline: float, fresh: bool = False) -> SourceOut:
        """Search once, constructing the source if need be. Raises SourceError."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return self._made.search(query, k, filter, deadline=deadline, fresh=fresh)
