"""Threads of a worker with the shipped settings."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.real.conftest import Running
from tests.real.held import Hold
from tests.real.programs import bearer
from tests.service import Service
from tests.vendors import NAMES, Behaviour, Vendors, reply, usual


@pytest.fixture
def hold() -> Iterator[Hold]:
    held = Hold()
    yield held
    held.release.set()


def test_hung_source_others_answer_while_it_still_hangs(hold: Hold, vendors: Vendors, tmp_path: Path) -> None:
    """contract: HTTP calls: an answer does not wait for a source past its timeout."""
    vendors.behaviour["brave_llm"] = hold.behaviour("brave_llm")
    with Service(tmp_path, vendors.environ | {"SIFT_BRAVE_TIMEOUT": "0.3"}) as service:
        answer = service.search("anything")
        assert not hold.release.is_set()
        assert answer["warnings"] == ["brave_llm: timeout"]
        assert (answer["sources_ok"], answer["sources_failed"]) == (
            [name for name in NAMES if name != "brave_llm"],
            ["brave_llm"],
        )
        assert {hit["source"] for hit in answer["results"]} == {*NAMES} - {"brave_llm"}


def test_as_many_requests_as_threads_every_call_runs_at_once(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: nothing queues inside, so busy threads cannot deadlock.

    Each vendor call waits until the calls of all requests have arrived: one queued call would make all of them fail.
    """
    threads = 4
    all_there = threading.Barrier(threads * len(NAMES))

    def meeting(vendor: str) -> Behaviour:
        def behave(connection: object, seen: object) -> object:
            all_there.wait(20)
            return usual(vendor)(connection, seen)  # type: ignore[arg-type]

        return behave

    vendors.behaviour = {name: meeting(name) for name in NAMES}
    with Service(tmp_path, vendors.environ | {"SIFT_THREADS": str(threads)}) as service:
        with ThreadPoolExecutor(threads) as pool:
            answers = list(pool.map(service.search, [f"query {number}" for number in range(threads)]))
        vendors.restore()
        with ThreadPoolExecutor(4 * threads) as pool:  # more requests than threads: some wait their turn
            answers += pool.map(service.search, [f"more {number}" for number in range(4 * threads)])
    assert all(answer["sources_ok"] == list(NAMES) and not answer["warnings"] for answer in answers)


def test_failures_in_pool_threads_need_no_request_context(running: Running) -> None:
    """No failure in a pool thread needs Flask's request context.

    The record has the caller's class although other threads do the work.
    """
    broken = [reply(b"", 500), reply(b"no JSON"), reply({"results": 5}), lambda *_: None]
    before = len(running.service.records())
    for number, behaviour in enumerate(broken):
        running.vendors.behaviour["searxng"] = behaviour
        for token in running.tokens:
            answer = running.service.post("/v1/search", {"query": f"broken {number}"}, bearer(token)).json()
            assert answer["sources_failed"] == ["searxng"]
            assert "searxng: internal error" not in answer["warnings"]
    records = running.service.records()[before:]
    assert [record["caller"] for record in records] == ["the fleet", "the restricted"] * len(broken)
    assert ["filters" in record for record in records] == [True, False] * len(broken)
    assert b"context" not in running.service.log()
