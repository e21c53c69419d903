"""The credit ledger: the daily cap, counted in SQLite for all workers of a host (contract: Credits)."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from sift.search.protocols import LedgerError

_T = TypeVar("_T")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS spent (
    source TEXT NOT NULL, day TEXT NOT NULL, credits INTEGER NOT NULL, PRIMARY KEY (source, day)
) WITHOUT ROWID
"""
# Later days count too: a clock that is set back gets no new budget.
_SPENT = "SELECT coalesce(sum(credits), 0) FROM spent WHERE source = ? AND day >= ?"
# One statement, so that checking and taking are atomic between threads and processes.
_RESERVE = """
INSERT INTO spent (source, day, credits) SELECT :source, :day, 1 WHERE (
    SELECT coalesce(sum(credits), 0) FROM spent WHERE source = :source AND day >= :day
) < :cap
ON CONFLICT (source, day) DO UPDATE SET credits = credits + 1
"""
_SETTLE = "UPDATE spent SET credits = max(0, credits + ?) WHERE source = ? AND day = ?"
_READ_WAIT = 0.05  # seconds that a read may wait for a lock: nothing has been asked yet
_SETTLE_WAIT = 0.1


class SqliteLedger:
    """Count each source's credits of a UTC day, up to its cap.

    One connection per process, opened at first use and never used across a fork. A write-ahead log with
    synchronous=NORMAL survives kill -9. A file that cannot be read is left as it is: a new one would be a new budget.
    """

    def __init__(self, path: Path, caps: Mapping[str, int], now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._caps = caps
        self._now = now
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._pid = 0
        self._inherited: list[sqlite3.Connection] = []
        self._unbooked: list[tuple[int, str, str]] = []  # credits to add that are not in the file yet
        self._wait = 0  # the connection's busy timeout in milliseconds
        self._known: dict[str, tuple[str, int]] = {}  # per source: day, credits last read or taken here

    def left(self, name: str) -> int | None:
        """Return the credits left today, as far as this process knows; None without a cap. Raises LedgerError.

        The file is read only when none are known to be left. What other processes have taken meanwhile shows when a
        credit is refused; then it is read again.
        """
        cap = self._caps.get(name)
        if not cap:  # a cap of 0 never touches the file
            return cap
        day, spent = self._known.get(name, ("", 0))
        if day != self._day() or spent >= cap:
            spent = self.spent(name)
        return max(0, cap - spent)

    def spent(self, name: str) -> int:
        """Return the credits spent today. Raises LedgerError."""
        day = self._day()

        def count(db: sqlite3.Connection) -> int:
            spent: int = db.execute(_SPENT, (name, day)).fetchone()[0]
            self._known[name] = (day, spent)
            return spent

        return self._run(time.monotonic() + _READ_WAIT, count)

    def resets_at(self) -> str:
        """Return the end of the current day, the next UTC midnight, in ISO 8601 with `Z`."""
        tomorrow = datetime.fromtimestamp(self._now(), UTC).date() + timedelta(days=1)
        return f"{tomorrow.isoformat()}T00:00:00Z"

    def reserve(self, name: str, *, deadline: float) -> str | None:
        """Take one credit; return the day it counts for, "" without a cap, None at the cap. Raises LedgerError."""
        cap = self._caps.get(name)
        if cap is None:
            return ""
        if cap == 0:
            return None
        day = self._day()

        def take(db: sqlite3.Connection) -> bool:
            taken = db.execute(_RESERVE, {"source": name, "day": day, "cap": cap}).rowcount > 0
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
            self._known.pop(name, None)
            with suppress(LedgerError):  # locked: booked before the next credit is taken
                self._run(time.monotonic() + _SETTLE_WAIT, lambda db: None)

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
                db.execute(_SETTLE, self._unbooked[-1])
                self._unbooked.pop()
            return statement(db)
        except (sqlite3.Error, OSError) as error:
            self._close()  # a repaired file is opened afresh
            raise LedgerError from error
        finally:
            self._lock.release()

    def _open(self, deadline: float) -> sqlite3.Connection:
        if self._connection is not None and self._pid != os.getpid():
            # After a fork the parent's connection is kept and left alone: SQLite forbids even closing it here.
            self._inherited.append(self._connection)
            self._connection = None
        if self._connection is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            wait = _milliseconds(deadline) / 1000
            db = sqlite3.connect(self._path, timeout=wait, isolation_level=None, check_same_thread=False)
            self._connection, self._pid, self._wait = db, os.getpid(), 0
            _prepare(db, deadline)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _day(self) -> str:
        return datetime.fromtimestamp(self._now(), UTC).date().isoformat()


def _prepare(db: sqlite3.Connection, deadline: float) -> None:
    """Prepare a file, new or existing, as a ledger."""
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(_SCHEMA)
            return
        except sqlite3.OperationalError as error:
            # When two processes prepare a new file at once, SQLite refuses one of them without waiting.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(0.005)


def _milliseconds(deadline: float) -> int:
    """Return the time left in milliseconds, at least 1."""
    return max(1, int((deadline - time.monotonic()) * 1000))
