"""What was used: calls made, spared and refused, by day and source, counted beside the credits (contract: Usage).

Searches only count on a sheet; a thread books what is on it, so no answer waits for that. Paid calls are not among
them: they are counted with their credit.
"""

from __future__ import annotations

import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sift.observe import Spared
from sift.search.protocols import LedgerError
from sift.store.sheet import KINDS, Sheet, Totals, begin, left_behind

MAX_DAYS = 90
DAY = 86_400
INTERVAL = 1.0
"""Seconds between two bookings."""
IDLE = 60
"""Bookings without anything to book, after which the thread ends."""
DIRECTORY = "usage"
"""The directory of the sheets, in the state directory."""
SCHEMA = (
    """CREATE TABLE IF NOT EXISTS usage (
        day TEXT NOT NULL, source TEXT NOT NULL, calls INTEGER NOT NULL DEFAULT 0,
        spared_by_cache INTEGER NOT NULL DEFAULT 0, spared_by_sharing INTEGER NOT NULL DEFAULT 0,
        refused_by_cap INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (day, source)
    ) WITHOUT ROWID""",
    # How much of a sheet is in the counts.
    f"""CREATE TABLE IF NOT EXISTS booked (
        sheet TEXT NOT NULL, source TEXT NOT NULL, day TEXT NOT NULL,
        {", ".join(f"{kind} INTEGER NOT NULL" for kind in KINDS)}, PRIMARY KEY (sheet, source)
    ) WITHOUT ROWID""",
)
_CALLS, _CACHED, _SHARED, _REFUSED = range(len(KINDS))
_OLDER = "ALTER TABLE spent ADD COLUMN calls INTEGER NOT NULL DEFAULT 0"
_ADD = f"""
INSERT INTO usage (day, source, {", ".join(KINDS)}) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (day, source) DO UPDATE SET {", ".join(f"{kind} = {kind} + excluded.{kind}" for kind in KINDS)}
"""
_BOOKED = f"SELECT source, {', '.join(KINDS)} FROM booked WHERE sheet = ?"
_BOOK = f"INSERT OR REPLACE INTO booked (sheet, source, day, {', '.join(KINDS)}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_READ = """
SELECT day, source, sum(calls), sum(credits), sum(by_cache), sum(by_sharing), sum(by_cap) FROM (
    SELECT day, source, calls, credits, 0 AS by_cache, 0 AS by_sharing, 0 AS by_cap FROM spent
    UNION ALL
    SELECT day, source, calls, 0, spared_by_cache, spared_by_sharing, refused_by_cap FROM usage
) WHERE day >= ? GROUP BY day, source ORDER BY day DESC, source
"""


class Used(NamedTuple):
    """What one source did on one day."""

    day: str
    source: str
    calls: int
    credits: int
    spared_by_cache: int
    spared_by_sharing: int
    refused_by_cap: int


def widen(db: sqlite3.Connection) -> None:
    """Give a ledger of an earlier version the column that it lacks."""
    if [column[1] for column in db.execute("PRAGMA table_info(spent)")] == ["source", "day", "credits"]:
        try:
            db.execute(_OLDER)
        except sqlite3.OperationalError as error:
            if "duplicate column" not in str(error):  # else another process was faster
                raise


def book(db: sqlite3.Connection, totals: Totals, today: str) -> None:
    """Bring the counts of the file up to a sheet, all or none, and drop those too old to be asked for."""
    db.execute("BEGIN IMMEDIATE")  # the ledger closes its connection after any error, which undoes what was begun
    new = rows_to_add(totals, db.execute(_BOOKED, (totals.sheet,)))
    db.executemany(_ADD, [(totals.day, source, *more) for source, more in new.items()])
    db.executemany(_BOOK, [(totals.sheet, source, totals.day, *totals.counts[source]) for source in new])
    first = first_day(today, MAX_DAYS)
    db.execute("DELETE FROM usage WHERE day < ?", (first,))
    db.execute("DELETE FROM booked WHERE day < ?", (first,))
    db.execute("COMMIT")


def rows_to_add(totals: Totals, booked: Iterable[tuple[Any, ...]]) -> dict[str, tuple[int, ...]]:
    """Return by source how much of a sheet is not in the counts, in the order of the sources.

    booked: rows of what is: the source, and a number of each kind.
    """
    before = {source: numbers for source, *numbers in booked}
    none = (0,) * len(KINDS)
    more = {
        source: tuple(now - then for now, then in zip(numbers, before.get(source, none), strict=True))
        for source, numbers in sorted(totals.counts.items())
    }
    return {source: numbers for source, numbers in more.items() if any(numbers)}


def read(db: sqlite3.Connection, first: str) -> list[Used]:
    """Return what was used from a day on, the newest first."""
    return [Used(*row) for row in db.execute(_READ, (first,))]


def first_day(today: str, days: int) -> str:
    """Return the first of so many days, of which the last is today."""
    return (datetime.fromisoformat(today).date() - timedelta(days=days - 1)).isoformat()


class _Book(Protocol):
    """Where counts are kept. No method waits long; both raise LedgerError."""

    def book_usage(self, totals: Totals) -> None: ...

    def usage(self, days: int) -> list[Used]: ...


def _start_thread(job: Callable[[], None]) -> None:
    threading.Thread(target=job, name="sift-usage", daemon=True).start()


class UsageTally:
    """Counts calls, and books them every second, also those that a killed process has left behind.

    book: where they are kept. sources: their names. directory: that of the sheets. now: Unix time.
    sleep: waits between two bookings.
    start: starts the thread, or raises RuntimeError. It is there while there is something to book.
    """

    def __init__(
        self,
        book: _Book,
        sources: Sequence[str],
        directory: Path,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], object] = time.sleep,
        start: Callable[[Callable[[], None]], None] = _start_thread,
    ) -> None:
        self._book = book
        self._sources = tuple(sources)
        self._places = {name: number * len(KINDS) for number, name in enumerate(sources)}
        self._directory = directory
        self._now = now
        self._has_more = weakref.WeakMethod(self._go_on)
        self._sleep = sleep
        self._start = start
        self._counting = threading.Lock()
        self._sheet: Sheet | None = None
        self._ends = 0.0  # Unix time of the end of the sheet's day
        self._over: list[Sheet] = []  # those of days that have ended
        self._booking = threading.Lock()
        self._booked: Totals | None = None
        self._is_running = False
        self._idle = 0

    def calling(self, source: str) -> None:
        """Count a call that is about to be sent to a source without a cap."""
        self._count(_CALLS, ((source, 1),))

    def not_called(self, source: str) -> None:
        """Take back a call that was not sent after all; that of a day that has ended stays."""
        with self._counting:
            place = self._places[source] + _CALLS
            if self._sheet is not None and self._sheet.numbers[place]:
                self._sheet.numbers[place] -= 1

    def refused(self, source: str, calls: int) -> None:
        """Count calls for which there was no credit."""
        self._count(_REFUSED, ((source, calls),))

    def spared(self, calls: Spared, *, shared: bool) -> None:
        """Count the calls that a cached or shared answer spared."""
        self._count(_SHARED if shared else _CACHED, calls)

    def used(self, days: int) -> list[Used]:
        """Return what was used in the last days, the newest first. Raises LedgerError."""
        self.flush()
        return [used for used in self._book.usage(days) if any(used[2:])]  # all may have been taken back

    def flush(self) -> None:
        """Book what has not been booked; it stays on its sheet if the book cannot be written. Never raises."""
        with self._booking, suppress(LedgerError):
            for sheet in left_behind(self._directory):
                self._finish(sheet)
            with self._counting:
                current, over = self._sheet, self._over.copy()
            for sheet in over:
                self._finish(sheet)
                sheet.close()
                self._over.remove(sheet)
            if current is not None and (totals := current.totals()) != self._booked:
                self._idle = 0
                self._book.book_usage(totals)
                self._booked = totals

    def close(self) -> None:
        """Book everything, and leave no sheet behind when that has gone well. Never raises."""
        with self._counting:
            if self._sheet is not None:
                self._over.append(self._sheet)
                self._sheet = None
        self.flush()

    def _finish(self, sheet: Sheet) -> None:
        self._idle = 0
        self._book.book_usage(sheet.totals())
        sheet.remove()

    def _count(self, kind: int, calls: Spared) -> None:
        with self._counting:
            now = self._now()
            sheet = self._sheet
            if sheet is None or not self._ends - DAY <= now < self._ends:
                sheet = self._turn(now)
            for source, count in calls:
                sheet.numbers[self._places[source] + kind] += count
        if not self._is_running:
            self._is_running = True
            try:
                self._start(_Loop(self._has_more, self._sleep))
            except RuntimeError:  # no thread is left: the next one tries again
                self._is_running = False

    def _turn(self, now: float) -> Sheet:
        """Begin the sheet of a day."""
        if self._sheet is not None:
            self._over.append(self._sheet)
        day = datetime.fromtimestamp(now, UTC)
        self._ends = (now // DAY + 1) * DAY
        self._sheet = begin(self._directory, day.date().isoformat(), self._sources)
        return self._sheet

    def _go_on(self) -> bool:
        """Book; return whether the thread is to go on."""
        self._idle += 1
        goes_on = self._idle < IDLE
        self._is_running = goes_on  # before the last booking: what is counted after it starts another thread
        self.flush()
        return goes_on


class _Loop:
    """The thread's work: book again and again, until there is nothing to book, or nobody counts any more."""

    def __init__(self, booking: weakref.WeakMethod[Callable[[], bool]], sleep: Callable[[float], object]) -> None:
        self._booking = booking
        self._sleep = sleep

    def __call__(self) -> None:
        while True:
            self._sleep(INTERVAL)
            has_more = self._booking()
            if has_more is None or not has_more():
                return
            del has_more


def by_day(used: Sequence[Used], order: Sequence[str]) -> Iterator[dict[str, object]]:
    """Yield each day with its sources in v1's form. order: the names of sources; others follow."""
    places = {name: place for place, name in enumerate(order)}
    for day in dict.fromkeys(each.day for each in used):
        of_day = sorted(
            (each for each in used if each.day == day), key=lambda each: places.get(each.source, len(order))
        )
        yield {"day": day, "sources": [{k: v for k, v in each._asdict().items() if k != "day"} for each in of_day]}
