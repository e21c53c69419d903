"""The rows of fetches that need a network: `python -m tests.bench.fetching ADDRESS ROUNDS SECONDS`, one JSON a line.

It runs in a namespace in which ADDRESS is reachable and public.
"""

from __future__ import annotations

import json
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from itertools import count
from statistics import median
from typing import Any

from tests.bench.client import Target, always, get, post
from tests.bench.http_rows import Effort, p50_ms
from tests.bench.load import closed, interleave, open_loop, ratio
from tests.bench.processes import Process, free_port, memory, tree
from tests.bench.stage import Stage
from tests.bench.targets import Finding

PATH = "/v1/fetch"
AT_A_TIME = 16
SEARCHES = 150
"""Searches a second beside the hostile fetches."""
_numbers = count(1)


class Fetches:
    """The services of the run."""

    def __init__(self, stage: Stage, address: str) -> None:
        self.stage = stage
        self.address = address
        # One caller may use a quarter of the places, which are half of the threads at most.
        places = 4 * AT_A_TIME
        self.sift = stage.service("fetch", "wsgi:app", SIFT_FETCH_PLACES=str(places), SIFT_THREADS=str(2 * places))
        self.plain = stage.service(
            "plain", "tests.bench.plain_fetch:app", SIFT_THREADS=str(AT_A_TIME), SIFT_CPU_AFFINITY="off"
        )

    def url(self, what: str = "article") -> str:
        """Return the URL of a page that nobody has fetched."""
        return f"http://{self.address}/{what}/{next(_numbers)}"

    def target(self, process: Process) -> Target:
        """Return a target that fetches another article each time."""
        requests = (post(PATH, {"url": self.url()}, self.stage.token) for _ in count())
        return Target(process.name, process.port, requests, b'"content"', process.pid)

    def ask(self, process: Process, url: str) -> bytes:
        """Fetch a page once."""
        return self.stage.ask(process, {"url": url}, PATH)


def added(fetches: Fetches, effort: Effort) -> Iterator[Finding]:
    """Compare what a fetch adds to the server's own time, and how many there are a second."""
    port = free_port()
    command = [sys.executable, "-m", "tests.bench.pages", "127.0.0.1", str(port)]
    process = Process("pages", command, fetches.stage.environ("pages"), fetches.stage.folder / "pages.log", port)
    with process:
        process.wait()
        direct = Target("direct", port, (get(f"/article/{number}") for number in count()))
        targets = [fetches.target(fetches.sift), fetches.target(fetches.plain), direct]
        sift, plain, bare = interleave(targets, closed(1, effort.seconds / 2), 2 * effort.rounds, closed(1, 0.5))
    ratios = [
        (mine.quantile(0.5) - its.quantile(0.5)) / (theirs.quantile(0.5) - its.quantile(0.5))
        for mine, theirs, its in zip(sift, plain, bare, strict=True)
    ]
    note = f"p50 {p50_ms(sift)} against {p50_ms(plain)} ms, the server's own {p50_ms(bare)}"
    yield Finding("fetch-added", median(ratios), min(ratios), max(ratios), note)
    targets = [fetches.target(fetches.sift), fetches.target(fetches.plain)]
    sift, plain = interleave(targets, closed(AT_A_TIME, effort.seconds), effort.rounds, closed(AT_A_TIME, 1.0))
    note = f"{median(one.rate for one in sift):.0f} against {median(one.rate for one in plain):.0f} a second"
    yield Finding("fetch-throughput", *ratio(sift, plain, lambda each: each.rate), note=note)


def cached(fetches: Fetches, effort: Effort) -> Iterator[Finding]:
    """Compare a kept page with a bare view that returns the same bytes."""
    stage, url = fetches.stage, fetches.url()
    fetches.ask(fetches.sift, url)
    body = stage.folder / "fetch-floor"
    body.write_bytes(fetches.ask(fetches.sift, url))
    floor = stage.service("fetch-floor", "tests.bench.floor:app", FLOOR_BODY=str(body))
    mine = Target("kept", fetches.sift.port, always(post(PATH, {"url": url}, stage.token)), b'"cached": true')
    bare = Target("floor", floor.port, always(post("/v1/search", {"url": url}, stage.token)))
    sift, theirs = interleave([mine, bare], closed(4, effort.seconds * 0.3), 3 * effort.rounds, closed(4, 0.3))
    note = f"p50 {p50_ms(sift)} against {p50_ms(theirs)} ms, {len(body.read_bytes())} B"
    yield Finding("fetch-cached", *ratio(sift, theirs, lambda each: each.rate), note=note)


