"""The credit ledger of several hosts: the daily cap, counted in PostgreSQL (contract: Credits, Store)."""

from __future__ import annotations

import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple, NoReturn, TypeVar

from sift.errors import StoreError
from sift.search.protocols import LedgerError, LedgerLostError
from sift.store.batches.session import Row, Session
from sift.store.postgres import usage
from sift.store.postgres.database import Database, LostStoreError
from sift.store.sheet import Totals
from sift.store.usage import Used

_T = TypeVar("_T")
_log = logging.getLogger("sift.store")

READ_WAIT = 0.25
"""Seconds that a search may wait before anything has been asked."""
USAGE_WAIT = 1.0
_SETTLE_WAIT = 0.1
_CLOSE_WAIT = 5.0

# The day is the server's. The next one counts too: a clock that is set back gets no new budget.
_TODAY = """
WITH today AS (SELECT CAST(to_timestamp(:now) AT TIME ZONE 'UTC' AS date) AS day),
ahead AS (SELECT coalesce(sum(s.credits), 0) AS credits FROM sift_spent s, today t
          WHERE s.source = :source AND s.day = t.day + 1),
stored AS (SELECT min(c.cap) AS cap FROM sift_caps c, today t WHERE c.source = :source AND c.day = t.day)
"""
# One statement, so that checking and taking are atomic: the row is locked when the last condition is looked at. The
# cap of a day is the lowest that any host has named on it.
_RESERVE = f"""{_TODAY},
allowed AS (SELECT least(CAST(:cap AS bigint), s.cap) AS cap FROM stored s),
lowered AS (
    INSERT INTO sift_caps AS c (source, day, cap) SELECT :source, t.day, :cap FROM today t, stored s
    WHERE s.cap IS NULL OR s.cap > :cap
    ON CONFLICT (source, day) DO UPDATE SET cap = least(c.cap, excluded.cap)
),
taken AS (
    INSERT INTO sift_spent AS s (source, day, credits, calls)
    SELECT :source, t.day, 1, 1 FROM today t, ahead a, allowed c WHERE a.credits < c.cap
    ON CONFLICT (source, day) DO UPDATE SET credits = s.credits + 1, calls = s.calls + 1
    WHERE s.credits + (SELECT credits FROM ahead) < (SELECT cap FROM allowed)
    RETURNING s.credits
)
SELECT CAST(t.day AS text), taken.credits + a.credits, s.cap,
    extract(epoch FROM CAST(t.day + 1 AS timestamp)) - CAST(:now AS numeric)
FROM today t CROSS JOIN ahead a CROSS JOIN stored s LEFT JOIN taken ON true
"""
_SPENT = f"""{_TODAY}
SELECT CAST(t.day AS text), coalesce((SELECT sum(s.credits) FROM sift_spent s
                                      WHERE s.source = :source AND s.day = t.day), 0) + a.credits,
    stored.cap, extract(epoch FROM CAST(t.day + 1 AS timestamp)) - CAST(:now AS numeric)
FROM today t, ahead a, stored
"""
# A booking has an id, as one whose answer was lost is sent again. A refund is that of a call which was not made.
_BOOK = """
WITH fresh AS (
    INSERT INTO sift_bookings (id, day) VALUES (:id, CAST(:day AS date)) ON CONFLICT (id) DO NOTHING RETURNING id
)
UPDATE sift_spent SET credits = greatest(0, credits + CAST(:change AS bigint)),
    calls = greatest(0, calls - CASE WHEN CAST(:change AS bigint) = -1 THEN 1 ELSE 0 END)
FROM fresh
WHERE source = :source AND day = CAST(:day AS date)
"""
_FORGET = "DELETE FROM sift_bookings WHERE day < CAST(:day AS date) - 2"


class _Known(NamedTuple):
    """What was last read or taken of a source's credits. until: the end of their day, in monotonic seconds."""

    spent: int
    cap: int
    until: float


