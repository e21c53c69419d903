"""A server that hangs, dies, refuses or is another one (contract: Store)."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sift.batch.model import Outcome
from sift.errors import StoreError
from sift.search.protocols import LedgerError, LedgerLostError
from sift.store.mark import Mark
from tests.postgres import Server
from tests.store.engines import Clock, PostgresEngine, submission
from tests.waiting import wait_for

pytest.importorskip("psycopg", reason="psycopg is not installed")

import psycopg

from sift.store.postgres.database import REST, Database, UnfitStoreError
from sift.store.postgres.jobs import PostgresJobs
from sift.store.postgres.ledger import PostgresLedger


class Ticks:
    """The breaker's clock, which tests set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def ask(database: Database) -> Any:
    return database.run(lambda session: session.rows("SELECT 1"), is_one=True)


def warm(database: Database, ticks: Ticks) -> Database:
    """Return a database that has a connection, as the first one may take longer than a test's timeout."""
    while refuses(lambda: ask(database)):
        ticks.now += REST
    return database


def refuses(use: Callable[[], object]) -> bool:
    """Return whether a use of the store fails as it should."""
    try:
        use()
    except (StoreError, LedgerError):
        return True
    return False


def later() -> float:
    return time.monotonic() + 20


# Waiting


def test_server_hangs_every_wait_ends(postgres: Server, engine: PostgresEngine, clock: Clock) -> None:
    """contract: Store: also on a connection that was good, as SIGSTOP accepts packets and answers none."""
    ticks = Ticks()
    database = warm(engine.database(clock, 1.0, clock=ticks), ticks)
    ledger, jobs = PostgresLedger(database, {"tavily": 50}), PostgresJobs(database)
    jobs.submit(submission("a.example/1"))
    assert ledger.reserve("tavily", deadline=later())
    refused: list[bool] = []
    uses: list[Callable[[], object]] = [
        lambda: ledger.reserve("tavily", deadline=later()),
        lambda: ledger.spent("tavily"),
        lambda: jobs.claim("w"),
        lambda: jobs.list("ann"),
        lambda: jobs.submit(submission("a.example/2")),
    ]
    postgres.stop()
    try:
        threads = [threading.Thread(target=lambda use=use: refused.append(refuses(use))) for use in uses * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert refused == [True] * 20
    finally:
        postgres.go_on()
    # Nobody asks for a while, although the server would answer.
    assert refuses(uses[0])
    ticks.now += REST
    assert ledger.reserve("tavily", deadline=later())
    assert ask(database) == [(1,)]


def test_server_hangs_before_it_was_ever_reached_waiting_ends(postgres: Server, engine: PostgresEngine) -> None:
    """contract: Store: connecting is bounded too."""
    database = engine.database(timeout=0.3)
    postgres.stop()
    try:
        with pytest.raises(StoreError):
            ask(database)
    finally:
        postgres.go_on()


def test_call_has_less_time_than_the_setting_its_deadline_counts(postgres: Server, engine: PostgresEngine) -> None:
    """contract: Store: waiting is inside the source's own deadline."""
    database = engine.database(timeout=10.0)
    ledger = PostgresLedger(database, {"tavily": 5})
    assert ledger.reserve("tavily", deadline=later())
    postgres.stop()
    began = time.monotonic()
    try:
        with pytest.raises(LedgerError):
            ledger.reserve("tavily", deadline=began + 0.2)
        assert time.monotonic() - began < 5
    finally:
        postgres.go_on()


def test_price_cannot_be_read_soon_others_still_ask(postgres: Server, engine: PostgresEngine) -> None:
    """contract: Store: a short look at the count keeps nobody from taking a credit."""
    ledger = PostgresLedger(engine.database(), {"tavily": 5})
    assert ledger.reserve("tavily", deadline=later())
    postgres.stop()
    try:
        with pytest.raises(LedgerError):
            ledger.spent("tavily")
    finally:
        postgres.go_on()
    assert ledger.reserve("tavily", deadline=later())


# Servers that die


def test_server_is_killed_in_mid_batch_work_goes_on_when_it_is_back(
    postgres: Server, engine: PostgresEngine, clock: Clock
) -> None:
    """contract: Store: what was answered stays, what was claimed is finished or comes again."""
    ticks = Ticks()
    jobs = PostgresJobs(engine.database(clock, clock=ticks))
    receipt = jobs.submit(submission("a.example/1", "b.example/1"))
    first, second = jobs.claim("v"), jobs.claim("w")
    assert first is not None
    assert second is not None
    assert jobs.finish(first, Outcome("ok", result=b"before"))
    postgres.kill()
    assert refuses(lambda: jobs.finish(second, Outcome("ok", result=b"after")))
    postgres.start()
    ticks.now += REST
    assert jobs.finish(second, Outcome("ok", result=b"after"))
    page = jobs.page("ann", receipt.id)
    assert page is not None
    assert [item.result for item in page.items] == [b"before", b"after"]


def test_server_was_restarted_while_nobody_asked_nobody_notices(postgres: Server, engine: PostgresEngine) -> None:
    """contract: Store: connections that died meanwhile are not used."""
    database = engine.database()
    assert ask(database) == [(1,)]
    postgres.kill()
    postgres.start()
    assert ask(database) == [(1,)]


def test_server_is_killed_in_a_burst_no_credit_is_forgotten(postgres: Server, engine: PostgresEngine) -> None:
    """contract: Credits: granted <= cap <= counted, over the life and the next of a server."""
    granted, cap = [], 60
    ledger = PostgresLedger(engine.database(clock=Ticks()), {"tavily": cap})

    def take() -> None:
        while not refuses(lambda: granted.append(ledger.reserve("tavily", deadline=later()))):
            pass

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(granted) > 10)
    postgres.kill()
    for thread in threads:
        thread.join(20)
    before = [day for day in granted if day]
    postgres.start()
    again = PostgresLedger(engine.database(), {"tavily": cap}, read_wait=20)
    assert len(before) <= again.spent("tavily") <= len(before) + 4
    after = 0
    while after <= cap and again.reserve("tavily", deadline=later()):
        after += 1
    assert len(before) + after <= cap == again.spent("tavily")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of four megabytes."""
    path = tmp_path / "small"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=1777", "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def test_disk_of_the_server_is_full_nothing_is_accepted_and_nothing_lost(
    small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """contract: Store: what cannot be kept is refused, with the server's code in the log; then work goes on."""
    for each in (*tmp_parents(small_disk), small_disk):
        each.chmod(0o755 if each != small_disk else 0o1777)
    with Server() as server:
        room = server.room()
        (small_disk / "space").mkdir()
        shutil.chown(small_disk / "space", server.data.owner())
        (small_disk / "space").chmod(0o700)
        with server.owner() as owner:
            owner.execute(f"CREATE TABLESPACE small LOCATION '{small_disk / 'space'}'")
            owner.execute("GRANT CREATE ON TABLESPACE small TO sift")
        engine = PostgresEngine(f"{room}%20-cdefault_tablespace%3Dsmall")
        ticks = Ticks()
        jobs = PostgresJobs(warm(engine.database(clock=ticks), ticks))
        made = jobs.submit(submission("a.example/1"))
        claim = jobs.claim("w")
        assert claim is not None
        outcome = Outcome("ok", result=os.urandom(200_000))
        fill(small_disk / "filler")
        assert refuses(lambda: jobs.submit(submission(*(f"b.example/{n}/{'x' * 3000}" for n in range(100)))))
        ticks.now += REST
        assert refuses(lambda: jobs.finish(claim, outcome))
        told = [each.__dict__["fields"]["reason"] for each in caplog.records if each.getMessage() == "store_down"]
        assert told == ["53100"]
        (small_disk / "filler").unlink()
        ticks.now += REST
        assert jobs.finish(claim, outcome)
        (status,) = jobs.list("ann")
        assert (status.id, status.state) == (made.id, "done")
        engine.close()


