"""The breaker on a running service: a dead vendor costs its timeout a few times, then nothing (contract: Breaker)."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.faults.behaviours import CHUNKED, after, chunk, own_url, raw, silent
from tests.faults.test_vendors import LONG_TIMEOUT, settings, timeout_of, urls
from tests.service import Service
from tests.vendors import NAMES, Behaviour, Seen, Vendors, reply, usual
from tests.waiting import wait_for

DEAD = dict(zip(NAMES, cycle([(silent, "timeout"), (reply(b"<html>", 500), "http 500"), (raw(), "unreachable")])))
SKIPPED = "skipped after repeated failures"


@pytest.mark.parametrize("vendor", NAMES)
def test_dead_vendor_costs_a_few_times_and_comes_back_within_seconds(
    vendors: Vendors, tmp_path: Path, vendor: str
) -> None:
    """contract: Breaker: skipped after three failures, tried once a second, used again as soon as it answers."""
    behaviour, word = DEAD[vendor]
    vendors.behaviour[vendor] = behaviour
    healthy = {own_url(name) for name in NAMES if name != vendor}
    environ = settings(vendors, LONG_TIMEOUT, SIFT_BREAKER_FAILURES="3", SIFT_BREAKER_SECONDS="1") | timeout_of(vendor)
    with Service(tmp_path, environ) as service:
        answers = [service.search(f"failing {n}") for n in range(3)]
        assert [answer["warnings"] for answer in answers] == [[f"{vendor}: {word}"]] * 3
        answer = service.search("skipped")
        assert answer["warnings"] == [f"{vendor}: {SKIPPED}"]
        assert vendor not in answer["sources_ok"] + answer["sources_failed"]
        assert service.search("skipped")["cached"] is True  # such answers may be cached, under a key of their own
        assert all(healthy <= urls(answer) for answer in [*answers, answer])
        assert len(vendors.calls(vendor)) == 3
        number = iter(range(10**6))
        wait_for(lambda: f"{vendor}: {word}" in service.search(f"trial {next(number)}")["warnings"], 5)
        assert service.search("after a failed trial")["warnings"] == [f"{vendor}: {SKIPPED}"]
        assert len(vendors.calls(vendor)) == 4
        vendors.restore()
        wait_for(lambda: service.search(f"back {next(number)}")["warnings"] == [], 5)
        assert own_url(vendor) in urls(service.search("skipped"))  # not hidden by the answer that was cached without it


def test_refusals_and_bad_answers_do_not_open_it(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Breaker: 4xx, redirects and bad bodies neither extend nor end a row."""
    odd = [reply(b"", 403), reply(b"", 302), reply(b"[]"), reply(b"", 404), reply(b"", 422), reply(b"<html>")]
    with Service(
        tmp_path, settings(vendors, LONG_TIMEOUT, SIFT_BREAKER_FAILURES="3", SIFT_BREAKER_SECONDS="60")
    ) as service:

        def ask(number: int, behaviour: Behaviour) -> Any:
            vendors.behaviour["searxng"] = behaviour
            return service.search(f"words {number}")["warnings"]

        for number, behaviour in enumerate(odd):
            assert SKIPPED not in ask(number, behaviour)[0]
        failing = reply(b"", 503)
        assert [ask(10 + n, each) for n, each in enumerate([failing, failing, *odd, failing])][-1] == [
            "searxng: http 503"
        ]
        assert ask(30, failing) == [f"searxng: {SKIPPED}"]


