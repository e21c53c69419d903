"""Carrying a host's files over to the database, once (contract: Store)."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from sift.batch.model import BATCH_SECONDS
from sift.errors import StoreError
from sift.store.batches.session import Session
from sift.store.batches.tables import OPEN
from sift.store.postgres.database import Database

_FRESH = "INSERT INTO sift_imports (what) VALUES (:what) ON CONFLICT (what) DO NOTHING"
_SPENT = "SELECT source, day, credits FROM spent WHERE day IN (?, ?) AND credits > 0"
_SPEND = """
INSERT INTO sift_spent AS s (source, day, credits) VALUES (:source, CAST(:day AS date), :credits)
ON CONFLICT (source, day) DO UPDATE SET credits = s.credits + excluded.credits
"""
_UNFINISHED = (
    f"SELECT * FROM sift_batches b WHERE EXISTS (SELECT 1 FROM sift_items i WHERE i.batch = b.id AND i.state IN {OPEN})"
)
_HOST = """
INSERT INTO sift_hosts (host, used_at) VALUES (:host, :tick)
ON CONFLICT (host) DO UPDATE SET used_at = excluded.used_at
"""
# The ticks of a file mean nothing elsewhere: what waits may go at once, and has a batch's whole time.
_REWIND = f"""
UPDATE sift_items SET state = 'queued', lease = NULL, not_before = 0, ends_at = :tick + :seconds
WHERE batch = :id AND state IN {OPEN}
"""


class Imported(NamedTuple):
    """What was carried over: credits of today, unfinished batches. What was carried over before is not counted."""

    credits: int
    batches: int


class _Files(NamedTuple):
    """What a host's files hold that is worth carrying over.

    ledger: the identity of the ledger. spent: source, day, credits. batches, items, places: rows by column.
    """

    ledger: int
    spent: list[tuple[str, str, int]]
    batches: list[dict[str, Any]]
    items: list[dict[str, Any]]
    places: list[dict[str, Any]]


def import_files(directory: Path, database: Database, now: Callable[[], float] = time.time) -> Imported:
    """Add the credits of today and the unfinished batches of a state directory to a database, each of them once.

    The files stay as they are; no service may use them any more. Raises StoreError.
    """
    files = _read(directory, now())
    return database.run(lambda session: _add(session, files))


def is_left_behind(directory: Path, database: Database, now: Callable[[], float] = time.time) -> bool:
    """Return whether a state directory holds something that the database was not given. Raises StoreError."""
    try:
        files = _read(directory, now())
    except StoreError:  # damaged files are no reason not to start
        return False
    known = {what for (what,) in database.run(lambda session: session.rows("SELECT what FROM sift_imports"))}
    return not {*map(_name_batch, files.batches), *(_name_credits(files.ledger, each) for each in files.spent)} <= known


def _add(session: Session, files: _Files) -> Imported:
    taken, batches = 0, 0
    for each in files.spent:
        if session.change(_FRESH, what=_name_credits(files.ledger, each)):
            source, day, count = each
            session.change(_SPEND, source=source, day=day, credits=count)
            taken += count
    for batch in files.batches:
        if session.change(_FRESH, what=_name_batch(batch)):
            session.hold(batch["caller"])
            own = [item for item in files.items if item["batch"] == batch["id"]]
            session.many(_HOST, ({"host": host} for host in sorted({item["host"] for item in own})))
            _copy(session, "sift_batches", [batch])
            _copy(session, "sift_items", own)
            _copy(session, "sift_places", [place for place in files.places if place["batch"] == batch["id"]])
            session.change(_REWIND, id=batch["id"], seconds=BATCH_SECONDS)
            batches += 1
    return Imported(taken, batches)


def _copy(session: Session, table: str, rows: list[dict[str, Any]]) -> None:
    columns = list(rows[0])
    values = ", ".join(f":{column}" for column in columns)
    session.many(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values}) ON CONFLICT DO NOTHING", rows)


def _name_credits(ledger: int, spent: tuple[str, str, int]) -> str:
    return f"credits {ledger} {spent[0]} {spent[1]}"


def _name_batch(batch: dict[str, Any]) -> str:
    return f"batch {batch['id']}"


def _read(directory: Path, now: float) -> _Files:
    """Read the files of a state directory; a missing one holds nothing. Raises StoreError."""
    today = datetime.fromtimestamp(now, UTC).date()
    days = (today.isoformat(), (today + timedelta(days=1)).isoformat())
    ledger, spent = 0, list[tuple[str, str, int]]()
    batches, items, places = (list[dict[str, Any]]() for _ in range(3))
    try:
        with _opened(directory / "ledger.sqlite3") as db:
            if db is not None:
                spent = [(row["source"], row["day"], row["credits"]) for row in db.execute(_SPENT, days)]
                ledger = next((row["id"] for row in _table(db, "identity")), 0)
        with _opened(directory / "batches.sqlite3") as db:
            if db is not None:
                batches = [dict(row) for row in db.execute(_UNFINISHED)]
                ids = {batch["id"] for batch in batches}
                items = [dict(row) for row in _table(db, "sift_items") if row["batch"] in ids]
                places = [dict(row) for row in _table(db, "sift_places") if row["batch"] in ids]
    except sqlite3.Error:
        raise StoreError from None
    return _Files(ledger, spent, batches, items, places)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection | None]:
    """Open a file for reading; None when it is not there."""
    if not path.exists():
        yield None
        return
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        yield db


def _table(db: sqlite3.Connection, name: str) -> list[sqlite3.Row]:
    """Return all rows of a table, none when there is no such table, as in an old or empty file."""
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is None:
        return []
    return db.execute(f"SELECT * FROM {name}").fetchall()
