"""The events that the engine reports as they happen: the one hook for metrics, status and log events."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Protocol


class Observer(Protocol):
    """Receive events.

    Calls come from many threads, on hot paths and under locks: an implementation returns at once, never raises and
    never calls back. No argument holds a query, a host or a caller's name.
    """

    def call_ended(self, source: str, outcome: str, seconds: float, credits: int, detail: str = "") -> None:
        """Report a vendor call: `ok` or the word of its failure, its duration, the credits booked for it.

        detail: why the vendor is unreachable, where that is known (`SourceError.detail`).
        """

    def call_skipped(self, source: str, reason: str) -> None:
        """Report that a source was not asked, and why."""

    def search_ended(self, caller_class: str, cache: str, seconds: float, *, answered: bool) -> None:
        """Report a search: where its answer came from (`hit`, `miss`, `shared`, `off`), and whether there was any."""

    def breaker_changed(self, source: str, state: str) -> None:
        """Report a breaker's new state: `closed`, `open` or `half-open`."""

    def work_began(self) -> None:
        """Report that a search or a fetch is under way; one that the cache answers at once is not reported."""

    def work_ended(self) -> None:
        """Report the end of what `work_began` reported."""

    def fetch_ended(self, state: str, cache: str, seconds: float) -> None:
        """Report a fetch: `ok` or the word of its failure, and where it came from (`hit`, `miss`, `shared`)."""

    def batch_items_ended(self, state: str, count: int) -> None:
        """Report how many items of a batch that has ended are in a state: `ok`, `failed` or `cancelled`."""

    def batch_items_waiting(self, count: int) -> None:
        """Report how many items of batches wait in the store, of all processes together."""

    def cache_resized(self, entries: int) -> None:
        """Report how many answers the cache now holds."""

    def auth_failed(self) -> None:
        """Report a request that was refused for its key."""

    def line_dropped(self) -> None:
        """Report a line of the log that could not be written."""


Spared = Sequence[tuple[str, int]]
"""Calls by source."""


class Usage(Protocol):
    """Count calls, for the operator's bill. As with an observer, every method returns at once and never raises."""

    def calling(self, source: str) -> None:
        """Count a call that is about to be sent to a source without a cap; others are counted with their credit."""

    def not_called(self, source: str) -> None:
        """Take back a call that was not sent after all."""

    def refused(self, source: str, calls: int) -> None:
        """Count calls for which there was no credit."""

    def spared(self, calls: Spared, *, shared: bool) -> None:
        """Count the calls that an answer from the cache, or one that was shared, spared."""


class NullUsage:
    """Count nothing."""

    def calling(self, source: str) -> None:
        """Ignore a call."""

    def not_called(self, source: str) -> None:
        """Ignore that there was none."""

    def refused(self, source: str, calls: int) -> None:
        """Ignore calls without a credit."""

    def spared(self, calls: Spared, *, shared: bool) -> None:
        """Ignore calls that were not needed."""


class Usages:
    """Pass every count on to several, in their order."""

    def __init__(self, *usages: Usage) -> None:
        self._usages = usages

    def calling(self, source: str) -> None:
        """Pass a call on."""
        for usage in self._usages:
            usage.calling(source)

    def not_called(self, source: str) -> None:
        """Pass on that there was none."""
        for usage in self._usages:
            usage.not_called(source)

    def refused(self, source: str, calls: int) -> None:
        """Pass calls without a credit on."""
        for usage in self._usages:
            usage.refused(source, calls)

    def spared(self, calls: Spared, *, shared: bool) -> None:
        """Pass calls that were not needed on."""
        for usage in self._usages:
            usage.spared(calls, shared=shared)


class NullObserver:
    """Ignore every event; a base class for observers of some of them."""

    def call_ended(self, source: str, outcome: str, seconds: float, credits: int, detail: str = "") -> None:
        """Ignore a vendor call."""

    def call_skipped(self, source: str, reason: str) -> None:
        """Ignore a skip."""

    def search_ended(self, caller_class: str, cache: str, seconds: float, *, answered: bool) -> None:
        """Ignore a search."""

    def breaker_changed(self, source: str, state: str) -> None:
        """Ignore a change of a breaker."""

    def work_began(self) -> None:
        """Ignore the beginning of a search or fetch."""

    def work_ended(self) -> None:
        """Ignore the end of a search or fetch."""

    def fetch_ended(self, state: str, cache: str, seconds: float) -> None:
        """Ignore a fetch."""

    def batch_items_ended(self, state: str, count: int) -> None:
        """Ignore a batch."""

    def batch_items_waiting(self, count: int) -> None:
        """Ignore the number of items that wait."""

    def cache_resized(self, entries: int) -> None:
        """Ignore the size of the cache."""

    def auth_failed(self) -> None:
        """Ignore a refused key."""

    def line_dropped(self) -> None:
        """Ignore a line that was dropped."""


NULL_OBSERVER = NullObserver()


class Observers:
    """Pass every event on to several observers, in their order."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def call_ended(self, source: str, outcome: str, seconds: float, credits: int, detail: str = "") -> None:
        """Pass a vendor call on."""
        for observer in self._observers:
            observer.call_ended(source, outcome, seconds, credits, detail)

    def call_skipped(self, source: str, reason: str) -> None:
        """Pass a skip on."""
        for observer in self._observers:
            observer.call_skipped(source, reason)

    def search_ended(self, caller_class: str, cache: str, seconds: float, *, answered: bool) -> None:
        """Pass a search on."""
        for observer in self._observers:
            observer.search_ended(caller_class, cache, seconds, answered=answered)

    def breaker_changed(self, source: str, state: str) -> None:
        """Pass a change of a breaker on."""
        for observer in self._observers:
            observer.breaker_changed(source, state)

    def work_began(self) -> None:
        """Pass the beginning of a search or fetch on."""
        for observer in self._observers:
            observer.work_began()

    def work_ended(self) -> None:
        """Pass the end of a search or fetch on."""
        for observer in self._observers:
            observer.work_ended()

    def fetch_ended(self, state: str, cache: str, seconds: float) -> None:
        """Pass a fetch on."""
        for observer in self._observers:
            observer.fetch_ended(state, cache, seconds)

    def batch_items_ended(self, state: str, count: int) -> None:
        """Pass the items of a batch on."""
        for observer in self._observers:
            observer.batch_items_ended(state, count)

    def batch_items_waiting(self, count: int) -> None:
        """Pass the number of items that wait on."""
        for observer in self._observers:
            observer.batch_items_waiting(count)

    def cache_resized(self, entries: int) -> None:
        """Pass the size of the cache on."""
        for observer in self._observers:
            observer.cache_resized(entries)

    def auth_failed(self) -> None:
        """Pass a refused key on."""
        for observer in self._observers:
            observer.auth_failed()

    def line_dropped(self) -> None:
        """Pass a line that was dropped on."""
        for observer in self._observers:
            observer.line_dropped()


class CacheTally(NullObserver):
    """Count answered searches by where the answer came from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uses: Counter[str] = Counter()

    def search_ended(self, caller_class: str, cache: str, seconds: float, *, answered: bool) -> None:
        """Count an answered search."""
        if answered:
            with self._lock:
                self._uses[cache] += 1

    def hit_rate(self) -> float:
        """Return the share of answered searches that asked no vendor; 0 before the first one."""
        with self._lock:
            answered, free = self._uses.total(), self._uses["hit"] + self._uses["shared"]
        return round(free / answered, 4) if answered else 0.0
