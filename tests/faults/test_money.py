"""The daily cap on a running service, through bursts, crashes and broken state (contract: Credits)."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from sift.sources import DECLARED
from tests.faults import test_vendors as matrix
from tests.faults.behaviours import late, own_url
from tests.faults.test_vendors import TIMEOUT, credits_used, urls
from tests.faults.watch import is_alive, worker, workers
from tests.service import Service
from tests.vendors import BODIES, Seen, Vendors, hit, reply
from tests.waiting import wait_for

WORKERS = ["--workers", "2"]
CAPPED = "tavily: daily cap"
UNAVAILABLE = "tavily: daily cap unavailable"


def settings(vendors: Vendors, timeout: float = TIMEOUT, **more: str) -> dict[str, str]:
    """Return the settings of the fault matrix, with Tavily as the only capped source."""
    others = [each for each in DECLARED if each.daily_cap is not None and each.name != "tavily"]
    return matrix.settings(vendors, timeout, **more) | {name: "" for each in others for name in each.switches}


def spent(service: Service) -> int:
    """Return the count in the ledger file."""
    with closing(sqlite3.connect(service.state_dir / "ledger.sqlite3")) as db:
        (total,) = db.execute("SELECT sum(credits) FROM spent").fetchone()
    return int(total)


def burst(service: Service, name: str, count: int, at_once: int = 32) -> list[dict[str, Any] | None]:
    """Search with different words, many at a time; None where the service died in between."""

    def ask(number: int) -> dict[str, Any] | None:
        with suppress(OSError, HTTPException):
            return service.search(f"{name} {number}")
        return None

    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(ask, range(count)))


def test_two_workers_and_a_burst_spend_exactly_the_cap(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Credits: 2 workers of 16 threads, 120 searches and a cap of 25 are 25 calls; the rest say why."""
    environ = settings(vendors, 5.0, SIFT_TAVILY_DAILY_CAP="25", SIFT_THREADS="16")
    with Service(tmp_path, environ, WORKERS) as service:
        answers = burst(service, "words", 120)
        assert len(vendors.calls("tavily")) == 25
        assert spent(service) == 25
        assert sum(CAPPED in answer["warnings"] for answer in answers if answer) == 95
        assert all(answer and answer["sources_failed"] == [] for answer in answers)


