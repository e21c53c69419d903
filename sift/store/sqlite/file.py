"""The file of batches: opening it, and one transaction after another."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from sift.errors import StoreError
from sift.store.batches.session import Row
from sift.store.batches.tables import TABLES

_T = TypeVar("_T")


class FileSession:
    """One transaction of an SQLite file, or one read."""

    locks = ""

    def __init__(self, db: sqlite3.Connection, now: float, tick: float) -> None:
        self._db = db
        self._times = {"now": now, "tick": tick}

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """Run a statement and return its rows."""
        return self._db.execute(statement, values | self._times).fetchall()

    def change(self, statement: str, **values: Any) -> int:
        """Run a statement and return how many rows it changed."""
        return self._db.execute(statement, values | self._times).rowcount

    def many(self, statement: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a statement once for each mapping of values."""
        self._db.executemany(statement, [{**row, **self._times} for row in rows])

    def hold(self, name: str) -> None:
        """Do nothing: whoever writes is alone."""


class BatchFile:
    """One connection per process, opened at first use and never used across a fork; its threads take turns.

    A file that was deleted or replaced is opened anew; what another process then still writes to the old one is lost
    with it.
    """

    def __init__(self, path: Path, timeout: float, now: Callable[[], float], ticks: Callable[[], float]) -> None:
        self._path = path
        self._timeout = timeout
        self._now = now
        self._ticks = ticks
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._pid = 0
        self._flushes = True
        self._opened: tuple[int, int] | None = None  # device and inode of the file that the connection has open
        self._abandoned: list[sqlite3.Connection] = []

    def run(self, work: Callable[[FileSession], _T], *, writes: bool, flushes: bool = True) -> _T:
        """Run work in one transaction and return what it returned. Raises StoreError, and what the work raised.

        flushes: whether what was written must outlive a power cut, and not only every process.
        """
        deadline = time.monotonic() + self._timeout
        if not self._lock.acquire(timeout=self._timeout):
            raise StoreError
        try:
            db = self._open(deadline)
            if writes and flushes != self._flushes:
                db.execute(f"PRAGMA synchronous = {'FULL' if flushes else 'NORMAL'}")
                self._flushes = flushes
            db.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            try:
                done = work(FileSession(db, self._now(), self._ticks()))
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            return done
        except UnicodeError:  # half of a surrogate pair; the text holds it, and what is around it
            raise StoreError from None
        except (sqlite3.Error, OSError):
            self._close()  # a repaired file is opened afresh
            raise StoreError from None
        finally:
            self._lock.release()

    def truncate_log(self) -> None:
        """Empty the write-ahead log, where deleted rows outlive their deletion; not while others read. Never raises."""
        with self._lock, suppress(sqlite3.Error, OSError):
            if self._connection is not None and self._pid == os.getpid():
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file. Never raises."""
        with self._lock:
            self._close()

    def _open(self, deadline: float) -> sqlite3.Connection:
        if self._connection is not None and (self._pid != os.getpid() or self._identify() != self._opened):
            # SQLite forbids even closing a parent's connection, and closing would delete a log by its name.
            self._abandoned.append(self._connection)
            self._connection = None
        if self._connection is not None:
            return self._connection
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives the files beside it the same mode.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        wait = max(0.001, deadline - time.monotonic())
        db = sqlite3.connect(self._path, timeout=wait, isolation_level=None, check_same_thread=False)
        self._connection, self._pid = db, os.getpid()
        _prepare(db, deadline)
        db.execute(f"PRAGMA busy_timeout = {int(self._timeout * 1000)}")
        self._opened, self._flushes = self._identify(), True
        return db

    def _identify(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def _close(self) -> None:
        if self._connection is not None and self._pid == os.getpid():
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


def _prepare(db: sqlite3.Connection, deadline: float) -> None:
    """Prepare a file, new or existing. Raises sqlite3.Error."""
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
            for statement in TABLES:
                db.execute(statement)
            return
        except sqlite3.OperationalError as error:
            # When two processes prepare a new file at once, SQLite refuses one of them without waiting.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(0.005)
