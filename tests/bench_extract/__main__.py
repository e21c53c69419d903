"""`python -m tests.bench_extract`: one run, two tables. Each extractor has a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.bench_extract.extractors import EXTRACTORS
from tests.bench_extract.pages import PAGES
from tests.bench_extract.score import Score, score, total

ROUNDS = 5
LEAST_HERE = 1.0
"""F1 of trafilatura as it is used here, as a share of that of its plain call."""
LEAST_BUILTIN = 0.8
"""F1 of the builtin extractor, as a share of that of trafilatura as it is used here."""


def main() -> int:
    """Measure, or with a name measure one extractor and print JSON; return the exit code."""
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
        return 0
    results = {name: _in_a_process(name) for name in EXTRACTORS}
    measured = {name: result for name, result in results.items() if result}
    _print_pages(measured)
    print(f"\n{'':18}{'precision':>10}{'recall':>8}{'F1':>7}{'ms a page':>11}{'peak MiB':>10}")
    totals: dict[str, Score] = {}
    for name, result in results.items():
        if not result:
            print(f"{name:18}not installed")
            continue
        whole = totals[name] = total(Score(*each) for each in result["scores"].values())
        ms, peak = result["ms"], result["peak"]
        print(f"{name:18}{whole.precision:10.2f}{whole.recall:8.2f}{whole.f1:7.3f}{ms:11.1f}{peak:10.0f}")
    _judge("trafilatura here", "trafilatura", LEAST_HERE, totals)
    _judge("builtin", "trafilatura here", LEAST_BUILTIN, totals)
    return 0 if {"trafilatura here", "trafilatura", "builtin"} <= measured.keys() else 1


def measure(name: str) -> dict[str, Any]:
    """Return the scores of an extractor by page, the mean time of a page in ms, and the peak memory in MiB."""
    extract = EXTRACTORS[name]()
    scores: dict[str, Score] = {}
    seconds = 0.0
    for page in PAGES:
        if not Path(page.path).exists():
            continue
        html = Path(page.path).read_text(errors="replace")
        times = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            text = extract(html)
            times.append(time.perf_counter() - began)
        seconds += min(times)
        scores[page.path] = score(page, text)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"scores": scores, "ms": 1000 * seconds / max(1, len(scores)), "peak": peak}


def _in_a_process(name: str) -> dict[str, Any] | None:
    command = [sys.executable, "-m", "tests.bench_extract", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "ModuleNotFoundError" not in done.stderr:
        sys.stderr.write(done.stderr)
    result: dict[str, Any] | None = None if done.returncode else json.loads(done.stdout)
    return result


def _print_pages(measured: dict[str, dict[str, Any]]) -> None:
    """Print what each extractor found of each page: wanted sentences, and after a minus unwanted ones."""
    width = max(len(Path(page.path).name) for page in PAGES)
    print(f"{'package':22}{'page':{width + 2}}{'marked':>10}" + "".join(f"{name:>18}" for name in measured))
    for page in PAGES:
        name = Path(page.path).name
        print(f"{page.package:22}{name:{width + 2}}", end="")
        if not Path(page.path).exists():
            print("   not installed")
            continue
        print(f"{f'{len(page.wanted)} -{len(page.unwanted)}':>10}", end="")
        for result in measured.values():
            got = Score(*result["scores"][page.path])
            print(f"{f'{got.found} -{got.wrong}':>18}", end="")
        print()
    found = {page for page in PAGES if Path(page.path).exists()}
    print(f"{len(found)} pages of {len({page.maker for page in found})} makers")


def _judge(name: str, other: str, least: float, totals: dict[str, Score]) -> None:
    if name in totals and other in totals and totals[other].f1:
        ratio = totals[name].f1 / totals[other].f1
        print(f"{name} / {other}: {ratio:.2f}, wanted at least {least}{'' if ratio >= least else '  MISSED'}")


if __name__ == "__main__":
    sys.exit(main())
