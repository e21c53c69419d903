"""Peers on the same loopback vendors, where installed: searx from Debian, LiteLLM's proxy from PyPI.

LiteLLM is looked for in `.venv-peers`, which git ignores:
    python3 -m venv .venv-peers && .venv-peers/bin/pip install 'litellm[proxy]==1.108.7'
"""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote_plus

from tests.bench.client import Target, get, post
from tests.bench.http_rows import Effort, cpu_us, p50_ms
from tests.bench.load import NotMeasuredError, burst, closed, interleave, ratio
from tests.bench.processes import ROOT, Process, free_port, memory, tree
from tests.bench.stage import Stage, unique_query
from tests.bench.targets import Finding

SEARX = Path("/usr/bin/searx-run")
SEARX_SETTINGS = Path("/usr/share/doc/searx/examples/settings.yml")
LITELLM = ROOT / ".venv-peers/bin/litellm"
BAD_LITELLM = ("1.82.7", "1.82.8", "1.107.0")
_PATIENCE = 90.0

CLAIMS = """\
what each claims to do (blank: no)              Sift      searx        LiteLLM
sources asked for one search                    3         3            1
one list, each page once                        yes       yes
tracking parameters do not hide a repeat        yes       yes
answers kept for an hour                        yes
simultaneous equal requests share an answer     yes
a daily cap on paid calls                       yes                    budgets, with a database
keys for callers                                yes                    yes
a log record per search, without the query      yes
hits of one search for its first page           8 of 70   all 70       30"""


class Peer(NamedTuple):
    """How to start a peer and what to ask it. missing: why it cannot be measured, if so."""

    name: str
    start: Callable[[Stage], Process]
    target: Callable[[Stage, Process], Target]
    missing: str


def peers(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Compare requests per second, vendors at 0 ms, with each peer that is installed."""
    stage.latency()
    for peer in (
        Peer("searx", _searx, _searx_target, "" if SEARX.exists() else f"{SEARX} is not installed"),
        Peer("litellm", _litellm, _litellm_target, _litellm_missing()),
    ):
        if peer.missing:
            yield Finding(peer.name, absent=f"not measured: {peer.missing}")
            continue
        try:
            yield from _compare(stage, effort, peer)
        except (NotMeasuredError, OSError, RuntimeError) as error:
            yield Finding(peer.name, failed=f"not measured: {error}")


def _compare(stage: Stage, effort: Effort, peer: Peer) -> Iterator[Finding]:
    began = time.perf_counter()
    with peer.start(stage) as process:
        process.wait(_PATIENCE)
        target = peer.target(stage, process)
        interleave([target], burst(1), 1, None)
        started = time.perf_counter() - began
        for connections in (1, 16):
            pattern = closed(connections, effort.seconds)
            ours, theirs = interleave(
                [stage.uncached(stage.sift), target], pattern, effort.rounds, closed(connections, 1)
            )
            note = f"p50 {p50_ms(ours)} against {p50_ms(theirs)} ms, CPU {cpu_us(ours)} against {cpu_us(theirs)} us"
            if connections == 1:
                mib = sum(memory(pid).mib for pid in tree(process.pid))
                note += f"; it starts in {started:.1f} s and takes {mib:.0f} MiB"
            name = peer.name if connections == 1 else f"{peer.name}-16"
            yield Finding(name, *ratio(ours, theirs, lambda each: each.rate), note=note)


def _searx(stage: Stage) -> Process:
    """Return searx as its package runs it, with three engines, HTTP/1.1 and a large connection pool."""
    import yaml

    packed = SEARX_SETTINGS.with_suffix(".yml.gz")
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else SEARX_SETTINGS.read_text()
    settings = yaml.safe_load(text)
    port, base = free_port(), f"http://127.0.0.1:{stage.vendors.port}"
    settings["server"] |= {"port": port, "secret_key": "bench", "http_protocol_version": "1.1"}
    settings["outgoing"] |= {"request_timeout": 8.0, "pool_maxsize": 64}
    settings["engines"] = [
        _engine("first", f"{base}/searxng/search?q={{query}}&format=json", "results", "content"),
        _engine("second", f"{base}/brave/res/v1/llm/context?q={{query}}", "generic", "snippets"),
        _engine("third", f"{base}/tavily/search?q={{query}}", "results", "content"),
    ]
    path = stage.folder / "searx.yml"
    path.write_text(json.dumps(settings))  # JSON is YAML
    environ = {"PATH": os.environ["PATH"], "HOME": str(stage.folder), "SEARX_SETTINGS_PATH": str(path)}
    return Process("searx", [str(SEARX)], environ, stage.folder / "searx.log", port)


def _engine(name: str, url: str, rows: str, text: str) -> dict[str, Any]:
    return {
        "name": name,
        "engine": "json_engine",
        "shortcut": name[:2],
        "categories": "general",
        "enable_http": True,
        "timeout": 8.0,
        "search_url": url,
        "results_query": rows,
        "url_query": "url",
        "title_query": "title",
        "content_query": text,
    }


def _searx_target(stage: Stage, process: Process) -> Target:
    asked = (get(f"/search?q={quote_plus(str(unique_query()['query']))}&format=json") for _ in count())
    return Target("searx", process.port, asked, b'"unresponsive_engines": []', process.pid)


def _litellm(stage: Stage) -> Process:
    """Return LiteLLM's proxy with one search tool, one worker, a key and no database; it downloads nothing."""
    settings = {
        "model_list": [],
        "general_settings": {"master_key": "sk-bench"},
        "search_tools": [
            {
                "search_tool_name": "stub",
                "litellm_params": {
                    "search_provider": "searxng",
                    "api_base": f"http://127.0.0.1:{stage.vendors.port}/searxng",
                },
            }
        ],
    }
    path = stage.folder / "litellm.yaml"
    path.write_text(json.dumps(settings))
    port = free_port()
    command = [str(LITELLM), "--config", str(path), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(stage.folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    return Process("litellm", command, environ, stage.folder / "litellm.log", port)


def _litellm_target(stage: Stage, process: Process) -> Target:
    asked = (post("/v1/search/stub", unique_query() | {"max_results": 8}, "sk-bench") for _ in count())
    return Target("litellm", process.port, asked, b'"results"', process.pid)


def _litellm_missing() -> str:
    found = sorted((ROOT / ".venv-peers").glob("lib/python*/site-packages/litellm-*.dist-info"))
    if not found:
        return ".venv-peers is not there (tests/bench/peers.py says how to make it)"
    number = found[0].name.removeprefix("litellm-").removesuffix(".dist-info")
    return f"LiteLLM {number} must not be used" if number in BAD_LITELLM else ""
