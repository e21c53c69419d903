"""Looking at a ledger from outside (contract: Doctor, Credits)."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sift.store.sqlite.inspect import Inspected, inspect
from sift.store.sqlite.ledger import SqliteLedger

NOW = 1_790_000_000.0
DAY = datetime.fromtimestamp(NOW, UTC).date().isoformat()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the file of a ledger in which a credit was counted."""
    ledger = SqliteLedger(tmp_path / "ledger #1?.sqlite3", {"tavily": 5}, now=lambda: NOW)
    ledger.reserve("tavily", deadline=time.monotonic() + 10)
    ledger.close()
    return tmp_path / "ledger #1?.sqlite3"


def test_sound_ledger_has_its_last_day(path: Path) -> None:
    """contract: Doctor: whatever its name holds; the file stays as it was."""
    before = hashlib.sha256(path.read_bytes()).digest()
    assert inspect(path, 5) == Inspected(exists=True, newest=DAY)
    assert hashlib.sha256(path.read_bytes()).digest() == before


def test_missing_ledger_is_not_made(tmp_path: Path) -> None:
    """contract: Doctor: a new ledger is a new budget, which only a service makes."""
    assert inspect(tmp_path / "none.sqlite3", 5) == Inspected(exists=False)
    assert not any(tmp_path.iterdir())


def test_ledger_in_use_goes_on_being_used(path: Path) -> None:
    """contract: Doctor: a service that has it open keeps its log, and finds the ledger its own."""
    ledger = SqliteLedger(path, {"tavily": 5}, now=lambda: NOW)
    assert ledger.spent("tavily") == 1
    assert inspect(path, 5).trouble == ""
    assert ledger.reserve("tavily", deadline=time.monotonic() + 10) == DAY
    assert ledger.spent("tavily") == 2
    ledger.close()


def test_ledger_locked_by_another_is_said_to_be(path: Path) -> None:
    """contract: Doctor: a lock that lasts keeps every call from being counted."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert inspect(path, 0.05).trouble == "locked"


def test_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    """contract: Doctor: Sift never replaces it."""
    (tmp_path / "l").write_bytes(b"zebra" * 1000)
    assert inspect(tmp_path / "l", 5).trouble == "damaged"


def test_torn_page_is_damaged(path: Path) -> None:
    """contract: Doctor: found by SQLite's own check."""
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    assert inspect(path, 5).trouble == "damaged"


def test_check_that_takes_too_long_ends(tmp_path: Path) -> None:
    """contract: Doctor: a huge file holds nobody up."""
    with closing(sqlite3.connect(tmp_path / "l")) as db:
        db.execute("CREATE TABLE spent (source, day)")
        db.executemany("INSERT INTO spent VALUES (?, ?)", [("x", f"{n}") for n in range(50_000)])
        db.commit()
    ticks = iter([0.0])
    assert inspect(tmp_path / "l", 5, clock=lambda: next(ticks, 100.0)).trouble == "slow"


def test_directory_in_its_place_cannot_be_read(tmp_path: Path) -> None:
    """contract: Doctor: it never raises."""
    assert inspect(tmp_path, 5).trouble == "unreadable"