def memory_use(fetches: Fetches) -> Iterator[Finding]:
    """Measure a service that has opened one page."""
    service = fetches.stage.service("fetch-memory", "wsgi:app", SIFT_CACHE_TTL="0")
    before = [memory(pid).mib for pid in tree(service.pid)]
    fetches.ask(service, fetches.url())
    after = [memory(pid).mib for pid in tree(service.pid)]
    note = f"in {len(after)} processes; before the first fetch {sum(before):.1f} in {len(before)}"
    yield Finding("fetch-memory", sum(after), note=note)


def searches(fetches: Fetches, effort: Effort) -> Iterator[Finding]:
    """Compare kept searches beside hostile fetches with kept searches alone."""
    stage = fetches.stage
    service = stage.service("fetch-searches", "wsgi:app")
    target = stage.cached(service)
    pattern = open_loop(SEARCHES, effort.seconds * 2)
    ratios, alone, beside = [], [], []
    for _ in range(effort.rounds):
        (calm,) = interleave([target], pattern, 1, open_loop(SEARCHES, 0.5))[0]
        with hostile_fetches(fetches, service):
            (busy,) = interleave([target], pattern, 1, open_loop(SEARCHES, 0.5))[0]
        alone.append(calm.quantile(0.99) * 1000)
        beside.append(busy.quantile(0.99) * 1000)
        ratios.append(beside[-1] / alone[-1])
    note = f"p99 {median(beside):.1f} against {median(alone):.1f} ms"
    yield Finding("fetch-searches", median(ratios), min(ratios), max(ratios), note)


def batch_searches(fetches: Fetches, effort: Effort) -> Iterator[Finding]:
    """Compare kept searches while the pages of a batch are opened with kept searches alone."""
    stage = fetches.stage
    service = stage.service("batch-searches", "wsgi:app")
    target = stage.cached(service)
    pattern, prefix = open_loop(SEARCHES, effort.seconds * 2), fetches.address.rpartition(".")[0]
    ratios, alone, beside = [], [], []
    for _ in range(effort.rounds):
        (calm,) = interleave([target], pattern, 1, open_loop(SEARCHES, 0.5))[0]
        urls = [f"http://{prefix}.{host}/article/{next(_numbers)}" for host in range(1, 101)]
        stage.ask(service, {"urls": urls}, "/v1/batch")
        (busy,) = interleave([target], pattern, 1, open_loop(SEARCHES, 0.5))[0]
        alone.append(calm.quantile(0.99) * 1000)
        beside.append(busy.quantile(0.99) * 1000)
        ratios.append(beside[-1] / alone[-1])
        threading.Event().wait(2.0)  # the next round begins without a batch
    note = f"p99 {median(beside):.1f} against {median(alone):.1f} ms"
    yield Finding("batch-searches", median(ratios), min(ratios), max(ratios), note)


@contextmanager
def hostile_fetches(fetches: Fetches, service: Process) -> Iterator[None]:
    """Keep all 16 places of a service busy with hostile fetches, those of four callers."""
    over = threading.Event()

    def fetch(token: str) -> None:
        while not over.is_set():
            with suppress(OSError):  # those that wait too long for a child end in a 504
                fetches.stage.ask(service, {"url": fetches.url("hostile")}, PATH, token)

    tokens = fetches.stage.tokens * (AT_A_TIME // len(fetches.stage.tokens))
    threads = [threading.Thread(target=fetch, args=(token,), daemon=True) for token in tokens]
    for thread in threads:
        thread.start()
    try:
        over.wait(1.0)  # by then all have begun
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(60)


def main(address: str, rounds: str, seconds: str) -> None:
    """Print the findings."""
    effort = Effort(int(rounds), float(seconds))
    urllib.request.install_opener(urllib.request.build_opener(urllib.request.ProxyHandler({})))
    with Stage() as stage:
        fetches = Fetches(stage, address)
        groups = (
            added(fetches, effort),
            cached(fetches, effort),
            memory_use(fetches),
            searches(fetches, effort),
            batch_searches(fetches, effort),
        )
        for rows in groups:
            for finding in rows:
                said: dict[str, Any] = asdict(finding)
                print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
