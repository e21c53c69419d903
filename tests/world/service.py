"""Sift in the world: the service as it is shipped, and the command."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sift.auth.keys import new_key
from tests.real.programs import SIFT, bearer
from tests.service import Reply, Service
from tests.world.servers import CLOSED_PORT
from tests.world.world import World

ADDED_PORT = 8082
"""A port that SIFT_FETCH_PORTS adds, at which servers listen. They do at CLOSED_PORT's not."""
SETTINGS = {
    "SIFT_AUTH": "keys",
    "SIFT_DEMO": "on",
    "SIFT_FETCH_PORTS": f"{CLOSED_PORT},{ADDED_PORT}",
    "SIFT_FETCH_DENY": "4.4.4.0/24,2606:4700:4444::/48",
}
DENIED = ("4.4.4.4", "2606:4700:4444::1")
CLASSES = ("fleet", "restricted")


class Inside(Service):
    """Sift inside. The tests, which are not, reach it over a Unix socket, the command over loopback."""

    def __init__(
        self,
        world: World,
        path: Path,
        environ: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        self.world = world
        self._sockets = tempfile.TemporaryDirectory(prefix="sift-world-")  # a short path: a socket's may be no longer
        self.socket = f"{self._sockets.name}/sift.sock"
        super().__init__(path, {**SETTINGS, **(environ or {})}, ["-b", f"unix:{self.socket}", *arguments])
        self.command = world.inside.command(self.command)
        keys = self.state_dir / "keys.json"
        self.tokens = {cls: new_key(keys, f"{cls}-bot", cls, None, datetime.now(UTC)) for cls in CLASSES}

    def stop(self, *arguments: Any, **named: Any) -> int:
        """Stop the service and return its exit code."""
        code = super().stop(*arguments, **named)
        self._sockets.cleanup()
        return code

    def request(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str] | None = None, timeout: float = 60
    ) -> Reply:
        """Send one request on a new connection."""
        connection = _UnixConnection(self.socket, timeout)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def fetch(self, url: str, cls: str = "fleet", **fields: Any) -> Reply:
        """Ask for a page as a caller of this class."""
        return self.post("/v1/fetch", {"url": url, **fields}, bearer(self.tokens[cls]))

    def page(self, url: str, cls: str = "fleet", **fields: Any) -> dict[str, Any]:
        """Ask for a page, which must come."""
        reply = self.fetch(url, cls, **fields)
        assert reply.status == 200, reply
        answer: dict[str, Any] = reply.json()
        return answer

    def run(self, *arguments: str, cls: str = "fleet", **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the installed `sift` command inside."""
        whole = {
            "PATH": os.environ["PATH"],
            "HOME": self.environ["HOME"],
            "LANG": "C.UTF-8",
            "SIFT_URL": self.url,
            "SIFT_TOKEN": self.tokens[cls],
            **environ,
        }
        done = self.world.inside.run(SIFT, *arguments, environ=whole, check=False)
        assert "Traceback" not in done.stderr
        return done


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("127.0.0.1", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
