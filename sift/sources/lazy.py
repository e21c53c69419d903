"""A source constructed on its first call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from sift.search.model import Filter, Prepared, Skip, SourceOut
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
        return self._source().search(query, k, filter, deadline=deadline, fresh=fresh)

    def skip(self) -> Skip | None:
        """Return why the source must not be asked; nothing is known of one that was never constructed."""
        return None if self._made is None else self._made.skip()

    def prepare(self, query: str, filter: Filter) -> Prepared:
        """Return what the source would send and note, constructing it if need be."""
        return self._source().prepare(query, filter)

    def treats(self, filter: Filter) -> Mapping[str, str]:
        """Return how the source would apply each filter, constructing it if need be."""
        return self._source().treats(filter)

    def _source(self) -> Source:
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return self._made
