"""What was used, counted beside the credits (contract: Usage)."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.search.protocols import LedgerError
from sift.store.sheet import KINDS, Totals, left_behind
from sift.store.sqlite.ledger import SqliteLedger
from sift.store.usage import IDLE, MAX_DAYS, UsageTally, Used, by_day, first_day, widen
from tests.fakes import DAY, NOON, PATIENCE, FakeClock, in_parallel
from tests.search.moderate import moderate
from tests.waiting import wait_for


class Book:
    """Keep counts in memory. is_broken: nothing can be written. is_mute: what was written is not confirmed."""

    def __init__(self) -> None:
        self._sheets: dict[str, Totals] = {}
        self.is_broken = self.is_mute = False

    @property
    def counts(self) -> dict[tuple[str, str, str], int]:
        """Counts by day, source and kind, those of all sheets together."""
        found: Counter[tuple[str, str, str]] = Counter()
        for sheet in self._sheets.values():
            for source, numbers in sheet.counts.items():
                found.update({(sheet.day, source, kind): n for kind, n in zip(KINDS, numbers, strict=True) if n})
        return dict(found)

    def book_usage(self, totals: Totals) -> None:
        """Keep what is on a sheet."""
        if not self.is_broken:
            self._sheets[totals.sheet] = totals
        if self.is_broken or self.is_mute:
            raise LedgerError

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
    ledger.book_usage(Totals("one", DAY, {"searxng": (2, 0, 0, 0), "tavily": (0, 0, 0, 5)}))
    ledger.book_usage(Totals("two", DAY, {"searxng": (1, 4, 0, 0)}))
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
    ledger.book_usage(Totals("one", DAY, {"searxng": (2, 0, 0, 0)}))
    clock.tick(86_400 * (MAX_DAYS - 1))
    ledger.book_usage(Totals("two", "2026-12-27", {"searxng": (1, 0, 0, 0)}))
    assert [each.day for each in ledger.usage(MAX_DAYS)] == ["2026-12-27", DAY, DAY]
    clock.tick(86_400)
    ledger.book_usage(Totals("three", "2026-12-28", {"searxng": (1, 0, 0, 0)}))
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM usage").fetchone() == (2,)
        assert db.execute("SELECT sheet FROM booked ORDER BY day").fetchall() == [("two",), ("three",)]
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
    """contract: Usage: the counts and how much of the sheet is in them, or neither, so that none counts twice."""
    ledger.book_usage(Totals("sheet", DAY, {"a": (1, 0, 0, 0)}))
    bad: Any = Totals(None, DAY, {"a": (2, 0, 0, 0)})  # type: ignore[arg-type]  # fails behind the counts
    with pytest.raises(LedgerError):
        ledger.book_usage(bad)
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


@pytest.fixture
def sheets(tmp_path: Path) -> Path:
    return tmp_path / "state" / "usage"


@pytest.fixture
def make(sheets: Path, clock: FakeClock, ledger: SqliteLedger) -> Iterator[Callable[..., UsageTally]]:
    """Make a tally of the sources a and b, as each process has one; it starts no thread unless it is told how.

    ledger: is closed after the tallies, which may book to it at their end.
    """
    made: list[UsageTally] = []

    def make(book: Any, directory: Path = sheets, **wiring: Any) -> UsageTally:
        tally = UsageTally(book, ("a", "b"), directory, clock, **{"start": Starter(), **wiring})
        made.append(tally)
        return tally

    yield make
    for tally in made:
        tally.close()


def test_counts_are_added_up_by_day_source_and_kind(make: Any, clock: FakeClock) -> None:
    """contract: Usage: the day is that of the event, not of the booking."""
    book = Book()
    tally = make(book)
    tally.calling("a")
    tally.calling("a")
    tally.calling("a")
    tally.not_called("a")
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


def test_call_that_was_booked_before_it_was_taken_back_counts_no_more(make: Any, ledger: SqliteLedger) -> None:
    """contract: Usage: an attempt to connect may outlast a booking; a source without any other call has no line."""
    tally, other = make(ledger), make(ledger)
    tally.calling("a")
    other.calling("b")
    other.calling("b")
    assert [each.calls for each in tally.used(1)] == [1]
    tally.not_called("a")
    other.flush()
    other.not_called("b")
    tally.flush()
    assert other.used(1) == [Used(DAY, "b", 1, 0, 0, 0, 0)]


def test_call_of_a_day_that_has_ended_is_not_taken_back(make: Any, clock: FakeClock) -> None:
    """contract: Usage: one too many of the day before, never fewer than none of the new one."""
    book = Book()
    tally = make(book)
    tally.calling("a")
    clock.tick(86_400)
    tally.refused("b", 1)
    tally.not_called("a")
    tally.flush()
    assert book.counts == {(DAY, "a", "calls"): 1, ("2026-09-30", "b", "refused_by_cap"): 1}


def test_counts_that_cannot_be_written_are_kept(make: Any, clock: FakeClock) -> None:
    """contract: Usage: written later, and once; those of a day that has ended as well."""
    book = Book()
    tally = make(book)
    book.is_broken = True
    tally.calling("a")
    tally.flush()
    clock.tick(86_400)
    tally.calling("a")
    tally.flush()
    book.is_broken = False
    tally.calling("a")
    tally.flush()
    assert book.counts == {(DAY, "a", "calls"): 1, ("2026-09-30", "a", "calls"): 2}


@pytest.mark.parametrize("ends", ["unbooked", "booked in part", "booked"])
def test_what_a_killed_process_has_counted_is_booked_once(
    make: Any, sheets: Path, ledger: SqliteLedger, ends: str
) -> None:
    """contract: Usage: by whoever books next, wherever the kill came in between; its sheet is gone then."""
    script = KILLED_TALLY.format(ends=ends)
    done = subprocess.run([sys.executable, "-c", script, str(sheets.parent), str(NOON)], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(sheets.iterdir())) == 1
    heirs = [make(ledger) for _ in range(4)]
    in_parallel(4, lambda number: heirs[number].flush())
    assert ledger.usage(1) == [Used(DAY, "a", 3, 0, 0, 0, 0), Used(DAY, "b", 0, 0, 1, 0, 0)]
    assert list(sheets.iterdir()) == []


KILLED_TALLY = """
import os, signal, sys
from pathlib import Path
from sift.store.sqlite.ledger import SqliteLedger
from sift.store.usage import UsageTally
state, now = Path(sys.argv[1]), lambda: float(sys.argv[2])
tally = UsageTally(SqliteLedger(state / "ledger.sqlite3", {{}}, now), ("a", "b"), state / "usage", now, start=repr)
tally.calling("a")
if "{ends}" == "booked in part":
    tally.flush()
