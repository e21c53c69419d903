"""Expose services to faults, hostile callers, load, reloads and crashes; count what was tried and what broke.

    python -m tests.soak [--minutes 3] [--only PART]

Everything stays on 127.0.0.1, or in network namespaces that nothing can leave. Prints a summary at the end, and exits
with 1 if a promise of docs/faults.md was broken.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.faults import test_money as money
from tests.faults import test_vendors as matrix
from tests.faults.behaviours import Stage, late, own_url, silent
from tests.faults.callers import CONTENT_TYPES, bodies, check
from tests.faults.test_load import p99, timed
from tests.faults.watch import is_alive, memory, sockets, threads, worker, workers
from tests.service import Service
from tests.soak.batches import batches_on_files, batches_on_postgres
from tests.soak.record import Soak
from tests.soak.surroundings import dead_connections, deleted_ledger, lingering, stalled_log, unusable_keys
from tests.vendors import Vendors
from tests.waiting import wait_until

MIB = 1 << 20
FLAT = 48 * MIB  # how much a process may grow between two measurements of the same work
BODIES = 5000
CLIENTS = 64


def faults(soak: Soak, place: Path, turn: int) -> None:
    """Run the whole matrix of faults twice against one service; nothing may leak."""
    with Vendors() as vendors, Service(place, matrix.settings(vendors, 1.0)) as service:
        stage, pid, sizes = Stage(vendors), worker(service), []
        for again in range(2):
            for cells, at_once in ((matrix.SLOW + matrix.LIGHT, 6), (matrix.HEAVY, 1)):
                outcomes = matrix.play_all(service, stage, cells, 2 * turn + again, at_once=at_once)
                for (name, vendor), outcome in outcomes.items():
                    soak.tried["faults tried"] += 1
                    try:
                        matrix.check(matrix.FAULTS[name], vendor, outcome, within=2.0)
                    except AssertionError as error:
                        soak.broken.append(f"fault {name!r} of {vendor}: {str(error).splitlines()[0]}")
            sizes.append(memory(pid))
            soak.promise(stage.busy == 0, "calls of faults go on after their answers")
            soak.promise(threads(pid) <= 3 + 4 * matrix.THREADS, "threads are left over after faults")
            soak.promise(sockets(pid) <= 3 * matrix.THREADS + 8, "sockets are left over after faults")
        soak.promise(sizes[1] - sizes[0] < FLAT, f"memory grew by {(sizes[1] - sizes[0]) // MIB} MiB over the faults")
        soak.most["MiB grown over faults"] = max(soak.most["MiB grown over faults"], (sizes[1] - sizes[0]) // MIB)
        soak.promise(b"Traceback" not in service.log(), "a traceback was logged")
        soak.promise(not service.records("source_error"), "a source met an internal error")


def hostile(soak: Soak, place: Path, turn: int) -> None:
    """Send thousands of hostile bodies; memory stays flat."""
    with Vendors() as vendors, Service(place, matrix.settings(vendors, 5.0)) as service:
        pid = worker(service)

        def send(count: int) -> None:
            @seed(1000 * turn + count)
            @settings(
                max_examples=count,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(st.sampled_from(["/v1/search", "/v2/search"]), bodies, st.sampled_from(CONTENT_TYPES))
            def one(path: str, body: bytes, kind: str) -> None:
                soak.tried["bodies tried"] += 1
                check(path, service.request("POST", path, body, {"Content-Type": kind}))

            try:
                one()
            except Exception as error:
                soak.broken.append(f"a body: {type(error).__name__}: {str(error)[:300]}")

        send(BODIES // 5)
        before = memory(pid)
        send(BODIES - BODIES // 5)
        grown = memory(pid) - before
        soak.most["MiB grown over bodies"] = max(soak.most["MiB grown over bodies"], grown // MIB)
        soak.promise(grown < FLAT, f"memory grew by {grown // MIB} MiB over the bodies")
        soak.promise(b"Traceback" not in service.log(), "a traceback was logged")
        soak.promise(not service.records("internal_error"), "a body caused an internal error")


def load(soak: Soak, place: Path, turn: int) -> None:
    """Have 64 clients search, cached and uncached, with one slow and one dead vendor."""
    timeout = 1.0
    with Vendors() as vendors, ThreadPoolExecutor(CLIENTS) as pool:
        vendors.behaviour["searxng"] = late(0.3)("searxng")
        vendors.behaviour["brave_llm"] = silent
        environ = matrix.settings(
            vendors, timeout, SIFT_BREAKER_FAILURES="5", SIFT_BREAKER_SECONDS="2", SIFT_THREADS=str(CLIENTS)
        )
        with Service(place, environ) as service:
            pid, sizes = worker(service), []
            for each in range(6):
                queries = [f"warm {n % 32}" if n % 2 else f"cold {turn} {each} {n}" for n in range(6 * CLIENTS)]
                seen = list(pool.map(lambda query: timed(service, query), queries))
                soak.tried["requests under load"] += len(seen)
                healthy = {own_url("searxng"), own_url("tavily")}
                for answer, _ in seen:
                    soak.promise(answer.status == 200, f"status {answer.status} under load")
                    soak.promise(healthy <= matrix.urls(answer.json()), "a healthy source's hits were lost under load")
                slowest = p99([seconds for _, seconds in seen])
                soak.most["ms, p99 under load"] = max(soak.most["ms, p99 under load"], round(1000 * slowest))
                soak.promise(slowest <= timeout + 1.5, f"p99 of {slowest:.2f} s")
                soak.most["threads"] = max(soak.most["threads"], threads(pid))
                soak.promise(threads(pid) <= 3 + 4 * CLIENTS, f"{threads(pid)} threads")
                sizes.append(memory(pid))
            soak.promise(sizes[-1] - sizes[2] < FLAT, f"memory grew by {(sizes[-1] - sizes[2]) // MIB} MiB under load")
            grown = (sizes[-1] - sizes[2]) // MIB
            soak.most["MiB grown under load"] = max(soak.most["MiB grown under load"], grown)


def reloads(soak: Soak, place: Path, turn: int) -> None:
    """Reload repeatedly while clients search; no request may be lost."""
    over = threading.Event()
    with Vendors() as vendors, ThreadPoolExecutor(8) as pool:
        vendors.behaviour["tavily"] = late(0.2)("tavily")

        def ask(client: int) -> None:
            number = 0
            while not over.is_set():
                number += 1
                soak.tried["requests held over reloads"] += 1
                try:
                    lost = own_url("tavily") not in matrix.urls(service.search(f"client {client} words {number}"))
                except (OSError, HTTPException, AssertionError):
                    lost = True
                soak.tried["requests lost over reloads"] += lost
                soak.promise(not lost, "a request was lost over a reload")

        with Service(place, matrix.settings(vendors, 5.0)) as service:
            soak.tried["requests lost over reloads"] += 0
            clients = [pool.submit(ask, n) for n in range(8)]
            for _ in range(4):
                old = set(workers(service))
                assert service.process is not None
                service.process.send_signal(signal.SIGHUP)
                replaced = wait_until(lambda old=old: bool(workers(service)) and not old & set(workers(service)), 30)
                soak.promise(replaced, "a reload did not end")
                soak.tried["reloads"] += 1
            over.set()
            for client in clients:
                client.result()


def crashes(soak: Soak, place: Path, turn: int) -> None:
    """Kill all processes during bursts, several times; the cap holds over all lives."""
    cap = 90
    with Vendors() as vendors:
        vendors.behaviour["tavily"] = late(0.05)("tavily")
        environ = matrix.settings(vendors, 5.0, SIFT_TAVILY_DAILY_CAP=str(cap), SIFT_THREADS="16")
        for life in range(3):
            service = Service(place, environ, money.WORKERS).start()
            with ThreadPoolExecutor(1) as pool:
                running = pool.submit(money.burst, service, f"life {life}", 120)
                before = len(vendors.calls("tavily"))
                wait_until(lambda before=before: len(vendors.calls("tavily")) > before + 10, 5)
                assert service.process is not None
                pids = [service.process.pid, *workers(service)]
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)
                service.process.wait(10)
                wait_until(lambda pids=pids: not any(map(is_alive, pids)), 5)
                running.result()
            soak.tried["lives ended by kill -9"] += 1
        with Service(place, environ, money.WORKERS) as service:
            money.burst(service, "last", 150)
            calls, spent = len(vendors.calls("tavily")), money.spent(service)
        soak.tried["paid calls"] += calls
        soak.promise(calls <= cap, f"{calls} paid calls with a cap of {cap}")
        soak.promise(spent == cap, f"{spent} credits booked with a cap of {cap}")


PARTS: list[Callable[[Soak, Path, int], None]] = [
    *(faults, hostile, load, reloads, crashes),
    *(lingering, dead_connections, stalled_log, unusable_keys, deleted_ledger),
    *(batches_on_files, batches_on_postgres),
]


def main() -> int:
    """Run all parts, repeatedly until the time is up; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0, help="how long to run at least (default: 3)")
    parser.add_argument("--only", action="append", choices=[part.__name__ for part in PARTS], metavar="PART")
    options = parser.parse_args()
    parts = [part for part in PARTS if not options.only or part.__name__ in options.only]
    soak, started, turn = Soak(), time.monotonic(), 0
    while turn == 0 or time.monotonic() - started < 60 * options.minutes:
        for part in parts:
            began = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="sift-soak-") as place:
                part(soak, Path(place), turn)
            print(f"round {turn + 1}, {part.__name__}: {time.monotonic() - began:.0f} s", flush=True)
        turn += 1
    print(f"\n{soak.summary()}")
    print(f"{'seconds:':<34}{round(time.monotonic() - started):>9}")
    return 1 if soak.broken else 0


if __name__ == "__main__":
    sys.exit(main())
