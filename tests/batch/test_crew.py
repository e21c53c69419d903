"""The threads that open the pages of batches (contract: Batch work)."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sift.batch.crew import Crew
from sift.batch.model import Claim, Ended, Outcome
from sift.errors import StoreError
from sift.fetch.model import Failed
from sift.observe import NullObserver
from sift.store.sqlite.jobs import SqliteJobs
from tests.batch.crews import PATIENCE, FakeOpener, crew_of
from tests.batch.test_result import claim
from tests.store.engines import submission
from tests.waiting import wait_for


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[SqliteJobs]:
    made = SqliteJobs(tmp_path / "batches.sqlite3", 10.0, gap=0.0)
    yield made
    made.close()


def ended(jobs: SqliteJobs, batch: str) -> bool:
    """Return whether a batch of ann's has ended."""
    status = jobs.status("ann", batch)
    return status is not None and status.state in ("done", "cancelled")


class Counts(NullObserver):
    """Keeps what a crew says of items, by state; and how many waited, each time it was asked."""

    def __init__(self) -> None:
        self.ended: Counter[str] = Counter()
        self.waiting: list[int] = []

    def batch_items_ended(self, state: str, count: int) -> None:
        """Add up the items of a batch that has ended."""
        self.ended[state] += count

    def batch_items_waiting(self, count: int) -> None:
        """Keep a number."""
        self.waiting.append(count)


def over(crew: Crew) -> None:
    """Stop a crew; it must end."""
    crew.stop()
    crew.join(PATIENCE)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sift-batch")]


def test_batch_is_submitted_its_pages_are_opened_and_its_end_is_told_once(
    jobs: SqliteJobs, caplog: pytest.LogCaptureFixture
) -> None:
    """contract: Log: caller, total, ok, failed and ms, and nothing else."""
    opener = FakeOpener({"https://b.example/": Failed("fetch failed", "status 404")})
    with caplog.at_level(logging.INFO, "sift.batch"):
        counts = Counts()
        crew = crew_of(jobs, opener, observer=counts)
        batch = jobs.submit(submission("a.example/", "b.example/", "a.example/", "c.example/")).id
        crew.wake()
        wait_for(lambda: caplog.records)
        over(crew)
    (record,) = caplog.records
    fields = record.__dict__["fields"]
    assert record.getMessage() == "batch"
    assert {**fields, "ms": 0} == {"caller": "ann", "total": 4, "ok": 3, "failed": 1, "ms": 0}
    assert ended(jobs, batch)
    assert counts.ended == {"ok": 3, "failed": 1, "cancelled": 0}
    assert sorted(opener.begun) == [f"https://{host}.example/" for host in "abc"]


def test_items_wait_their_number_is_told_and_that_there_are_none_any_more(jobs: SqliteJobs) -> None:
    """contract: Metrics: what was cancelled has ended, too."""
    opener, counts = FakeOpener(), Counts()
    gate = opener.hold("https://a.example/")
    crew = crew_of(jobs, opener, size=1, observer=counts)
    batch = jobs.submit(submission("a.example/", "b.example/", "c.example/")).id
    crew.wake()
    wait_for(lambda: 2 in counts.waiting)
    jobs.cancel("ann", batch)
    gate.set()
    wait_for(lambda: counts.ended)
    wait_for(lambda: counts.waiting[-1] == 0)
    over(crew)
    assert sum(counts.ended.values()) == 3
    assert counts.ended["cancelled"] >= 2


def test_more_wait_than_it_may_open_the_rest_waits_on(jobs: SqliteJobs) -> None:
    """contract: Batch work: so many pages at a time, however many hosts wait."""
    opener, urls = FakeOpener(), [f"https://{host}.example/" for host in "abcde"]
    gates = [opener.hold(url) for url in urls]
    crew = crew_of(jobs, opener, size=3)
    batch = jobs.submit(submission(*(url.removeprefix("https://") for url in urls))).id
    crew.wake()
    wait_for(lambda: len(opener.begun) == 3)
    status = jobs.status("ann", batch)
    assert status is not None
    assert jobs.due() == 0
    assert len([t for t in threading.enumerate() if t.name.startswith("sift-batch")]) == 1 + 3
    for gate in gates:
        gate.set()
    wait_for(lambda: ended(jobs, batch))
    over(crew)
    assert sorted(opener.begun) == urls


def test_nothing_waits_the_threads_that_work_end(jobs: SqliteJobs) -> None:
    """contract: Batch work: between batches there is one thread."""
    crew = crew_of(jobs, FakeOpener(), size=4)
    batch = jobs.submit(submission("a.example/")).id
    crew.wake()
    wait_for(lambda: ended(jobs, batch))
    wait_for(lambda: [t.name for t in threading.enumerate() if t.name.startswith("sift-batch")] == ["sift-batches"])
    again = jobs.submit(submission("b.example/")).id
    crew.wake()
    wait_for(lambda: ended(jobs, again))
    over(crew)


def test_failure_may_pass_the_item_is_tried_three_times(jobs: SqliteJobs) -> None:
    busy = Failed("fetch failed", "status 503", 0.01)
    opener = FakeOpener({"https://a.example/": busy})
    crew = crew_of(jobs, opener)
    batch = jobs.submit(submission("a.example/")).id
    crew.wake()
    wait_for(lambda: ended(jobs, batch))
    over(crew)
    page = jobs.page("ann", batch)
    assert page is not None
    assert [(item.state, item.hint, item.attempts) for item in page.items] == [("failed", "status 503", 3)]