tally.calling("a")
tally.calling("a")
tally.spared((("b", 1),), shared=False)
if "{ends}" == "booked":
    tally.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_answer_that_does_not_come_is_no_second_count(make: Any) -> None:
    """contract: Usage: a booking that took place and was not confirmed is made again, and adds nothing."""
    book = Book()
    tally = make(book)
    book.is_mute = True
    tally.calling("a")
    tally.flush()
    book.is_mute = False
    tally.flush()
    assert book.counts == {(DAY, "a", "calls"): 1}


def test_sheet_of_a_process_that_lives_is_its_own(make: Any, sheets: Path) -> None:
    """contract: Usage: nobody books it twice, and nobody takes it away."""
    book, other = Book(), Book()
    tally = make(book)
    tally.calling("a")
    make(other).flush()
    assert (other.counts, len(list(sheets.iterdir()))) == ({}, 1)
    tally.close()
    assert (book.counts, list(sheets.iterdir())) == ({(DAY, "a", "calls"): 1}, [])


def test_sheet_stays_until_it_is_booked(make: Any, sheets: Path) -> None:
    """contract: Usage: a service that stops while nothing can be written loses no count."""
    book = Book()
    book.is_broken = True
    tally = make(book)
    tally.calling("a")
    tally.close()
    (path,) = sheets.iterdir()
    tally._over.pop().close()  # as at the end of the process
    book.is_broken = False
    make(book).flush()
    assert (book.counts, path.exists()) == ({(DAY, "a", "calls"): 1}, False)


def test_sheets_are_private_and_hold_nothing_of_a_request(make: Any, sheets: Path) -> None:
    """contract: Usage: a day, the sources' names, and numbers."""
    make(Book()).calling("a")
    (path,) = sheets.iterdir()
    assert (sheets.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)
    header, numbers = path.read_bytes().split(b"\n", 1)
    assert header.rstrip() == f'{{"day": "{DAY}", "sources": ["a", "b"]}}'.encode()
    assert numbers == (1).to_bytes(8, sys.byteorder) + bytes(7 * 8)


def test_no_sheet_can_be_written_counting_goes_on(make: Any, tmp_path: Path) -> None:
    """contract: Usage: it disturbs no search; what a kill would lose is then booked every second all the same."""
    (tmp_path / "file").touch()
    book = Book()
    tally = make(book, tmp_path / "file")
    tally.calling("a")
    tally.flush()
    assert book.counts == {(DAY, "a", "calls"): 1}


def test_what_is_no_sheet_is_removed(sheets: Path) -> None:
    """contract: Usage: what was left while it was made, or is torn, holds no counts."""
    sheets.mkdir(parents=True)
    for name, content in (("a", b""), ("b.new", b"{}"), ("c", b"[]\n"), ("d", b'{"day": "2026-01-01"}\n1234567')):
        (sheets / name).write_bytes(content)
    assert list(left_behind(sheets)) == []
    assert list(sheets.iterdir()) == []


def test_one_thread_books_until_it_was_idle_for_long(make: Any) -> None:
    """contract: Usage: a thread is there while there is something to book, and again after that."""
    book, starter, naps = Book(), Starter(), []
    tally = make(book, sleep=naps.append, start=starter)
    tally.calling("a")
    tally.calling("a")
    assert len(starter.jobs) == 1
    starter.jobs[0]()
    assert book.counts == {(DAY, "a", "calls"): 2}
    assert len(naps) == IDLE + 1  # the first booked something
    tally.calling("a")
    assert len(starter.jobs) == 2


def test_thread_ends_with_the_tally(sheets: Path, clock: FakeClock) -> None:
    """contract: Usage: an application that is gone leaves no thread."""
    starter, naps = Starter(), []
    tally = UsageTally(Book(), ("a",), sheets, clock, sleep=naps.append, start=starter)
    tally.calling("a")
    tally.close()
    del tally
    starter.jobs[0]()
    assert len(naps) == 1


def test_no_thread_left_the_next_count_tries_again(make: Any) -> None:
    """contract: Usage: counting disturbs no search."""
    book, starter = Book(), Starter()
    tally = make(book, sleep=lambda _: None, start=starter)
    starter.refuses = True
    tally.calling("a")
    starter.refuses = False
    tally.calling("a")
    starter.jobs[0]()
    assert book.counts == {(DAY, "a", "calls"): 2}


def test_tally_books_by_itself(make: Any, ledger: SqliteLedger) -> None:
    """contract: Usage: the real thread, the real file."""
    tally = make(ledger, sleep=lambda _: time.sleep(0.01), start=lambda job: threading.Thread(target=job).start())
    tally.calling("a")
    wait_for(lambda: ledger.usage(1) == [Used(DAY, "a", 1, 0, 0, 0, 0)])
    tally.calling("a")
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
