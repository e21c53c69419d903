"""The rows that are measured over HTTP, each a function from the stage to findings."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, NamedTuple

from tests.bench.client import Target, always, post
from tests.bench.load import Round, burst, closed, interleave, open_loop, ratio
from tests.bench.processes import cpu_seconds
from tests.bench.stage import PATH, Stage, unique_query
from tests.bench.targets import Finding

SLOW = {"searxng": 50, "brave": 100, "tavily": 200}
RATE = 60
BURST = 50


class Effort(NamedTuple):
    """Hold how long to measure: rounds, and the seconds of one."""

    rounds: int
    seconds: float


def cached(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Compare Sift's cached answer with the floor."""
    floor, same, respelled = stage.cached(stage.floor), stage.cached(stage.sift), stage.respelled(stage.sift)
    for name, target, connections in (("cached-1", same, 1), ("cached-16", same, 16), ("respelled", respelled, 16)):
        pattern = closed(connections, effort.seconds * 0.3)
        sift, bare = interleave([target, floor], pattern, 3 * effort.rounds, closed(connections, 0.3))
        found = ratio(sift, bare, lambda each: each.rate)
        note = f"CPU {cpu_us(sift)} against {cpu_us(bare)} us, p50 {p50_ms(sift)} against {p50_ms(bare)} ms"
        yield Finding(name, *found, note=note)


def uncached(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Compare Sift's uncached path with the reference, vendors at 0 ms."""
    stage.latency()
    if (differ := _differ(stage)) is not None:
        yield Finding("throughput", failed=f"Sift and R answer differently: {differ}")
    targets = [stage.uncached(stage.sift), stage.uncached(stage.reference)]
    sift, plain = interleave(targets, closed(16, effort.seconds / 2), 2 * effort.rounds - 1, closed(16, 1.0))
    cpu = ratio(sift, plain, lambda each: each.cpu_each)
    yield Finding("cpu", *cpu, note=f"{cpu_us(sift)} against {cpu_us(plain)} us a query")
    note = f"p50 {p50_ms(sift)} against {p50_ms(plain)} ms"
    yield Finding("throughput", *ratio(sift, plain, lambda each: each.rate), note=note)


def added(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Measure what Sift adds to the slowest vendor, at a rate and not at a load."""
    stage.latency(**SLOW)
    try:
        targets = [stage.uncached(stage.sift), stage.direct(), stage.uncached(stage.reference)]
        pattern = open_loop(RATE, effort.seconds * 2)
        sift, direct, plain = interleave(targets, pattern, effort.rounds, open_loop(RATE, 1))
    finally:
        stage.latency()
    for name, part in (("p50", 0.5), ("p99", 0.99)):
        slowest = [one.quantile(part) * 1000 for one in direct]
        added = [one.quantile(part) * 1000 - its for one, its in zip(sift, slowest, strict=True)]
        r_adds = median(one.quantile(part) * 1000 - its for one, its in zip(plain, slowest, strict=True))
        note = f"R adds {r_adds:.1f}; asked directly, the vendor of 200 ms takes {median(slowest):.1f}"
        yield Finding(f"added-{name}", median(added), min(added), max(added), note)


def cold_burst(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Send equal requests at once that nobody asked before; single flight must make one of them."""
    stage.latency(**SLOW)
    calls, ratios = [], []
    try:
        _open_connections(stage)
        for _ in range(effort.rounds):
            alone = interleave([stage.uncached(stage.sift)], burst(1), 3, None)[0]
            before = stage.vendor_calls()
            request = always(post(PATH, unique_query(), stage.token))
            (together,) = interleave([Target("burst", stage.sift.port, request)], burst(BURST), 1, None)[0]
            calls.append(stage.vendor_calls() - before)
            ratios.append(together.quantile(0.5) / median(one.quantile(0.5) for one in alone))
    finally:
        stage.latency()
    yield Finding("burst-calls", max(calls), min(calls), max(calls))
    yield Finding("burst-p50", median(ratios), min(ratios), max(ratios))


def queries(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Compare the CPU of four queries in a request with that of one."""
    stage.latency()
    targets = [stage.uncached(stage.sift, queries=4), stage.uncached(stage.sift)]
    four, one = interleave(targets, closed(4, effort.seconds * 0.8), effort.rounds, closed(4, 0.5))
    found = ratio(four, one, lambda each: each.cpu_each)
    yield Finding("queries", *found, note=f"{cpu_us(four)} against {cpu_us(one)} us")


def start(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Time from the spawn of gunicorn to the first answered search."""
    stage.latency()
    taken, cpu = [], []
    assert stage.vendors
    for number in range(max(3, effort.rounds)):
        process = stage.prepared(f"start{number}", "wsgi:app")
        began = time.perf_counter()
        with process:
            process.wait()
            stage.answer_once(process)
            taken.append(time.perf_counter() - began)
            cpu.append(cpu_seconds(process.pid))
    yield Finding("start", median(taken), min(taken), max(taken), f"{median(cpu):.2f} s of CPU in it")


def _open_connections(stage: Stage) -> None:
    """Warm up as many request threads as a burst needs."""
    interleave([stage.health(stage.sift)], burst(BURST), 1, None)


def _differ(stage: Stage) -> str | None:
    """Say where Sift's answer and the reference's differ, over some queries."""
    for number in range(12):
        body: dict[str, Any] = unique_query(1 if number % 2 else 4) | {"k": 50}
        ours, theirs = (json.loads(stage.ask(each, body)) for each in (stage.sift, stage.reference))
        for at, (hit, other) in enumerate(zip(ours["results"], theirs["results"], strict=False)):
            if hit != other:
                return f"result {at}: {hit} and {other}"
        if len(ours["results"]) != len(theirs["results"]):
            return "number of results"
    return None


def cpu_us(rounds: Sequence[Round]) -> str:
    """Write the median CPU of a request, in microseconds."""
    return f"{median(each.cpu_each for each in rounds) * 1e6:.0f}"


def p50_ms(rounds: Sequence[Round]) -> str:
    """Write the median latency, in milliseconds."""
    return f"{median(each.quantile(0.5) for each in rounds) * 1e3:.2f}"
