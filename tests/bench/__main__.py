"""`python -m tests.bench`: one run, one table. Missed targets are marked; only failed measurements fail the run."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator

from tests.bench import (
    batch_rows,
    capacity,
    domain_rows,
    fetch_rows,
    http_rows,
    local_rows,
    mcp_rows,
    memory_rows,
    metrics_rows,
    peers,
    profiles,
    report,
)
from tests.bench.http_rows import Effort
from tests.bench.load import NotMeasuredError
from tests.bench.processes import Meter
from tests.bench.stage import Stage
from tests.bench.targets import Finding

Measure = Callable[[Stage, Effort], Iterator[Finding]]

GROUPS: dict[str, tuple[Measure, str]] = {
    "cached": (http_rows.cached, "cached-16"),
    "uncached": (http_rows.uncached, "throughput"),
    "added": (http_rows.added, "added-p50"),
    "burst": (http_rows.cold_burst, "burst-calls"),
    "merge": (local_rows.merging, "merge"),
    "queries": (http_rows.queries, "queries"),
    "explained": (http_rows.explained, "explained"),
    "domains": (domain_rows.domains, "domains"),
    "memory": (memory_rows.memory_use, "idle"),
    "start": (http_rows.start, "start"),
    "expiry": (local_rows.expiry, "expiry"),
    "fetch": (fetch_rows.fetching, "fetch-added"),
    "batches": (batch_rows.batches, "batch-idle"),
    "metrics": (metrics_rows.counting, "metrics-cached"),
    "mcp": (mcp_rows.tools, "mcp-list"),
    "peers": (peers.peers, "searx"),
}
"""The groups of rows; each with the row that is marked when the group fails."""


def main() -> int:
    """Run the selected groups and print their findings; return the exit code."""
    options = _options()
    effort = Effort(3, 1.0) if options.quick else Effort(5, 2.0)
    if options.profile:
        return _profile(options.profile, 5 if options.quick else 20)
    if options.capacity:
        return _capacity(effort)
    findings: list[Finding] = []
    gc.freeze()
    meter = Meter()
    with Stage() as stage:
        for name in options.only or [each for each in GROUPS if each != "peers" or options.peers]:
            began = time.monotonic()
            measured = list(_measured(name, stage, effort))
            findings += measured
            _say(f"{name}: {time.monotonic() - began:.0f} s")
    head = report.header(effort.rounds, meter.cores_of_others())
    print(report.as_json(findings, head) if options.json else f"{head}\n\n{report.table(findings)}")
    if not options.json and any(finding.name in ("searx", "litellm") for finding in findings):
        print(f"\n{peers.CLAIMS}")
    return 1 if any(finding.failed for finding in findings) else 0


def _profile(what: str, seconds: int) -> int:
    with Stage() as stage:
        try:
            print(profiles.profile(stage, what, seconds))
        except NotMeasuredError as error:
            _say(str(error))
            return 1
    return 0


def _capacity(effort: Effort) -> int:
    with Stage() as stage:
        for line in capacity.capacity(stage, effort):
            print(line, flush=True)
    return 0


def _measured(name: str, stage: Stage, effort: Effort) -> Iterator[Finding]:
    measure, row = GROUPS[name]
    try:
        yield from measure(stage, effort)
    except (NotMeasuredError, OSError, RuntimeError) as error:
        yield Finding(row, failed=f"not measured: {error}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="take about a minute; numbers are coarser")
    parser.add_argument("--peers", action="store_true", help="also compare with searx and LiteLLM, where installed")
    parser.add_argument("--only", action="append", choices=list(GROUPS), metavar="NAME", help="; ".join(GROUPS))
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument("--capacity", action="store_true", help="the operator's numbers: workers, threads, sources")
    parser.add_argument("--profile", choices=["cached", "uncached"], help="shares of CPU by area and function (py-spy)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
