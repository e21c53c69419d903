"""The database of a store: what it must be, its tables, and one bounded transaction after another (contract: Store)."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable
from typing import TypeVar

import psycopg

from sift.errors import StoreError
from sift.search.breaker import Breaker, Permit, State
from sift.store.batches.tables import TABLES
from sift.store.mark import Mark
from sift.store.postgres import usage
from sift.store.postgres.connection import Connection, EngineTimeoutError, PostgresSession, connect
from sift.store.postgres.pool import Pool

_T = TypeVar("_T")
_log = logging.getLogger("sift.store")

VERSION = 1
OLDEST_SERVER = 130_000
REST = 5.0
"""Seconds without a call after one that the server did not answer, so that not every search waits for it."""
_OPEN_WAIT = 5.0  # seconds that making the tables may take
_ABANDONED = "10s"  # a transaction whose client says nothing for so long is ended, and its locks with it
# The plans are settled, as every statement has its index: tables that fill and empty within minutes have no statistics
# by which the server could choose (without them it sorts all that waits for each claim).
_SETTINGS = f"""
SELECT set_config('synchronous_commit', 'on', false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('statement_timeout', CAST(:milliseconds AS text), false),
    set_config('idle_in_transaction_session_timeout', '{_ABANDONED}', false),
    set_config('log_parameter_max_length_on_error', '0', false),
    set_config('plan_cache_mode', 'force_generic_plan', false), set_config('jit', 'off', false),
    set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),
    set_config('enable_sort', 'off', false), set_config('enable_hashjoin', 'off', false),
    set_config('enable_mergejoin', 'off', false)
