"""The rows that are measured in this process, in CPU time of its thread, which a busy machine does not distort."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

from sift.search.merge import SourceList, build_hits, fuse_queries, merge
from sift.search.model import Hit, SearchResult, Sizes
from sift.sources import brave, searxng, tavily
from sift.store.cache import MemoryCache
from tests.bench import baseline
from tests.bench.bodies import VENDORS, rows
from tests.bench.http_rows import Effort
from tests.bench.stage import Stage
from tests.bench.targets import Finding

ENTRIES = 100_000
_Bodies = list[dict[str, dict[str, Any]]]


def merging(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Compare Sift's merge with the baseline, on URLs that neither has seen."""
    inputs = [_four_queries(seed) for seed in range(1000, 1000 + 8 * effort.rounds)]
    _merge_ours(inputs[0])
    _merge_baseline(inputs[0])
    ours: list[float] = []
    baselines: list[float] = []
    for number, bodies in enumerate(inputs[1:]):
        steps: list[tuple[Callable[[_Bodies], Sequence[Any]], list[float]]] = [
            (_merge_ours, ours), (_merge_baseline, baselines),
        ]  # fmt: skip
        answers = {}
        for step, times in steps if number % 2 else reversed(steps):
            began = time.thread_time()
            answers[step] = step(bodies)
            times.append(time.thread_time() - began)
        if [vars(hit) for hit in answers[_merge_baseline]] != [hit._asdict() for hit in answers[_merge_ours]]:
            yield Finding("merge", failed="the results of the two merges differ")
            return
    ratios = sorted(theirs / mine for mine, theirs in zip(ours, baselines, strict=True))
    note = f"{median(ours) * 1e6:.0f} against {median(baselines) * 1e6:.0f} us"
    yield Finding("merge", median(ratios), ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10], note)


def _four_queries(seed: int) -> _Bodies:
    """Return decoded bodies of four queries to three sources, of 30 hits; lists overlap between sources and queries."""
    names = {"searxng": ("results",), "brave": ("grounding", "generic"), "tavily": ("results",)}
    made: _Bodies = []
    for query in range(4):
        bodies = {}
        for vendor in VENDORS:
            body: Any = rows(vendor, seed, hits=30, shift=12 * query)
            for name in reversed(names[vendor]):
                body = {name: body}
            bodies[vendor] = body
        made.append(bodies)
    return made


def _merge_ours(bodies: _Bodies) -> Sequence[Hit]:
    rounds = [
        [
            SourceList("searxng", searxng.parse(each["searxng"]).hits),
            SourceList("brave_llm", brave.parse(each["brave"]).hits),
            SourceList("tavily", tavily.parse(each["tavily"]).hits),
        ]
        for each in bodies
    ]
    return build_hits(fuse_queries([merge(lists, rerank=True) for lists in rounds]), rounds, 8)


def _merge_baseline(bodies: _Bodies) -> Sequence[baseline.Hit]:
    lists = [
        [
            baseline.searxng_hits(each["searxng"]),
            baseline.brave_hits(each["brave"]),
            baseline.tavily_hits(each["tavily"]),
        ]
        for each in bodies
    ]
    return baseline.merge_queries(lists, 8)


def expiry(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Measure the slowest cache access after everything in the cache has expired at once."""
    worst = []
    for _ in range(5):
        now = [0.0]
        cache = MemoryCache(ENTRIES, 3600, partial(now.__getitem__, 0))
        for number in range(ENTRIES):
            cache.put(number.to_bytes(32), _result(number, 200))
        now[0] = 3600.0
        gc.collect()
        taken = []
        for number in range(2000):
            began = time.thread_time()
            if cache.get(number.to_bytes(32)) is None:
                cache.put((ENTRIES + number).to_bytes(32), _result(number, 200))
            taken.append(time.thread_time() - began)
        worst.append(max(taken) * 1000)
    yield Finding("expiry", median(worst), min(worst), max(worst))


def _result(number: int, size: int) -> SearchResult:
    return SearchResult(b"%d" % number * (size // 8), Sizes(1, 1, 1), ("searxng",), (), (), ())