def test_batch_is_cancelled_or_purged_what_runs_is_given_up_and_its_host_is_free(jobs: SqliteJobs) -> None:
    """contract: Batch work: a renewal says so; the gate of the page never opens."""
    opener = FakeOpener()
    opener.hold("https://a.example/1")
    crew = crew_of(jobs, opener, size=1, renew_every=0.02)
    for end in (jobs.cancel, jobs.purge):
        opener.begun.clear()
        batch = jobs.submit(submission("a.example/1")).id
        crew.wake()
        wait_for(lambda: opener.begun)
        assert end("ann", batch)
        following = jobs.submit(submission("a.example/2")).id
        wait_for(lambda batch=following: ended(jobs, batch))  # type: ignore[misc]
    assert opener.given_up == ["https://a.example/1"] * 2
    over(crew)


def test_crew_stops_what_is_under_way_is_given_up_and_given_back(jobs: SqliteJobs) -> None:
    """contract: Batch work: no attempt is used, and the next process need not wait for the lease."""
    opener = FakeOpener()
    opener.hold("https://a.example/1")
    crew = crew_of(jobs, opener)
    batch = jobs.submit(submission("a.example/1")).id
    crew.wake()
    wait_for(lambda: opener.begun)
    over(crew)
    assert opener.given_up == opener.begun
    status = jobs.status("ann", batch)
    assert status is not None
    assert status.state == "queued"
    again = jobs.claim("another")
    assert again is not None
    assert again.attempt == 1


def test_item_meets_a_fault_of_ours_it_fails_and_the_others_go_on(
    jobs: SqliteJobs, caplog: pytest.LogCaptureFixture
) -> None:
    """contract: Log: the fault's type and place, and no word of its text."""
    opener = FakeOpener({"https://a.example/": KeyError("canary")})
    with caplog.at_level(logging.INFO, "sift.batch"):
        crew = crew_of(jobs, opener, size=1)
        batch = jobs.submit(submission("a.example/", "b.example/")).id
        crew.wake()
        wait_for(lambda: ended(jobs, batch))
        over(crew)
    page = jobs.page("ann", batch)
    assert page is not None
    assert [(item.state, item.error) for item in page.items] == [("failed", "internal error"), ("ok", "")]
    (fault,) = [record for record in caplog.records if record.getMessage() == "internal_error"]
    assert fault.__dict__["fields"]["type"] == "KeyError"
    assert "canary" not in str(fault.__dict__)


@dataclass
class FailingJobs:
    """Has one item, and fails as often as each method is told to.

    called: the names of the methods, in order. reported: what was made of the item.
    """

    failures: dict[str, int] = field(default_factory=dict)
    called: list[str] = field(default_factory=list)
    reported: list[Any] = field(default_factory=list)
    items: list[Claim] = field(default_factory=lambda: [claim(url="https://a.example/", lease="x")])
    wanted: bool = True

    def _call(self, name: str) -> None:
        self.called.append(name)
        if self.failures.get(name, 0) > 0:
            self.failures[name] -= 1
            raise StoreError

    def claim(self, owner: str) -> Claim | None:
        self._call("claim")
        return self.items.pop() if self.items else None

    def due(self) -> float | None:
        self._call("due")
        return 0.0 if self.items else None

    def waiting(self) -> int:
        self._call("waiting")
        return len(self.items)

    def renew(self, owner: str, host: str) -> bool:
        self._call("renew")
        return self.wanted

    def finish(self, claim: Claim, outcome: Outcome) -> bool:
        self._call("finish")
        self.reported.append(outcome.state)
        return True

    def give_back(self, claim: Claim) -> bool:
        self._call("give_back")
        self.reported.append("given back")
        return True

    def ended(self) -> tuple[Ended, ...]:
        self._call("ended")
        return ()

    def sweep(self) -> None:
        self._call("sweep")


@pytest.mark.parametrize("method", ["due", "claim", "finish", "ended"])
def test_store_fails_the_crew_goes_on_later_and_says_so_once(method: str, caplog: pytest.LogCaptureFixture) -> None:
    """contract: Batch work: no thread ends, nothing spins, and the log has two records."""
    jobs = FailingJobs({method: 2})
    with caplog.at_level(logging.INFO, "sift.batch"):
        crew = crew_of(jobs, FakeOpener(), size=1)  # type: ignore[arg-type]
        wait_for(lambda: jobs.reported == ["ok"] and not jobs.failures[method])
        wait_for(lambda: [record.getMessage() for record in caplog.records][-1:] == ["batches_resumed"])
        over(crew)
    assert caplog.records[0].__dict__["fields"] == {"reason": "store"}
    assert len(caplog.records) <= 4  # what answers between two failures ends an outage
    assert jobs.called.count(method) < 12


def test_store_fails_until_the_lease_is_over_the_visit_ends() -> None:
    """contract: Batch work: the host may be another's by then."""
    jobs, opener = FailingJobs({"renew": 1000}), FakeOpener()
    opener.hold("https://a.example/")
    crew = crew_of(jobs, opener, lease=0.2, renew_every=0.02)  # type: ignore[arg-type]
    wait_for(lambda: opener.given_up)
    wait_for(lambda: jobs.reported == ["given back"])
    over(crew)


def test_this_host_has_no_room_the_item_is_given_back() -> None:
    jobs = FailingJobs()
    crew = crew_of(jobs, FakeOpener({"https://a.example/": Failed("busy")}))  # type: ignore[arg-type]
    wait_for(lambda: jobs.reported == ["given back"])
    over(crew)