"""
_STATE = "SELECT current_setting('fsync'), to_regclass('sift_store') IS NOT NULL"
_TABLES = (
    """CREATE TABLE IF NOT EXISTS sift_store (
        one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, identity BIGINT NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS sift_spent (
        source TEXT NOT NULL, day DATE NOT NULL, credits BIGINT NOT NULL, calls BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (source, day)
    )""",
    *usage.TABLES,
    "CREATE TABLE IF NOT EXISTS sift_caps (source TEXT NOT NULL, day DATE NOT NULL, cap BIGINT NOT NULL,"
    " PRIMARY KEY (source, day))",
    # Prices and refunds that were booked, so that a booking whose answer was lost can be repeated.
    "CREATE TABLE IF NOT EXISTS sift_bookings (id TEXT PRIMARY KEY, day DATE NOT NULL)",
    "CREATE TABLE IF NOT EXISTS sift_imports (what TEXT PRIMARY KEY)",
    *TABLES,
    # Rows that are written often: room beside them, so that a new version needs no new page and no entry in an index.
    "ALTER TABLE sift_hosts SET (fillfactor = 50)",
    "ALTER TABLE sift_items SET (fillfactor = 70)",
)
_NAME_IT = "INSERT INTO sift_store VALUES (1, :version, :identity) ON CONFLICT (one) DO NOTHING"
_IDENTITY = "SELECT version, identity FROM sift_store"


class UnfitStoreError(StoreError):
    """The server may not hold a store. `reason` says why, in words for the operator."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class LostStoreError(StoreError):
    """The tables are gone, or others are in their place: a new budget, which only a start may begin."""


class Database:
    """Run transactions on a server, each within `timeout` seconds whatever the server does.

    now: Unix time, for tests; None for the server's clock. mark: what the processes of a service share.
    clock: monotonic seconds.
    """

    def __init__(
        self,
        url: str,
        timeout: float = 1.0,
        *,
        mark: Mark | None = None,
        now: Callable[[], float] | None = None,
        size: int = 8,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self.timeout = timeout
        self._mark = mark or Mark()
        self._now = now
        self._pool: Pool[Connection] = Pool(self.connect, size)
        self._breaker = Breaker(1, REST, clock, self._tell)
        self._reason = ""
        self._is_down = False
        self._told: set[str] = set()

    def run(
        self,
        work: Callable[[PostgresSession], _T],
        *,
        deadline: float = math.inf,
        is_one: bool = False,
        counts: bool = True,
    ) -> _T:
        """Run work in a transaction and return what it returned.

        deadline: monotonic seconds, if it is earlier than the timeout. is_one: the work is a single statement, which
        needs no transaction around it. counts: whether others are kept away when the server does not answer.
        Raises StoreError, and what the work raised.
        """
        permit = self._breaker.admit()
        if not isinstance(permit, Permit):
            raise StoreError
        try:
            done = self._attempt(work, min(deadline, time.monotonic() + self.timeout), is_one)
        except StoreError:  # a server that may not hold a store
            self._failed(permit, "unfit", counts=True)
            raise
        except (EngineTimeoutError, TimeoutError, ConnectionError):
            self._failed(permit, "timeout", counts=counts)
            raise StoreError from None
        except psycopg.Error as error:
            # Its text may hold the address, or what was to be written; its state is five characters.
            is_away = _is_away(error)
            self._failed(permit, error.sqlstate or ("unreachable" if is_away else "unfit value"), counts=is_away)
            raise StoreError from None
        except UnicodeError:  # half of a surrogate pair; the text holds it, and what is around it
            raise StoreError from None
        except Exception:
            self._breaker.succeeded(permit)  # the work's own: the server answered
            raise
        else:
            self._breaker.succeeded(permit)
            return done
        finally:
            self._breaker.withdrawn(permit)

    def connect(self) -> Connection:
        """Return a new connection to a server that may hold a store, with the tables made. Raises StoreError."""
        connection = connect(self._url, self.timeout)
        connection.deadline = time.monotonic() + _OPEN_WAIT
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close all connections. Never raises."""
        self._pool.close()

    def _attempt(self, work: Callable[[PostgresSession], _T], deadline: float, is_one: bool) -> _T:
        connection = self._pool.take(deadline)
        try:
            connection.deadline = deadline
            session = PostgresSession(connection, self._now)
            done = work(session) if is_one else session.run(work)
        except (EngineTimeoutError, psycopg.Error):
            self._pool.drop(connection)
            raise
        except BaseException:
            self._leave(connection)
            raise
        self._pool.give(connection)
        return done

    def _failed(self, permit: Permit, reason: str, *, counts: bool) -> None:
        """Report a failure to the breaker, and one of a statement to the log, once."""
        self._reason = reason
        self._breaker.failed(permit, counts=counts)
        if not counts and reason not in self._told and reason != "timeout":
            self._told.add(reason)
            _log.error("store_error", extra={"fields": {"reason": reason}})

    def _tell(self, state: State) -> None:
        """Log that the server is away, or back."""
        if state == "open" and not self._is_down:
            self._is_down = True
            _log.error("store_down", extra={"fields": {"reason": self._reason}})
        elif state == "closed" and self._is_down:
            self._is_down = False
            _log.info("store_up")

    def _leave(self, connection: Connection) -> None:
        """Take a connection back after an error that was not its own."""
        is_idle = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        (self._pool.give if is_idle else self._pool.drop)(connection)

    def _prepare(self, connection: Connection) -> None:
        if connection.info.server_version < OLDEST_SERVER:
            raise UnfitStoreError(f"PostgreSQL {OLDEST_SERVER // 10_000} or newer is needed")
        session = PostgresSession(connection, None)
        session.rows(_SETTINGS, milliseconds=str(max(1, round(self.timeout * 1000))))
        ((fsync, is_there),) = session.rows(_STATE)
        if fsync != "on":
            raise UnfitStoreError("its server runs with fsync=off, and forgets credits when it loses power")
        if not is_there:
            if self._mark.ledger:
                self._lose()
            session.run(_make)
        ((version, identity),) = session.rows(_IDENTITY)
        if version != VERSION:
            raise UnfitStoreError("its tables are of another version of Sift")
        if self._mark.is_lost or self._mark.ledger not in (0, identity):
            self._lose()
        self._mark.ledger = identity

    def _lose(self) -> None:
        self._mark.lose()
        _log.error("ledger_lost")
        raise LostStoreError


def _make(session: PostgresSession) -> None:
    """Make the tables; one process at a time, as PostgreSQL refuses some of those that try at once."""
    session.hold("sift tables")
    for statement in _TABLES:
        session.change(statement)
    if session.change(_NAME_IT, version=VERSION, identity=random.getrandbits(62) | 1):
        _log.warning("ledger_created")  # a new budget: nobody is to get one unnoticed


def _is_away(error: psycopg.Error) -> bool:
    """Return whether an error says that the server is not there, and not that it refuses a statement."""
    state = error.sqlstate
    if state is None:  # without an answer of the server; what psycopg itself refuses to send is another class
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    # Connection, resources, operator intervention; but a statement that the server itself gave up is an answer.
    return state[:2] in ("08", "53", "57") and state != "57014"
