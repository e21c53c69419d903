"""The table of a run."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from tests.bench.stage import THREADS
from tests.bench.targets import BY_NAME, TARGETS, Finding, mark

_PACKAGES = ("Flask", "requests", "urllib3", "marshmallow", "cachetools", "gunicorn")


def header(rounds: int, others: float) -> str:
    """Return how the numbers were measured."""
    versions = ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
    return "\n".join(
        [
            f"CPython {platform.python_version()}, {versions}; {platform.system()} {platform.release()}",
            f"{os.cpu_count()} cores, of which other programs used {others:.1f}",
            f"1 worker, {THREADS} request threads, plain HTTP on loopback",
            f"Ratios are medians of {rounds} or more interleaved rounds, in reverse order every second time, low..high"
            " beside them. Closed loop unless said otherwise; in an open loop, latency counts from the due time.",
            "F: a bare Flask view returning the cached answer's bytes. R: a straightforward uncached path."
            " Both run under Sift's own gunicorn command.",
        ]
    )


def table(findings: Sequence[Finding]) -> str:
    """Return the findings as a table, in the order of the targets."""
    order = {target.name: at for at, target in enumerate(TARGETS)}
    lines = [f"{'':50} {'measured':>11} {'spread':>17} {'target':>14} {'':8} note"]
    lines += [_line(finding) for finding in sorted(findings, key=lambda each: order[each.name])]
    return "\n".join(lines)


def as_json(findings: Sequence[Finding], head: str) -> str:
    """Return the findings as a JSON document."""
    rows = [
        vars(finding) | {"target": BY_NAME[finding.name].goal, "mark": mark(BY_NAME[finding.name], finding)}
        for finding in findings
    ]
    return json.dumps({"method": head.splitlines(), "rows": rows}, indent=1)


def _line(finding: Finding) -> str:
    target = BY_NAME[finding.name]
    value = "-" if finding.failed or finding.absent else f"{_number(finding.value)} {target.unit}"
    spread = "" if finding.low is None or finding.high is None else f"{_number(finding.low)}..{_number(finding.high)}"
    goal = "" if target.goal is None else f"{target.sign} {target.goal:g}"
    if target.stage is not None:
        goal += f" ({target.stage:g})"
    note = finding.failed or finding.absent or finding.note
    return f"{target.label:50} {value:>11} {spread:>17} {goal:>14} {mark(target, finding):8} {note}".rstrip()


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