class PostgresLedger:
    """Count each source's credits of a UTC day over all hosts, up to the lowest cap that any of them has.

    A reservation whose answer does not come in time counts as taken, and no call follows it.
    now: Unix time for tests, that of the database alike. read_wait: seconds that a read of the credits may take.
    usage_wait: seconds for the counts of what was used.
    """

    def __init__(
        self,
        database: Database,
        caps: Mapping[str, int],
        *,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        read_wait: float = READ_WAIT,
        usage_wait: float = USAGE_WAIT,
    ) -> None:
        self._database = database
        self._read_wait = read_wait
        self._usage_wait = usage_wait
        self._caps = caps
        self._now = now
        self._clock = clock
        self._known: dict[str, _Known] = {}
        # Any thread appends, any takes from the left and puts back what it could not book.
        self._unbooked: deque[dict[str, Any]] = deque()
        self._warned: set[tuple[str, str]] = set()
        self._swept = ""

    def left(self, name: str) -> int | None:
        """Return the credits left today, as far as this process knows; None without a cap. Raises LedgerError."""
        cap = self._caps.get(name)
        if not cap:  # a cap of 0 never asks
            return cap
        known = self._known.get(name)
        if known is None or self._clock() >= known.until or known.spent >= known.cap:
            known = self._read(name, cap)
        return max(0, known.cap - known.spent)

    def spent(self, name: str) -> int:
        """Return the credits spent today. Raises LedgerError."""
        return self._read(name, self._caps.get(name, 0)).spent

    def balance(self, name: str) -> int | None:
        """Return the credits left today as the database has them; None without a cap. Raises LedgerError."""
        cap = self._caps.get(name)
        if not cap:
            return cap
        known = self._read(name, cap)
        return max(0, known.cap - known.spent)

    def book_usage(self, totals: Totals) -> None:
        """Bring the counts of calls that cost no credit up to a sheet, however often. Raises LedgerError."""
        self._do(lambda session: usage.book(session, totals))

    def usage(self, days: int) -> list[Used]:
        """Return what was used in the last days, the newest first. Raises LedgerError."""
        return self._do(lambda session: usage.read(session, days))

    def resets_at(self) -> str:
        """Return the end of the current day, the next UTC midnight, in ISO 8601 with `Z`."""
        return f"{_next(datetime.fromtimestamp(self._now(), UTC).date().isoformat())}T00:00:00Z"

    def reserve(self, name: str, *, deadline: float) -> str | None:
        """Take one credit; return the day it counts for, "" without a cap, None at the cap. Raises LedgerError."""
        cap = self._caps.get(name)
        if cap is None:
            return ""
        if cap == 0:
            return None
        self._book(deadline)
        self._known.pop(name, None)
        row = self._ask(_RESERVE, deadline, counts=True, source=name, cap=cap)
        day, spent, stored, seconds = row
        self._compare(name, day, cap, stored)
        if spent is None:
            return None
        self._known[name] = _Known(int(spent), min(cap, stored or cap), self._clock() + float(seconds))
        return str(day)

    def settle(self, name: str, day: str, credits: int) -> None:
        """Replace a reserved credit by what its call cost; 0 refunds it. Never raises.

        The hits are here and must not wait, so a booking that cannot be made soon is made before the next credit.
        """
        if day and credits != 1:
            change = {"id": secrets.token_hex(16), "change": credits - 1, "source": name, "day": day}
            self._unbooked.append(change)
            with suppress(LedgerError):
                self._book(time.monotonic() + _SETTLE_WAIT, counts=False)

    def close(self) -> None:
        """Book what is not booked yet, waiting some seconds. Never raises."""
        end = time.monotonic() + _CLOSE_WAIT
        while self._unbooked and time.monotonic() < end:
            with suppress(LedgerError):
                self._book(end)
                return
            time.sleep(0.1)

    def _read(self, name: str, cap: int) -> _Known:
        day, spent, stored, seconds = self._ask(_SPENT, time.monotonic() + self._read_wait, counts=False, source=name)
        self._compare(name, day, cap, stored)
        known = _Known(int(spent), min(cap, stored or cap), self._clock() + float(seconds))
        self._known[name] = known
        return known

    def _book(self, deadline: float, *, counts: bool = True) -> None:
        """Book every price that waits. Raises LedgerError."""
        while self._unbooked:
            try:
                change = self._unbooked.popleft()
            except IndexError:  # another thread has it
                return
            try:
                self._run(deadline, counts, _BOOK, change)
                self._known.pop(change["source"], None)
                if change["day"] > self._swept:
                    self._run(deadline, counts, _FORGET, {"day": change["day"]})
                    self._swept = change["day"]
                    continue
            except LedgerError:
                self._unbooked.appendleft(change)  # booked once, however often it is sent
                raise

    def _do(self, work: Callable[[Session], _T]) -> _T:
        """Run work that no search waits for."""
        try:
            return self._database.run(work, deadline=time.monotonic() + self._usage_wait, counts=False)
        except StoreError as error:
            _refuse(error)

    def _run(self, deadline: float, counts: bool, statement: str, values: Mapping[str, Any]) -> None:
        try:
            self._database.run(
                lambda session: session.change(statement, **values), deadline=deadline, is_one=True, counts=counts
            )
        except StoreError as error:
            _refuse(error)

    def _ask(self, statement: str, deadline: float, *, counts: bool, **values: Any) -> Row:
        try:
            return self._database.run(
                lambda session: session.rows(statement, **values)[0], deadline=deadline, is_one=True, counts=counts
            )
        except StoreError as error:
            _refuse(error)

    def _compare(self, name: str, day: str, cap: int, stored: int | None) -> None:
        """Warn, once a day, that another host has another cap."""
        if stored is not None and stored != cap and (name, day) not in self._warned:
            self._warned.add((name, day))
            _log.warning("caps_differ", extra={"fields": {"source": name, "cap": cap, "other": stored}})


def _refuse(error: StoreError) -> NoReturn:
    raise (LedgerLostError if isinstance(error, LostStoreError) else LedgerError) from None


def _next(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()
