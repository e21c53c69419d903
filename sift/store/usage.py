"""What was used: calls made, spared and refused, by day and source, counted beside the credits (contract: Usage).

Searches only leave a note of what happened; a thread adds the notes up and writes them, so no answer waits for that.
Paid calls are not among them: they are counted with their credit.
"""

from __future__ import annotations

import sqlite3
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

from sift.observe import Spared
from sift.search.protocols import LedgerError

MAX_DAYS = 90
DAY = 86_400
INTERVAL = 1.0
"""Seconds between two bookings: what a killed process loses at most."""
IDLE = 60
"""Bookings without anything to book, after which the thread ends."""
MAX_EVENTS = 100_000
"""Notes that wait to be booked; older ones are lost, as on a host that has no thread left."""
SCHEMA = """CREATE TABLE IF NOT EXISTS usage (
    day TEXT NOT NULL, source TEXT NOT NULL, calls INTEGER NOT NULL DEFAULT 0,
    spared_by_cache INTEGER NOT NULL DEFAULT 0, spared_by_sharing INTEGER NOT NULL DEFAULT 0,
    refused_by_cap INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (day, source)
) WITHOUT ROWID"""
_OLDER = "ALTER TABLE spent ADD COLUMN calls INTEGER NOT NULL DEFAULT 0"
_KINDS = ("calls", "spared_by_cache", "spared_by_sharing", "refused_by_cap")
_ADD = f"""
INSERT INTO usage (day, source, {", ".join(_KINDS)}) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (day, source) DO UPDATE SET {", ".join(f"{kind} = {kind} + excluded.{kind}" for kind in _KINDS)}
"""
_READ = """
SELECT day, source, sum(calls), sum(credits), sum(by_cache), sum(by_sharing), sum(by_cap) FROM (
    SELECT day, source, calls, credits, 0 AS by_cache, 0 AS by_sharing, 0 AS by_cap FROM spent
    UNION ALL
    SELECT day, source, calls, 0, spared_by_cache, spared_by_sharing, refused_by_cap FROM usage
) WHERE day >= ? GROUP BY day, source ORDER BY day DESC, source
"""

Counts = Mapping[tuple[str, str, str], int]
"""Calls by day, source and kind."""


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


def add(db: sqlite3.Connection, counts: Counts, today: str) -> None:
    """Add counts to those of the file, all or none, and drop those too old to be asked for."""
    rows: dict[tuple[str, str], dict[str, int]] = {}
    for (day, source, kind), count in counts.items():
        rows.setdefault((day, source), {})[kind] = count
    db.execute("BEGIN IMMEDIATE")  # the ledger closes its connection after any error, which undoes what was begun
    db.executemany(_ADD, [(*at, *(found.get(kind, 0) for kind in _KINDS)) for at, found in rows.items()])
    db.execute("DELETE FROM usage WHERE day < ?", (first_day(today, MAX_DAYS),))
    db.execute("COMMIT")


def read(db: sqlite3.Connection, first: str) -> list[Used]:
    """Return what was used from a day on, the newest first."""
    return [Used(*row) for row in db.execute(_READ, (first,))]


def first_day(today: str, days: int) -> str:
    """Return the first of so many days, of which the last is today."""
    return (datetime.fromisoformat(today).date() - timedelta(days=days - 1)).isoformat()


class _Book(Protocol):
    """Where counts are kept. No method waits long; both raise LedgerError."""

    def add_usage(self, counts: Counts) -> None: ...

    def usage(self, days: int) -> list[Used]: ...


def _start_thread(job: Callable[[], None]) -> None:
    threading.Thread(target=job, name="sift-usage", daemon=True).start()


class UsageTally:
    """Counts calls, and books them every second.

    book: where they are kept. now: Unix time. sleep: waits between two bookings.
    start: starts the thread, or raises RuntimeError. It is there while there is something to book.
    """

    def __init__(
        self,
        book: _Book,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], object] = time.sleep,
        start: Callable[[Callable[[], None]], None] = _start_thread,
    ) -> None:
        self._book = book
        self._now = now
        self._booking = weakref.WeakMethod(self._has_more)
        self._sleep = sleep
        self._start = start
        self._events: deque[tuple[float, str, Spared]] = deque(maxlen=MAX_EVENTS)
        self._counts: Counter[tuple[str, str, str]] = Counter()  # by day, source and kind
        self._lock = threading.Lock()  # one booking at a time
        self._is_running = False
        self._idle = 0

    def called(self, source: str) -> None:
        """Count a call that was sent to a source without a cap."""
        self._note("calls", ((source, 1),))

    def refused(self, source: str, calls: int) -> None:
        """Count calls for which there was no credit."""
        self._note("refused_by_cap", ((source, calls),))

    def spared(self, calls: Spared, *, shared: bool) -> None:
        """Count the calls that a cached or shared answer spared."""
        self._note("spared_by_sharing" if shared else "spared_by_cache", calls)

    def used(self, days: int) -> list[Used]:
        """Return what was used in the last days, the newest first. Raises LedgerError."""
        self.flush()
        return self._book.usage(days)

    def flush(self) -> None:
        """Book what has not been booked; keep it if the book cannot be written. Never raises."""
        with self._lock:
            noted = (self._events.popleft() for _ in range(len(self._events)))
            # Most notes are alike, and to count equal ones costs a sixth of adding each up.
            alike = Counter((int(at // DAY), kind, calls) for at, kind, calls in noted)
            for (number, kind, calls), times in alike.items():
                day = datetime.fromtimestamp(number * DAY, UTC).date().isoformat()
                for source, count in calls:
                    self._counts[day, source, kind] += count * times
            if self._counts:
                self._idle = 0
                with suppress(LedgerError):
                    self._book.add_usage(self._counts)
                    self._counts.clear()

    def _note(self, kind: str, calls: Spared) -> None:
        self._events.append((self._now(), kind, calls))
        if not self._is_running:
            self._is_running = True
            try:
                self._start(_Loop(self._booking, self._sleep))
            except RuntimeError:  # no thread is left: the next note tries again
                self._is_running = False

    def _has_more(self) -> bool:
        """Book; return whether the thread is to go on."""
        self._idle += 1
        goes_on = self._idle < IDLE
        self._is_running = goes_on  # before the last booking: what is noted after it starts another thread
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
