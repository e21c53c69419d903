"""What a start asks of its database (contract: Store)."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from sift.errors import ConfigError, StoreError
from sift.store.postgres.database import Database, UnfitStoreError
from sift.store.postgres.imports import is_left_behind

Warnings = tuple[tuple[str, Mapping[str, object]], ...]

HINT = "the files in the state directory hold credits of today or unfinished batches: sift store import"
_WAIT = 10.0  # seconds for a name server that does not answer; the rest has bounds of its own


def check(url: str, timeout: float, files: Path) -> Warnings:
    """Return warnings about the database at a URL. Raises ConfigError when it may not hold a store.

    files: the directory in which credits and batches may lie that the database does not know.
    """
    try:
        conninfo_to_dict(url)
    except psycopg.Error:
        raise ConfigError("SIFT_STORE_URL is no URI that PostgreSQL's libpq takes") from None
    found: list[Warnings | ConfigError] = []
    # A thread of its own, as nothing else bounds the wait for a name server.
    thread = threading.Thread(target=lambda: found.append(_ask(url, timeout, files)), name="sift-store", daemon=True)
    thread.start()
    thread.join(_WAIT)
    outcome = found[0] if found else (("store_unreachable", {}),)
    if isinstance(outcome, ConfigError):
        raise outcome
    return outcome


def _ask(url: str, timeout: float, files: Path) -> Warnings | ConfigError:
    database = Database(url, max(timeout, 2.0), size=1)
    try:
        database.run(lambda session: session.rows("SELECT 1"))
        if is_left_behind(files, database):
            return (("store_not_imported", {"message": HINT}),)
    except UnfitStoreError as error:
        return ConfigError(f"SIFT_STORE_URL: {error.reason}")
    except StoreError:
        return (("store_unreachable", {}),)
    finally:
        database.close()
    return ()
