"""The stage of a run: loopback vendors, Sift and the baselines, each started when first needed.

Every web application runs as `gunicorn -c python:sift.gunicorn_conf APP`, with Sift's own settings: authentication by
key, breakers, the ledger (with a cap that is never reached), and a log that goes to a file.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
import urllib.request
from contextlib import ExitStack
from functools import cached_property
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from tests.bench.client import Target, always, get, post
from tests.bench.processes import Process, free_port

PATH = "/v1/search"
THREADS = 64
CACHED = {"query": "the same question again", "k": 8}
_WHOLE = b'"sources_failed": [], "warnings": [], "cached": false'
_numbers = count(secrets.randbelow(10**6) * 1000)


class Stage:
    """The processes of a run, all ended when the `with` block ends."""

    def __enter__(self) -> Stage:
        self._stack = ExitStack()
        self.folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="sift-bench-")))
        self.tokens = self._make_keys()
        self.token = self.tokens[0]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    @cached_property
    def vendors(self) -> Process:
        """The loopback vendors."""
        port = free_port()
        command = [sys.executable, "-m", "tests.bench.vendors", str(port)]
        process = Process("vendors", command, os.environ, self.folder / "vendors.log", port)
        return self._started(process)

    @cached_property
    def sift(self) -> Process:
        """Sift itself, with its cache."""
        return self.service("sift", "wsgi:app")

    @cached_property
    def reference(self) -> Process:
        """R, the reference."""
        return self.service("reference", "tests.bench.reference:app")

    @cached_property
    def floor(self) -> Process:
        """F, the floor, with the bytes of Sift's cached answer."""
        body = self.folder / "floor-body"
        self.ask(self.sift, CACHED)
        body.write_bytes(self.ask(self.sift, CACHED))
        return self.service("floor", "tests.bench.floor:app", FLOOR_BODY=str(body))

    def service(self, name: str, app: str, **settings: str) -> Process:
        """Start a web application, which runs until the stage ends."""
        process = self._started(self.prepared(name, app, **settings))
        self.answer_once(process)
        return process

    def prepared(self, name: str, app: str, **settings: str) -> Process:
        """Return the process of a web application, not yet started."""
        port = free_port()
        command = [sys.executable, "-m", "gunicorn", "-c", "python:sift.gunicorn_conf", "-b", f"127.0.0.1:{port}", app]
        return Process(name, command, self.environ(name) | settings, self.folder / f"{name}.log", port)

    def environ(self, name: str) -> dict[str, str]:
        """Return the settings of a service."""
        base = f"http://127.0.0.1:{self.vendors.port}"
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "SIFT_THREADS": str(THREADS),
            "SIFT_STATE_DIR": str(self.folder / name),
            "SIFT_KEYS_FILE": str(self.folder / "keys.json"),
            "SIFT_SEARXNG_URL": f"{base}/searxng",
            "SIFT_BRAVE_URL": f"{base}/brave/res/v1/llm/context",
            "SIFT_BRAVE_API_KEY": "bench",
            "SIFT_TAVILY_URL": f"{base}/tavily/search",
            "SIFT_TAVILY_API_KEY": "bench",
            "SIFT_TAVILY_DAILY_CAP": "900000000",
        }

    def answer_once(self, process: Process) -> None:
        """Wait for a first correct answer."""
        self.ask(process, {"query": "warm up"})

    def ask(self, process: Process, body: dict[str, Any], path: str = PATH, token: str = "") -> bytes:
        """Post a body once; raise on any status but 200."""
        headers = {"Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json"}
        url = f"http://127.0.0.1:{process.port}{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        with _opener.open(request, timeout=40) as response:
            answer: bytes = response.read()
            return answer

    def latency(self, searxng: float = 0, brave: float = 0, tavily: float = 0) -> None:
        """Set the latency of each vendor, in milliseconds."""
        self._vendors_say(f"set?searxng={searxng}&brave={brave}&tavily={tavily}")

    def vendor_calls(self) -> int:
        """Return the number of vendor calls so far."""
        calls: int = self._vendors_say("calls")["calls"]
        return calls

    def cached(self, process: Process, **fields: object) -> Target:
        """Return a target that asks for the same answer repeatedly; Sift must report it as cached."""
        body = CACHED | fields
        self.ask(process, body)  # the first answer is not from the cache yet
        request = always(post(PATH, body, self.token))
        return Target(process.name, process.port, request, b'"cached": true', process.pid)

    def respelled(self, process: Process) -> Target:
        """Return a target that asks for the same answer, each time with different blanks behind the body."""
        spellings = (f"{number:032b}".translate({48: " ", 49: "\n"}) for number in count())
        requests = (post(PATH, CACHED, self.token, blanks=each) for each in spellings)
        return self.cached(process)._replace(name="respelled", requests=requests)

    def uncached(self, process: Process, *, queries: int = 1, **fields: object) -> Target:
        """Return a target that asks something new each time; all three sources must answer."""
        requests = (post(PATH, unique_query(queries) | fields, self.token) for _ in count())
        expect = b'"cached":false' if process.name == "reference" else _WHOLE
        return Target(f"{process.name} {queries}", process.port, requests, expect, process.pid)

    def direct(self) -> Target:
        """Return a target that asks the slowest vendor, Tavily, directly."""
        requests = (post("/tavily/search", unique_query()) for _ in count())
        return Target("direct", self.vendors.port, requests)

    def health(self, process: Process) -> Target:
        """Return a target that asks for a service's health."""
        return Target("health", process.port, always(get("/healthz")))

    def _started(self, process: Process) -> Process:
        self._stack.enter_context(process)
        process.wait()
        return process

    def _vendors_say(self, what: str) -> dict[str, Any]:
        with _opener.open(f"http://127.0.0.1:{self.vendors.port}/bench/{what}", timeout=5) as response:
            said: dict[str, Any] = json.load(response)
            return said

    def _make_keys(self) -> list[str]:
        """Make the keys of four callers."""
        secrets_by_id = {f"benchke{chr(97 + number)}": secrets.token_urlsafe(32) for number in range(4)}
        common = {"class": "fleet", "created": "2026-01-01T00:00:00Z"}
        entries = [
            {"id": key, "name": f"bench{key[-1]}", **common, "sha256": hashlib.sha256(secret.encode()).hexdigest()}
            for key, secret in secrets_by_id.items()
        ]
        path = self.folder / "keys.json"
        path.touch(0o600)
        path.write_text(json.dumps(entries))
        return [f"sift_{key}_{secret}" for key, secret in secrets_by_id.items()]


def unique_query(queries: int = 1) -> dict[str, object]:
    """Return a body that was never sent before."""
    texts = [f"bench question number {next(_numbers)}" for _ in range(queries)]
    return {"query": texts[0]} if queries == 1 else {"queries": texts}


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
