"""A CPU profile of Sift under load: py-spy's samples of threads that hold the GIL, by area and by function."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.bench.load import NotMeasuredError, closed, interleave
from tests.bench.stage import Stage

_CONNECTIONS = 8
_THREADS = 8  # py-spy stops the process to read every stack, so fewer threads mean less disturbance
_TOP = 30
_AREAS = {
    "gunicorn/": "gunicorn",
    "flask/": "Flask, Werkzeug",
    "werkzeug/": "Flask, Werkzeug",
    "urllib3/": "requests, urllib3",
    "requests/": "requests, urllib3",
    "http/client.py": "http.client, headers",
    "email/": "http.client, headers",
    "socket.py": "http.client, headers",
    "json/": "json",
    "marshmallow/": "marshmallow",
    "concurrent/futures/": "threads, futures",
    "threading.py": "threads, futures",
}


def profile(stage: Stage, what: str, seconds: int) -> str:
    """Return the profile of a worker under load. Raises NotMeasuredError when py-spy is missing or not permitted."""
    beside = Path(sys.executable).with_name("py-spy")
    spy = str(beside) if beside.exists() else shutil.which("py-spy")
    if not spy:
        raise NotMeasuredError("py-spy is not installed: pip install py-spy")
    stage.latency()
    # When py-spy stops the process, all its threads wake; on one CPU they would take turns, and distort the samples.
    service = stage.service("sift", "wsgi:app", SIFT_THREADS=str(_THREADS), SIFT_CPU_AFFINITY="off")
    target = stage.cached(service) if what == "cached" else stage.uncached(service)
    interleave([target], closed(_CONNECTIONS, 1), 1, None)
    out = stage.folder / "samples"
    command = [spy, "record", "--gil", "-r", "250", "-d", str(seconds), "-f", "raw", "-o", str(out)]
    command += ["-p", str(service.worker)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        (load,) = interleave([target], closed(_CONNECTIONS, seconds + 2), 1, None)[0]
        said = run.communicate(timeout=30)[1]
    if not out.exists():
        raise NotMeasuredError(f"py-spy: {said.decode(errors='replace')[-200:]}")
    head = f"{what}: {len(load.latencies)} requests, {load.cpu_each * 1e6:.0f} us CPU each, py-spy's slowdown included"
    size = f"{_CONNECTIONS} connections, {_THREADS} request threads"
    return f"{head}; {size}\n\n{shares(out.read_text().splitlines())}"


def shares(lines: Iterable[str]) -> str:
    """Return a report of collapsed stacks: per area, by the innermost known frame; per function, own and total."""
    areas: Counter[str] = Counter()
    own: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for line in lines:
        stack, _, count = line.rpartition(" ")
        frames = [_place(frame) for frame in stack.split(";")]
        areas[next(filter(None, map(_area, reversed(frames))), "other")] += int(count)
        own[frames[-1]] += int(count)
        whole.update(dict.fromkeys(frames, int(count)))
    total = max(1, areas.total())
    parts = [f"{total} samples", "", "area (innermost known frame)", *_ranked(areas, total, len(areas))]
    parts += ["", "function, own", *_ranked(own, total, _TOP)]
    return "\n".join([*parts, "", "function, total", *_ranked(whole, total, _TOP)])


def _ranked(counts: Counter[str], total: int, most: int) -> list[str]:
    return [f"{count / total:7.1%}  {name}" for name, count in counts.most_common(most)]


def _place(frame: str) -> str:
    """Return `some/file.py name` for `name (some/file.py:12)`."""
    name, _, where = frame.rpartition(" (")
    return f"{where.rpartition(':')[0]} {name}"


def _area(place: str) -> str | None:
    path = place.partition(" ")[0]
    if path.startswith("sift/"):
        return path
    return next((area for prefix, area in _AREAS.items() if path.startswith(prefix)), None)
