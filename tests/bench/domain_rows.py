"""The cost of domain filters, measured in this process, where two kinds of request can alternate one by one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from statistics import median
from typing import Any
from unittest.mock import patch

from sift.app import create_app
from sift.config import Config
from sift.search.domains import host_filter
from sift.search.model import Filter
from sift.sources import DECLARED
from tests.bench.bodies import VENDORS, rows
from tests.bench.http_rows import Effort
from tests.bench.load import NotMeasuredError
from tests.bench.stage import PATH, Stage, unique_query
from tests.bench.targets import Finding

INCLUDE = [f"example.{suffix}" for suffix in ("com", "org", "net")] + [f"site{n}.test" for n in range(17)]
EXCLUDE = [f"unwanted{n}.test" for n in range(20)]
"""All hits pass, so that the filter is measured and not the savings of fewer hits."""


def domains(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Measure requests, alternately with and without 20 + 20 domains; then the filter alone, 20 domains against 1."""
    stage.latency()
    call = _application(stage)
    filters = {"include_domains": INCLUDE, "exclude_domains": EXCLUDE}
    extra: dict[str, Any] = {}
    for _ in range(20):
        call(extra), call(filters)
    parts = []
    for _ in range(effort.rounds + 2):
        spent = [0.0, 0.0]
        for number in range(round(60 * effort.seconds)):
            for which in (0, 1) if number % 2 else (1, 0):
                spent[which] += call(filters if which else extra)
        parts.append((spent[1] / spent[0] - 1) * 100)
    yield Finding("domains", median(parts), min(parts), max(parts))
    yield from _filter_alone()


def _application(stage: Stage) -> Callable[[dict[str, Any]], float]:
    """Run Sift in this process; the returned function sends a new query with fields and returns its CPU seconds."""
    with patch("sift.log.write_stderr", lambda line: None):
        app = create_app(Config.from_env(stage.environ("in-process"), DECLARED))
    app.extensions["sift"].log._write = lambda line: None

    def call(fields: dict[str, Any]) -> float:
        body = json.dumps(unique_query() | fields).encode()
        environ = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": PATH,
            "CONTENT_LENGTH": str(len(body)),
            "SERVER_NAME": "bench",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": BytesIO(body),
            "HTTP_AUTHORIZATION": f"Bearer {stage.token}",
        }
        began = time.process_time()
        answer = b"".join(app(environ, lambda status, headers, exc_info=None: lambda data: None))
        taken = time.process_time() - began
        if b'"results": 8' not in answer or b'"sources_failed": []' not in answer:
            raise NotMeasuredError(f"domains: {answer[-300:]!r}")
        return taken

    return call


def _filter_alone() -> Iterator[Finding]:
    hosts = [row["url"].split("/")[2] for seed in range(4) for vendor in VENDORS for row in rows(vendor, seed, hits=30)]
    many = Filter(include_domains=tuple(sorted(INCLUDE)))
    single = Filter(include_domains=("example.com",))

    def cost(filter: Filter) -> float:
        began = time.thread_time()
        may_stay = host_filter(filter)
        assert may_stay
        for host in hosts:
            may_stay(host)
        return time.thread_time() - began

    pairs = [(cost(many), cost(single)) for _ in range(200)]
    ratios = sorted(twenty / one for twenty, one in pairs)
    note = f"{median(pair[0] for pair in pairs) * 1e6:.0f} against {median(pair[1] for pair in pairs) * 1e6:.0f} us"
    yield Finding("filter", median(ratios), ratios[20], ratios[180], f"{note}, {len(hosts)} hosts")
