"""The memory that Sift takes: an idle worker, a thread, a cache entry."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator, Mapping
from statistics import mean
from typing import Any

from sift.search.calls import Calls
from sift.search.engine import Engine
from sift.search.model import Answer, Filter, Prepared, SearchRequest, SourceOut
from sift.sources import brave, searxng, tavily
from sift.store.cache import MemoryCache
from sift.store.sqlite.ledger import SqliteLedger
from tests.bench.bodies import VENDORS, rows
from tests.bench.http_rows import SLOW, Effort
from tests.bench.load import closed, interleave
from tests.bench.processes import memory
from tests.bench.stage import THREADS, Stage
from tests.bench.targets import Finding


def memory_use(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Measure the memory of an idle worker, of its threads at work, and of cache entries."""
    service = stage.service("memory", "wsgi:app", SIFT_CACHE_TTL="0")
    worker, master = memory(service.worker), memory(service.pid)
    note = f"of it the master {master.mib:.1f}, which shares most pages; {worker.threads} threads, one answer given"
    yield Finding("idle", worker.mib + master.mib, note=note)
    target = stage.uncached(service)
    interleave([target], closed(1, effort.seconds), 2, None)  # fills the bounded memos
    stage.latency(**SLOW)
    try:
        before = memory(service.worker)
        interleave([target], closed(THREADS, effort.seconds * 2), 1, None)
        after = memory(service.worker)
    finally:
        stage.latency()
    more = after.threads - before.threads
    note = f"{before.threads} threads in {before.mib:.1f} MiB, {after.threads} in {after.mib:.1f}"
    yield Finding("thread", (after.mib - before.mib) / more, note=note)
    yield from _entry(stage)


class _Canned:
    """A source that answers from a stock of results."""

    timeout = 5.0
    reranked = True

    def __init__(self, name: str, outs: list[SourceOut]) -> None:
        self.name = name
        self._outs = outs

    def skip(self) -> None:
        """Return that nothing is known against a call."""

    def prepare(self, query: str, filter: Filter) -> Prepared:
        """Return that the query goes as it is."""
        return Prepared(query)

    def treats(self, filter: Filter) -> Mapping[str, str]:
        """Return that no filter is known."""
        return {}

    def search(self, query: str, k: int, filter: Filter, *, deadline: float, fresh: bool = False) -> SourceOut:
        """Return one of the results."""
        return self._outs[int(query) % len(self._outs)]


def _entry(stage: Stage) -> Iterator[Finding]:
    """Measure the memory of a cache entry, in a cache filled by the engine."""
    stock = _stock()
    cache = MemoryCache(10_000, 3600)
    sources = [_Canned(name, outs) for name, outs in stock.items()]
    engine = Engine(Calls(sources, SqliteLedger(stage.folder / "unused", {}), threads=1), cache)

    def fill(numbers: range) -> float:
        found = [engine.search(SearchRequest((str(each),)), "fleet") for each in numbers]
        return mean(len(each.result.results) for each in found if isinstance(each, Answer))

    tracemalloc.start()
    fill(range(1200))  # the bounded memos too
    gc.collect()
    before, count = tracemalloc.get_traced_memory()[0], len(cache)
    size = fill(range(1200, 2200))
    gc.collect()
    grown = (tracemalloc.get_traced_memory()[0] - before) / (len(cache) - count)
    tracemalloc.stop()
    yield Finding("entry", grown - size, note=f"{grown:.0f} B with a body of {size:.0f}")


def _stock() -> dict[str, list[SourceOut]]:
    stock: dict[str, list[SourceOut]] = {"searxng": [], "brave_llm": [], "tavily": []}
    for seed in range(32):
        lists: dict[str, Any] = {vendor: rows(vendor, seed) for vendor in VENDORS}
        stock["searxng"].append(searxng.parse({"results": lists["searxng"]}))
        stock["brave_llm"].append(brave.parse({"grounding": {"generic": lists["brave"]}}))
        stock["tavily"].append(tavily.parse({"results": lists["tavily"]}))
    return stock
