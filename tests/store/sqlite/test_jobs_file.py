"""The file of batches (contract: Store)."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sift.batch.model import Outcome
from sift.errors import StoreError
from sift.store.sqlite.jobs import SqliteJobs, uptime
from tests.store.engines import Clock, SqliteEngine, submission
from tests.store.processes import start
from tests.store.test_processes import lines
from tests.waiting import wait_for

SECRET = "a.example/secret-7c1d"


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    made = SqliteEngine(tmp_path / "state")
    yield made
    made.close()


@pytest.fixture
def path(engine: SqliteEngine) -> Path:
    return Path(engine.place) / "batches.sqlite3"


def content(path: Path) -> bytes:
    """Return the bytes of the file and of those beside it."""
    return b"".join(each.read_bytes() for each in path.parent.iterdir())


def test_file_is_its_owners_alone_and_made_at_first_use(engine: SqliteEngine, path: Path, clock: Clock) -> None:
    """contract: Store: mode 0600, the files beside it too, in a directory of mode 0700."""
    jobs = engine.jobs(clock)
    assert not path.parent.exists()
    jobs.submit(submission("a.example/1"))
    assert {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()} == dict.fromkeys(
        [path.name, path.name + "-wal", path.name + "-shm"], 0o600
    )
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_file_survives_a_power_cut_as_far_as_sqlite_can_say(engine: SqliteEngine, path: Path, clock: Clock) -> None:
    """contract: Store: a write-ahead log, flushed with every commit; what is deleted is overwritten."""
    jobs = engine.jobs(clock)
    jobs.list("ann")
    db = jobs._file._connection  # type: ignore[attr-defined]
    values = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "secure_delete")]
    assert values == ["wal", 2, 1]


@pytest.mark.parametrize("how", ["purge", "expiry"])
def test_batch_is_deleted_no_byte_of_it_is_left(engine: SqliteEngine, path: Path, clock: Clock, how: str) -> None:
    """contract: Store: neither in the file nor in its log."""
    jobs = engine.jobs(clock)
    receipt = jobs.submit(submission(SECRET, ttl=3600.0))
    claim = jobs.claim("w")
    assert claim is not None
    jobs.finish(claim, Outcome("ok", result=SECRET.encode() * 1000))
    assert SECRET.encode() in content(path)
    if how == "purge":
        jobs.purge("ann", receipt.id)
    else:
        clock.advance(3600)
        jobs.sweep()
    assert SECRET.encode() not in content(path)


def test_file_is_locked_waiting_ends(engine: SqliteEngine, path: Path) -> None:
    """contract: Store: a store that is busy for too long does not answer; afterwards it does."""
    jobs = SqliteJobs(path, 0.1)
    receipt = jobs.submit(submission("a.example/1"))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError):
            jobs.submit(submission("a.example/2"))
        assert jobs.status("ann", receipt.id) is not None  # readers need not wait
    assert jobs.submit(submission("a.example/2"))
    jobs.close()


def test_thread_has_the_connection_others_wait_no_longer_than_they_may(engine: SqliteEngine, path: Path) -> None:
    """contract: Store: the wait for another thread counts too."""
    jobs = SqliteJobs(path, 0.05)
    jobs.list("ann")
    with jobs._file._lock, pytest.raises(StoreError):
        jobs.list("ann")
    assert jobs.list("ann") == ()
    jobs.close()


@pytest.mark.parametrize("content", [b"somebody's notes\n" * 500, bytes(8192)])
def test_file_is_another_programs_it_stays_as_it_is(path: Path, content: bytes) -> None:
    """contract: Store: nothing that cannot be read is replaced."""
    path.parent.mkdir()
    path.write_bytes(content)
    jobs = SqliteJobs(path, 0.1)
    for _ in range(2):
        with pytest.raises(StoreError):
            jobs.list("ann")
    assert path.read_bytes() == content


def test_file_is_deleted_while_it_is_used_a_new_one_is_begun(engine: SqliteEngine, path: Path, clock: Clock) -> None:
    """contract: Store: what was in it is gone, and nothing else."""
    jobs = engine.jobs(clock)
    receipt = jobs.submit(submission("a.example/1"))
    for each in path.parent.iterdir():
        each.unlink()
    assert jobs.status("ann", receipt.id) is None
    assert jobs.submit(submission("a.example/1"))
    assert path.exists()
    for db in jobs._file._abandoned:  # type: ignore[attr-defined]
        db.close()


FULL = """
import resource
from sift.errors import StoreError
from tests.store.engines import submission
jobs = open_jobs(kind, place, Clock())
made = jobs.submit(submission("a.example/1"))
claim = jobs.claim("w")
def tell(use):
    try:
        return bool(use())
    except StoreError:
        return "StoreError"
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
refused = [tell(lambda: jobs.submit(submission("b.example/1"))), tell(lambda: jobs.finish(claim, Outcome("ok")))]
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
say(*refused, tell(lambda: jobs.finish(claim, Outcome("ok"))), len(jobs.list("ann")))
"""


def test_disk_is_full_nothing_is_accepted_and_nothing_lost(engine: SqliteEngine) -> None:
    """contract: Store: what cannot be kept is refused; once there is room, work goes on where it was."""
    assert lines(start(engine, FULL)) == [["StoreError", "StoreError", True, 1]]


def test_file_is_new_and_several_open_it_at_once(engine: SqliteEngine, path: Path) -> None:
    """contract: Store: whoever comes second waits."""
    start_, made = threading.Barrier(6), list[Any]()

    def ask(jobs: Any, n: int) -> None:
        start_.wait(20)
        made.append(jobs.submit(submission(f"a.example/{n}")))

    threads = [threading.Thread(target=ask, args=(engine.jobs(), n)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(made) == 6


def test_ticks_go_on_whatever_the_clock_says() -> None:
    """contract: Store: leases are counted by a clock that nobody sets."""
    before = uptime()
    wait_for(lambda: uptime() > before)


def test_clock_is_set_ahead_leases_and_gaps_do_not_care(engine: SqliteEngine, clock: Clock) -> None:
    """contract: Store: on one host a step of the clock lets nobody in too early, and ends no batch."""
    jobs = engine.jobs(clock)
    receipt = jobs.submit(submission("a.example/1", "a.example/2"))
    claim = jobs.claim("v")
    assert claim is not None
    clock.step(3600)
    jobs.sweep()
    assert jobs.claim("w") is None
    assert jobs.finish(claim, Outcome("ok"))
    assert jobs.claim("w") is None
    clock.advance(1.01)
    assert jobs.claim("w") is not None
    status = jobs.status("ann", receipt.id)
    assert status is not None
    assert status.failed == 0
