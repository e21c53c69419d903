"""Credits of several hosts (contract: Credits, Store)."""

from __future__ import annotations

import time
from typing import Any

import pytest

from sift.search.protocols import LedgerError
from tests.store.engines import Clock, PostgresEngine
from tests.waiting import wait_for

pytest.importorskip("psycopg", reason="psycopg is not installed")

import psycopg

from sift.store.postgres.ledger import PostgresLedger


def later() -> float:
    return time.monotonic() + 20


def ledger(engine: PostgresEngine, clock: Clock, cap: int = 5) -> PostgresLedger:
    return PostgresLedger(engine.database(clock), {"tavily": cap}, now=lambda: clock.now, read_wait=20)


def take(one: PostgresLedger, times: int = 1) -> int:
    """Ask for credits; return how many were granted."""
    return sum(one.reserve("tavily", deadline=later()) is not None for _ in range(times))


def test_hosts_disagree_about_the_cap_the_lowest_counts_and_both_warn(
    engine: PostgresEngine, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """contract: Store: whoever comes first, and once a day each."""
    high, low = ledger(engine, clock, 10), ledger(engine, clock, 3)
    assert take(high) == 1
    assert take(low) == 1
    assert take(high, 5) == 1
    assert take(low, 5) == 0
    assert (high.left("tavily"), low.left("tavily")) == (0, 0)
    told = [record.fields for record in caplog.records if record.getMessage() == "caps_differ"]  # type: ignore[attr-defined]
    assert told == [
        {"source": "tavily", "cap": 3, "other": 10},
        {"source": "tavily", "cap": 10, "other": 3},
    ]


def test_cap_is_raised_it_counts_from_the_next_day(engine: PostgresEngine, clock: Clock) -> None:
    """contract: Store: a cap of the day may only fall; nobody can tell a raised one from another host's."""
    assert take(ledger(engine, clock, 2), 5) == 2
    raised = ledger(engine, clock, 4)
    assert take(raised, 5) == 0
    clock.advance(86_400)
    assert take(raised, 5) == 4


def test_answer_to_a_booking_is_lost_it_is_booked_once(engine: PostgresEngine, clock: Clock) -> None:
    """contract: Credits: a refund that is sent again gives nothing back twice."""
    one = ledger(engine, clock)
    assert take(one, 3) == 3
    with psycopg.connect(engine.place) as other:
        other.execute("SELECT * FROM sift_spent FOR UPDATE")
        one.settle("tavily", "2026-09-29", 0)  # the server has it, and will do it once the lock is gone
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = 'sift'"
        wait_for(lambda: engine.rows(waiting) == [(1,)])
    wait_for(lambda: engine.rows("SELECT credits FROM sift_spent") == [(2,)])
    assert take(one) == 1  # sends it again, first
    assert engine.rows("SELECT credits FROM sift_spent") == [(3,)]


def test_answer_to_a_reservation_is_lost_the_credit_is_taken(engine: PostgresEngine, clock: Clock) -> None:
    """contract: Store: a reservation that timed out counts; the call is not made."""
    one = ledger(engine, clock)
    assert take(one) == 1
    with psycopg.connect(engine.place) as other:
        other.execute("SELECT * FROM sift_spent FOR UPDATE")
        with pytest.raises(LedgerError):
            one.reserve("tavily", deadline=time.monotonic() + 0.2)
    wait_for(lambda: engine.rows("SELECT credits FROM sift_spent") == [(2,)])


def test_bookings_are_forgotten_after_some_days(engine: PostgresEngine, clock: Clock) -> None:
    """contract: Store: what only serves repeats is not kept."""
    one = ledger(engine, clock)
    for _ in range(5):
        day = one.reserve("tavily", deadline=later())
        assert day
        one.settle("tavily", day, 2)
        clock.advance(86_400)
    rows: list[Any] = engine.rows("SELECT CAST(day AS text) FROM sift_bookings ORDER BY day")
    assert rows == [("2026-10-01",), ("2026-10-02",), ("2026-10-03",)]


def test_day_ends_by_the_clock_of_the_database(engine: PostgresEngine, clock: Clock) -> None:
    """contract: Store: hosts whose clocks differ share one day."""
    wrong = PostgresLedger(engine.database(clock), {"tavily": 5}, now=lambda: clock.now + 86_400 * 3)
    assert wrong.reserve("tavily", deadline=later()) == "2026-09-29"
