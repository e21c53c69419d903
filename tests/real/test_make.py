"""`make`, as the README describes it."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.real.programs import Program, free_port, listens, new_key
from tests.service import ROOT
from tests.vendors import NAMES, Vendors
from tests.waiting import wait_for

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")


def make(*arguments: str) -> list[str]:
    """Return a make command that uses these tests' environment and takes it as up to date."""
    marks = [f"{sys.prefix}/installed{kind}" for kind in ("", "-test", "-lint")]
    return ["make", "--no-print-directory", f"VENV={sys.prefix}", *(f"-o{mark}" for mark in marks), *arguments]


class MakeRun(Program):
    """`make run` in a new session, so that a Ctrl-C can be sent to the whole group, as a terminal does."""

    def __init__(self, path: Path, environ: dict[str, str]) -> None:
        self.port = free_port()
        command = ["setsid", *make("run")]
        environ = {"HOME": str(path), "PORT": str(self.port), **environ}
        super().__init__(command, environ, path / "make.log", lambda: listens(self.port))

    def lines(self) -> list[str]:
        """Return the lines that are not log lines."""
        return [line for line in self.log_path.read_text().splitlines() if not line.startswith(("[", "{"))]

    def search(self, query: str) -> tuple[int, Any]:
        """Search in the way that `make run` suggests."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("POST", "/v1/search", json.dumps({"query": query}))
            answered = connection.getresponse()
            return answered.status, json.loads(answered.read())
        finally:
            connection.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeRun]:
    with MakeRun(tmp_path_factory.mktemp("run"), {}) as running:
        yield running


def test_run_says_what_it_serves_and_what_to_try(demo: MakeRun) -> None:
    """README: address, authentication and demo sources are named, and the commands work as printed."""
    first, second, third, fourth = demo.lines()
    assert f"http://127.0.0.1:{demo.port}" in first
    assert "authentication off" in first
    assert "demo sources" in first
    assert second.startswith("Try: curl ")
    tried = subprocess.run(
        ["bash", "-c", second.removeprefix("Try: ")], capture_output=True, check=True, timeout=30, text=True
    )
    assert json.loads(tried.stdout)["results"]
    assert third == f"In a browser: http://127.0.0.1:{demo.port}/"
    assert fourth.startswith(f"Or: SIFT_URL=http://127.0.0.1:{demo.port} ")
    tried = subprocess.run(
        ["bash", "-c", fourth.removeprefix("Or: ")], capture_output=True, check=True, timeout=30, text=True, cwd=ROOT
    )
    assert "https://docs.python.org" in tried.stdout


def test_run_without_sources_answers_from_the_demo(demo: MakeRun) -> None:
    """contract: Demo: three sources, and every answer says that they are the demo's."""
    status, answer = demo.search("context manager")
    assert status == 200
    assert answer["sources_ok"] == [*NAMES]
    assert answer["warnings"] == ["demo sources: set SIFT_SEARXNG_URL to search the web"]


def test_run_listens_on_loopback_only(demo: MakeRun) -> None:
    """README: this machine only."""
    tables = Path("/proc/net/tcp").read_text() + (
        Path("/proc/net/tcp6").read_text() if Path("/proc/net/tcp6").exists() else ""
    )
    ours = {entry.split(":")[0] for entry in re.findall(rf"\d+: (\w+:{demo.port:04X}) \w+:0000 0A", tables)}
    assert ours == {"0100007F"}


def test_run_with_sources_and_keys_uses_those(tmp_path: Path, vendors: Vendors) -> None:
    """README: with a source set there is no demo, with SIFT_AUTH set a key is needed. Ctrl-C ends it cleanly."""
    token = new_key(tmp_path / ".local" / "state" / "sift", "me", "fleet")
    with MakeRun(tmp_path, vendors.environ | {"SIFT_AUTH": "keys"}) as running:
        first, second, *_ = running.lines()
        assert f"sources: {' '.join(NAMES)}." in first
        assert "authentication by key" in first
        assert running.search("anything")[0] == 401
        tried = subprocess.run(
            ["bash", "-c", second.removeprefix("Try: ")],
            env={"PATH": os.environ["PATH"], "SIFT_TOKEN": token},
            capture_output=True,
            check=True,
            timeout=30,
        )
        assert json.loads(tried.stdout)["warnings"] == []
        assert running.process is not None
        os.killpg(running.process.pid, signal.SIGINT)
        running.process.wait(20)
        wait_for(lambda: not listens(running.port))
    output = running.log_path.read_text()
    assert "Shutting down: Master" in output
    assert "Traceback" not in output
    assert "rror" not in output


@pytest.mark.parametrize(
    ("environ", "words"),
    [({"SIFT_DEMO": "off"}, "SIFT_SEARXNG_URL"), ({"SIFT_AUTH": "keys"}, "sift key new")],
    ids=["no source", "no key"],
)
def test_run_refused_says_why(environ: dict[str, str], words: str, tmp_path: Path) -> None:
    """contract: Settings: a setting made explicitly is not overridden."""
    whole = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environ}
    done = subprocess.run(
        make("run", f"PORT={free_port()}"), env=whole, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 2  # make's code for a failed recipe
    assert "Starting Sift" not in done.stdout  # nothing is announced before all settings are checked
    (said,) = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert said["event"] == "start_refused"
    assert words in said["message"]


def test_run_port_is_taken_one_line_says_so(tmp_path: Path) -> None:
    """README: the line names the port and what chooses another; nothing is tried five times."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        whole = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PORT": str(port)}
        done = subprocess.run(make("run"), env=whole, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    (said,) = [json.loads(line) for line in done.stderr.splitlines() if "start_refused" in line]
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in said["message"]
    assert "PORT" in said["message"]
    assert done.stdout == ""


def plain_make(*arguments: str) -> str:
    """Run make as from a shell: `make test` would pass its own variables on."""
    environ = {"PATH": os.environ["PATH"]}
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    ).stdout


def test_help_is_the_default_and_names_every_target() -> None:
    """README: `make` alone lists every target."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    listed = plain_make()
    assert {line.split()[1] for line in listed.splitlines()} == targets
    assert {"run", "test", "lint", "type", "gate", "contract", "bench", "soak", "help"} <= targets


@pytest.mark.parametrize(
    ("target", "commands"),
    [
        ("test", ["-m pytest"]),
        ("gate", ["ruff check .", "ruff format --check .", "bin/mypy", "-m pytest"]),
        ("contract", ["-m tests.contract"]),
        ("bench", ["-m tests.bench"]),
        ("soak", ["-m tests.soak"]),
    ],
)
def test_target_makes_its_environment_and_runs(target: str, commands: Sequence[str], tmp_path: Path) -> None:
    """README: each target works on a machine with nothing but Python."""
    planned = plain_make("-n", target, f"VENV={tmp_path / 'venv'}")
    places = [planned.index(words) for words in ("-m venv", "pip install", *commands)]
    assert places == sorted(places)


def test_installation_is_repeated_when_the_settings_change(tmp_path: Path) -> None:
    """An installed checkout is reinstalled when setup.cfg has changed, and only then."""
    venv = tmp_path / "venv"
    venv.mkdir()
    for mark in ("installed", "installed-test"):
        (venv / mark).touch()
    assert "pip install" not in plain_make("-n", "test", f"VENV={venv}")
    os.utime(venv / "installed", (0, 0))
    planned = plain_make("-n", "test", f"VENV={venv}")
    assert planned.count("pip install") == 2
