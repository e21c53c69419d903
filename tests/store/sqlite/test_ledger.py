"""The credit ledger on disk (contract: Credits)."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sift.search.protocols import LedgerError, LedgerLostError
from sift.store.mark import Mark
from sift.store.sqlite.ledger import SqliteLedger
from tests.waiting import wait_for

ROOT = Path(__file__).resolve().parents[3]
NOON = datetime(2026, 9, 29, 12, tzinfo=UTC).timestamp()


class Clock:
    """A clock that tests set."""

    def __init__(self, text: str = "2026-09-29T12:00:00") -> None:
        self.set(text)

    def set(self, text: str) -> None:
        self.time = datetime.fromisoformat(text + "+00:00").timestamp()

    def __call__(self) -> float:
        return self.time


def soon() -> float:
    return time.monotonic() + 0.2


def later() -> float:
    return time.monotonic() + 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "ledger.sqlite3"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(path: Path, clock: Clock) -> Iterator[Callable[[int], SqliteLedger]]:
    """Make ledgers on one file, each as if in a process of its own."""
    made: list[SqliteLedger] = []

    def ledger(cap: int = 5) -> SqliteLedger:
        made.append(SqliteLedger(path, {"tavily": cap}, clock))
        return made[-1]

    yield ledger
    for each in made:
        each._close()
        for abandoned in each._abandoned:
            abandoned.close()


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """Collect what the ledger logs."""
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("sift.store")
    level = logger.level
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    yield messages
    logger.removeHandler(handler)
    logger.setLevel(level)


def take(ledger: SqliteLedger, times: int = 1) -> int:
    """Ask for credits; return how many were granted."""
    return sum(ledger.reserve("tavily", deadline=later()) is not None for _ in range(times))


# Counting


def test_reserve_up_to_the_cap_and_no_further(make: Any) -> None:
    """contract: Credits: one credit a call, none beyond the cap; spent and left agree throughout."""
    ledger = make(3)
    assert (ledger.spent("tavily"), ledger.left("tavily")) == (0, 3)
    for spent in (1, 2, 3):
        assert ledger.reserve("tavily", deadline=later()) == "2026-09-29"
        assert (ledger.spent("tavily"), ledger.left("tavily")) == (spent, 3 - spent)
    assert ledger.reserve("tavily", deadline=later()) is None
    assert (ledger.spent("tavily"), ledger.left("tavily")) == (3, 0)


def test_source_has_no_cap_it_is_free(make: Any, path: Path) -> None:
    """contract: Credits: sources without a cap never touch the file."""
    ledger = make(0)
    assert ledger.left("searxng") is None
    assert ledger.reserve("searxng", deadline=later()) == ""
    ledger.settle("searxng", "", 5)
    assert not path.exists()


def test_cap_is_zero_never_call(make: Any, path: Path) -> None:
    """contract: Credits: a cap of 0 refuses every call, and the file is never opened."""
    ledger = make(0)
    assert ledger.left("tavily") == 0
    assert ledger.reserve("tavily", deadline=later()) is None
    assert not path.exists()


def test_sources_have_caps_each_its_own(path: Path, clock: Clock) -> None:
    """contract: Credits: the count is per source."""
    ledger = SqliteLedger(path, {"tavily": 1, "exa": 2}, clock)
    assert ledger.reserve("tavily", deadline=later())
    assert ledger.reserve("tavily", deadline=later()) is None
    assert (ledger.left("tavily"), ledger.left("exa")) == (0, 2)
    assert ledger.reserve("exa", deadline=later())
    ledger._close()


@pytest.mark.parametrize(("credits", "spent"), [(1, 1), (0, 0), (7, 7)])
def test_settle_books_what_the_call_cost(make: Any, credits: int, spent: int) -> None:
    """contract: Credits: the credit becomes the price; a call that was never sent is refunded."""
    ledger = make(5)
    day = ledger.reserve("tavily", deadline=later())
    assert ledger.left("tavily") == 4
    ledger.settle("tavily", day, credits)
    assert ledger.left("tavily") == max(0, 5 - spent)
    assert ledger.spent("tavily") == spent


def test_call_cost_more_than_was_left_next_call_is_refused(make: Any) -> None:
    """contract: Credits: a price beyond the cap is booked in full, and no call follows it."""
    ledger = make(5)
    day = ledger.reserve("tavily", deadline=later())
    ledger.settle("tavily", day, 9)
    assert ledger.reserve("tavily", deadline=later()) is None
    assert (ledger.spent("tavily"), ledger.left("tavily")) == (9, 0)


def test_call_is_not_settled_it_keeps_its_credit(make: Any) -> None:
    """contract: Credits: a call that failed after it was sent keeps its credit."""
    ledger = make(5)
    assert take(ledger, 8) == 5
    assert make(5).left("tavily") == 0


def test_credit_given_back_can_be_taken_again(make: Any) -> None:
    """contract: Credits: a refunded credit can be taken again: a vendor that is down does not use up the budget."""
    ledger = make(2)
    for _ in range(10):
        ledger.settle("tavily", ledger.reserve("tavily", deadline=later()), 0)
    assert ledger.left("tavily") == 2


def test_restart_count_goes_on(make: Any) -> None:
    """contract: Credits: 4 of 5 used, restart, 3 asked for: one is granted."""
    first = make(5)
    assert take(first, 4) == 4
    first._close()
    assert take(make(5), 3) == 1


def test_balance_counts_what_others_took(make: Any) -> None:
    """contract: Explain: what is left as the file has it, not as this process remembers it; no less than 0."""
    one, other = make(5), make(5)
    assert one.left("tavily") == 5
    take(one, 1)
    assert take(other, 2) == 2
    assert one.balance("tavily") == 2
    assert make(1).balance("tavily") == 0


def test_balance_without_a_cap_or_with_none_to_spend_opens_no_file(make: Any, path: Path) -> None:
    """contract: Credits: a source without a cap has no balance; a cap of 0 has nothing to read."""
    assert make().balance("searxng") is None
    assert make(0).balance("tavily") == 0
    assert not path.exists()


def test_cap_is_changed_spent_credits_stay(make: Any) -> None:
    """contract: Credits: a changed cap is another limit, not another count."""
    assert take(make(3), 3) == 3
    assert make(5).left("tavily") == 2
    assert make(2).left("tavily") == 0


def test_another_process_takes_the_rest_it_shows_with_the_next_credit(make: Any) -> None:
    """contract: Credits: the credits left may be out of date; only taking one decides."""
    mine, other = make(3), make(3)
    assert mine.left("tavily") == 3
    assert take(other, 3) == 3
    assert mine.left("tavily") == 3
    assert take(mine) == 0
    assert mine.left("tavily") == 0


def test_credit_comes_back_from_another_process_it_is_seen(make: Any) -> None:
    """contract: Credits: a source at its cap is read afresh each time."""
    mine, other = make(1), make(1)
    day = other.reserve("tavily", deadline=later())
    assert mine.left("tavily") == 0
    other.settle("tavily", day, 0)
    assert mine.left("tavily") == 1


# Days


def test_new_day_fresh_count(make: Any, clock: Clock) -> None:
    """contract: Credits: the day ends at midnight UTC, also at a leap day and at the end of a year."""
    ledger = make(2)
    for now, day in (
        ("2027-12-31T23:59:59", "2027-12-31"),
        ("2028-01-01T00:00:00", "2028-01-01"),
        ("2028-02-28T23:59:59", "2028-02-28"),
        ("2028-02-29T00:00:00", "2028-02-29"),
        ("2028-03-01T00:00:00", "2028-03-01"),
    ):
        clock.set(now)
        assert ledger.left("tavily") == 2
        assert ledger.reserve("tavily", deadline=later()) == day
        assert take(ledger, 3) == 1


def test_clock_steps_back_no_new_budget(make: Any, clock: Clock) -> None:
    """contract: Credits: credits of the next day count when the clock is set back before it."""
    ledger = make(3)
    assert take(ledger, 2) == 2
    clock.set("2026-09-28T23:00:00")
    assert (ledger.left("tavily"), ledger.spent("tavily")) == (1, 2)
    assert take(ledger, 3) == 1
    clock.set("2026-09-29T12:00:00")
    assert ledger.left("tavily") == 1  # the credit of the 28th is not today's
    clock.set("2026-09-30T00:00:00")
    assert ledger.left("tavily") == 3


def test_clock_was_a_year_ahead_and_is_corrected_budget_is_todays(make: Any, clock: Clock) -> None:
    """contract: Credits: a day further ahead than the next one was a clock gone wrong, and does not count."""
    ledger = make(3)
    for ahead in ("2027-09-29T12:00:00", "2026-10-01T00:00:00"):
        clock.set(ahead)
        assert take(ledger, 3) == 3
    clock.set("2026-09-29T12:00:00")
    assert (ledger.left("tavily"), ledger.spent("tavily")) == (3, 0)
    assert take(ledger, 5) == 3


@pytest.mark.parametrize(
    ("now", "end"),
    [
        ("2026-09-29T00:00:00", "2026-09-30T00:00:00Z"),
        ("2027-12-31T23:59:59", "2028-01-01T00:00:00Z"),
    ],
)
def test_budget_ends_at_the_next_midnight_utc(make: Any, clock: Clock, now: str, end: str) -> None:
    """contract: Credits: the reported end of the day is the moment at which a fresh count begins."""
    clock.set(now)
    ledger = make(2)
    assert ledger.resets_at() == end
    assert take(ledger, 3) == 2
    clock.set(end.removesuffix("Z"))
    assert take(ledger) == 1


def test_call_runs_over_midnight_it_is_settled_on_its_own_day(make: Any, clock: Clock) -> None:
    """contract: Credits: a credit belongs to the day on which it was taken."""
    clock.set("2026-09-29T23:59:59")
    ledger = make(3)
    day = ledger.reserve("tavily", deadline=later())
    clock.set("2026-09-30T00:00:01")
    assert take(ledger) == 1
    ledger.settle("tavily", day, 3)
    assert ledger.spent("tavily") == 1
    clock.set("2026-09-29T23:59:59")
    assert ledger.spent("tavily") == 4


def test_credit_is_given_back_twice_count_is_not_below_zero(make: Any) -> None:
    """contract: Credits: a count never falls below zero."""
    ledger = make(2)
    day = ledger.reserve("tavily", deadline=later())
    for _ in range(3):
        ledger.settle("tavily", day, 0)
    assert (ledger.spent("tavily"), ledger.left("tavily")) == (0, 2)


@pytest.mark.parametrize("zone", ["XXX-14", "XXX+12"])
def test_time_zone_of_the_host_day_is_utc(make: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """contract: Credits: the day is the UTC day on every host, at 23:30 and at 00:30 UTC."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        ledger = make(5)
        clock.set("2026-09-29T23:30:00")
        assert ledger.reserve("tavily", deadline=later()) == "2026-09-29"
        clock.set("2026-09-30T00:30:00")
        assert ledger.left("tavily") == 5
        assert ledger.reserve("tavily", deadline=later()) == "2026-09-30"
    finally:
        monkeypatch.undo()
        time.tzset()


