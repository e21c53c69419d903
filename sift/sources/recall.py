"""How many engines a SearXNG instance has for a filter, as its `/config` says (contract: Recall)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from sift.errors import SourceError
from sift.search.model import Filter

HOUR = 3600.0
NEWS, GENERAL = "news", "general"


class Engines(NamedTuple):
    """Numbers of engines that are enabled.

    enabled: all of them. news: those for news. dated: those that know time ranges, by category; None if it is not said.
    """

    enabled: int
    news: int
    dated: dict[str, int] | None


def _start_thread(job: Callable[[], None]) -> None:
    threading.Thread(target=job, name="sift-recall", daemon=True).start()


class Recall:
    """What is known of an instance's engines: read in the background, once an hour as long as there are searches.

    ask: returns the parsed `/config`, or raises SourceError. clock: monotonic seconds.
    start: starts the thread, or raises RuntimeError.
    """

    def __init__(
        self,
        ask: Callable[[], Any],
        clock: Callable[[], float] = time.monotonic,
        start: Callable[[Callable[[], None]], None] = _start_thread,
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._start = start
        self._lock = threading.Lock()
        self._due = float("-inf")
        self.engines: Engines | None = None

    def refresh(self) -> None:
        """Have `/config` read if that is due; wait for nothing."""
        with self._lock:
            if self._clock() < self._due:
                return
            self._due = self._clock() + HOUR
        try:
            self._start(self._read)
        except RuntimeError:  # no thread is left: in an hour again
            self.engines = None

    def _read(self) -> None:
        try:
            self.engines = read_engines(self._ask())
        except SourceError:
            self.engines = None


def read_engines(body: Any) -> Engines | None:
    """Return the numbers of engines; None if the body does not tell, or none is enabled."""
    rows = body.get("engines") if isinstance(body, dict) else None
    enabled = (
        [row for row in rows if isinstance(row, dict) and row.get("enabled") is True] if type(rows) is list else []
    )
    if not enabled:
        return None
    known = any(type(row.get("time_range_support")) is bool for row in enabled)
    dated = [row for row in enabled if row.get("time_range_support") is True]
    by_category = {category: _count(dated, category) for category in (GENERAL, NEWS)}
    return Engines(len(enabled), _count(enabled, NEWS), by_category if known else None)


def recall_notes(name: str, filter: Filter, engines: Engines | None) -> tuple[str, ...]:
    """Return a note for each filter for which not all engines are searched."""
    if engines is None:
        return ()
    is_news = filter.topic == NEWS
    counts: list[tuple[str, int]] = []
    if filter.time_range and engines.dated is not None:
        counts.append(("time_range", engines.dated[NEWS if is_news else GENERAL]))
    if is_news:
        counts.append(("topic=news", engines.news))
    return tuple(
        f"{name}: {field} searched {count} of {engines.enabled} engines"
        for field, count in counts
        if count < engines.enabled
    )


def _count(rows: list[Any], category: str) -> int:
    return sum(1 for row in rows if type(row.get("categories")) is list and category in row["categories"])
