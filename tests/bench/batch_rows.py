"""The rows of batches: claims against bare updates, a crew against its own politeness, and threads that wait."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tests.bench.http_rows import Effort, cpu_us
from tests.bench.load import closed, interleave, ratio
from tests.bench.processes import ROOT, cpu_seconds
from tests.bench.stage import Stage
from tests.bench.targets import Finding
from tests.postgres import Server, missing
from tests.store.engines import open_jobs, submission

ITEMS, HOSTS, GAP = 1000, 50, 0.1
PROCESSES, THREADS, EACH = 4, 8, 60
PAGE = 0.001
"""Seconds that a page of `claims.Pages` takes."""


class Place(NamedTuple):
    """An engine of the store, and where it is."""

    kind: str
    place: str


def batches(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Measure on both engines what work costs, and what waiting costs a service."""
    yield _idle(stage)
    with ExitStack() as stack:
        places = [Place("sqlite", stack.enter_context(TemporaryDirectory(prefix="sift-bench-", dir="/var/tmp")))]
        why = missing()
        if not why:
            places.append(Place("postgres", stack.enter_context(Server()).room()))
        for at in places:
            _make_bare(at)
            yield _claims(at, effort)
            yield _polite(at, effort)
        if not why:
            yield _stores(stage, effort, places[-1].place)
    if why:
        for name in ("batch-claims-postgres", "batch-polite-postgres", "store-cpu"):
            yield Finding(name, absent=why)


def _idle(stage: Stage) -> Finding:
    """Measure the CPU of a worker whose only batch has ended."""
    service = stage.service("batch-idle", "wsgi:app")
    stage.ask(service, {"urls": ["http://idle.example.com/"], "max_age": 0}, "/v1/batch")
    time.sleep(5)
    before, began = cpu_seconds(service.worker), time.monotonic()
    time.sleep(10)
    share = 100 * (cpu_seconds(service.worker) - before) / (time.monotonic() - began)
    return Finding("batch-idle", share)


def _claims(at: Place, effort: Effort) -> Finding:
    ratios, rates = [], []
    for number in range(effort.rounds):
        _fill(at, PROCESSES * THREADS * EACH + 80, 10_000, f"claims{number}")
        claimed, done = _run("claims", at, 1.0, PROCESSES, EACH)
        updated, pairs = _run("updates", at, 1.0, PROCESSES, EACH)
        rates.append(done / claimed)
        ratios.append(rates[-1] / (pairs / updated))
    note = f"{median(rates):.0f} a second"
    return Finding(f"batch-claims-{at.kind}", median(ratios), min(ratios), max(ratios), note)


def _polite(at: Place, effort: Effort) -> Finding:
    ratios = []
    for number in range(effort.rounds):
        _fill(at, ITEMS, HOSTS, f"polite{number}")
        took, _ = _run("crew", at, GAP, 2, 0)
        visits = ITEMS // HOSTS
        ratios.append(took / ((visits - 1) * GAP + visits * PAGE))
    return Finding(f"batch-polite-{at.kind}", median(ratios), min(ratios), max(ratios))


def _stores(stage: Stage, effort: Effort, url: str) -> Finding:
    """Compare the CPU of an uncached search whose credits are in PostgreSQL with one whose credits are in a file."""
    stage.latency()
    there, here = stage.service("in-postgres", "wsgi:app", SIFT_STORE_URL=url), stage.service("in-sqlite", "wsgi:app")
    targets = [stage.uncached(there), stage.uncached(here)]
    far, near = interleave(targets, closed(16, effort.seconds / 2), 3 * effort.rounds, closed(16, 1.0))
    note = f"{cpu_us(far)} against {cpu_us(near)} us a query; the server's own CPU does not count"
    return Finding("store-cpu", *ratio(far, near, lambda each: each.cpu_each), note=note)


def _run(what: str, at: Place, gap: float, processes: int, count: int) -> tuple[float, int]:
    """Run processes of `claims`; return the seconds from their common begin to the last end, and what they did."""
    command = [sys.executable, "-m", "tests.bench.claims", what, at.kind, at.place, str(gap), str(THREADS), str(count)]
    running = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    said = [(each.stdin, each.stdout) for each in running]
    for _, output in said:
        assert output is not None
        assert output.readline() == "ready\n"
    began = time.monotonic()
    for begin, _ in said:
        assert begin is not None
        begin.write("\n")
        begin.flush()
    done = sum(json.loads(output.readline())[1] for _, output in said if output is not None)
    took = time.monotonic() - began
    for each in running:
        each.communicate()
    return took, done


def _fill(at: Place, items: int, hosts: int, name: str) -> None:
    """Submit batches of a hundred, each another caller's."""
    jobs: Any = open_jobs(at.kind, at.place)
    for first in range(0, items, 100):
        urls = [f"{name}-{number % hosts}.example/{number}" for number in range(first, min(items, first + 100))]
        jobs.submit(submission(*urls, caller=f"{name} {first}"))
    if at.kind == "sqlite":
        jobs.close()


def _make_bare(at: Place) -> None:
    """Make the table that `claims updates` writes to."""
    rows = [(number, b"") for number in range(1000)]
    if at.kind == "sqlite":
        with closing(sqlite3.connect(Path(at.place) / "bare.sqlite3", isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, text BLOB)")
            db.executemany("INSERT INTO bare VALUES (?, ?)", rows)
        return
    import psycopg

    with psycopg.connect(at.place, autocommit=True) as server:
        server.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, text BYTEA)")
        server.cursor().executemany("INSERT INTO bare VALUES (%s, %s)", rows)
