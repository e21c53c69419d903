"""Batches against a plain model: any sequence of what callers and workers do, on both engines (contract: Store)."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from sift.batch.model import ACTIVE_BATCHES, BATCH_SECONDS, GAP_SECONDS, LEASE_SECONDS, Claim, Outcome, Submission
from sift.batch.protocols import Jobs
from sift.errors import BatchLimitError, IdempotencyError
from tests.postgres import Server
from tests.store.engines import Clock, Engine, PostgresEngine, SqliteEngine, submission

CALLERS = ("ann", "bob")
HOSTS = ("a.example", "b.example", "c.example")
OWNERS = ("u", "v", "w")
TTL = 3600.0


@dataclass
class Item:
    state: str = "queued"
    attempts: int = 0
    not_before: float = 0.0
    result: bytes | None = None
    claim: Claim | None = None


@dataclass
class Batch:
    request: Submission
    made: float
    items: dict[str, Item]
    is_cancelled: bool = False
    is_told: bool = False

    def is_open(self) -> bool:
        return any(item.state in ("queued", "running") for item in self.items.values())


@dataclass
class Host:
    free_at: float = 0.0
    claim: Claim | None = None
    delay: float = GAP_SECONDS


@dataclass
class Model:
    """What the store should say, in plain words and without a lock."""

    batches: dict[str, Batch] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=lambda: {host: Host() for host in HOSTS})

    def pass_time(self, now: float) -> None:
        """End what is overdue, forget what is expired."""
        for name, batch in [*self.batches.items()]:
            if now >= batch.made + BATCH_SECONDS:
                for item in batch.items.values():
                    if item.state in ("queued", "running"):
                        item.state = "failed"
            if now >= batch.made + TTL:
                del self.batches[name]

    def waiting(self, now: float) -> list[tuple[str, str]]:
        """Return what could be claimed: batches and keys."""
        return [
            (name, key)
            for name, batch in self.batches.items()
            for key, item in batch.items.items()
            if item.state in ("queued", "running")
            and item.not_before <= now
            and self.hosts[key.partition("/")[0]].free_at <= now
        ]


class Store(RuleBasedStateMachine):
    """Two processes of one store, and the model."""

    engine: Engine

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.place = self.make()
        ids = map("b_{}".format, count())  # the same in each run of an example
        self.processes: list[Jobs] = [self.place.jobs(self.clock, ids=lambda: next(ids)) for _ in range(2)]
        self.model = Model()
        self.claims: list[Claim] = []  # those that some worker believes it holds

    def make(self) -> Engine:
        raise NotImplementedError

    def teardown(self) -> None:
        self.place.close()

    @rule(
        process=st.integers(0, 1),
        caller=st.sampled_from(CALLERS),
        pages=st.lists(st.tuples(st.sampled_from(HOSTS), st.integers(0, 2)), min_size=1, max_size=5),
        key=st.sampled_from(["", "", "k"]),
    )
    def submit(self, process: int, caller: str, pages: list[tuple[str, int]], key: str) -> None:
        urls = [f"{host}/{page}" for host, page in pages]
        request = submission(*urls, caller=caller, cls="restricted", ttl=TTL, key=key, body=" ".join(urls))
        own = {name: batch for name, batch in self.model.batches.items() if batch.request.caller == caller}
        same = [(name, batch) for name, batch in own.items() if key and batch.request.key == key]
        try:
            receipt = self.processes[process].submit(request)
        except IdempotencyError:
            assert same
            assert same[0][1].request.body != request.body
            return
        except BatchLimitError:
            assert not same
            assert sum(batch.is_open() for batch in own.values()) >= ACTIVE_BATCHES["restricted"]
            return
        if same:
            assert (receipt.id, receipt.replayed) == (same[0][0], True)
            assert same[0][1].request.body == request.body
            return
        assert not receipt.replayed
        assert sum(batch.is_open() for batch in own.values()) < ACTIVE_BATCHES["restricted"]
        items = {place.key: Item() for place in request.places}
        assert receipt.duplicates == len(request.places) - len(items)
        self.model.batches[receipt.id] = Batch(request, self.clock.now, items)

    @rule(process=st.integers(0, 1), owner=st.sampled_from(OWNERS))
    def claim(self, process: int, owner: str) -> None:
        waiting = self.model.waiting(self.clock.now)
        claim = self.processes[process].claim(owner)
        if claim is None:
            assert waiting == []
            return
        key = claim.url.removeprefix("https://")
        assert (claim.batch, key) in waiting
        item, host = self.model.batches[claim.batch].items[key], self.model.hosts[claim.host]
        item.state, item.claim, item.attempts = "running", claim, item.attempts + 1
        host.claim, host.free_at = claim, self.clock.now + LEASE_SECONDS + host.delay
        assert claim.attempt == item.attempts
        self.claims.append(claim)

    @precondition(lambda self: self.claims)
    @rule(
        data=st.data(),
        process=st.integers(0, 1),
        end=st.sampled_from(["ok", "failed", "retry", "give back", "renew"]),
        delay=st.sampled_from([None, None, 3.0]),
    )
    def report(self, data: st.DataObject, process: int, end: str, delay: float | None) -> None:
        claim = data.draw(st.sampled_from(self.claims))
        jobs, now = self.processes[process], self.clock.now
        host = self.model.hosts[claim.host]
        batch = self.model.batches.get(claim.batch)
        item = batch.items[claim.url.removeprefix("https://")] if batch else None
        has_host = host.claim is not None and host.claim.lease == claim.lease
        counts = has_host and item is not None and item.state == "running" and item.claim == claim
        if end == "renew":
            owner = next(each for each in OWNERS if each in self.owners(claim))
            if has_host:
                assert jobs.renew(owner, claim.host) == counts
                if counts:
                    host.free_at = now + LEASE_SECONDS + host.delay
            return
        self.claims.remove(claim)
        if end == "retry":
            assert jobs.retry(claim, 5.0, delay=delay) == counts
        elif end == "give back":
            delay = None
            assert jobs.give_back(claim) == counts
        else:
            result = claim.lease.encode() if end == "ok" else None
            outcome = Outcome("ok" if end == "ok" else "failed", "" if end == "ok" else "e", "", result, delay)
            assert jobs.finish(claim, outcome) == counts
        if has_host:
            host.delay = host.delay if delay is None else max(GAP_SECONDS, delay)
            host.claim, host.free_at = None, now + host.delay
        if counts:
            assert item is not None
            item.claim = None
            if end == "retry":
                item.state, item.not_before = "queued", now + 5
            elif end == "give back":
                item.state, item.attempts = "queued", item.attempts - 1
            else:
                item.state, item.result = end, claim.lease.encode() if end == "ok" else None

    def owners(self, claim: Claim) -> list[str]:
        """Return who has a claim's host, by the tables."""
        return [row[0] for row in self.place.rows(f"SELECT owner FROM sift_hosts WHERE lease = '{claim.lease}'")] or [
            OWNERS[0]
        ]

    @precondition(lambda self: self.model.batches)
    @rule(
        data=st.data(), process=st.integers(0, 1), how=st.sampled_from(["cancel", "purge"]), by=st.sampled_from(CALLERS)
    )
    def end(self, data: st.DataObject, process: int, how: str, by: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.model.batches)))
        batch = self.model.batches[name]
        done = getattr(self.processes[process], how)(by, name)
        assert done == (by == batch.request.caller)
        if not done:
            return
        if how == "purge":
            del self.model.batches[name]
        elif batch.is_open():
            batch.is_cancelled = True
            for item in batch.items.values():
                if item.state in ("queued", "running"):
                    item.state = "cancelled"

    @rule(seconds=st.sampled_from([0.3, 1.01, 5.0, 21.1, BATCH_SECONDS, TTL]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.model.pass_time(self.clock.now)

    @rule(process=st.integers(0, 1))
    def sweep(self, process: int) -> None:
        self.processes[process].sweep()
        for name, host in self.model.hosts.items():  # a row that is gone has forgotten its delay
            if not self.place.rows(f"SELECT 1 FROM sift_hosts WHERE host = '{name}'"):
                self.model.hosts[name] = Host()
                assert host.free_at <= self.clock.now

    @rule(process=st.integers(0, 1))
    def tell(self, process: int) -> None:
        for caller in CALLERS:
            self.processes[process].list(caller)  # ends what is overdue
        told = sorted((each.total, each.ok, each.failed) for each in self.processes[process].ended())
        expected = []
        for batch in self.model.batches.values():
            if not batch.is_open() and not batch.is_told:
                batch.is_told = True
                states = [batch.items[place.key].state for place in batch.request.places]
                expected.append((len(states), states.count("ok"), states.count("failed")))
        # One that expired before anybody asked may be told too.
        assert all(told.count(each) >= expected.count(each) for each in expected)

    @invariant()
    def reads_agree_with_the_model(self) -> None:
        jobs = self.processes[0]
        for caller in CALLERS:
            own = {name for name, batch in self.model.batches.items() if batch.request.caller == caller}
            assert {status.id for status in jobs.list(caller)} == own
            for name in own:
                self.check(jobs, caller, name)
        running = [item for batch in self.model.batches.values() for item in batch.items.values() if item.claim]
        held = [item.claim for item in running if item.claim and self.model.hosts[item.claim.host].claim == item.claim]
        assert len({claim.host for claim in held}) == len(held)

    def check(self, jobs: Jobs, caller: str, name: str) -> None:
        batch = self.model.batches[name]
        status, page = jobs.status(caller, name), jobs.page(caller, name, limit=50)
        assert status is not None
        assert page is not None
        expected = [batch.items[place.key] for place in batch.request.places]
        assert [(item.state, item.attempts, item.result) for item in page.items] == [
            (item.state, item.attempts, item.result) for item in expected
        ]
        assert [item.index for item in page.items] == [*range(len(expected))]
        states = [item.state for item in expected]
        assert (status.ok, status.failed) == (states.count("ok"), states.count("failed"))
        assert status.ok + status.failed + status.pending == status.total == len(expected)
        if batch.is_cancelled:
            assert status.state == "cancelled"
        elif not batch.is_open():
            assert status.state == "done"
        else:
            assert status.state in ("queued", "running")


def run(make: Any, examples: int) -> None:
    """Run the state machine on engines that `make` makes."""
    machine = type("Machine", (Store,), {"make": lambda self: make()})
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            suppress_health_check=[*HealthCheck],
        ),
    )


def test_any_sequence_agrees_with_a_plain_model_on_sqlite() -> None:
    """contract: Store: callers, workers, kills, waits and clocks in any order, from two processes."""
    with tempfile.TemporaryDirectory() as directory:
        numbers = iter(range(10_000))
        run(lambda: SqliteEngine(Path(directory) / str(next(numbers))), 60)


def test_any_sequence_agrees_with_a_plain_model_on_postgres(postgres: Server) -> None:
    """contract: Store: the same."""
    run(lambda: PostgresEngine(postgres.room()), 15)


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "sift.store")
