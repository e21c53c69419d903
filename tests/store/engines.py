"""Both engines of the store, for one suite of tests."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol, cast

from sift.batch.model import Place, Submission
from sift.batch.protocols import Jobs
from sift.store.open import CreditLedger
from sift.store.sqlite.jobs import SqliteJobs
from sift.store.sqlite.ledger import SqliteLedger

NOON = 1_790_683_200.0  # 2026-09-29T12:00:00Z


class Clock:
    """A clock that tests set: Unix time, and the ticks of a clock that nobody sets."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now
        self.ticks = 1_000_000.0

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.ticks += seconds

    def step(self, seconds: float) -> None:
        """Set the clock as an operator may."""
        self.now += seconds


class Engine(Protocol):
    """One engine with a place of its own. All that it makes share that place, each as if in a process of its own.

    name: `sqlite` or `postgres`. place: what a process is given to find it: a directory or a URI.
    """

    name: str
    place: str

    def jobs(self, clock: Clock | None = None, **settings: Any) -> Jobs:
        """Return jobs on a test's clock; without one on the real clocks."""

    def ledger(self, clock: Clock, caps: Mapping[str, int]) -> CreditLedger: ...

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Look at the tables."""

    def close(self) -> None: ...


class SqliteEngine:
    """SQLite files in a directory."""

    name = "sqlite"

    def __init__(self, directory: Path) -> None:
        self.place = str(directory)
        self._made: list[Any] = []

    def jobs(self, clock: Clock | None = None, **settings: Any) -> Jobs:
        self._made.append(open_jobs(self.name, self.place, clock, **settings))
        return cast(Jobs, self._made[-1])

    def ledger(self, clock: Clock, caps: Mapping[str, int]) -> CreditLedger:
        self._made.append(SqliteLedger(Path(self.place) / "ledger.sqlite3", caps, lambda: clock.now))
        return cast(CreditLedger, self._made[-1])

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(Path(self.place) / "batches.sqlite3")) as db:
            return db.execute(statement).fetchall()

    def close(self) -> None:
        for each in self._made:
            each.close()


class PostgresEngine:
    """Tables in a schema of a server."""

    name = "postgres"

    def __init__(self, place: str) -> None:
        self.place = place
        self._made: list[Any] = []

    def database(self, time: Clock | None = None, timeout: float = 10.0, **settings: Any) -> Any:
        """Return the database at a test's time; without one at the server's."""
        from sift.store.postgres.database import Database

        now = None if time is None else lambda: time.now
        self._made.append(Database(self.place, timeout, now=now, **settings))
        return self._made[-1]

    def jobs(self, clock: Clock | None = None, **settings: Any) -> Jobs:
        from sift.store.postgres.jobs import PostgresJobs

        return PostgresJobs(self.database(clock), **settings)

    def ledger(self, clock: Clock, caps: Mapping[str, int]) -> CreditLedger:
        from sift.store.postgres.ledger import PostgresLedger

        return PostgresLedger(self.database(clock), caps, now=lambda: clock.now, read_wait=20, usage_wait=20)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(self.place, autocommit=True) as db:
            return db.execute(statement).fetchall()

    def close(self) -> None:
        for each in self._made:
            each.close()


def open_jobs(name: str, place: str, clock: Clock | None = None, **settings: Any) -> Jobs:
    """Return the jobs of an engine's place, by its name, for a process of its own; with the real clocks without one."""
    if name == "sqlite":
        times = {} if clock is None else {"now": lambda: clock.now, "ticks": lambda: clock.ticks}
        return SqliteJobs(Path(place) / "batches.sqlite3", 10.0, **times, **settings)
    from sift.store.postgres.database import Database
    from sift.store.postgres.jobs import PostgresJobs

    return PostgresJobs(Database(place, 10.0, now=None if clock is None else lambda: clock.now), **settings)


def open_ledger(name: str, place: str, caps: Mapping[str, int], now: float) -> CreditLedger:
    """Return the ledger of an engine's place."""
    if name == "sqlite":
        return SqliteLedger(Path(place) / "ledger.sqlite3", caps, lambda: now)
    from sift.store.postgres.database import Database
    from sift.store.postgres.ledger import PostgresLedger

    return PostgresLedger(Database(place, 10.0, now=lambda: now), caps, now=lambda: now, read_wait=20, usage_wait=20)


def submission(*urls: str, caller: str = "ann", cls: str = "fleet", **more: Any) -> Submission:
    """Return a request for URLs such as `a.example/1`, whose key is the URL without its fragment."""
    places = tuple(
        Place(index, f"https://{url}", url.partition("#")[0], url.partition("/")[0]) for index, url in enumerate(urls)
    )
    return Submission(caller, cls, places, **more)
