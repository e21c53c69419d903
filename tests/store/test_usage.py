"""What was used, counted beside the credits (contract: Usage)."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.search.protocols import LedgerError
from sift.store.sqlite.ledger import SqliteLedger
from sift.store.usage import IDLE, MAX_DAYS, Counts, UsageTally, Used, by_day, first_day, widen
from tests.fakes import DAY, NOON, PATIENCE, FakeClock, in_parallel
from tests.search.moderate import moderate
from tests.waiting import wait_for


class Book:
    """Keep counts in memory. is_broken: nothing can be written."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str, str], int] = {}
        self.is_broken = False

    def add_usage(self, counts: Counts) -> None:
        """Add counts."""
        if self.is_broken:
            raise LedgerError
        for key, count in counts.items():
            self.counts[key] = self.counts.get(key, 0) + count

    def usage(self, days: int) -> list[Used]:
        """Return nothing."""
        return []


class Starter:
    """Keep the thread's work, for the test to run. refuses: no thread can be started."""

    def __init__(self) -> None:
        self.jobs: list[Callable[[], None]] = []
        self.refuses = False

    def __call__(self, job: Callable[[], None]) -> None:
        """Take a job."""
        if self.refuses:
            raise RuntimeError
        self.jobs.append(job)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "ledger.sqlite3"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def ledger(path: Path, clock: FakeClock) -> Iterator[SqliteLedger]:
    made = SqliteLedger(path, {"tavily": 50}, clock)
    yield made
    made.close()


def later() -> float:
    return time.monotonic() + PATIENCE


def take(ledger: SqliteLedger, *prices: int) -> None:
    """Make paid calls of such prices; 0 was never sent."""
    for price in prices:
        day = ledger.reserve("tavily", deadline=later())
        assert day
        ledger.settle("tavily", day, price)


# --- the ledger


def test_paid_call_is_counted_with_its_credit(ledger: SqliteLedger) -> None:
    """contract: Usage: prices above one are credits, not calls; what was never sent is neither."""
    take(ledger, 1, 1, 3, 0, 2)
    assert ledger.usage(1) == [Used(DAY, "tavily", 4, 7, 0, 0, 0)]


def test_paid_call_takes_one_transaction(ledger: SqliteLedger, path: Path) -> None:
    """contract: Usage: counting adds no commit to that of the credit."""
    take(ledger, 1)
    with closing(sqlite3.connect(path)) as db:
        before = db.execute("PRAGMA data_version").fetchone()
        assert ledger.reserve("tavily", deadline=later())
        log = path.with_name("ledger.sqlite3-wal")
        size = log.stat().st_size
        assert ledger.reserve("tavily", deadline=later())
        one = log.stat().st_size - size
        assert db.execute("PRAGMA data_version").fetchone() != before
    assert one <= 4096 + 24  # one frame of the log: one page, one commit


def test_counts_of_free_calls_stand_beside_those_of_paid_ones(ledger: SqliteLedger, clock: FakeClock) -> None:
    """contract: Usage: added up over writers; the newest day first; the source that is both has one line."""
    take(ledger, 1)
    ledger.add_usage({(DAY, "searxng", "calls"): 2, (DAY, "tavily", "refused_by_cap"): 5})
    ledger.add_usage({(DAY, "searxng", "calls"): 1, (DAY, "searxng", "spared_by_cache"): 4})
    clock.tick(86_400)
    take(ledger, 1)
    assert ledger.usage(2) == [
        Used("2026-09-30", "tavily", 1, 1, 0, 0, 0),
        Used(DAY, "searxng", 3, 0, 4, 0, 0),
        Used(DAY, "tavily", 1, 1, 0, 0, 5),
    ]
    assert [each.day for each in ledger.usage(1)] == ["2026-09-30"]


def test_counts_too_old_to_be_asked_for_are_forgotten_credits_are_not(
    ledger: SqliteLedger, clock: FakeClock, path: Path
) -> None:
    """contract: Usage: 90 days."""
    take(ledger, 1)
    ledger.add_usage({(DAY, "searxng", "calls"): 2})
    clock.tick(86_400 * (MAX_DAYS - 1))
    ledger.add_usage({("2026-12-27", "searxng", "calls"): 1})
    assert [each.day for each in ledger.usage(MAX_DAYS)] == ["2026-12-27", DAY, DAY]
    clock.tick(86_400)
    ledger.add_usage({("2026-12-28", "searxng", "calls"): 1})
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM usage").fetchone() == (2,)
        assert db.execute("SELECT credits FROM spent").fetchall() == [(1,)]


