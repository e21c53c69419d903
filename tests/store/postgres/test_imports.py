"""Carrying a host's files over (contract: Store)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sift.batch.model import BATCH_SECONDS, Outcome
from tests.postgres import Server
from tests.store.engines import Clock, PostgresEngine, SqliteEngine, submission

pytest.importorskip("psycopg", reason="psycopg is not installed")

from sift.errors import ConfigError
from sift.store.postgres.check import check
from sift.store.postgres.imports import import_files, is_left_behind
from sift.store.postgres.jobs import PostgresJobs
from sift.store.postgres.ledger import PostgresLedger


@pytest.fixture
def files(tmp_path: Path) -> SqliteEngine:
    return SqliteEngine(tmp_path / "state")


def spend(files: SqliteEngine, clock: Clock, times: int) -> None:
    ledger = files.ledger(clock, {"tavily": 10})
    for _ in range(times):
        assert ledger.reserve("tavily", deadline=time.monotonic() + 20)


def test_credits_and_unfinished_batches_are_carried_over_once(
    files: SqliteEngine, engine: PostgresEngine, clock: Clock
) -> None:
    """contract: Store: what was spent stays spent, what was accepted is done; a second time changes nothing."""
    spend(files, clock, 4)
    old = files.jobs(clock)
    done = old.submit(submission("c.example/1"))
    claim = old.claim("w")
    assert claim is not None
    old.finish(claim, Outcome("ok"))
    open_ = old.submit(submission("a.example/1", "b.example/1", "a.example/1#x", key="k", body="one"))
    first, _running = old.claim("v"), old.claim("w")
    assert first is not None
    old.finish(first, Outcome("ok", result=b"before"))
    files.close()
    database = engine.database(clock)
    directory, now = Path(files.place), lambda: clock.now
    ledger, jobs = PostgresLedger(database, {"tavily": 10}), PostgresJobs(database)
    assert ledger.reserve("tavily", deadline=time.monotonic() + 20)
    assert is_left_behind(directory, database, now)
    assert import_files(directory, database, now) == (4, 1)
    assert not is_left_behind(directory, database, now)
    assert import_files(directory, database, now) == (0, 0)
    assert ledger.spent("tavily") == 5
    assert [status.id for status in jobs.list("ann")] == [open_.id]
    assert jobs.status("ann", done.id) is None
    assert jobs.submit(submission("a.example/1", "b.example/1", "a.example/1#x", key="k", body="one")).replayed
    claim = jobs.claim("x")
    assert claim is not None
    assert (claim.host, claim.attempt, claim.seconds) == ("b.example", 2, BATCH_SECONDS)
    assert jobs.finish(claim, Outcome("ok", result=b"after"))
    page = jobs.page("ann", open_.id)
    assert page is not None
    assert [item.result for item in page.items] == [b"before", b"after", b"before"]
    assert jobs.purge("ann", open_.id)
    assert import_files(directory, database, now) == (0, 0)


def test_credits_of_other_days_and_missing_files_are_nothing(
    files: SqliteEngine, engine: PostgresEngine, clock: Clock, tmp_path: Path
) -> None:
    """contract: Store: yesterday's credits are nobody's; an empty directory stays empty."""
    spend(files, clock, 3)
    files.close()
    clock.advance(86_400)
    database = engine.database(clock)
    assert import_files(Path(files.place), database, lambda: clock.now) == (0, 0)
    assert import_files(tmp_path / "nowhere", database, lambda: clock.now) == (0, 0)
    assert not (tmp_path / "nowhere").exists()


def test_start_finds_credits_that_were_not_carried_over_it_warns(
    files: SqliteEngine, engine: PostgresEngine, postgres: Server
) -> None:
    """contract: Store: a switch in the middle of the day would be a new budget; the line names the command."""
    now = Clock(time.time())
    assert check(engine.place, 10.0, Path(files.place)) == ()
    spend(files, now, 1)
    files.close()
    ((event, fields),) = check(engine.place, 10.0, Path(files.place))
    assert event == "store_not_imported"
    assert "sift store import" in str(fields["message"])
    import_files(Path(files.place), engine.database())
    assert check(engine.place, 10.0, Path(files.place)) == ()
    with Server(fsync="off") as forgetful, pytest.raises(ConfigError, match=r"^SIFT_STORE_URL: .*fsync"):
        check(forgetful.url(), 10.0, Path(files.place))
