"""Opening the store that the settings name (contract: Store, Settings)."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from sift.config import Config
from sift.errors import ConfigError
from sift.sources import DECLARED
from sift.store.open import check_store, import_store, open_store
from sift.store.sqlite.jobs import SqliteJobs
from sift.store.sqlite.ledger import SqliteLedger
from tests.postgres import Server
from tests.store.engines import submission


def config(directory: Path, **environ: str) -> Config:
    return Config.from_env(
        {"SIFT_SEARXNG_URL": "http://searx.example", "SIFT_STATE_DIR": str(directory)} | environ, DECLARED
    )


def test_no_url_files_in_the_state_directory(tmp_path: Path) -> None:
    """contract: Store: one host needs nothing else; nothing is opened before its first use."""
    settings = config(tmp_path)
    assert check_store(settings) == ()
    store = open_store(settings, {"tavily": 2})
    assert isinstance(store.ledger, SqliteLedger)
    assert isinstance(store.jobs(), SqliteJobs)
    assert [*tmp_path.iterdir()] == []
    assert not store.may_hold_batches()
    assert store.ledger.reserve("tavily", deadline=time.monotonic() + 20)
    store.jobs().submit(submission("a.example/1"))
    assert store.may_hold_batches()
    store.close()
    assert {path.name for path in tmp_path.iterdir()} == {"ledger.sqlite3", "batches.sqlite3"}


def test_url_of_a_database_no_file_is_made(postgres: Server, tmp_path: Path) -> None:
    """contract: Store: PostgreSQL has everything then."""
    settings = config(tmp_path / "state", SIFT_STORE_URL=postgres.room(), SIFT_STORE_TIMEOUT="10")
    assert check_store(settings) == ()
    store = open_store(settings, {"tavily": 2})
    assert store.ledger.reserve("tavily", deadline=time.monotonic() + 20)
    assert store.ledger.left("tavily") == 1
    receipt = store.jobs().submit(submission("a.example/1"))
    assert store.jobs().status("ann", receipt.id) is not None
    store.close()
    assert not (tmp_path / "state").exists()


def test_files_are_carried_over_credits_and_batches_are_counted_once(postgres: Server, tmp_path: Path) -> None:
    """contract: Store: from the files of one host to the database, when its settings name one."""
    files = open_store(config(tmp_path), {"tavily": 5})
    assert files.ledger.reserve("tavily", deadline=time.monotonic() + 20)
    receipt = files.jobs().submit(submission("a.example/1"))
    files.close()
    settings = config(tmp_path, SIFT_STORE_URL=postgres.room(), SIFT_STORE_TIMEOUT="10")
    with pytest.raises(ConfigError, match="SIFT_STORE_URL"):
        import_store(config(tmp_path))
    assert [import_store(settings), import_store(settings)] == [(1, 1), (0, 0)]
    store = open_store(settings, {"tavily": 5})
    assert store.ledger.spent("tavily") == 1
    assert store.jobs().status("ann", receipt.id) is not None
    store.close()


def test_psycopg_is_not_installed_the_start_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """contract: Settings: the extra is named, and the URL is not."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    settings = config(tmp_path, SIFT_STORE_URL="postgresql://secret@h/d")
    for use in (lambda: check_store(settings), lambda: open_store(settings, {})):
        with pytest.raises(ConfigError, match=r"sift-gateway\[postgres\]") as caught:
            use()
        assert "secret" not in str(caught.value)
