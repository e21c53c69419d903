"""One connection to PostgreSQL, on which no wait is longer than its deadline (contract: Store)."""

from __future__ import annotations

import math
import re
import select
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import psycopg

from sift.store.batches.session import Row

_T = TypeVar("_T")

_NAME = re.compile(r"(?<![:\w]):([a-z_]+)")
# Asked for once in a statement, and not once for each row that is looked at.
_SERVER_CLOCK = "(SELECT CAST(extract(epoch FROM statement_timestamp()) AS double precision))"
_EVENTS = {1: select.POLLIN, 2: select.POLLOUT, 3: select.POLLIN | select.POLLOUT}  # by psycopg's Wait
_HOLD = "SELECT pg_advisory_xact_lock(hashtextextended(CAST(:name AS text), :seed))"
_SEED = 7_308  # tells the names held here from those of other programs in the same database


class EngineTimeoutError(Exception):
    """The server did not answer before the deadline; the connection is of no use any more."""


class Connection(psycopg.Connection):  # type: ignore[misc]
    """A connection that waits for its server until `deadline` (monotonic seconds) at most.

    libpq's timeouts end no wait for a server that accepts packets and does not answer.
    """

    deadline = math.inf

    def wait(self, gen: Generator[Any, Any, _T], *_: Any, **__: Any) -> _T:
        """Run one of psycopg's generators to its end. Raises EngineTimeoutError."""
        poll, known = select.poll(), 0
        try:
            wanted = int(next(gen))
            while True:
                if wanted != known:
                    poll.register(self.pgconn.socket, _EVENTS[wanted])
                    known = wanted
                left = self.deadline - time.monotonic()
                ready = poll.poll(None if left == math.inf else max(0.0, left) * 1000)
                if ready:
                    wanted = int(gen.send(_ready(ready[0][1])))
                elif time.monotonic() >= self.deadline:
                    raise EngineTimeoutError
        except StopIteration as end:
            value: _T = end.value
            return value

    def is_quiet(self) -> bool:
        """Return whether the server has said nothing since the last answer: a farewell would be found by reading."""
        if self.closed:
            return False
        poll = select.poll()
        poll.register(self.pgconn.socket, select.POLLIN)
        return not poll.poll(0)


def connect(url: str, timeout: float) -> Connection:
    """Return a new connection, on which every statement is a transaction of its own. Raises psycopg.Error."""
    return Connection.connect(  # type: ignore[no-any-return]
        url,
        autocommit=True,
        connect_timeout=max(2, math.ceil(timeout)),  # libpq's least
        fallback_application_name="sift",
        client_encoding="utf8",
    )


class PostgresSession:
    """Statements on one connection. Values are bound by the server, so that its log does not show them.

    now: what the clock says, for tests; None for the server's, which all hosts share.
    """

    locks = " FOR UPDATE"

    def __init__(self, connection: Connection, now: Callable[[], float] | None) -> None:
        self._connection = connection
        self._now = now

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """Run a statement and return its rows."""
        found: list[Row] = self._execute(statement, values).fetchall()
        return found

    def change(self, statement: str, **values: Any) -> int:
        """Run a statement and return how many rows it changed."""
        changed: int = self._execute(statement, values).rowcount
        return changed

    def many(self, statement: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a statement once for each mapping of values."""
        times = self._times()
        with self._connection.cursor() as cursor:
            cursor.executemany(_translated(statement, bool(times)), [{**row, **times} for row in rows])

    def hold(self, name: str) -> None:
        """Wait until no other transaction holds this name, and hold it until the end of this one."""
        self.rows(_HOLD, name=name, seed=_SEED)

    def run(self, work: Callable[[PostgresSession], _T]) -> _T:
        """Run work in one transaction and return what it returned."""
        self._connection.execute("BEGIN")
        try:
            done = work(self)
        except (psycopg.Error, EngineTimeoutError):
            raise  # the connection is given up, and the transaction with it
        except Exception:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        return done

    def _execute(self, statement: str, values: Mapping[str, Any]) -> Any:
        times = self._times()
        return self._connection.execute(_translated(statement, bool(times)), {**values, **times})

    def _times(self) -> dict[str, float]:
        if self._now is None:
            return {}
        now = float(self._now())
        return {"now": now, "tick": now}


def _ready(events: int) -> int:
    """Return poll's events as psycopg's Ready; errors and hang-ups are for libpq to find, by reading."""
    return (1 if events & ~select.POLLOUT else 0) | (2 if events & select.POLLOUT else 0)


@lru_cache(256)
def _translated(statement: str, binds_time: bool) -> str:
    """Return a statement with psycopg's placeholders, and with the server's clock unless the time is bound too."""

    def name(found: re.Match[str]) -> str:
        if found[1] not in ("now", "tick"):
            return f"%({found[1]})s"
        return f"CAST(%({found[1]})s AS double precision)" if binds_time else _SERVER_CLOCK

    return _NAME.sub(name, statement)
