"""What `sift mcp` costs beside the smallest server that its SDK makes: the first answer, and a call."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any

from sift.client import SiftClient
from tests.bench.http_rows import Effort
from tests.bench.stage import CACHED, Stage
from tests.bench.targets import Finding

ROWS = ("mcp-list", "mcp-call")
SMALLEST = [sys.executable, "-m", "tests.bench.mcp_smallest"]
SIFT = [str(Path(sys.executable).with_name("sift")), "mcp"]
_BEGIN = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def tools(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Compare `sift mcp` with the smallest server, in turn: from the start to tools/list, and a call."""
    if importlib.util.find_spec("mcp") is None:
        yield from (Finding(name, absent="the extra mcp is not installed") for name in ROWS)
        return
    environ = {"PATH": os.environ["PATH"], "HOME": str(stage.folder), "SIFT_TOKEN": stage.token}
    environ["SIFT_URL"] = f"http://127.0.0.1:{stage.sift.port}"
    _begun(SIFT, environ)  # both are compiled, and their files read
    _begun(SMALLEST, environ)
    pairs = [(_begun(SIFT, environ), _begun(SMALLEST, environ)) for _ in range(3 * effort.rounds)]
    yield _finding("mcp-list", pairs, "s", 1)
    with Spoken(SIFT, environ) as ours, Spoken(SMALLEST, environ) as bare:
        client = SiftClient(environ["SIFT_URL"], stage.token)

        def search() -> None:
            assert not ours.call("sift_search")["isError"]

        def echo_and_http() -> None:
            bare.call("echo")
            assert client.search(CACHED).status == 200  # the HTTP call is the command's, with its deadline

        for _ in range(20):
            search()
            echo_and_http()
        calls = [(_seconds(search), _seconds(echo_and_http)) for _ in range(100 * effort.rounds)]
    yield _finding("mcp-call", calls, "ms", 1000)


class Spoken:
    """A server on stdio, spoken to line by line, until the `with` block ends."""

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._numbers = itertools.count()
        self.ask("initialize", _BEGIN)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Spoken:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()

    def call(self, name: str) -> dict[str, Any]:
        """Call a tool with the search that is answered from the cache."""
        return self.ask("tools/call", {"name": name, "arguments": CACHED})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a request."""
        self._send({"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": params})
        assert self._process.stdout
        found: dict[str, Any] = json.loads(self._process.stdout.readline())["result"]
        return found

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")


def _begun(command: list[str], environ: dict[str, str]) -> float:
    """Return the seconds from the start of a server to its list of tools."""
    began = time.perf_counter()
    with Spoken(command, environ) as server:
        assert server.ask("tools/list", {})["tools"]
        return time.perf_counter() - began


def _seconds(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _finding(name: str, pairs: list[tuple[float, float]], unit: str, scale: int) -> Finding:
    ratios = sorted(ours / bare for ours, bare in pairs)
    ours, bare = (median(column) * scale for column in zip(*pairs, strict=True))
    low, high = ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
    return Finding(name, ours / bare, low, high, f"{ours:.2f} against {bare:.2f} {unit}")