def tmp_parents(path: Path) -> list[Path]:
    """Return the directories of pytest's own above a path, which another user must pass."""
    return [each for each in path.parents if each.name.startswith(("pytest-", "test_"))]


def fill(path: Path) -> None:
    """Write a file until the disk is full."""
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass


def test_server_is_away_it_is_logged_once_and_so_is_its_return(
    postgres: Server, engine: PostgresEngine, caplog: pytest.LogCaptureFixture
) -> None:
    """contract: Log: `store_down` with a reason, `store_up`; nothing for each failure between."""
    ticks = Ticks()
    database = engine.database(clock=ticks)
    ask(database)
    caplog.set_level("INFO", "sift.store")
    caplog.clear()
    postgres.kill()
    for _ in range(3):
        assert refuses(lambda: ask(database))
        ticks.now += REST
    postgres.start()
    ask(database)
    assert [record.getMessage() for record in caplog.records] == ["store_down", "store_up"]
    assert caplog.records[0].fields == {"reason": "unreachable"}  # type: ignore[attr-defined]


# Servers that may not hold a store


def test_server_forgets_credits_it_is_refused() -> None:
    """contract: Store: fsync=off."""
    with Server(fsync="off") as forgetful:
        database = Database(forgetful.url(), 5.0)
        with pytest.raises(UnfitStoreError, match="fsync"):
            ask(database)
        database.close()


