"""The credit ledger: the daily cap, counted in SQLite for all workers of a host (contract: Credits)."""

from __future__ import annotations

import logging
import os
import random
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NoReturn, TypeVar

from sift.search.protocols import LedgerError, LedgerLostError
from sift.store import usage
from sift.store.mark import Mark
from sift.store.sheet import Totals

_T = TypeVar("_T")
_log = logging.getLogger("sift.store")

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS spent (
        source TEXT NOT NULL, day TEXT NOT NULL, credits INTEGER NOT NULL, calls INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (source, day)
    ) WITHOUT ROWID""",
    # One random number for the life of a ledger: file names and inode numbers are used again.
    "CREATE TABLE IF NOT EXISTS identity (only INTEGER PRIMARY KEY CHECK (only = 1), id INTEGER NOT NULL)",
    *usage.SCHEMA,
)
_IDENTITY = "SELECT id FROM identity"
_NAME_IT = "INSERT OR IGNORE INTO identity VALUES (1, ?)"
# The next day counts too: a clock that is set back gets no new budget. A day further ahead was a clock gone wrong.
_SPENT = "SELECT coalesce(sum(credits), 0) FROM spent WHERE source = :source AND day BETWEEN :day AND :next"
# One statement, so that checking and taking are atomic between threads and processes.
_RESERVE = f"""
INSERT INTO spent (source, day, credits, calls) SELECT :source, :day, 1, 1 WHERE ({_SPENT}) < :cap
ON CONFLICT (source, day) DO UPDATE SET credits = credits + 1, calls = calls + 1
"""
# A refund is that of a call which was not made.
_SETTLE = """
UPDATE spent SET credits = max(0, credits + :change), calls = max(0, calls - (:change = -1))
WHERE source = :source AND day = :day
"""
_READ_WAIT = 0.05  # seconds that a read may wait for a lock: nothing has been asked yet
_SETTLE_WAIT = 0.1
_USAGE_WAIT = 1.0
_CLOSE_WAIT = 5.0


class SqliteLedger:
    """Count each source's credits of a UTC day, up to its cap.

    One connection per process, opened at first use and never used across a fork. A write-ahead log with
    synchronous=FULL survives kill -9 and a power cut. A file that cannot be read is left as it is: a new one would be
    a new budget. For the same reason a ledger whose files are deleted, emptied or replaced while a service uses it is
    lost until the service is started again.

    mark: what the processes of a service share. connect: opens the file.
    """

    def __init__(
        self,
        path: Path,
        caps: Mapping[str, int],
        now: Callable[[], float] = time.time,
        *,
        mark: Mark | None = None,
        connect: Callable[..., sqlite3.Connection] = sqlite3.connect,
    ) -> None:
        self._path = path
        self._log_path = path.with_name(f"{path.name}-wal")
        self._caps = caps
        self._now = now
        self._mark = mark or Mark()
        self._connect = connect
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._pid = 0
        self._files: tuple[object, ...] | None = None  # the identity of those that the connection has open
        self._abandoned: list[sqlite3.Connection] = []
        # Credits to add that are not in the file yet: any thread appends, the one with the lock takes from the left.
        self._unbooked: deque[tuple[int, str, str]] = deque()
        self._wait = 0  # the connection's busy timeout in milliseconds
        self._known: dict[str, tuple[str, int]] = {}  # per source: day, credits last read or taken here
        self._has_told = False

    def left(self, name: str) -> int | None:
        """Return the credits left today, as far as this process knows; None without a cap. Raises LedgerError.

        The file is read only when none are known to be left. What other processes have taken meanwhile shows when a
        credit is refused; then it is read again.
        """
        cap = self._caps.get(name)
        if not cap:  # a cap of 0 never touches the file
            return cap
        if self._mark.is_lost:
            self._lose()
        day, spent = self._known.get(name, ("", 0))
        if day != self._day() or spent >= cap:
            spent = self.spent(name)
        return max(0, cap - spent)

    def spent(self, name: str) -> int:
        """Return the credits spent today. Raises LedgerError."""
        day = self._day()

        def count(db: sqlite3.Connection) -> int:
            spent: int = db.execute(_SPENT, {"source": name, "day": day, "next": _next(day)}).fetchone()[0]
            self._known[name] = (day, spent)
            return spent

        return self._run(time.monotonic() + _READ_WAIT, count)

    def balance(self, name: str) -> int | None:
        """Return the credits left today as the file has them; None without a cap. Raises LedgerError."""
        cap = self._caps.get(name)
        return max(0, cap - self.spent(name)) if cap else cap

    def book_usage(self, totals: Totals) -> None:
        """Bring the counts of calls that cost no credit up to a sheet, however often. Raises LedgerError."""
        self._run(time.monotonic() + _USAGE_WAIT, lambda db: usage.book(db, totals, self._day()))

    def usage(self, days: int) -> list[usage.Used]:
        """Return what was used in the last days, the newest first. Raises LedgerError."""
        first = usage.first_day(self._day(), days)
        return self._run(time.monotonic() + _USAGE_WAIT, lambda db: usage.read(db, first))

    def resets_at(self) -> str:
        """Return the end of the current day, the next UTC midnight, in ISO 8601 with `Z`."""
        return f"{_next(self._day())}T00:00:00Z"

    def reserve(self, name: str, *, deadline: float) -> str | None:
        """Take one credit; return the day it counts for, "" without a cap, None at the cap. Raises LedgerError."""
        cap = self._caps.get(name)
        if cap is None:
            return ""
        if cap == 0:
            return None
        day = self._day()

        def take(db: sqlite3.Connection) -> bool:
            bound = {"source": name, "day": day, "next": _next(day), "cap": cap}
            taken = db.execute(_RESERVE, bound).rowcount > 0
            known = self._known.pop(name, None)
            if taken and known and known[0] == day:
                self._known[name] = (day, known[1] + 1)
            return taken

        return day if self._run(deadline, take) else None

    def settle(self, name: str, day: str, credits: int) -> None:
        """Replace a reserved credit by what its call cost; 0 refunds it. Never raises.

        The hits are here and must not wait for a locked file, so a booking that cannot be made soon is made later.
        """
        if day and credits != 1:
            self._unbooked.append((credits - 1, name, day))
            with suppress(LedgerError):  # locked: booked before the next credit is taken
                self._run(time.monotonic() + _SETTLE_WAIT, lambda db: None)

    def close(self) -> None:
        """Book what is not booked yet, waiting some seconds for a locked file, and close the file. Never raises."""
        with suppress(LedgerError):
            if self._unbooked:
                self._run(time.monotonic() + _CLOSE_WAIT, lambda db: None)
        with self._lock:
            self._close()

    def _run(self, deadline: float, statement: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run one statement, waiting for other threads and processes until `deadline` at most. Raises LedgerError."""
        if not self._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise LedgerError
        try:
            db = self._open(deadline)
            wait = _milliseconds(deadline)
            if not 0.9 * wait <= self._wait <= wait:  # a statement of its own, so not for every call
                db.execute(f"PRAGMA busy_timeout = {wait}")
                self._wait = wait
            while self._unbooked:
                change = self._unbooked[0]
                db.execute(_SETTLE, dict(zip(("change", "source", "day"), change, strict=True)))
                self._known.pop(change[1], None)
                self._unbooked.popleft()
            return statement(db)
        except (sqlite3.Error, OSError) as error:
            self._close()  # a repaired file is opened afresh
            raise LedgerError from error
        finally:
            self._lock.release()

    def _open(self, deadline: float) -> sqlite3.Connection:
        """Return the connection of this process to the ledger. Raises LedgerLostError, sqlite3.Error, OSError."""
        if self._connection is not None and self._pid != os.getpid():
            self._abandon()  # after a fork: SQLite forbids even closing the parent's connection here
        if self._mark.is_lost or (self._connection is not None and self._identify_files() != self._files):
            self._lose()
        if self._connection is not None:
            return self._connection
        if self._mark.ledger and self._identify_files(only_main=True) is None:
            self._lose()  # before SQLite makes a new one
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        wait = _milliseconds(deadline) / 1000
        db = self._connect(self._path, timeout=wait, isolation_level=None, check_same_thread=False)
        self._connection, self._pid, self._wait = db, os.getpid(), 0
        identity = _prepare(db, deadline)
        if self._mark.ledger not in (0, identity):
            self._lose()
        self._mark.ledger = identity
        self._files = self._identify_files()
        return db

    def _identify_files(self, *, only_main: bool = False) -> tuple[object, ...] | None:
        """Return what tells the ledger's files from others of the same names; None if one is missing or empty.

        The log may be empty, and is there as long as anybody has the ledger open.
        """
        try:
            main = self._path.stat()
            log = main if only_main else self._log_path.stat()
        except FileNotFoundError:
            return None
        return (main.st_dev, main.st_ino, log.st_ino) if main.st_size else None

    def _lose(self) -> NoReturn:
        """Stop using the ledger, here and in every process that shares the mark. Raises LedgerLostError."""
        self._mark.lose()
        if not self._has_told:
            self._has_told = True
            _log.error("ledger_lost")
        if self._connection is not None:
            with suppress(sqlite3.Error):  # if only the log was deleted, this still saves its content
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._abandon()  # closing would delete a log by its name, whosever it is now
        raise LedgerLostError

    def _abandon(self) -> None:
        if self._connection is not None:
            self._abandoned.append(self._connection)
            self._connection = None

    def _close(self) -> None:
        if self._connection is not None and self._pid == os.getpid():
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _day(self) -> str:
        return datetime.fromtimestamp(self._now(), UTC).date().isoformat()


def _next(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def _prepare(db: sqlite3.Connection, deadline: float) -> int:
    """Prepare a file, new or existing, as a ledger, and return its identity."""
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            for statement in _SCHEMA:
                db.execute(statement)
            usage.widen(db)
            return _identity(db)
        except sqlite3.OperationalError as error:
            # When two processes prepare a new file at once, SQLite refuses one of them without waiting.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(0.005)


def _identity(db: sqlite3.Connection) -> int:
    """Return the identity of a ledger, which gets one at its first use."""
    row = db.execute(_IDENTITY).fetchone()
    if row is None:
        is_named = db.execute(_NAME_IT, (random.getrandbits(62) | 1,)).rowcount > 0
        if is_named and db.execute("SELECT 1 FROM spent").fetchone() is None:
            _log.warning("ledger_created")  # a new budget: nobody is to get one unnoticed
        row = db.execute(_IDENTITY).fetchone()
    identity: int = row[0]
    return identity


def _milliseconds(deadline: float) -> int:
    """Return the time left in milliseconds, at least 1."""
    return max(1, int((deadline - time.monotonic()) * 1000))
