"""What no log, message or listing may hold (contract: Store, Log)."""

from __future__ import annotations

import gc
import logging
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sift.batch.model import Outcome
from sift.errors import ConfigError, StoreError
from tests.postgres import Server
from tests.store.engines import Clock, PostgresEngine, submission
from tests.waiting import wait_for

pytest.importorskip("psycopg", reason="psycopg is not installed")

import psycopg

from sift.store.postgres.check import check
from sift.store.postgres.database import Database
from sift.store.postgres.jobs import PostgresJobs
from sift.store.postgres.ledger import PostgresLedger

CANARY = "canary-6d1f"


@pytest.fixture
def heard() -> Iterator[list[str]]:
    """Collect everything that is logged in this process, tracebacks included."""
    lines: list[str] = []

    class Everything(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.getMessage()} {vars(record)}")
            if record.exc_info:
                lines.extend(traceback.format_exception(*record.exc_info))

    handler, root = Everything(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    yield lines
    root.removeHandler(handler)
    root.setLevel(level)


def shown(error: BaseException) -> str:
    """Return all that a traceback of an error would print."""
    return "".join(traceback.format_exception(error))


def test_urls_and_texts_stay_out_of_the_servers_log_and_list_of_sessions(
    postgres: Server, engine: PostgresEngine, clock: Clock, heard: list[str]
) -> None:
    """contract: Store: values are bound, whatever ends well, badly, or in a lock that nobody lets go."""
    jobs = PostgresJobs(engine.database(clock, 2.0))
    request = submission(f"{CANARY}.example/{CANARY}", caller=CANARY, key=CANARY, body=CANARY, invalid=CANARY)
    receipt = jobs.submit(request)
    claim = jobs.claim(CANARY)
    assert claim is not None
    assert jobs.renew(CANARY, claim.host)
    errors = []
    with psycopg.connect(engine.place) as other:
        other.execute("SELECT * FROM sift_hosts FOR UPDATE")
        with pytest.raises(StoreError) as caught:  # waits for the lock; the server logs the statement that it gives up
            jobs.finish(claim, Outcome("ok", result=CANARY.encode()))
        errors.append(caught.value)
        wait_for(lambda: "canceling statement" in postgres.log)
    jobs = PostgresJobs(engine.database(clock))
    for odd in ("\0", "\ud800"):
        with pytest.raises(StoreError) as caught:
            jobs.submit(replace(request, key="other", invalid=f"{CANARY}{odd}"))
        errors.append(caught.value)
    assert jobs.finish(claim, Outcome("failed", CANARY, CANARY))
    jobs.page(CANARY, receipt.id)
    with postgres.owner() as owner:
        sessions = owner.execute("SELECT query, application_name FROM pg_stat_activity").fetchall()
    assert jobs.purge(CANARY, receipt.id)
    assert "sift" in {name for _, name in sessions}
    assert CANARY not in str(sessions)
    for error in errors:
        assert CANARY not in shown(error)
    assert CANARY not in "".join(heard)
    found = [line for line in postgres.log.splitlines() if CANARY in line]
    assert found == []


@pytest.mark.parametrize("host", ["127.0.0.1", "canary-6d1f.invalid"])
def test_address_and_password_stay_out_of_messages(host: str, heard: list[str], tmp_path: Path) -> None:
    """contract: Store: nothing of the setting's value is shown by a server that cannot be reached."""
    url = f"postgresql://{CANARY}:{CANARY}@{host}:1/{CANARY}"
    assert check(url, 0.5, tmp_path) == (("store_unreachable", {}),)
    database = Database(url, 0.5)
    with pytest.raises(StoreError) as caught:
        database.run(lambda session: session.rows("SELECT 1"))
    assert CANARY not in shown(caught.value)
    PostgresLedger(database, {"tavily": 1}).close()
    database.close()
    del database
    gc.collect()
    assert CANARY not in "".join(heard)


def test_setting_is_no_uri_it_is_not_shown(tmp_path: Path) -> None:
    """contract: Settings: the variable is named, its value is not."""
    with pytest.raises(ConfigError) as caught:
        check(f"postgresql://h/{CANARY}?{CANARY}=1", 0.5, tmp_path)
    assert CANARY not in shown(caught.value)
    assert "SIFT_STORE_URL" in str(caught.value)


def test_host_that_is_gone_from_the_name_service_ends_no_sooner_and_no_later(tmp_path: Path) -> None:
    """contract: Store: a look-up that fails is a store that does not answer."""
    began = time.monotonic()
    assert check("postgresql://sift@nowhere.invalid/sift", 0.5, tmp_path) == (("store_unreachable", {}),)
    assert time.monotonic() - began < 15