def test_server_is_too_old_it_is_refused() -> None:
    """contract: Store: PostgreSQL 13 or newer."""
    old: Any = SimpleNamespace(info=SimpleNamespace(server_version=120_022))
    with pytest.raises(UnfitStoreError, match="PostgreSQL 13 or newer"):
        Database("postgresql:///nowhere")._prepare(old)


def test_sessions_wait_for_the_disk_whatever_the_server_is_set_to(postgres: Server, engine: PostgresEngine) -> None:
    """contract: Store: synchronous_commit is on, and no parameter gets into the server's log with an error."""
    with postgres.owner() as owner:
        owner.execute("ALTER ROLE sift SET synchronous_commit = off")
        owner.execute("ALTER ROLE sift SET log_parameter_max_length_on_error = -1")
    try:
        for setting, value in (("synchronous_commit", "on"), ("log_parameter_max_length_on_error", "0")):
            database = engine.database()
            shown = database.run(lambda session, setting=setting: session.rows(f"SHOW {setting}"), is_one=True)
            assert shown == [(value,)]
    finally:
        with postgres.owner() as owner:
            owner.execute("ALTER ROLE sift RESET ALL")


def test_tables_are_another_versions_they_are_left_alone(engine: PostgresEngine) -> None:
    """contract: Store: a newer Sift's store is not written by an older one."""
    ask(engine.database())
    engine.rows("UPDATE sift_store SET version = 99 RETURNING 1")
    with pytest.raises(UnfitStoreError, match="version"):
        ask(engine.database())


def test_tables_go_away_while_a_service_runs_no_new_budget(
    engine: PostgresEngine, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """contract: Credits: neither a dropped nor a replaced database is a new budget before the next start."""
    mark = Mark()

    def ledger() -> PostgresLedger:
        return PostgresLedger(engine.database(clock, mark=mark), {"tavily": 2}, now=lambda: clock.now, read_wait=20)

    first = ledger()
    assert first.reserve("tavily", deadline=later())
    engine.rows("UPDATE sift_store SET identity = identity + 2 RETURNING 1")
    with pytest.raises(LedgerLostError):
        ledger().reserve("tavily", deadline=later())
    for table in ("store", "spent", "caps", "bookings", "imports", "batches", "items", "places", "hosts"):
        with psycopg.connect(engine.place, autocommit=True) as db:
            db.execute(f"DROP TABLE sift_{table}")
    with pytest.raises(LedgerError):
        first.reserve("tavily", deadline=later())
    with pytest.raises(LedgerLostError):
        ledger().left("tavily")
    assert "ledger_lost" in caplog.messages
    mark = Mark()  # as after a start
    assert ledger().reserve("tavily", deadline=later())


# Locks


def test_row_is_locked_claims_take_what_is_free(engine: PostgresEngine, clock: Clock) -> None:
    """contract: Store: a claim that hangs in the middle holds up its own host and no other."""
    ticks = Ticks()
    jobs = PostgresJobs(warm(engine.database(clock, 2.0, clock=ticks), ticks))
    jobs.submit(submission("a.example/1", "b.example/1"))
    with psycopg.connect(engine.place) as other:
        other.execute("SELECT * FROM sift_hosts WHERE host = 'a.example' FOR UPDATE")
        claim = jobs.claim("w")
        assert claim is not None
        assert claim.host == "b.example"
        assert jobs.claim("x") is None
    claim = jobs.claim("x")
    assert claim is not None
    assert claim.host == "a.example"


def test_statement_waits_too_long_the_server_gives_up_too(engine: PostgresEngine, clock: Clock) -> None:
    """contract: Store: what nobody waits for any more is not done later; nor does it keep others away."""
    ticks = Ticks()
    jobs = PostgresJobs(warm(engine.database(clock, 0.5, clock=ticks), ticks))
    receipt = PostgresJobs(engine.database(clock)).submit(submission("a.example/1"))
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'sift' AND wait_event_type = 'Lock'"
    with psycopg.connect(engine.place) as other:
        other.execute("SELECT * FROM sift_batches FOR UPDATE")
        assert refuses(lambda: jobs.purge("ann", receipt.id))
        wait_for(lambda: engine.rows(waiting) == [(0,)])
    fresh = PostgresJobs(engine.database(clock))
    assert fresh.status("ann", receipt.id) is not None
