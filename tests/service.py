"""A real Sift for tests: gunicorn with the shipped settings, in a child process, on a free loopback port."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
_LISTENING = re.compile(rb"Listening at: http://127\.0\.0\.1:(\d+)")


class Reply(NamedTuple):
    """One HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Parse the body strictly: NaN and Infinity are rejected."""
        return json.loads(self.body, parse_constant=_refuse)


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


class Service:
    """Run gunicorn with Sift's own settings until the `with` block ends.

    environ: SIFT_* settings. Of the tests' own environment only PATH is passed on.
    arguments: further gunicorn options, for example `["--preload"]`.
    """

    def __init__(self, tmp_path: Path, environ: Mapping[str, str], arguments: Sequence[str] = ()) -> None:
        self.state_dir = tmp_path / "state"
        self.log_path = tmp_path / "service.log"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "SIFT_AUTH": "off",
            "SIFT_STATE_DIR": str(self.state_dir),
            **environ,
        }
        self.command = [
            *(sys.executable, "-m", "gunicorn", "-c", "python:sift.gunicorn_conf"),
            *("-b", "127.0.0.1:0", *arguments, "wsgi:app"),
        ]
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Service:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Return the base URL."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Service:
        """Start the service and return once a worker answers."""
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                self.command, cwd=ROOT, env=self.environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        end = time.monotonic() + 20
        while not (found := _LISTENING.search(self.log())):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(self.log().decode(errors="replace"))
            time.sleep(0.02)
        self.port = int(found[1])
        self.get("/healthz")  # waits in the listen queue until a worker takes it
        return self

    def stop(self, sig: int = signal.SIGTERM, within: float = 70) -> int:
        """Stop the service and return its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(sig)
        return self.process.wait(within)

    def log(self) -> bytes:
        """Return everything the service has printed."""
        return self.log_path.read_bytes()

    def records(self, event: str = "search") -> list[dict[str, Any]]:
        """Return the JSON records of one event."""
        lines = (json.loads(line) for line in self.log().splitlines() if line.startswith(b"{"))
        return [record for record in lines if record["event"] == event]

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        """GET a path."""
        return self.request("GET", path, None, headers)

    def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Reply:
        """POST bytes as they are, or anything else as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.request("POST", path, data, {"Content-Type": "application/json", **(headers or {})})

    def search(self, query: str | None = None, **fields: Any) -> dict[str, Any]:
        """Search through v1 and return the answer, which must be a 200."""
        reply = self.post("/v1/search", fields if query is None else {"query": query, **fields})
        assert reply.status == 200, reply
        answer: dict[str, Any] = reply.json()
        return answer

    def request(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str] | None = None, timeout: float = 60
    ) -> Reply:
        """Send one request on a new connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()
