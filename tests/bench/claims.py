"""One process of the rows of batches: `python -m tests.bench.claims WHAT ENGINE PLACE GAP THREADS COUNT`.

WHAT is `claims` (claim and finish an item), `updates` (two bare updates, each committed) or `crew` (a crew whose pages
take a millisecond). It says `ready`, begins when a line comes, and says how many seconds it took and how much it did.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sift.batch.crew import Crew
from sift.batch.model import Outcome
from sift.fetch.model import Fetched
from tests.api.fetching import page
from tests.store.engines import open_jobs

RESULT = b"x" * 10_000


class Pages:
    """Opens each page in a millisecond."""

    def fetch(self, *_: Any) -> Fetched:
        """Return a page."""
        time.sleep(0.001)
        return Fetched(page(), "miss", 0.001)


def claims(kind: str, place: str, gap: float) -> Callable[[str], bool]:
    """Return what claims and finishes one item; it returns False when there is none."""
    jobs = open_jobs(kind, place, gap=gap)

    def work(owner: str) -> bool:
        claim = jobs.claim(owner)
        return claim is not None and jobs.finish(claim, Outcome("ok", result=RESULT))

    assert jobs.due() is not None
    return work


def sqlite_updates(place: str) -> Callable[[str], bool]:
    """Return what commits two updates of one row, as safe as SQLite can be; the threads of a process take turns."""
    db = sqlite3.connect(Path(place) / "bare.sqlite3", 30, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA synchronous = FULL")
    lock = threading.Lock()
    rows = itertools.count()

    def work(owner: str) -> bool:
        row = next(rows) % 1000
        for text in (b"", RESULT):
            with lock:
                db.execute("BEGIN IMMEDIATE")
                db.execute("UPDATE bare SET text = ? WHERE id = ?", (text, row))
                db.execute("COMMIT")
        return True

    return work


def postgres_updates(place: str) -> Callable[[str], bool]:
    """Return what commits two updates of one row, each thread on a connection of its own."""
    import psycopg

    own = threading.local()
    rows = itertools.count()

    def work(owner: str) -> bool:
        if not hasattr(own, "db"):
            own.db = psycopg.connect(place, autocommit=True)
        row = next(rows) % 1000
        for text in (b"", RESULT):
            own.db.execute("UPDATE bare SET text = %s WHERE id = %s", (text, row))
        return True

    return work


def crew(kind: str, place: str, gap: float, threads: int) -> None:
    """Work with a crew until nothing is left."""
    jobs = open_jobs(kind, place, gap=gap)
    working = Crew(threads, lambda: jobs, Pages)
    working.start()
    while jobs.due() is not None:
        time.sleep(0.02)
    working.stop()
    working.join(10)


def main(what: str, kind: str, place: str, gap: str, threads: str, count: str) -> None:
    """Do so much, or all there is."""
    if what == "crew":
        _ready()
        began = time.monotonic()
        crew(kind, place, float(gap), int(threads))
        print(json.dumps([time.monotonic() - began, 0]), flush=True)
        return
    updates = sqlite_updates if kind == "sqlite" else postgres_updates
    work = updates(place) if what == "updates" else claims(kind, place, float(gap))
    done: list[int] = []

    def run(number: int) -> None:
        owner, each = f"{place}-{number}-{time.monotonic_ns()}", 0
        while each < int(count) and work(owner):
            each += 1
        done.append(each)

    _ready()
    began = time.monotonic()
    running = [threading.Thread(target=run, args=(number,)) for number in range(int(threads))]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    print(json.dumps([time.monotonic() - began, sum(done)]), flush=True)


def _ready() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
