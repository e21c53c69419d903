"""An nginx in front of a service, with the server block that README.md ships."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from pathlib import Path
from types import TracebackType

from tests.service import ROOT, Reply, Service
from tests.waiting import wait_until

BINARY = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/sbin")
_BLOCK = re.compile(r"^```nginx\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FRAME = """\
daemon off;
master_process off;
pid {place}/nginx.pid;
error_log {place}/error.log {level};
events {{ worker_connections 2048; }}
http {{
    access_log {place}/access.log;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
{block}
}}
"""


def shipped_block() -> str:
    """Return the nginx block of README.md."""
    (block,) = _BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    return str(block)


def fitted(block: str, port: int, service: Service, place: Path) -> str:
    """Return a server block adapted to a service, a port and a log directory, without TLS."""
    lines = [line for line in block.splitlines() if not re.match(r"\s*(ssl_\w+|server_name|http2)\s", line)]
    text = re.sub(r"(?m)^(\s*)listen\s[^;]*;", rf"\1listen 127.0.0.1:{port};", "\n".join(lines))
    text = text.replace("127.0.0.1:8787", f"127.0.0.1:{service.port}").replace("/var/log/nginx/", f"{place}/")
    return text.replace("/run/nginx-sift", f"{place}/run")


class Nginx:
    """nginx in front of a service, running until the `with` block ends."""

    def __init__(self, place: Path, service: Service, level: str = "warn") -> None:
        assert BINARY is not None
        self._place = place / "nginx"
        self._place.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        block = fitted(shipped_block(), self.port, service, self._place)
        config = self._place / "nginx.conf"
        config.write_text(_FRAME.format(place=self._place, block=block, level=level))
        self._command = [BINARY, "-c", str(config), "-p", str(self._place)]
        self._process: subprocess.Popen[bytes] | None = None
        # Requests through nginx are made like requests to a service.
        self.front = Service.__new__(Service)
        self.front.port = self.port

    def __enter__(self) -> Nginx:
        with (self._place / "output").open("wb") as output:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        if not wait_until(self._listens, 10):
            raise RuntimeError(self.output().decode(errors="replace"))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(10)

    def get(self, path: str) -> Reply:
        """GET a path through nginx."""
        return self.front.get(path)

    def output(self) -> bytes:
        """Return everything nginx has written anywhere."""
        return b"".join(
            file.read_bytes() for file in self._place.rglob("*") if file.is_file() and file.suffix != ".conf"
        )

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True
