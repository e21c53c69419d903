"""What the service writes on stderr: JSON lines always, whoever reads them (contract: Log)."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import pytest

from tests.faults.watch import worker, workers
from tests.service import ROOT, Service
from tests.vendors import Vendors
from tests.waiting import wait_for


class OnStderr(Service):
    """A service whose stderr is what the test gives it."""

    def __init__(self, tmp_path: Path, environ: dict[str, str], stderr: IO[bytes] | int | None, *shell: str) -> None:
        super().__init__(tmp_path, environ)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.command[self.command.index("127.0.0.1:0")] = f"127.0.0.1:{self.port}"
        if shell:
            self.command = ["bash", "-c", f'exec "$@" {" ".join(shell)}', "bash", *self.command]
        self.stderr = stderr

    def start(self) -> Service:
        """Start, and return once a worker answers."""
        with (self.log_path).open("wb") as stdout:
            self.process = subprocess.Popen(
                self.command, cwd=ROOT, env=self.environ, stdin=subprocess.DEVNULL, stdout=stdout, stderr=self.stderr
            )
        wait_for(self._answers)
        return self

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log()
        with suppress(OSError):
            return self.get("/healthz").status == 200
        return False


def objects(log: bytes) -> list[dict[str, Any]]:
    """Return the lines of a log, each of which must be a JSON object."""
    lines = [json.loads(line) for line in log.splitlines()]
    assert all(list(line)[:3] == ["ts", "level", "event"] for line in lines)
    return lines


def test_whatever_happens_each_line_is_one_json_object(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Log: start, reload, a worker that dies, broken HTTP, a stop, at every level; `jq` reads it all."""
    environ = {"SIFT_LOG_LEVEL": "debug", "WEB_CONCURRENCY": "2", "SIFT_TAVILY_DAILYCAP": "3"}
    with Service(tmp_path, vendors.environ | environ) as service:
        service.search("anything")
        assert service.process is not None
        with socket.create_connection(("127.0.0.1", service.port), 20) as connection:
            connection.sendall(b"nothing\r\n\r\n")
            assert connection.recv(100)
        wait_for(lambda: len(workers(service)) == 2)
        before = set(workers(service))
        os.kill(min(before), signal.SIGKILL)
        wait_for(lambda: len(set(workers(service)) - before) == 1)
        before |= set(workers(service))
        service.process.send_signal(signal.SIGHUP)
        wait_for(lambda: len(set(workers(service)) - before) == 2)
        service.process.send_signal(signal.SIGWINCH)
        service.search("anything else")
    lines = objects(service.log())
    messages = [line["message"] for line in lines if line["event"] == "gunicorn"]
    for words in ("Listening at: ", "Booting worker", "was sent SIGKILL!", "Hang up", "broken HTTP", "Shutting down"):
        assert any(words in message for message in messages), words
    assert [line["event"] for line in lines].count("search") == 2
    (warning,) = [line for line in lines if line["event"] == "unknown_setting"]  # the master's, once
    assert (warning["name"], warning["did_you_mean"]) == ("SIFT_TAVILY_DAILYCAP", "SIFT_TAVILY_DAILY_CAP")


def test_access_log_is_json_too_and_holds_no_word_of_a_client(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Log: method, status and time, on stderr as all of the log; a method may be any word."""
    path = tmp_path / "access.log"
    for target in ("-", str(path)):
        with Service(tmp_path, vendors.environ, ["--access-logfile", target]) as service:
            service.search("secretbody", include_domains=["secret.example"])
            service.get("/healthz?q=secretquery", {"User-Agent": "secretagent", "Referer": "http://secretreferer/"})
            service.request("SECRETWORD", "/secretpath", None)
        lines = objects(service.log() if target == "-" else path.read_bytes())
        found = [line for line in lines if line["event"] == "access" and line["status"] != 200]
        assert [(line["method"], line["status"]) for line in found] == [("other", 404)]
        assert all(line.keys() == {"ts", "level", "event", "method", "status", "ms"} for line in found)
        assert b"secret" not in service.log().lower() + (path.read_bytes() if path.exists() else b"")


def test_nobody_reads_the_log_searches_go_on_and_the_loss_is_counted(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Log: a full pipe costs lines and no answers, and a line says later how many."""
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    try:
        with OnStderr(tmp_path, vendors.environ, write_end) as service:
            answers = [service.search("anything") for _ in range(100)]
            assert [answer["cached"] for answer in answers] == [False] + [True] * 99
            assert service.get("/healthz").status == 200
            first = os.read(read_end, 100_000)
            service.search("anything")
            second = os.read(read_end, 100_000)
    finally:
        os.close(read_end)
        os.close(write_end)
    assert [line["event"] for line in objects(second)[:2]] == ["lines_dropped", "search"]
    lines = objects(first + second)
    dropped = [line["n"] for line in lines if line["event"] == "lines_dropped"]
    assert sum(dropped) > 50
    assert [line["event"] for line in lines].count("search") + sum(dropped) == 101


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2</dev/null", "2>&-"], ids=["full", "read-only", "closed"])
def test_stderr_cannot_be_written_the_service_works_and_says_so(
    redirection: str, vendors: Vendors, tmp_path: Path
) -> None:
    """contract: Log: no silence either: stdout has the one line about it. No file of Sift's gets the log's number."""
    with OnStderr(tmp_path, vendors.environ, None, redirection) as service:
        assert service.search("anything")["sources_failed"] == []
        assert service.search("anything")["cached"]
        assert Path(f"/proc/{worker(service)}/fd/2").readlink().is_relative_to("/dev")
    (line,) = objects(service.log())
    assert (line["event"], line["level"]) == ("no_log", "error")
    assert "stderr" in line["message"]
