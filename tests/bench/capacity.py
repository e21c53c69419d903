"""Capacity for operators: the load that settings carry, and the cost of another source or query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.bench.http_rows import SLOW, Effort
from tests.bench.load import Pattern, closed, interleave, open_loop
from tests.bench.processes import memory, tree
from tests.bench.stage import Stage

_SIZES = ((1, 16), (1, 64), (1, 128), (2, 32), (2, 64))
_RATES = (20, 60, 100, 140)
_SOURCES = {
    "SearXNG alone": {"SIFT_BRAVE_API_KEY": "", "SIFT_TAVILY_API_KEY": ""},
    "SearXNG, Brave": {"SIFT_TAVILY_API_KEY": ""},
    "all three": {},
}
_HEAD = f"{'':44} {'req/s':>7} {'p50 ms':>7} {'p99 ms':>7} {'CPU us':>7} {'MiB':>6} {'threads':>7}"


def capacity(stage: Stage, effort: Effort) -> Iterator[str]:
    """Measure services of different sizes, one after another; yield the lines of a table."""
    yield f"vendors at 50, 100 and 200 ms, 96 connections, closed loop\n{_HEAD}"
    stage.latency(**SLOW)
    for workers, threads in _SIZES:
        settings = {"WEB_CONCURRENCY": str(workers), "SIFT_THREADS": str(threads)}
        yield _line(stage, f"{workers} worker(s) x {threads} threads", settings, closed(96, effort.seconds * 2))
    yield f"\nthe same vendors, open loop, 64 threads\n{_HEAD}"
    for workers in (1, 2):
        for rate in _RATES:
            settings = {"WEB_CONCURRENCY": str(workers)}
            yield _line(stage, f"{workers} worker(s), {rate}/s asked", settings, open_loop(rate, effort.seconds * 2))
    stage.latency()
    yield f"\nvendors at 0 ms, 4 connections\n{_HEAD}"
    for name, settings in _SOURCES.items():
        yield _line(stage, name, settings, closed(4, effort.seconds))
    for queries in (2, 3, 4):
        yield _line(stage, f"all three, {queries} queries", {}, closed(4, effort.seconds), queries=queries)


def _line(stage: Stage, label: str, settings: Mapping[str, str], pattern: Pattern, **body: Any) -> str:
    with stage.prepared("capacity", "wsgi:app", **settings) as service:
        service.wait()
        stage.answer_once(service)
        target = stage.uncached(service, **body)._replace(expect=b'"sources_failed": []')
        (_, once) = interleave([target], pattern, 2, None)[0]
        family = [memory(pid) for pid in tree(service.pid)]
    return (
        f"{label:44} {once.rate:7.0f} {once.quantile(0.5) * 1e3:7.0f} {once.quantile(0.99) * 1e3:7.0f}"
        f" {once.cpu_each * 1e6:7.0f} {sum(each.mib for each in family):6.0f} {sum(each.threads for each in family):7}"
    )