def test_ledger_of_an_earlier_version_is_widened_and_keeps_its_credits(path: Path, clock: FakeClock) -> None:
    """contract: Credits, Usage: an update is no new budget; two processes may do it at once."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute(
            "CREATE TABLE spent (source TEXT NOT NULL, day TEXT NOT NULL, credits INTEGER NOT NULL,"
            " PRIMARY KEY (source, day)) WITHOUT ROWID"
        )
        db.execute("INSERT INTO spent VALUES ('tavily', ?, 48)", (DAY,))
        db.commit()
    ledgers = [SqliteLedger(path, {"tavily": 50}, clock) for _ in range(4)]
    took = in_parallel(4, lambda number: ledgers[number].reserve("tavily", deadline=later()))
    assert sorted(map(str, took)) == [DAY, DAY, "None", "None"]
    assert ledgers[0].usage(1) == [Used(DAY, "tavily", 2, 50, 0, 0, 0)]
    for ledger in ledgers:
        ledger.close()


def test_ledger_that_another_process_widens_at_once_is_no_error(path: Path) -> None:
    """contract: Usage: whoever is second finds the column there; any other error stays one."""

    class Late:
        """A connection that looked at the table before the other process was done."""

        def __init__(self, db: sqlite3.Connection) -> None:
            self._db = db

        def execute(self, statement: str) -> Any:
            if statement.startswith("PRAGMA"):
                return [(0, "source"), (1, "day"), (2, "credits")]
            return self._db.execute(statement)

    with closing(sqlite3.connect(":memory:")) as db:
        late: Any = Late(db)
        db.execute("CREATE TABLE spent (source TEXT, day TEXT, credits INTEGER, calls INTEGER)")
        widen(late)
        db.execute("DROP TABLE spent")
        with pytest.raises(sqlite3.OperationalError):
            widen(late)


def test_usage_cannot_be_written_nothing_of_it_is(ledger: SqliteLedger) -> None:
    """contract: Usage: all counts of a booking or none, so that none counts twice."""
    ledger.add_usage({(DAY, "a", "calls"): 1})
    bad: Any = {(DAY, "a", "calls"): 1, (DAY, None, "calls"): 1}
    with pytest.raises(LedgerError):
        ledger.add_usage(bad)
    assert ledger.usage(1) == [Used(DAY, "a", 1, 0, 0, 0, 0)]


@moderate
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), max_size=12), st.integers(0, 4))
def test_calls_are_those_that_were_sent_for_any_prices(
    tmp_path_factory: pytest.TempPathFactory, prices: list[tuple[str, int]], cap: int
) -> None:
    """contract: Usage: for any mix of sources, prices and refusals by the cap."""
    ledger = SqliteLedger(tmp_path_factory.mktemp("l") / "l.sqlite3", {"a": cap, "b": 100}, FakeClock())
    sent: dict[str, list[int]] = {"a": [], "b": []}
    for source, price in prices:
        if day := ledger.reserve(source, deadline=later()):
            ledger.settle(source, day, price)
            sent[source] += [price] if price else []
    found = {each.source: (each.calls, each.credits) for each in ledger.usage(1)}
    ledger.close()
    for source, paid in sent.items():
        assert found.get(source, (0, 0)) == (len(paid), sum(paid))


KILLED = """
import sys, time
from pathlib import Path
from sift.store.sqlite.ledger import SqliteLedger
ledger = SqliteLedger(Path(sys.argv[1]), {"tavily": 10**6}, lambda: float(sys.argv[2]))
while True:
    ledger.reserve("tavily", deadline=time.monotonic() + 20)
    print("called", flush=True)
