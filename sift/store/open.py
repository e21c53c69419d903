"""Opening the store that the settings name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sift.config import Config
from sift.errors import ConfigError
from sift.search.protocols import Ledger
from sift.store.mark import Mark
from sift.store.sheet import Totals
from sift.store.sqlite.ledger import SqliteLedger
from sift.store.usage import Used

if TYPE_CHECKING:
    from sift.batch.protocols import Jobs
    from sift.store.sqlite.jobs import SqliteJobs

LEDGER_FILE = "ledger.sqlite3"
BATCHES_FILE = "batches.sqlite3"
_IMPORT_WAIT = 30.0  # seconds; somebody watches, and no search waits


class CreditLedger(Ledger, Protocol):
    """A ledger, with what status and usage show of it, and the counts that go with it."""

    def spent(self, name: str) -> int:
        """Return the credits spent today. Raises LedgerError."""

    def resets_at(self) -> str:
        """Return the end of the current day, in ISO 8601 with `Z`."""

    def book_usage(self, totals: Totals) -> None:
        """Bring the counts of calls that cost no credit up to a sheet, however often. Raises LedgerError."""

    def usage(self, days: int) -> list[Used]:
        """Return what was used in the last days, the newest first. Raises LedgerError."""


@dataclass(frozen=True, slots=True)
class Store:
    """What the processes of a service share. Nothing is opened before its first use.

    jobs: returns what keeps the batches; it is loaded at the first call. may_hold_batches: returns whether there can be
    any, without asking for them. close: books what is not booked yet, and closes everything; never raises.
    """

    ledger: CreditLedger
    jobs: Callable[[], Jobs]
    may_hold_batches: Callable[[], bool]
    close: Callable[[], None]


class _SqliteBatches:
    """Makes the batches of a file when they are wanted: a service that nobody gives any spares their memory."""

    def __init__(self, path: Path, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._lock = threading.Lock()
        self._jobs: SqliteJobs | None = None

    def __call__(self) -> SqliteJobs:
        with self._lock:
            if self._jobs is None:
                from sift.store.sqlite.jobs import SqliteJobs

                self._jobs = SqliteJobs(self._path, self._timeout)
            return self._jobs

    def exist(self) -> bool:
        return self._path.exists()

    def close(self) -> None:
        if self._jobs is not None:
            self._jobs.close()


def open_store(config: Config, caps: Mapping[str, int], mark: Mark | None = None) -> Store:
    """Return the store that the settings name. Raises ConfigError.

    caps: credits a day, by source. mark: what the processes of a service know together about its ledger.
    """
    if config.store_url:
        return _postgres(config, caps, mark)
    ledger = SqliteLedger(config.state_dir / LEDGER_FILE, caps, mark=mark)
    batches = _SqliteBatches(config.state_dir / BATCHES_FILE, config.store_timeout)

    def close() -> None:
        ledger.close()
        batches.close()

    return Store(ledger, batches, batches.exist, close)


def check_store(config: Config) -> tuple[tuple[str, Mapping[str, object]], ...]:
    """Look at the store once, before a service starts; return warnings as events of the log with their fields.

    A server that does not answer stops no start: searches go on without what it counts. Raises ConfigError when it
    answers and may not hold a store. Leaves no connection behind.
    """
    if not config.store_url:
        return ()
    _need_psycopg()
    from sift.store.postgres.check import check

    return check(config.store_url, config.store_timeout, config.state_dir)


def import_store(config: Config) -> tuple[int, int]:
    """Carry what the files in the state directory hold over to the database; return how many credits and batches.

    What was carried over before is not again, and not counted. No service may use the files any more.
    Raises ConfigError without a database that may hold a store, StoreError when it does not answer.
    """
    if not config.store_url:
        raise ConfigError("SIFT_STORE_URL must be set: it says where to carry the files in the state directory")
    _need_psycopg()
    from sift.store.postgres.database import Database, UnfitStoreError
    from sift.store.postgres.imports import import_files

    database = Database(config.store_url, max(config.store_timeout, _IMPORT_WAIT), size=1)
    try:
        return import_files(config.state_dir, database)
    except UnfitStoreError as error:
        raise ConfigError(f"SIFT_STORE_URL: {error.reason}") from None
    finally:
        database.close()


def _postgres(config: Config, caps: Mapping[str, int], mark: Mark | None) -> Store:
    _need_psycopg()
    from sift.store.postgres.database import Database
    from sift.store.postgres.jobs import PostgresJobs
    from sift.store.postgres.ledger import PostgresLedger

    database = Database(config.store_url, config.store_timeout, mark=mark)
    ledger, jobs = PostgresLedger(database, caps), PostgresJobs(database)

    def close() -> None:
        ledger.close()
        database.close()

    return Store(ledger, lambda: jobs, lambda: True, close)


def _need_psycopg() -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise ConfigError("SIFT_STORE_URL needs psycopg: pip install 'sift-gateway[postgres]'") from None