# Threads and processes

TAKE_IN_THREADS = """
import sys, threading, time
from pathlib import Path
from sift.store.sqlite.ledger import SqliteLedger
ledger = SqliteLedger(Path(sys.argv[1]), {"tavily": int(sys.argv[2])}, lambda: float(sys.argv[3]))
taken = []
sys.stdin.readline()
def run():
    for _ in range(25):
        taken.append(ledger.reserve("tavily", deadline=time.monotonic() + 60) is not None)
threads = [threading.Thread(target=run) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(taken) == 16 * 25, len(taken)
print(sum(taken))
"""

TAKE_ALOUD = """
import sys, time
from pathlib import Path
from sift.store.sqlite.ledger import SqliteLedger
ledger = SqliteLedger(Path(sys.argv[1]), {"tavily": int(sys.argv[2])}, lambda: float(sys.argv[3]))
while ledger.reserve("tavily", deadline=time.monotonic() + 60) is not None:
    print("taken", flush=True)
"""


def run(code: str, path: Path, cap: int = 5) -> subprocess.Popen[str]:
    """Start a process that uses the ledger."""
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path), str(cap), str(NOON)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_threads_ask_at_once_cap_is_exact(make: Any) -> None:
    """contract: Credits: 40 threads at once and a cap of 5 are 5 credits."""
    ledger, start, taken = make(5), threading.Barrier(40), list[bool]()

    def ask() -> None:
        start.wait(20)
        taken.append(take(ledger) == 1)

    threads = [threading.Thread(target=ask) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (len(taken), sum(taken)) == (40, 5)


@pytest.mark.parametrize("exists", [False, True])
def test_processes_and_threads_ask_at_once_cap_is_exact(make: Any, path: Path, exists: bool) -> None:
    """contract: Credits: 2 processes of 16 threads ask for 800 of 300 credits, on a new file and on one in use."""
    before = take(make(300), 7) if exists else 0
    workers = [run(TAKE_IN_THREADS, path, 300) for _ in range(2)]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    given = [int(worker.communicate(timeout=60)[0]) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert sum(given) + before == 300
    assert make(300).spent("tavily") == 300


def test_process_is_killed_in_mid_burst_cap_holds_over_all_lives(make: Any, path: Path) -> None:
    """contract: Credits: credits taken before a kill stay taken, and all lives together take exactly the cap."""
    cap, seen = 2000, 0
    for lines in (40, 60):
        with run(TAKE_ALOUD, path, cap) as life:
            assert life.stdout is not None
            for _ in range(lines):
                assert life.stdout.readline() == "taken\n"
            life.send_signal(signal.SIGKILL)
            seen += lines + life.stdout.read().count("taken\n")
        spent = make(cap).spent("tavily")
        assert seen <= spent <= seen + 2  # each life may have taken one more without saying so
    with run(TAKE_ALOUD, path, cap) as last:
        rest = last.communicate(timeout=60)[0].count("taken\n")
    assert cap - 2 <= seen + rest <= cap
    assert make(cap).spent("tavily") == cap


FORK = """
import gc, os, sqlite3, sys, time
from pathlib import Path
from sift.store.sqlite.ledger import SqliteLedger
def open_connections():
    return [id(each) for each in gc.get_objects() if isinstance(each, sqlite3.Connection)]
ledger = SqliteLedger(Path(sys.argv[1]), {"tavily": int(sys.argv[2])}, lambda: float(sys.argv[3]))
def take(times):
    return sum(ledger.reserve("tavily", deadline=time.monotonic() + 20) is not None for _ in range(times))
assert take(1) == 1
first = id(ledger._connection)
child = os.fork()
if not child:
    status = 1
    try:
        assert take(2) == 2
        gc.collect()
        assert sorted(open_connections()) == sorted([first, id(ledger._connection)])  # both still alive, not closed
        assert len(open_connections()) == 2
        status = 0
    finally:
        os._exit(status)
_, status = os.waitpid(child, 0)
assert status == 0
assert id(ledger._connection) == first
assert ledger.left("tavily") == int(sys.argv[2]) - 3
print(take(9))
"""


def test_process_forks_child_opens_its_own_connection(path: Path) -> None:
    """contract: Credits: a child neither uses nor closes a connection of its parent."""
    with run(FORK, path, 5) as parent:
        assert parent.communicate(timeout=60)[0] == "2\n"
    assert parent.returncode == 0


# A ledger that cannot be used


def refused(ledger: SqliteLedger) -> None:
    """Check that no credit is granted, and that every read fails."""
    for use in (
        lambda: ledger.reserve("tavily", deadline=soon()),
        lambda: ledger.left("tavily"),
        lambda: ledger.spent("tavily"),
    ):
        with pytest.raises(LedgerError):
            use()
    ledger.settle("tavily", "2026-09-29", 1)  # never raises


def test_directory_cannot_be_made_ledger_error(tmp_path: Path) -> None:
    """contract: Credits: without a ledger no credit is granted."""
    (tmp_path / "file").write_text("")
    refused(SqliteLedger(tmp_path / "file" / "state" / "ledger.sqlite3", {"tavily": 5}))


def test_credit_is_taken_it_is_on_the_disk(make: Any) -> None:
    """contract: Credits: a power cut forgets none, as far as SQLite can say: the log is flushed with every commit."""
    ledger = make()
    ledger.reserve("tavily", deadline=later())
    values = [ledger._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert values == ["wal", 2]


def test_file_is_a_directory_ledger_error(path: Path) -> None:
    """contract: Credits: nor is one with something else in its place."""
    path.mkdir(parents=True)
    refused(SqliteLedger(path, {"tavily": 5}))


def test_file_is_read_only_ledger_error_but_the_count_is_known(make: Any, path: Path) -> None:
    """contract: Credits: a ledger that cannot be written grants no credit."""
    assert take(make(5), 2) == 2
    ledger = make(5)
    assert ledger.left("tavily") == 3
    ledger._connection.execute("PRAGMA query_only = ON")  # root may write any file: SQLite must refuse
    with pytest.raises(LedgerError):
        ledger.reserve("tavily", deadline=soon())
    assert ledger.left("tavily") == 3
    assert take(ledger) == 1  # opened anew


GARBAGE = {
    "text": b"this is no database, but somebody's notes\n" * 200,
    "a lost header": bytes(8192),
    "a cut file": b"SQLite format 3\x00" + b"\x10\x00\x02\x02" + b"\xff" * 30,
}


@pytest.mark.parametrize("content", GARBAGE.values(), ids=GARBAGE.keys())
def test_file_is_corrupt_ledger_error_and_it_stays_as_it_is(path: Path, content: bytes) -> None:
    """contract: Credits: an unreadable file is never replaced: a new one would be a new budget."""
    path.parent.mkdir()
    path.write_bytes(content)
    ledger = SqliteLedger(path, {"tavily": 5})
    for _ in range(2):
        refused(ledger)
    assert path.read_bytes() == content


def test_file_is_corrupt_inside_ledger_error_until_it_is_repaired(make: Any, path: Path) -> None:
    """contract: Credits: a damaged page makes a file unreadable; a repaired file is read again without a restart."""
    ledger = make(5)
    assert take(ledger, 2) == 2
    ledger._close()
    whole = path.read_bytes()
    damaged = whole[:100] + b"\xff" * (len(whole) - 100)
    path.write_bytes(damaged)
    refused(ledger)
    assert path.read_bytes() == damaged
    path.write_bytes(whole)
    assert ledger.left("tavily") == 3
    assert take(ledger, 9) == 3


def test_table_is_another_one_ledger_error_and_it_stays(path: Path) -> None:
    """contract: Credits: another program's database is not a ledger."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE spent (name TEXT)")
        db.execute("INSERT INTO spent VALUES ('mine')")
        db.commit()
    ledger = SqliteLedger(path, {"tavily": 5})
    refused(ledger)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT * FROM spent").fetchall() == [("mine",)]


FULL = """
import resource, sys, time
from pathlib import Path
from sift.search.protocols import LedgerError
from sift.store.sqlite.ledger import SqliteLedger
ledger = SqliteLedger(Path(sys.argv[1]), {"tavily": int(sys.argv[2])}, lambda: float(sys.argv[3]))
if sys.stdin.readline() == "opened\\n":
    ledger.left("tavily")
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
def tell(use):
    try:
        return use()
    except LedgerError:
        return "LedgerError"
print(tell(lambda: ledger.reserve("tavily", deadline=time.monotonic() + 5)))
ledger.settle("tavily", "2026-09-29", 2)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(tell(lambda: ledger.reserve("tavily", deadline=time.monotonic() + 5)))
"""


@pytest.mark.parametrize(("state", "booked"), [("opened", 4), ("closed", 1)])
def test_disk_is_full_ledger_error_until_there_is_room(make: Any, path: Path, state: str, booked: int) -> None:
    """contract: Credits: what cannot be written is not granted; once there is room, pending prices are booked."""
    if state == "opened":
        take(make(9), 2)
    with run(FULL, path, 9) as worker:
        told = worker.communicate(state + "\n", timeout=60)[0]
    assert told == "LedgerError\n2026-09-29\n"
    assert make(9).spent("tavily") == booked


# Waiting


@pytest.fixture
def other(path: Path) -> Iterator[sqlite3.Connection]:
    """Another program that has the file open."""
    path.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        yield db


def seconds(use: Callable[[], object]) -> float:
    """Return the seconds that a failing use takes: the best of three, as a busy machine may stall."""
    taken = []
    for _ in range(3):
        started = time.monotonic()
        with pytest.raises(LedgerError):
            use()
        taken.append(time.monotonic() - started)
        if taken[-1] < 0.4:
            break
    return min(taken)


def test_file_is_locked_waiting_ends_at_the_deadline(make: Any, other: sqlite3.Connection) -> None:
    """contract: Credits: waiting for a locked file ends at the deadline; once it is free credits are granted again."""
    ledger = make(5)
    assert take(ledger) == 1
    other.execute("BEGIN EXCLUSIVE")
    assert 0.15 < seconds(lambda: ledger.reserve("tavily", deadline=soon())) < 0.8
    assert ledger.left("tavily") == 4  # readers need not wait
    other.execute("ROLLBACK")
    assert take(ledger) == 1


def test_file_is_locked_before_it_is_opened_waiting_ends_at_the_deadline(make: Any, other: sqlite3.Connection) -> None:
    """contract: Credits: the same when the first use meets the lock; a read hardly waits."""
    other.execute("BEGIN EXCLUSIVE")
    ledger = make(5)
    assert seconds(lambda: ledger.reserve("tavily", deadline=soon())) < 0.8
    assert seconds(lambda: ledger.left("tavily")) < 0.5
    assert seconds(lambda: ledger.spent("tavily")) < 0.5
    other.execute("ROLLBACK")
    assert take(ledger) == 1


def test_file_is_read_while_it_is_first_opened_credit_is_given(make: Any, other: sqlite3.Connection) -> None:
    """contract: Credits: another process at its own first use is waited for, although SQLite would give up at once."""
    other.execute("CREATE TABLE t (x)")
    other.execute("BEGIN IMMEDIATE")
    taken = list[int]()
    ledger = make(5)
    asking = threading.Thread(target=lambda: taken.append(take(ledger)))
    asking.start()
    asking.join(0.1)
    assert taken == []
    other.execute("ROLLBACK")
    asking.join(20)
    assert taken == [1]


def test_file_is_locked_for_a_moment_credit_is_given(make: Any, other: sqlite3.Connection) -> None:
    """contract: Credits: a busy ledger is waited for within the timeout."""
    ledger, taken = make(5), list[int]()
    assert take(ledger) == 1
    other.execute("BEGIN EXCLUSIVE")
    asking = threading.Thread(target=lambda: taken.append(take(ledger)))
    asking.start()
    asking.join(0.1)
    assert taken == []
    other.execute("ROLLBACK")
    asking.join(20)
    assert taken == [1]


def test_another_thread_waits_each_keeps_its_own_deadline(make: Any, other: sqlite3.Connection) -> None:
    """contract: Credits: a thread that waits for another thread gives up at its own deadline."""
    ledger, taken = make(5), list[int]()
    assert take(ledger) == 1
    other.execute("BEGIN EXCLUSIVE")
    asking = threading.Thread(target=lambda: taken.append(take(ledger)))
    asking.start()
    while not ledger._lock.locked():
        asking.join(0.001)
    assert seconds(lambda: ledger.reserve("tavily", deadline=soon())) < 0.8
    assert seconds(lambda: ledger.left("tavily")) < 0.5
    assert taken == []
    other.execute("ROLLBACK")
    asking.join(20)
    assert taken == [1]


def test_deadline_has_passed_no_credit_is_lost(make: Any, other: sqlite3.Connection) -> None:
    """contract: Credits: a call past its deadline takes no credit."""
    ledger = make(5)
    assert take(ledger) == 1
    other.execute("BEGIN EXCLUSIVE")
    assert seconds(lambda: ledger.reserve("tavily", deadline=time.monotonic() - 5)) < 0.5
    other.execute("ROLLBACK")
    assert ledger.spent("tavily") == 1


@pytest.mark.parametrize(("price", "spent"), [(0, 0), (3, 3)])
def test_file_is_locked_at_the_end_price_is_booked_before_the_next_credit(
    make: Any, other: sqlite3.Connection, price: int, spent: int
) -> None:
    """contract: Credits: a locked file delays no answer, and the price that it could not take is booked later."""
    ledger = make(5)
    day = ledger.reserve("tavily", deadline=later())
    other.execute("BEGIN EXCLUSIVE")
    booking = threading.Thread(target=ledger.settle, args=("tavily", day, price))
    booking.start()
    booking.join(20)
    assert not booking.is_alive()
    other.execute("ROLLBACK")
    assert ledger.spent("tavily") == spent
    assert make(5).spent("tavily") == spent


def test_settings_of_the_file_survive_a_kill(make: Any, path: Path) -> None:
    """contract: Credits: a write-ahead log, in a state directory that only its owner may read."""
    ledger = make(5)
    take(ledger)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert {each.name for each in path.parent.iterdir()} <= {path.name, path.name + "-wal", path.name + "-shm"}
    assert path.parent.stat().st_mode & 0o777 == 0o700


# Prices that are booked later


class Interleaved(sqlite3.Connection):
    """Call `before` and `after` around each statement that books a price."""

    before: Callable[[], None] = staticmethod(lambda: None)
    after: Callable[[], None] = staticmethod(lambda: None)

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        is_booking = sql.startswith("UPDATE spent")
        if is_booking:
            self.before()
        cursor = super().execute(sql, *parameters)
        if is_booking:
            self.after()
        return cursor


PRICES = st.lists(st.sampled_from([0, 2, 3, 7]), min_size=1, max_size=8)
MOMENTS = st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(0, 2)), max_size=10)


@settings(max_examples=60)
@given(prices=PRICES, moments=MOMENTS)
def test_prices_come_in_any_interleaving_the_sum_is_exact(
    prices: list[int], moments: list[tuple[int, bool, int]]
) -> None:
    """contract: Credits: other calls end before and after a price is written, and the file is locked now and then."""
    connection = type("Connection", (Interleaved,), {})
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "ledger.sqlite3"
        ledger = SqliteLedger(
            path, {"tavily": 1000}, lambda: NOON, connect=partial(sqlite3.connect, factory=connection)
        )
        assert take(ledger, len(prices)) == len(prices)
        rest, threads = list(prices), list[threading.Thread]()

        def others(count: int) -> None:
            """Let other calls end: each adds its price, and waits for the lock."""
            for _ in range(min(count, len(rest))):
                price, known = rest.pop(), len(ledger._unbooked)
                threads.append(threading.Thread(target=ledger.settle, args=("tavily", "2026-09-29", price)))
                threads[-1].start()
                wait_for(lambda known=known: len(ledger._unbooked) > known)

        def before() -> None:
            nonlocal late
            arrive, is_locked, late = moments.pop() if moments else (0, False, 0)
            others(arrive)
            if is_locked:
                raise sqlite3.OperationalError("database is locked")

        late = 0
        connection.before, connection.after = staticmethod(before), staticmethod(lambda: others(late))
        while rest:
            ledger.settle("tavily", "2026-09-29", rest.pop())
        for thread in threads:
            thread.join(20)
        moments.clear()
        assert ledger.spent("tavily") == sum(prices)
        ledger.close()
        other = SqliteLedger(path, {"tavily": 1000}, lambda: NOON)
        assert other.spent("tavily") == sum(prices)
        other.close()


def test_file_is_locked_until_the_process_stops_price_is_booked_then(make: Any, other: sqlite3.Connection) -> None:
    """contract: Credits: closing the ledger waits for a locked file, as nobody books the price later."""
    ledger = make(9)
    day = ledger.reserve("tavily", deadline=later())
    other.execute("BEGIN EXCLUSIVE")
    ledger.settle("tavily", day, 5)
    closing_it = threading.Thread(target=ledger.close)
    closing_it.start()
    wait_for(ledger._lock.locked)
    other.execute("ROLLBACK")
    closing_it.join(20)
    assert not closing_it.is_alive()
    assert ledger._connection is None
    assert make(9).spent("tavily") == 5


# A ledger whose files go away


def delete_log(path: Path) -> None:
    path.with_name(path.name + "-wal").unlink()


def replace_log(path: Path) -> None:
    delete_log(path)
    path.with_name(path.name + "-wal").touch()


def delete_all(path: Path) -> None:
    for each in path.parent.iterdir():
        each.unlink()


def replace_by_a_copy(path: Path) -> None:
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def truncate(path: Path) -> None:
    os.truncate(path, 0)


def replace_by_another(path: Path) -> None:
    delete_all(path)
    ledger = SqliteLedger(path, {"tavily": 5}, lambda: NOON)
    assert take(ledger) == 1
    ledger.close()


@pytest.mark.parametrize(
    ("damage", "is_open"),
    [
        *(
            (damage, True)
            for damage in (delete_log, replace_log, delete_all, replace_by_a_copy, truncate, replace_by_another)
        ),
        *((damage, False) for damage in (delete_all, truncate, replace_by_another)),
    ],
)
def test_files_go_away_no_credit_is_given_by_any_process_of_the_service(
    path: Path, logged: list[str], damage: Callable[[Path], None], is_open: bool
) -> None:
    """contract: Credits: it is noticed, the log says so once a process, and later workers get no new budget either."""
    mark, made = Mark(), list[SqliteLedger]()

    def worker() -> SqliteLedger:
        made.append(SqliteLedger(path, {"tavily": 5}, lambda: NOON, mark=mark))
        return made[-1]

    first, second = worker(), worker()
    assert (take(first, 2), take(second, 2), first.left("tavily")) == (2, 2, 1)
    if not is_open:
        first._close()
        second._close()
    damage(path)
    logged.clear()
    for ledger in (second, first, worker()):
        for _ in range(2):
            for use in (ledger.left, ledger.spent, partial(ledger.reserve, deadline=soon())):
                with pytest.raises(LedgerError):
                    use("tavily")
    with pytest.raises(LedgerLostError):
        first.left("tavily")
    assert logged == ["ledger_lost"] * 3
    for ledger in made:
        for db in ledger._abandoned:
            db.close()


def test_log_was_deleted_and_the_service_is_started_again_the_count_is_whole(path: Path) -> None:
    """contract: Credits: what only the deleted log held is written back when its loss is noticed."""
    ledger = SqliteLedger(path, {"tavily": 5}, lambda: NOON)
    assert take(ledger, 3) == 3
    delete_log(path)
    with pytest.raises(LedgerError):
        ledger.reserve("tavily", deadline=soon())
    again = SqliteLedger(path, {"tavily": 5}, lambda: NOON)
    assert again.spent("tavily") == 3
    again.close()
    ledger._abandoned[0].close()


def test_ledger_is_new_the_log_says_so_once(path: Path, logged: list[str]) -> None:
    """contract: Credits: nobody gets a new budget unnoticed; a ledger that is opened again is not new."""
    for _ in range(2):
        ledger = SqliteLedger(path, {"tavily": 5}, lambda: NOON)
        assert take(ledger) == 1
        ledger.close()
    assert logged == ["ledger_created"]


def test_ledger_of_an_older_version_is_named_and_counts_on(path: Path, logged: list[str]) -> None:
    """contract: Credits: a ledger without an identity is not new; it gets one."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute(
            "CREATE TABLE spent (source TEXT, day TEXT, credits INTEGER, PRIMARY KEY (source, day)) WITHOUT ROWID"
        )
        db.execute("INSERT INTO spent VALUES ('tavily', '2026-09-29', 3)")
        db.commit()
    ledger = SqliteLedger(path, {"tavily": 5}, lambda: NOON)
    assert take(ledger, 5) == 2
    ledger.close()
    assert logged == []
