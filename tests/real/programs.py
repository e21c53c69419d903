"""Third-party programs for tests: each a child process on loopback that writes to a directory of its own."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tests.service import ROOT
from tests.waiting import wait_for

SIFT = str(Path(sys.executable).with_name("sift"))
SEARX_EXAMPLES = Path("/usr/share/doc/searx/examples")


def free_port() -> int:
    """Return an unused loopback port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def listens(port: int) -> bool:
    """Return whether a loopback port accepts connections."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def run_sift(
    *arguments: str, environ: Mapping[str, str], home: Path, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the installed `sift` command as a user does. Of the tests' own environment it gets only PATH."""
    whole = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **environ}
    done = subprocess.run(
        [SIFT, *arguments], env=whole, cwd=home, capture_output=True, text=True, timeout=60, check=False, input=stdin
    )
    assert "Traceback" not in done.stderr
    return done


def new_key(state_dir: Path, name: str, cls: str) -> str:
    """Make a key with the real command and return its token."""
    state_dir.parent.mkdir(parents=True, exist_ok=True)
    environ = {"SIFT_STATE_DIR": str(state_dir)}
    done = run_sift("key", "new", "--name", name, "--class", cls, environ=environ, home=state_dir.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def bearer(token: str) -> dict[str, str]:
    """Return the header that carries a token."""
    return {"Authorization": f"Bearer {token}"}


def readme_block(language: str, containing: str) -> str:
    """Return the only code block of the README in this language that contains these words."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    (found,) = [block for block in blocks if containing in block]
    return str(found)


class Program:
    """Run a program until the `with` block ends. Its output goes to `log_path`."""

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], log_path: Path, ready: Callable[[], object]
    ) -> None:
        self.command = list(command)
        self.environ = {"PATH": os.environ["PATH"], **environ}
        self.log_path = log_path
        self._ready = ready
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                self.command, env=self.environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT
            )
        try:
            wait_for(lambda: self.process is None or self.process.poll() is not None or self._ready(), 30)
            assert self.process.poll() is None, self.log_path.read_text(errors="replace")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Terminate the program; kill it when that is not enough."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Nginx(Program):
    """nginx with the README's server block, of which only ports and paths are replaced.

    prefix: its directory; `client_body` and `run` below are where bodies would go. certificate: the one clients must
    trust. logs: the directory of the block's `access_log` and `error_log`.
    """

    def __init__(self, prefix: Path, service_port: int) -> None:
        binary = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
        openssl = shutil.which("openssl")
        assert binary, "nginx is missing"
        assert openssl, "openssl is missing"
        self.port = free_port()
        self.prefix = prefix
        self.logs = prefix / "logs"
        self.logs.mkdir(parents=True)
        self.certificate = prefix / "sift.pem"
        subprocess.run(
            [
                *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
                *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
                *("-keyout", str(prefix / "sift.key"), "-out", str(self.certificate)),
            ],
            check=True,
            capture_output=True,
        )
        block = readme_block("nginx", "proxy_pass")
        for old, new in (
            ("127.0.0.1:8787", f"127.0.0.1:{service_port}"),
            ("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl"),
            ("/var/log/nginx", str(self.logs)),
            ("/run/nginx-sift", str(prefix / "run")),
            ("/etc/ssl/private/sift.key", str(prefix / "sift.key")),
            ("/etc/ssl/certs/sift.pem", str(self.certificate)),
        ):
            assert old in block, f"the README's server block has no {old}"
            block = block.replace(old, new)
        temporary = "".join(
            f"{name}_temp_path {prefix}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        # Started as root, its workers would switch to a user who cannot enter the tests' directories.
        user = "user root;\n" if os.geteuid() == 0 else ""
        (prefix / "nginx.conf").write_text(
            f"daemon off;\n{user}pid {prefix}/nginx.pid;\nerror_log stderr;\n"
            f"events {{}}\nhttp {{\naccess_log off;\n{temporary}{block}}}\n"
        )
        command = [binary, "-p", str(prefix), "-c", str(prefix / "nginx.conf"), "-e", "stderr"]
        super().__init__(command, {}, prefix / "output.log", lambda: listens(self.port))


class Searx(Program):
    """Debian's searx with one engine, which queries a URL that answers in SearXNG's format.

    undated: also an engine of the same kind that knows neither dates nor news.
    """

    def __init__(self, directory: Path, engine_url: str, *, undated: bool = False) -> None:
        self.port = free_port()
        settings = _searx_example()
        settings["search"]["formats"] = ["html", "json"]  # SearXNG needs this; its ancestor searx always offers JSON
        settings["server"].update(port=self.port, bind_address="127.0.0.1", secret_key="only for tests", limiter=False)
        settings["engines"] = [
            {
                "name": "demo",
                "engine": "json_engine",
                "shortcut": "demo",
                "categories": "general, news",
                "enable_http": True,
                "timeout": 5.0,
                "time_range_support": True,
                "search_url": engine_url + "?q={query}&format=json",
                "results_query": "results",
                "url_query": "url",
                "title_query": "title",
                "content_query": "content",
            }
        ]
        if undated:
            (first,) = settings["engines"]
            less = {"name": "less", "shortcut": "less", "categories": "general", "time_range_support": False}
            settings["engines"].append(first | less)
        settings.pop("checker", None)  # it would query the engines periodically
        path = directory / "settings.yml"
        path.write_text(yaml.safe_dump(settings))
        environ = {"HOME": str(directory), "SEARX_SETTINGS_PATH": str(path)}
        super().__init__(["searx-run"], environ, directory / "searx.log", lambda: listens(self.port))

    @property
    def url(self) -> str:
        """Return the base URL."""
        return f"http://127.0.0.1:{self.port}"


def _searx_example() -> dict[str, Any]:
    """Return the package's example settings: it ships no others."""
    raw = next(SEARX_EXAMPLES.glob("settings.yml*")).read_bytes()
    settings: dict[str, Any] = yaml.safe_load(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)
    return settings