def test_price_of_two_credits_is_never_paid_past_the_cap(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Credits: the price of a call is booked; no call begins at the cap."""
    vendors.behaviour["tavily"] = reply(BODIES["tavily"]([hit(own_url("tavily"))]) | {"usage": {"credits": 2}})
    with Service(tmp_path, settings(vendors, 5.0, SIFT_TAVILY_DAILY_CAP="10"), WORKERS) as service:
        for number in range(12):
            service.search(f"words {number}")
        assert len(vendors.calls("tavily")) == 5
        assert spent(service) == 10


def test_killed_in_a_burst_and_restarted_stays_under_the_cap(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Credits: master and workers are killed in mid-burst; both lives together stay under the cap."""
    vendors.behaviour["tavily"] = late(0.05)("tavily")
    environ = settings(vendors, 5.0, SIFT_TAVILY_DAILY_CAP="60", SIFT_THREADS="16")
    first = Service(tmp_path, environ, WORKERS).start()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(burst, first, "first", 200)
        wait_for(lambda: len(vendors.calls("tavily")) >= 20, 5)
        assert first.process is not None
        pids = [first.process.pid, *workers(first)]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        first.process.wait(10)
        wait_for(lambda: not any(map(is_alive, pids)), 5)
        assert None in running.result()
    before = len(vendors.calls("tavily"))
    with Service(tmp_path, environ, WORKERS) as second:
        assert before <= spent(second) <= 60
        burst(second, "second", 100)
        assert spent(second) == 60
    assert before < 60
    assert 60 - 32 <= len(vendors.calls("tavily")) <= 60  # credits reserved and never used are lost, not spent twice


def locked_ledger(service: Service, mode: str) -> sqlite3.Connection:
    """Lock the ledger, for writing or altogether."""
    db = sqlite3.connect(service.state_dir / "ledger.sqlite3", isolation_level=None, timeout=5, check_same_thread=False)
    if mode == "all of it":
        db.execute("PRAGMA journal_mode = DELETE")
    db.execute("BEGIN EXCLUSIVE")
    return db


BROKEN: dict[str, Callable[[Path], object]] = {
    "a file in place of the directory": lambda state: state.write_text("x"),
    "no database at all": lambda state: (state.mkdir(), (state / "ledger.sqlite3").write_bytes(b"words " * 4000)),
}


@pytest.mark.parametrize("damage", BROKEN.values(), ids=BROKEN)
def test_unusable_state_skips_tavily_and_says_so(vendors: Vendors, tmp_path: Path, damage: Any) -> None:
    """contract: Credits: without a ledger there is no paid call; the service answers, and leaves the file as it is."""
    state = tmp_path / "state"
    damage(state)
    ledger = state / "ledger.sqlite3"
    content = ledger.read_bytes() if ledger.is_file() else None
    others = [each.name for each in DECLARED if each.daily_cap is None]
    with Service(tmp_path, settings(vendors)) as service:
        for number in range(3):
            started = time.monotonic()
            answer = service.search(f"words {number}")
            assert time.monotonic() - started <= TIMEOUT + 1
            assert answer["warnings"] == [UNAVAILABLE]
            assert (answer["sources_ok"], answer["sources_failed"]) == (others, [])
            assert {own_url(name) for name in others} <= urls(answer)
        assert credits_used(service) is None
        if content is not None:
            assert ledger.read_bytes() == content
    assert vendors.calls("tavily") == []


@pytest.mark.parametrize("mode", ["for writing", "all of it"])
def test_locked_ledger_skips_tavily_in_time_and_recovers(vendors: Vendors, tmp_path: Path, mode: str) -> None:
    """contract: Credits: waiting for the ledger counts into Tavily's timeout; once it is free Tavily is asked."""
    with Service(tmp_path, settings(vendors)) as service:
        assert service.search("first")["warnings"] == []
        if mode == "all of it":  # an open connection would keep the mode from changing
            service.stop()
            service.start()
        with closing(locked_ledger(service, mode)), ThreadPoolExecutor(6) as pool:
            started = time.monotonic()
            answers = list(pool.map(lambda n: service.search(f"locked {n}"), range(6)))
            assert time.monotonic() - started <= TIMEOUT + 1
        assert all(answer["warnings"] == [UNAVAILABLE] for answer in answers)
        assert all(answer["sources_failed"] == [] for answer in answers)
        assert len(vendors.calls("tavily")) == 1
        assert service.search("free again")["warnings"] == []
        assert spent(service) == len(vendors.calls("tavily")) == 2


def test_full_disk_skips_tavily_and_recovers(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Credits: while no byte can be written (RLIMIT_FSIZE stands in for a full disk) no call is paid for."""
    with Service(tmp_path, settings(vendors)) as service:
        assert service.search("first")["warnings"] == []
        pid = worker(service)
        was = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, was[1]))
        answers = [service.search(f"full {n}") for n in range(3)]
        assert all(answer["warnings"] == [UNAVAILABLE] for answer in answers)
        assert len(vendors.calls("tavily")) == 1
        resource.prlimit(pid, resource.RLIMIT_FSIZE, was)
        assert service.search("room again")["warnings"] == []
        assert spent(service) == len(vendors.calls("tavily")) == 2


def test_ledger_locked_during_a_call_costs_no_hits(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Credits: a price that cannot be booked costs no hits."""
    held: list[sqlite3.Connection] = []
    answer = reply(BODIES["tavily"]([hit(own_url("tavily"))]) | {"usage": {"credits": 3}})

    def lock_and_answer(connection: Any, seen: Seen) -> object:
        held.append(locked_ledger(service, "for writing"))
        return answer(connection, seen)

    vendors.behaviour["tavily"] = lock_and_answer
    with Service(tmp_path, settings(vendors)) as service:
        found = service.search("words")
        for db in held:
            db.close()
        assert found["warnings"] == []
        assert own_url("tavily") in urls(found)


def test_failed_calls_keep_their_credit(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Credits: a call that was sent costs a credit, whatever came of it; cached and refused ones do not."""
    with Service(tmp_path, settings(vendors, SIFT_TAVILY_DAILY_CAP="4")) as service:
        service.search("words")
        service.search("words")
        service.post("/v1/search", {"query": ""})
        vendors.behaviour["tavily"] = reply(b"", 500)
        assert [service.search(f"failing {n}")["warnings"] for n in range(4)] == [["tavily: http 500"]] * 3 + [[CAPPED]]
        assert len(vendors.calls("tavily")) == spent(service) == 4


def test_ledger_locked_until_a_graceful_stop_the_price_is_booked(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Credits: a price that could not be booked when its call ended is booked before the worker ends."""
    answer = reply(BODIES["tavily"]([hit(own_url("tavily"))]) | {"usage": {"credits": 5}})
    held: list[sqlite3.Connection] = []

    def lock_and_answer(connection: Any, seen: Seen) -> object:
        held.append(locked_ledger(service, "for writing"))
        return answer(connection, seen)

    vendors.behaviour["tavily"] = lock_and_answer
    with Service(tmp_path, settings(vendors)) as service:
        assert service.search("words")["warnings"] == []
        assert service.process is not None
        service.process.send_signal(signal.SIGTERM)
        held.pop().close()
        assert service.process.wait(20) == 0
        assert spent(service) == 5


def delete(service: Service, names: str) -> None:
    """Delete files of the state directory."""
    for each in service.state_dir.glob(names):
        each.unlink()


@pytest.mark.parametrize(("names", "counted"), [("ledger.sqlite3-wal", 8), ("ledger.sqlite3*", 0)])
def test_ledger_deleted_under_running_workers_tavily_is_skipped_until_a_restart(
    vendors: Vendors, tmp_path: Path, names: str, counted: int
) -> None:
    """contract: Credits: no new budget, neither for the workers that run nor for those of a reload; the log says so."""
    with Service(tmp_path, settings(vendors, SIFT_TAVILY_DAILY_CAP="20"), WORKERS) as service:
        burst(service, "before", 8, at_once=4)
        assert len(vendors.calls("tavily")) == 8
        delete(service, names)
        answers = burst(service, "after", 20, at_once=8)
        old = workers(service)
        assert service.process is not None
        service.process.send_signal(signal.SIGHUP)
        wait_for(lambda: len(workers(service)) == 2 and not set(old) & set(workers(service)), 15)
        answers += burst(service, "reloaded", 20, at_once=8)
        assert all(answer and answer["warnings"] == [UNAVAILABLE] for answer in answers)
        assert len(vendors.calls("tavily")) == 8
        assert credits_used(service) is None
        assert service.records("ledger_lost")
        service.stop()
        service.start()
        burst(service, "restarted", 30)
        assert len(vendors.calls("tavily")) == 8 + 20 - counted
        assert len(service.records("ledger_created")) == (counted == 0)
