"""The targets, in the order of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


class Target(NamedTuple):
    """What a row must reach.

    goal: None when the row is only reported. stage: the lesser goal of the first stage, where there was one.
    """

    name: str
    label: str
    sign: Literal[">=", "<="]
    goal: float | None
    stage: float | None = None
    unit: str = "x"


@dataclass(frozen=True)
class Finding:
    """A measured number: its row, the spread over rounds, and a note.

    failed: why there is no number, or that outputs differ. absent: what is not installed, which is no failure.
    """

    name: str
    value: float = 0.0
    low: float | None = None
    high: float | None = None
    note: str = ""
    failed: str = ""
    absent: str = ""


TARGETS = (
    Target("cached-1", "cached hit against F, 1 connection", ">=", 0.95, 0.75),
    Target("cached-16", "cached hit against F, 16 connections", ">=", 0.95, 0.75),
    Target("respelled", "the same, each body with different blanks", ">=", None),
    Target("cpu", "CPU of an uncached 3-source query against R", "<=", 0.6),
    Target("throughput", "uncached throughput against R, 16 connections", ">=", 1.6),
    Target("added-p50", "added p50 over the slowest vendor against R, 60/s", "<=", 0.6),
    Target("added-p99", "added p99 over the slowest vendor, 60/s", "<=", 10, None, "ms"),
    Target("searx", "requests/s against searx, same upstreams", ">=", 10),
    Target("searx-16", "the same, 16 connections", ">=", None),
    Target("litellm", "requests/s against LiteLLM's search (1 source)", ">=", 4),
    Target("litellm-16", "the same, 16 connections", ">=", None),
    Target("burst-calls", "50 equal cold requests: vendor calls", "<=", 3, None, ""),
    Target("burst-p50", "50 equal cold requests: p50 against one", "<=", 1.25),
    Target("merge", "merge of 4 x 3 x 30 hits against urllib.parse", ">=", 8),
    Target("queries", "CPU of four queries against one", "<=", 3.5),
    Target("explained", "CPU of a search that explains itself against a plain one", "<=", 1.25),
    Target("explained-cached", "the same from the cache", "<=", None),
    Target("domains", "20+20 domains, part of an uncached request's CPU", "<=", 5, None, "%"),
    Target("filter", "host filter, 20 domains against 1", "<=", 2),
    Target("idle", "memory when idle, 1 worker and its master", "<=", 42, 45, "MiB"),
    Target("thread", "memory per thread", "<=", 0.12, None, "MiB"),
    Target("entry", "cache entry over its body", "<=", 1024, None, "B"),
    Target("start", "start to first answer", "<=", 0.5, 0.6, "s"),
    Target("guard", "guard's text part against urllib3's parser and idna", "<=", 4),
    Target("fetch-added", "added p50 of a fetch against a plain one, 20 KB", "<=", 1.5),
    Target("fetch-throughput", "fetches/s against plain ones, 16 at a time", ">=", 1.0),
    Target("fetch-cached", "kept page against F", ">=", 0.5),
    Target("fetch-memory", "memory with a warm child, idle", "<=", 110, None, "MiB"),
    Target("fetch-searches", "p99 of cached searches beside 16 hostile fetches", "<=", 2),
    Target("metrics-cached", "F's CPU against a cached hit's with metrics, 2 workers", ">=", 0.95),
    Target("metrics-cpu", "CPU of an uncached query with metrics against without", "<=", 1.03),
    Target("metrics-scrape", "scrape of 4 workers against prometheus_client alone", "<=", 1.5),
    Target("mcp-list", "start of sift mcp to tools/list against the SDK's smallest", "<=", 1.2),
    Target("mcp-call", "sift_search call against its echo and the HTTP call", "<=", 1.5),
    Target("expiry", "stall when 100,000 entries expire", "<=", 5, None, "ms"),
    Target("batch-claims-sqlite", "claim + finish, 4 x 8 threads, against 2 updates", ">=", 0.5),
    Target("batch-claims-postgres", "the same in PostgreSQL", ">=", 0.5),
    Target("batch-polite-sqlite", "1,000 pages of 50 hosts against their gaps", "<=", 1.2),
    Target("batch-polite-postgres", "the same in PostgreSQL", "<=", 1.2),
    Target("store-cpu", "CPU of an uncached query, PostgreSQL against SQLite", "<=", 1.15),
    Target("batch-idle", "CPU of a worker whose batches have ended", "<=", 1, None, "%"),
    Target("batch-searches", "p99 of cached searches beside a batch of 100", "<=", 1.5),
)
BY_NAME = {target.name: target for target in TARGETS}


def mark(target: Target, finding: Finding) -> str:
    """Return the mark of a finding: whether it reaches its target."""
    if finding.failed:
        return "FAILED"
    if target.goal is None or finding.absent:
        return ""
    if _reaches(target, finding.value, target.goal):
        return "pass"
    return "stage 1" if target.stage is not None and _reaches(target, finding.value, target.stage) else "MISSED"


def _reaches(target: Target, value: float, bound: float) -> bool:
    return value >= bound if target.sign == ">=" else value <= bound
