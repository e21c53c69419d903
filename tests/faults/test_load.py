"""Load on a running service: bounded threads and memory, no stray answers, nobody dropped at a stop."""

from __future__ import annotations

import http.client
import json
import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.faults.behaviours import late, own_url, silent
from tests.faults.test_vendors import settings, urls
from tests.faults.watch import memory, threads, worker, workers
from tests.service import Reply, Service
from tests.vendors import NAMES, Vendors
from tests.waiting import wait_for

CLIENTS = 64


class Timed(NamedTuple):
    """An answer and the seconds it took."""

    answer: Reply
    seconds: float


def timed(service: Service, query: str) -> Timed:
    """Search, and time it."""
    started = time.monotonic()
    answer = service.post("/v1/search", {"query": query})
    return Timed(answer, time.monotonic() - started)


def p99(seconds: list[float]) -> float:
    """Return the 99th percentile."""
    return sorted(seconds)[max(0, int(len(seconds) * 0.99) - 1)]


def test_64_clients_cold_and_warm_with_a_slow_and_a_dead_vendor(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: only 200s, bounded threads, flat memory, p99 under the timeout plus 1.5 s."""
    timeout = 3.0
    vendors.behaviour["searxng"] = late(0.3)("searxng")
    vendors.behaviour["brave_llm"] = silent
    environ = settings(vendors, timeout, SIFT_BREAKER_FAILURES="5", SIFT_BREAKER_SECONDS="2", SIFT_THREADS=str(CLIENTS))
    with Service(tmp_path, environ) as service, ThreadPoolExecutor(CLIENTS) as pool:
        pid = worker(service)
        list(pool.map(lambda n: timed(service, f"warm {n % 16}"), range(2 * CLIENTS)))
        before, seen = memory(pid), []
        for turn in range(3):
            queries = [f"warm {n % 16}" if n % 2 else f"cold {turn} {n}" for n in range(4 * CLIENTS)]
            seen += list(pool.map(lambda query: timed(service, query), queries))
            assert threads(pid) <= 1 + CLIENTS * 4 + 2
        assert {each.answer.status for each in seen} == {200}
        assert p99([each.seconds for each in seen]) <= timeout + 1.5
        assert all({own_url("searxng"), own_url("tavily")} <= urls(each.answer.json()) for each in seen)
        assert memory(pid) - before < 40 << 20


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Vendors]]:
    """One service for the tests that need nothing special."""
    environ = {"SIFT_THREADS": "64"}
    with (
        Vendors() as vendors,
        Service(tmp_path_factory.mktemp("shared"), settings(vendors, 5.0) | environ) as service,
    ):
        yield service, vendors


@pytest.fixture
def healthy(shared: tuple[Service, Vendors]) -> tuple[Service, Vendors]:
    """The shared service, with well-behaved vendors that have seen no call yet."""
    shared[1].restore()
    return shared


def test_two_hundred_requests_on_one_kept_connection(healthy: tuple[Service, Vendors]) -> None:
    """contract: Operations: a kept connection survives 200 requests, errors included."""
    service, _ = healthy
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
    connection.connect()
    first = connection.sock
    for number in range(200):
        body = b"broken" if number % 10 == 9 else json.dumps({"query": f"words {number % 7}"}).encode()
        path = "/v1/unknown" if number % 10 == 8 else ("/v1/search", "/v2/search")[number % 2]
        connection.request("POST", path, body)
        response = connection.getresponse()
        response.read()
        assert response.status == {9: 400, 8: 404}.get(number % 10, 200)
        assert connection.sock is first
    connection.close()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGHUP], ids=["stop", "reload"])
def test_running_searches_are_answered_at_a_stop_and_at_a_reload(
    vendors: Vendors, tmp_path: Path, stop: signal.Signals
) -> None:
    """contract: Operations: a stop or reload answers what is running."""
    vendors.behaviour["tavily"] = late(1.0)("tavily")
    with Service(tmp_path, settings(vendors, 5.0)) as service, ThreadPoolExecutor(8) as pool:
        old = worker(service)
        running = [pool.submit(service.search, f"words {n}") for n in range(8)]
        wait_for(lambda: len(vendors.calls("tavily")) == 8, 5)
        assert service.process is not None
        service.process.send_signal(stop)
        assert all(own_url("tavily") in urls(each.result()) for each in running)
        if stop == signal.SIGTERM:
            assert service.process.wait(20) == 0
        else:
            wait_for(lambda: workers(service) not in ([], [old]) and old not in workers(service), 10)
            assert service.search("after")["warnings"] == []


def test_reload_under_load_loses_no_request(healthy: tuple[Service, Vendors]) -> None:
    """contract: Operations: two reloads while clients keep asking lose no request."""
    service, _ = healthy
    over = threading.Event()
    lost: list[str] = []
    done: list[int] = []

    def ask(client: int) -> None:
        number = 0
        while not over.is_set():
            number += 1
            try:
                done.append(len(service.search(f"client {client} words {number}")["results"]))
            except Exception as error:
                lost.append(repr(error))

    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(ask, n) for n in range(4)]
        for _ in range(2):
            old, count = workers(service), len(done)
            assert service.process is not None
            service.process.send_signal(signal.SIGHUP)
            wait_for(lambda old=old: workers(service) and not set(old) & set(workers(service)), 15)
            wait_for(lambda count=count: len(done) > count + 20, 15)
        over.set()
        for client in clients:
            client.result()
    assert lost == []
    assert set(done) == {1 + len(NAMES)}


def test_fifty_equal_cold_requests_cost_three_calls(healthy: tuple[Service, Vendors]) -> None:
    """contract: Shared searches: one call a source; the other requests wait, share, and say so."""
    service, vendors = healthy
    vendors.behaviour = {name: late(0.5)(name) for name in NAMES}
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: service.search("the same words"), range(50)))
    assert [len(vendors.calls(name)) for name in NAMES] == [1] * len(NAMES)
    assert sorted(answer["cached"] for answer in answers) == [False] + [True] * 49
    assert len({json.dumps(answer["results"]) for answer in answers}) == 1


def test_killed_worker_is_replaced(healthy: tuple[Service, Vendors]) -> None:
    """contract: Operations: a worker that dies is replaced."""
    service, _ = healthy
    old = worker(service)
    os.kill(old, signal.SIGKILL)
    wait_for(lambda: workers(service) not in ([], [old]), 10)
    assert service.search("after a kill")["warnings"] == []


def test_host_allows_no_more_threads_the_others_answer_and_nothing_runs_later(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Skips: calls that no thread can make are not made; all requests are answered, and all is well after."""
    last, others = NAMES[-1], NAMES[:-1]
    vendors.behaviour = {name: late(0.5)(name) for name in NAMES}
    environ = {"SIFT_THREADS": "16", "SIFT_BREAKER_FAILURES": "1", "SIFT_BREAKER_SECONDS": "600"}
    with Service(tmp_path, settings(vendors, 5.0) | environ) as service, ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: service.search("one search for all"), range(16)))  # starts the threads of requests
        pid = worker(service)
        unlimited = resource.prlimit(pid, resource.RLIMIT_AS)
        size = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
        resource.prlimit(pid, resource.RLIMIT_AS, (size + (4 << 20), unlimited[1]))  # room, but for no stack of 8 MiB
        answers = list(pool.map(lambda n: service.search(f"words {n}"), range(16)))
        resource.prlimit(pid, resource.RLIMIT_AS, unlimited)
        assert all(last in answer["sources_ok"] and answer["sources_failed"] == [] for answer in answers)
        assert any(f"{others[0]}: no thread left" in answer["warnings"] for answer in answers)
        answers += pool.map(lambda n: service.search(f"later {n}"), range(16))
        assert [answer["warnings"] for answer in answers[16:]] == [[]] * 16
        for name in NAMES:
            assert len(vendors.calls(name)) == 1 + sum(name in answer["sources_ok"] for answer in answers)
