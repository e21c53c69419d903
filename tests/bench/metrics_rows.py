"""What metrics cost: a cached hit, an uncached search, a scrape."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterator
from statistics import median

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from tests.bench.client import Target
from tests.bench.http_rows import BURST, Effort, cpu_us
from tests.bench.load import NotMeasuredError, Round, burst, closed, interleave, ratio
from tests.bench.processes import Process
from tests.bench.stage import Stage
from tests.bench.targets import Finding
from tests.metrics.scraping import total

SCRAPED = 4  # workers
STARTS = 5


def counting(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Measure what a service of several workers pays for being counted."""
    stage.latency()
    yield _cached(stage, effort)
    yield _uncached(stage, effort)
    yield _scrape(stage, effort)


def _cached(stage: Stage, effort: Effort) -> Finding:
    """Compare a cached answer with the floor, both of two workers: by their CPU, and over several starts.

    Two workers and the driver share two processors, each start in its own way for as long as it runs. Whose worker the
    driver is beside decides about the requests a second; `cached-1` and `cached-16` count those, with metrics as well.
    """
    assert stage.floor  # which writes down what it answers
    two = {"WEB_CONCURRENCY": "2"}
    body = str(stage.folder / "floor-body")
    ours: list[Round] = []
    floor: list[Round] = []
    for number in range(STARTS):
        sift = _warm(stage, stage.service(f"sift2-{number}", "wsgi:app", **two))
        bare = stage.service(f"floor2-{number}", "tests.bench.floor:app", FLOOR_BODY=body, **two)
        targets = [sift, stage.cached(bare)]
        found = interleave(targets, closed(16, effort.seconds * 0.3), effort.rounds, closed(16, 0.3))
        ours, floor = ours + list(found[0]), floor + list(found[1])
    rate, *_ = ratio(ours, floor, lambda each: each.rate)
    note = f"CPU {cpu_us(ours)} against {cpu_us(floor)} us; requests a second {rate:.2f}"
    return Finding("metrics-cached", *ratio(floor, ours, lambda each: each.cpu_each), note=note)


def _warm(stage: Stage, service: Process) -> Target:
    """Return a target that asks for the same answer, which every worker has by then."""
    target = stage.cached(service)
    for _ in range(50):
        interleave([target._replace(expect=b"")], burst(BURST), 1, None)
        if total(_scraped(stage, service), "sift_searches_total", cache="miss") > 2:  # the first answer, and this twice
            return target
    raise NotMeasuredError("one of two workers answers nothing")


def _scraped(stage: Stage, service: Process) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {stage.token}"})
    body = connection.getresponse().read()
    connection.close()
    return body


def _uncached(stage: Stage, effort: Effort) -> Finding:
    counted: list[Round] = []
    bare: list[Round] = []
    for number in range(STARTS):
        on = stage.service(f"counted-{number}", "wsgi:app")
        off = stage.service(f"uncounted-{number}", "wsgi:app", SIFT_METRICS="off")
        targets = [stage.uncached(on), stage.uncached(off)]
        found = interleave(targets, closed(16, effort.seconds / 2), effort.rounds, closed(16, 1.0))
        counted, bare = counted + list(found[0]), bare + list(found[1])
    note = f"{cpu_us(counted)} against {cpu_us(bare)} us a query"
    return Finding("metrics-cpu", *ratio(counted, bare, lambda each: each.cpu_each), note=note)


def _scrape(stage: Stage, effort: Effort) -> Finding:
    """Compare a scrape over HTTP with what prometheus_client alone takes for the same files, in turn."""
    service = stage.service("scraped", "wsgi:app", WEB_CONCURRENCY=str(SCRAPED))
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
    (directory,) = (stage.folder / "scraped").glob("metrics-*")
    end = time.monotonic() + 20
    while len(list(directory.glob("counter_*.db"))) < SCRAPED and time.monotonic() < end:
        time.sleep(0.05)

    def ours() -> None:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {stage.token}"})
        assert b"sift_searches_total" in connection.getresponse().read()

    def alone() -> None:
        registry = CollectorRegistry()
        MultiProcessCollector(registry, path=str(directory))
        assert b"sift_searches_total" in generate_latest(registry)

    taken = [(_seconds(ours), _seconds(alone)) for _ in range(20 * effort.rounds)][5:]  # the first load and warm up
    one, other = (median(each) for each in zip(*taken, strict=True))
    connection.close()
    note = f"{one * 1000:.1f} against {other * 1000:.1f} ms, {SCRAPED} workers"
    return Finding("metrics-scrape", one / other, note=note)


def _seconds(call: Callable[[], None]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
