"""The rows of fetches. What is fetched is public only within network namespaces, which the run makes for itself."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import idna
from urllib3.util import parse_url

from sift.guard.guard import Guard
from tests.bench.http_rows import Effort
from tests.bench.stage import Stage
from tests.bench.targets import Finding
from tests.world import network
from tests.world.namespace import Namespace, UnavailableError

PAGES = "8.8.32.1"
"""The first of the pages' addresses; there are such in the namespaces only."""
GUARDED = [
    f"{scheme}://{host}{path}"
    for scheme in ("http", "https")
    for host in ("docs.python.org", "en.wikipedia.org", "www.example.com", "blog.some-company.co.uk", "b\u00fccher.de")
    for path in ("/", "/3/library/asyncio-task.html", "/wiki/Web_(disambiguation)?action=view&x=1", "/a/b/c%20d?q=x+y")
]


def fetching(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Compare fetches with plain ones, and searches beside hostile fetches with searches alone."""
    yield _guard(effort)
    try:
        with ExitStack() as stack:
            yield from _in_namespaces(stack, effort)
    except UnavailableError as error:
        for name in (
            "fetch-added",
            "fetch-throughput",
            "fetch-cached",
            "fetch-memory",
            "fetch-searches",
            "batch-searches",
        ):
            yield Finding(name, absent=str(error))


def _in_namespaces(stack: ExitStack, effort: Effort) -> Iterator[Finding]:
    inside, outside = Namespace(), Namespace()
    stack.callback(inside.close)
    stack.callback(outside.close)
    network.join(inside, outside)
    pages = outside.popen([sys.executable, "-m", "tests.bench.pages", "0.0.0.0", "80"])
    stack.callback(pages.wait)
    stack.callback(pages.terminate)
    command = [sys.executable, "-m", "tests.bench.fetching", PAGES, str(effort.rounds), str(effort.seconds)]
    done = subprocess.run(inside.command(command), stdout=subprocess.PIPE, text=True, check=False, timeout=600)
    for line in done.stdout.splitlines():
        yield Finding(**json.loads(line))
    if done.returncode:
        raise RuntimeError(f"the run in the namespace ended with {done.returncode}")


def _guard(effort: Effort) -> Finding:
    """Compare the text part of the guard with a parser and the encoding of the host."""
    guard = Guard()

    def ours() -> None:
        for url in GUARDED:
            guard.target(url)

    def parsers() -> None:
        for url in GUARDED:
            idna.encode(parse_url(url).host or "", uts46=True)

    ratios = sorted(_time(ours) / _time(parsers) for _ in range(20 * effort.rounds))
    each = _time(ours) / len(GUARDED) * 1e6
    return Finding("guard", ratios[len(ratios) // 2], ratios[0], ratios[-1], f"{each:.0f} us a URL")


def _time(work: Callable[[], None]) -> float:
    began = time.thread_time()
    for _ in range(5):
        work()
    return (time.thread_time() - began) / 5
