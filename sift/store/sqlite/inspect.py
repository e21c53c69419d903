"""Looking at a ledger that a service may be using: whether it is sound and can be written (contract: Doctor)."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote

Trouble = Literal["", "locked", "read-only", "damaged", "unreadable", "slow"]

_TROUBLE: dict[int, Trouble] = {
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_READONLY: "read-only",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
    sqlite3.SQLITE_INTERRUPT: "slow",
}
_STEPS = 10_000  # of SQLite's machine between two looks at the clock


class Inspected(NamedTuple):
    """What was found. newest: the last day that was counted, "" for none."""

    exists: bool
    trouble: Trouble = ""
    newest: str = ""


def inspect(path: Path, seconds: float, clock: Callable[[], float] = time.monotonic) -> Inspected:
    """Check a ledger's file and take its lock for writing once, changing nothing; make no file. Never raises.

    seconds: the most that the check, and each wait for a lock, may take.
    """
    try:
        # SQLite would open a file that cannot be written for reading, and let a transaction begin.
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        return Inspected(exists=False)
    except OSError as error:
        is_readable = error.errno in (errno.EACCES, errno.EROFS) and os.access(path, os.R_OK)
        return Inspected(exists=True, trouble="read-only" if is_readable else "unreadable")
    end = clock() + seconds
    address = f"file:{quote(str(path))}?mode=rw"  # never makes one
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=seconds, isolation_level=None)) as db:
            db.set_progress_handler(lambda: int(clock() > end), _STEPS)
            if db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return Inspected(exists=True, trouble="damaged")
            db.execute("BEGIN IMMEDIATE")
            try:
                return Inspected(exists=True, newest=_newest(db))
            finally:
                db.execute("ROLLBACK")
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        return Inspected(exists=True, trouble=_TROUBLE.get(code, "unreadable"))


def _newest(db: sqlite3.Connection) -> str:
    """Return the last day in any of the ledger's tables; an older version lacks one."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    days = [
        db.execute(f"SELECT max(day) FROM {table}").fetchone()[0] for table in ("spent", "usage") if table in tables
    ]
    return max((day for day in days if isinstance(day, str)), default="")
