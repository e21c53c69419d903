"""What was used, on a running service with two workers that are killed: held to what the vendors saw."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.behaviours import late
from tests.faults.test_money import WORKERS, burst, settings
from tests.faults.watch import is_alive, workers
from tests.service import Service
from tests.vendors import Vendors
from tests.waiting import wait_for

PAID, FREE = "tavily", "searxng"
THREADS = 16
"""Requests that a worker answers at a time, each with one call of each source."""


def booked(service: Service) -> Counter[str]:
    """Return the calls in the ledger file, by source, without asking the service, which would book what is noted."""
    rows = "SELECT source, calls FROM spent UNION ALL SELECT source, calls FROM usage"
    found: Counter[str] = Counter()
    with closing(sqlite3.connect(service.state_dir / "ledger.sqlite3")) as db:
        for source, calls in db.execute(rows):
            found[source] += calls
    return found


def seen(vendors: Vendors) -> Counter[str]:
    """Return the calls that the vendors counted."""
    return Counter(each.vendor for each in list(vendors.seen))


def kill(service: Service, *, whole: bool) -> None:
    """Kill one worker, or the master and all workers, and wait until they have ended."""
    assert service.process is not None
    pids = [service.process.pid, *workers(service)] if whole else workers(service)[:1]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    if whole:
        service.process.wait(10)
    wait_for(lambda: not any(map(is_alive, pids)), 10)


def settings_of(vendors: Vendors) -> dict[str, str]:
    """Return settings with one paid and one free source."""
    return settings(vendors, 5.0, SIFT_TAVILY_DAILY_CAP="100000", SIFT_THREADS=str(THREADS))


def test_two_workers_under_load_the_counts_equal_those_of_the_vendors(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Usage: to the call; a worker, and then the whole service, that are killed at rest lose none of it."""
    with Service(tmp_path, settings_of(vendors), WORKERS) as service:
        burst(service, "first", 150)
        wait_for(lambda: booked(service) == seen(vendors), 10)
        kill(service, whole=False)
        wait_for(lambda: len(workers(service)) == 2, 15)
        burst(service, "second", 60)
        wait_for(lambda: booked(service) == seen(vendors), 10)
        kill(service, whole=True)
    with Service(tmp_path, settings_of(vendors), WORKERS) as service:
        burst(service, "third", 60)
        wait_for(lambda: booked(service) == seen(vendors), 10)
        days = service.get("/v1/usage?days=2").json()["days"]
        told = sum(
            (Counter({each["source"]: each["calls"]}) for day in days for each in day["sources"]), Counter[str]()
        )
        assert told == seen(vendors)
        assert told[PAID] == 270


@pytest.mark.parametrize("whole", [False, True], ids=["one worker", "the service"])
def test_killed_under_load_no_call_is_lost(vendors: Vendors, tmp_path: Path, whole: bool) -> None:
    """contract: Usage: a call is counted before it is sent, so a kill leaves too many, never too few.

    Too many are at most those under way, one of each source for each request. Free calls are booked later, by the
    worker that takes the other's place.
    """
    vendors.behaviour[PAID] = late(0.02)(PAID)
    vendors.behaviour[FREE] = late(0.02)(FREE)
    with Service(tmp_path, settings_of(vendors), WORKERS) as service:
        burst(service, "before", 20)
        wait_for(lambda: booked(service) == seen(vendors), 10)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(burst, service, "load", 200)
            wait_for(lambda: seen(vendors)[PAID] >= 80, 20)
            kill(service, whole=whole)
            assert (running.result()[-1] is None) == whole  # the other worker goes on answering
        if whole:
            service.start()
        burst(service, "after", 20)
        assert service.stop() == 0  # books what is counted
        found, expected = booked(service), seen(vendors)
        for source in (PAID, FREE):
            assert 0 <= found[source] - expected[source] <= THREADS * 2
        assert not list((service.state_dir / "usage").iterdir())