def test_retry_after_opens_it_at_once(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Breaker: one 429 or 503 with `Retry-After` is enough, and its time is respected."""
    vendors.behaviour["searxng"] = reply(b"", 503, [("Retry-After", "1")])
    vendors.behaviour["brave_llm"] = reply(b"", 429, [("Retry-After", "2")])
    with Service(
        tmp_path, settings(vendors, LONG_TIMEOUT, SIFT_BREAKER_FAILURES="5", SIFT_BREAKER_SECONDS="60")
    ) as service:
        assert service.search("first")["warnings"] == ["searxng: http 503", "brave_llm: http 429"]
        assert service.search("second")["warnings"] == [f"searxng: {SKIPPED}", f"brave_llm: {SKIPPED}"]
        vendors.restore()
        number = iter(range(10**6))
        wait_for(lambda: service.search(f"back {next(number)}")["warnings"] == [f"brave_llm: {SKIPPED}"], 5)
        wait_for(lambda: service.search(f"back {next(number)}")["warnings"] == [], 5)


def test_front_that_drops_long_queries_costs_the_others_nothing(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Breaker: a front that closes the connection on long URLs is asked all other queries as before."""

    def front(connection: socket.socket, seen: Seen) -> object:
        return usual("searxng")(connection, seen) if len(seen.target) < 1000 else None

    vendors.behaviour["searxng"] = front
    with Service(
        tmp_path, settings(vendors, LONG_TIMEOUT, SIFT_BREAKER_FAILURES="3", SIFT_BREAKER_SECONDS="60")
    ) as service:
        for number in range(5):
            assert service.search(f"{number} " + "long " * 250)["warnings"][0] == "searxng: unreachable"
        assert service.search("short")["warnings"] == []


def test_kept_connections_are_all_dead_the_first_trial_is_answered(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Breaker: a vendor that ignores the connections of before an outage and answers new ones is back at the
    first trial, however many of the old ones are kept.
    """
    outage, together = threading.Event(), threading.Barrier(8)
    old: list[socket.socket] = []

    def behave(connection: socket.socket, seen: Seen) -> object:
        if not outage.is_set():
            old.append(connection)
            together.wait(20)
        elif any(connection is each for each in old):
            return silent(connection, seen)
        return usual("searxng")(connection, seen)

    vendors.behaviour["searxng"] = behave
    environ = settings(vendors, LONG_TIMEOUT, SIFT_BREAKER_FAILURES="2", SIFT_BREAKER_SECONDS="1", SIFT_THREADS="16")
    environ |= timeout_of("searxng")
    with Service(tmp_path, environ) as service:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: service.search(f"before {n}"), range(8)))
        outage.set()
        number = iter(range(10**6))
        answers: list[list[str]] = []

        def is_back() -> bool:
            answers.append(service.search(f"after {next(number)}")["warnings"])
            return answers[-1] == []

        wait_for(is_back, 15)
        assert sum(warnings == ["searxng: timeout"] for warnings in answers) <= 2


def test_no_source_left_says_when_to_come_back(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Unavailable: with all breakers open no vendor is asked, and the 503 names the wait."""
    vendors.behaviour = dict.fromkeys(NAMES, reply(b"", 500))
    with Service(tmp_path, settings(vendors, SIFT_BREAKER_FAILURES="1", SIFT_BREAKER_SECONDS="20")) as service:
        assert "retry-after" not in service.post("/v1/search", {"query": "a"}).headers
        for path in ("/v1/search", "/v2/search"):
            refused = service.post(path, {"query": "b"})
            assert refused.status == 503
            assert 1 <= int(refused.headers["retry-after"]) <= 20
        assert len(vendors.seen) == len(NAMES)


@pytest.mark.parametrize(("failures", "requests"), [("5", 240), ("0", 36)], ids=["breaker", "no breaker"])
def test_dripping_vendor_under_load_starves_nobody(
    vendors: Vendors, tmp_path: Path, failures: str, requests: int
) -> None:
    """contract: HTTP calls: the healthy sources' hits arrive in at least 99.5 % of the answers."""
    vendors.behaviour["brave_llm"] = after(CHUNKED, chunk(b" "))
    environ = settings(vendors, SIFT_BREAKER_FAILURES=failures, SIFT_BREAKER_SECONDS="1", SIFT_THREADS="16")
    with Service(tmp_path, environ) as service, ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda n: service.search(f"words {n}"), range(requests)))
    healthy = {own_url("searxng"), own_url("tavily")}
    assert sum(healthy <= urls(answer) for answer in answers) >= 0.995 * requests