"""


def test_killed_process_loses_no_paid_call(path: Path, ledger: SqliteLedger) -> None:
    """contract: Usage: kill -9: what a vendor saw is counted, and at most the call that was about to begin."""
    command = [sys.executable, "-c", KILLED, str(path), str(NOON)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    seen = 0
    for process in processes:
        assert process.stdout is not None
        for _ in range(50):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        seen += 50 + len(process.stdout.read().splitlines())
        process.stdout.close()
        process.wait(PATIENCE)
    (used,) = ledger.usage(1)
    assert seen <= used.calls <= seen + len(processes)
    assert used.credits == used.calls


# --- the tally


def test_notes_are_added_up_by_day_source_and_kind(clock: FakeClock) -> None:
    """contract: Usage: the day is that of the event, not of the booking."""
    book, starter = Book(), Starter()
    tally = UsageTally(book, clock, start=starter)
    tally.called("a")
    tally.called("a")
    tally.refused("b", 3)
    tally.spared((("a", 2), ("b", 1)), shared=False)
    clock.tick(86_400 / 2)
    tally.spared((("a", 1),), shared=True)
    assert book.counts == {}
    tally.flush()
    tally.flush()
    assert book.counts == {
        (DAY, "a", "calls"): 2,
        (DAY, "b", "refused_by_cap"): 3,
        (DAY, "a", "spared_by_cache"): 2,
        (DAY, "b", "spared_by_cache"): 1,
        ("2026-09-30", "a", "spared_by_sharing"): 1,
    }


def test_counts_that_cannot_be_written_are_kept(clock: FakeClock) -> None:
    """contract: Usage: written later, and once."""
    book = Book()
    tally = UsageTally(book, clock, start=Starter())
    book.is_broken = True
    tally.called("a")
    tally.flush()
    book.is_broken = False
    tally.called("a")
    tally.flush()
    assert book.counts == {(DAY, "a", "calls"): 2}


def test_one_thread_books_until_it_was_idle_for_long(clock: FakeClock) -> None:
    """contract: Usage: a thread is there while there is something to book, and again after that."""
    book, starter, naps = Book(), Starter(), []
    tally = UsageTally(book, clock, sleep=naps.append, start=starter)
    tally.called("a")
    tally.called("a")
    assert len(starter.jobs) == 1
    starter.jobs[0]()
    assert book.counts == {(DAY, "a", "calls"): 2}
    assert len(naps) == IDLE + 1  # the first booked something
    tally.called("a")
    assert len(starter.jobs) == 2


def test_thread_ends_with_the_tally(clock: FakeClock) -> None:
    """contract: Usage: an application that is gone leaves no thread."""
    starter, naps = Starter(), []
    tally = UsageTally(Book(), clock, sleep=naps.append, start=starter)
    tally.called("a")
    del tally
    starter.jobs[0]()
    assert len(naps) == 1


def test_no_thread_left_the_next_note_tries_again(clock: FakeClock) -> None:
    """contract: Usage: counting disturbs no search."""
    book, starter = Book(), Starter()
    tally = UsageTally(book, clock, sleep=lambda _: None, start=starter)
    starter.refuses = True
    tally.called("a")
    starter.refuses = False
    tally.called("a")
    starter.jobs[0]()
    assert book.counts == {(DAY, "a", "calls"): 2}


def test_tally_books_by_itself(ledger: SqliteLedger, clock: FakeClock) -> None:
    """contract: Usage: the real thread, the real file."""
    tally = UsageTally(ledger, clock, sleep=lambda _: time.sleep(0.01))
    tally.called("a")
    wait_for(lambda: ledger.usage(1) == [Used(DAY, "a", 1, 0, 0, 0, 0)])
    tally.called("a")
    assert tally.used(1) == [Used(DAY, "a", 2, 0, 0, 0, 0)]


def test_days_have_their_sources_in_source_order() -> None:
    """contract: Usage: the form of v1; a source that is gone comes last."""
    used = [Used("2", "old", 1, 0, 0, 0, 0), Used("2", "a", 1, 0, 0, 0, 0), Used("1", "b", 1, 2, 3, 4, 5)]
    days = list(by_day(used, ("b", "a")))
    assert [(day["day"], [each["source"] for each in day["sources"]]) for day in days] == [  # type: ignore[attr-defined]
        ("2", ["a", "old"]),
        ("1", ["b"]),
    ]
    assert days[1]["sources"] == [
        {"source": "b", "calls": 1, "credits": 2, "spared_by_cache": 3, "spared_by_sharing": 4, "refused_by_cap": 5}
    ]


def test_first_day_counts_today() -> None:
    """contract: Usage: one day is today."""
    assert (first_day("2026-03-01", 1), first_day("2026-03-01", 2)) == ("2026-03-01", "2026-02-28")
