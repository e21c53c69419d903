"""The numbers of one worker, each at its place in the worker's files."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import product
from pathlib import Path

from sift.metrics import families as of
from sift.metrics.families import Family, Kind
from sift.metrics.sheet import Sheet

_LONG_AGO = 1.0  # a Unix time; at 0 a number would count as never set, and not be shown


class Histogram:
    """One histogram of one set of labels. Whoever changes it holds a lock."""

    __slots__ = ("_buckets", "_numbers", "_sum")

    def __init__(self, numbers: memoryview[float], sum_at: int, buckets: tuple[int, ...]) -> None:
        self._numbers = numbers
        self._sum = sum_at
        self._buckets = buckets

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self._numbers[self._buckets[bisect_left(of.BOUNDS, seconds)]] += 1
        self._numbers[self._sum] += seconds


class Board:
    """Every series of a worker, at 0 from the start. Raises OSError when its files cannot be made.

    directory: of the files. slot: a number that no other living worker has; counters of a dead one go on.
    sources: their names. counts, highest, lowest, summed, newest: the doubles of the files, in which everything but the
    histograms is a place.
    """

    def __init__(self, directory: Path, slot: int, sources: Iterable[str], version: str) -> None:
        kinds: tuple[Kind, ...] = (
            *("counter", "histogram", "gauge_livemax", "gauge_livemin", "gauge_livesum", "gauge_livemostrecent"),
        )
        self._sheets: dict[Kind, Sheet] = {kind: Sheet() for kind in kinds}
        names = tuple(sources)
        self.searches = {
            (cls, use, answered): self._add(of.SEARCHES, caller_class=cls, cache=use, status=status)
            for cls, use, (answered, status) in product(of.CLASSES, of.CACHE_USES, of.STATUSES.items())
        }
        self.calls = {
            (name, outcome): self._add(of.CALLS, source=name, outcome=outcome)
            for name, outcome in product(names, of.OUTCOMES)
        }
        self.saved = {name: self._add(of.SAVED, source=name) for name in names}
        self.fetches = {
            (state, use): self._add(of.FETCHES, state=state, cache=use)
            for state, use in product(of.FETCH_STATES, of.PAGE_USES)
        }
        self.batch_items = {state: self._add(of.BATCH_ITEMS, state=state) for state in of.ITEM_STATES}
        self.auth_failures = self._add(of.AUTH_FAILURES)
        self.lines_dropped = self._add(of.LINES_DROPPED)
        self.breaker_open = {name: self._add(of.BREAKER_OPEN, source=name) for name in names}
        self._sheets["gauge_livemax"].add(of.BUILD_INFO, {"version": version}, value=1.0)
        # What has not been called yet has not failed: a worker that begins is no outage.
        self.up = {name: self._sheets["gauge_livemin"].add(of.UP, {"source": name}, value=1.0) for name in names}
        self.cache_entries = self._add(of.CACHE_ENTRIES)
        self.in_flight = self._add(of.IN_FLIGHT)
        self.batch_waiting = self._sheets["gauge_livemostrecent"].add(of.BATCH_WAITING, {}, at=_LONG_AGO)
        searches = {use: self._buckets(of.SEARCH_SECONDS, cache=use) for use in of.CACHE_USES}
        calls = {name: self._buckets(of.CALL_SECONDS, source=name) for name in names}
        fetches = {use: self._buckets(of.FETCH_SECONDS, cache=use) for use in of.PAGE_USES}
        numbers = {
            kind: sheet.open(directory / f"{kind}_{slot}.db", keeps=not kind.startswith("gauge"))
            for kind, sheet in self._sheets.items()
        }
        self.counts, durations = numbers["counter"], numbers["histogram"]
        self.highest, self.lowest = numbers["gauge_livemax"], numbers["gauge_livemin"]
        self.summed, self.newest = numbers["gauge_livesum"], numbers["gauge_livemostrecent"]
        self.search_seconds = {use: Histogram(durations, *places) for use, places in searches.items()}
        self.call_seconds = {name: Histogram(durations, *places) for name, places in calls.items()}
        self.fetch_seconds = {use: Histogram(durations, *places) for use, places in fetches.items()}
        self._sheets.clear()

    def _add(self, family: Family, **labels: str) -> int:
        return self._sheets[family.kind].add(family, labels)

    def _buckets(self, family: Family, **labels: str) -> tuple[int, tuple[int, ...]]:
        """Add the series of a histogram; return the place of its sum and those of its buckets."""
        sheet = self._sheets["histogram"]
        total = sheet.add(family, labels, suffix="_sum")
        bounds = (*map(str, of.BOUNDS), "+Inf")
        return total, tuple(sheet.add(family, {**labels, "le": bound}, suffix="_bucket") for bound in bounds)


def drop_gauges(directory: Path, slot: int) -> None:
    """Remove what a worker that has ended says of the present; what it counted stays."""
    for path in directory.glob(f"gauge_*_{slot}.db"):
        path.unlink(missing_ok=True)
