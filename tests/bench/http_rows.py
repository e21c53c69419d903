"""The rows that are measured over HTTP; each function yields findings."""

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
    """How long to measure: the number of rounds, and the seconds of each."""

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
        yield Finding("throughput", failed=f"the answers of Sift and R differ: {differ}")
    targets = [stage.uncached(stage.sift), stage.uncached(stage.reference)]
    sift, reference = interleave(targets, closed(16, effort.seconds / 2), 2 * effort.rounds - 1, closed(16, 1.0))
    cpu = ratio(sift, reference, lambda each: each.cpu_each)
    yield Finding("cpu", *cpu, note=f"{cpu_us(sift)} against {cpu_us(reference)} us a query")
    note = f"p50 {p50_ms(sift)} against {p50_ms(reference)} ms"
    yield Finding("throughput", *ratio(sift, reference, lambda each: each.rate), note=note)


def added(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Measure the latency that Sift adds to the slowest vendor, at a fixed rate of requests."""
    stage.latency(**SLOW)
    try:
        targets = [stage.uncached(stage.sift), stage.direct(), stage.uncached(stage.reference)]
        pattern = open_loop(RATE, effort.seconds * 2)
        sift, direct, reference = interleave(targets, pattern, effort.rounds, open_loop(RATE, 1))
    finally:
        stage.latency()
    p50, p50_of_r = _over(direct, sift, 0.5), _over(direct, reference, 0.5)
    ratios = [ours / theirs for ours, theirs in zip(p50, p50_of_r, strict=True)]
    note = f"{median(p50):.2f} against {median(p50_of_r):.2f} ms; asked directly, the vendor takes {p50_ms(direct)}"
    yield Finding("added-p50", median(ratios), min(ratios), max(ratios), note)
    p99 = _over(direct, sift, 0.99)
    yield Finding("added-p99", median(p99), min(p99), max(p99), f"R adds {median(_over(direct, reference, 0.99)):.1f}")


def cold_burst(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Send equal, uncached requests at once; single flight must merge them into one."""
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
    """Compare the CPU of a request of four queries with that of one query."""
    stage.latency()
    targets = [stage.uncached(stage.sift, queries=4), stage.uncached(stage.sift)]
    four, one = interleave(targets, closed(4, effort.seconds * 0.8), effort.rounds, closed(4, 0.5))
    found = ratio(four, one, lambda each: each.cpu_each)
    yield Finding("queries", *found, note=f"{cpu_us(four)} against {cpu_us(one)} us")


def explained(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Compare the CPU of an answer that explains itself with that of a plain one, new and cached."""
    stage.latency()
    targets = [stage.uncached(stage.sift, explain=True)._replace(name="told"), stage.uncached(stage.sift)]
    told, plain = interleave(targets, closed(4, effort.seconds * 0.8), effort.rounds, closed(4, 0.5))
    note = f"{cpu_us(told)} against {cpu_us(plain)} us"
    yield Finding("explained", *ratio(told, plain, lambda each: each.cpu_each), note=note)
    targets = [stage.cached(stage.sift, explain=True)._replace(name="told"), stage.cached(stage.sift)]
    told, plain = interleave(targets, closed(4, effort.seconds * 0.3), effort.rounds, closed(4, 0.3))
    note = f"{cpu_us(told)} against {cpu_us(plain)} us"
    yield Finding("explained-cached", *ratio(told, plain, lambda each: each.cpu_each), note=note)


def start(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Measure the time from starting gunicorn to the first answered search."""
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


def _over(direct: Sequence[Round], through: Sequence[Round], part: float) -> list[float]:
    """Return the milliseconds that a service adds to its slowest vendor, round by round, at a quantile."""
    return [(one.quantile(part) - its.quantile(part)) * 1000 for one, its in zip(through, direct, strict=True)]


def _open_connections(stage: Stage) -> None:
    """Start as many request threads as a burst needs."""
    interleave([stage.health(stage.sift)], burst(BURST), 1, None)


def _differ(stage: Stage) -> str | None:
    """Return where the answers of Sift and the reference differ, over some queries; None when they agree."""
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
    """Return the median CPU time of a request in microseconds, as text."""
    return f"{median(each.cpu_each for each in rounds) * 1e6:.0f}"


def p50_ms(rounds: Sequence[Round]) -> str:
    """Return the median latency in milliseconds, as text."""
    return f"{median(each.quantile(0.5) for each in rounds) * 1e3:.2f}"
