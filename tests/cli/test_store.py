"""`sift store import`: files are carried over to PostgreSQL."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from sift.store.open import BATCHES_FILE, LEDGER_FILE
from sift.store.sqlite.jobs import SqliteJobs
from sift.store.sqlite.ledger import SqliteLedger
from tests.postgres import Server
from tests.store.engines import submission

WRONG = {
    "no database": ({}, "SIFT_STORE_URL must be set"),
    "another scheme": ({"SIFT_STORE_URL": "redis://127.0.0.1/"}, "SIFT_STORE_URL"),
    "wrong time": ({"SIFT_STORE_URL": "postgresql://127.0.0.1/x", "SIFT_STORE_TIMEOUT": "0"}, "SIFT_STORE_TIMEOUT"),
}


@pytest.mark.parametrize(("changes", "named"), WRONG.values(), ids=WRONG)
def test_wrong_setting_is_named(call: Any, changes: dict[str, str], named: str) -> None:
    """contract: Batch command: exit code 2, as where the service is started."""
    done = call("store", "import", **changes)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr


def test_files_are_carried_over_once(run: Any, tmp_path: Path, postgres: Server) -> None:
    """contract: Batch command: how much it was is on stdout; the second time it is nothing."""
    state = tmp_path / "state"
    ledger, jobs = SqliteLedger(state / LEDGER_FILE, {"tavily": 10}), SqliteJobs(state / BATCHES_FILE, 5.0)
    for _ in range(3):
        assert ledger.reserve("tavily", deadline=time.monotonic() + 20)
    jobs.submit(submission("a.example/1"))
    ledger.close()
    jobs.close()
    settings = {"SIFT_STORE_URL": postgres.room(), "SIFT_STATE_DIR": str(state)}
    first, second = (run("store", "import", **settings) for _ in range(2))
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == "carried over: 3 credits of today, unfinished batches: 1\n"
    assert second.stdout == "carried over: 0 credits of today, unfinished batches: 0\n"


def test_database_that_does_not_answer_exits_1_and_is_not_shown(run: Any, tmp_path: Path, postgres: Server) -> None:
    """contract: Batch command: one line, without the address."""
    settings = {
        "SIFT_STORE_URL": "postgresql://sift:secret@127.0.0.1:9/sift",
        "SIFT_STATE_DIR": str(tmp_path / "state"),
    }
    done = run("store", "import", **settings)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr
