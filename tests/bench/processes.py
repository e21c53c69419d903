"""The processes of a run: starting and ending them, and reading their CPU time and memory."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
_TICK = os.sysconf("SC_CLK_TCK")


class Process:
    """A command that runs in its own process group until the `with` block ends; its output goes to a file."""

    def __init__(self, name: str, command: Sequence[str], environ: Mapping[str, str], log: Path, port: int) -> None:
        self.name = name
        self.port = port
        self.log = log
        self._command = list(command)
        self._environ = dict(environ)

    def __enter__(self) -> Process:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, cwd=ROOT, env=self._environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for sig in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                os.killpg(self.process.pid, sig)
                try:
                    self.process.wait(3)
                except subprocess.TimeoutExpired:
                    continue

    @property
    def pid(self) -> int:
        """The process that was started; for gunicorn, the master."""
        return self.process.pid

    @property
    def worker(self) -> int:
        """The first child, for gunicorn the worker; the process itself when it has none."""
        family = tree(self.pid)
        return family[1] if len(family) > 1 else self.pid

    def wait(self, seconds: float = 20.0) -> None:
        """Wait until the port accepts connections. Raises RuntimeError with the end of the log."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.005)
        raise RuntimeError(f"{self.name} did not start: {self.log.read_text(errors='replace')[-400:]}")


def free_port() -> int:
    """Return a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def tree(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    family = [pid]
    for each in family:
        family.extend(sorted(children.get(each, [])))
    return family


def cpu_seconds(pid: int) -> float:
    """Return the user and system time of a process tree; 0 for no process."""
    stats = [_stat(each) for each in tree(pid)] if pid else []
    return sum((int(fields[11]) + int(fields[12])) / _TICK for fields in stats if fields)


class Meter:
    """Measures the load of other programs during the run."""

    def __init__(self) -> None:
        self._began, self._busy, self._own = time.monotonic(), _busy_seconds(), sum(os.times()[:4])

    def cores_of_others(self) -> float:
        """Return the mean number of cores busy with neither this process nor its ended children."""
        own, busy = sum(os.times()[:4]) - self._own, _busy_seconds() - self._busy
        return max(0.0, (busy - own) / (time.monotonic() - self._began))


class Memory(NamedTuple):
    """The proportional set size of a process in MiB, and its number of threads."""

    mib: float
    threads: int


def memory(pid: int) -> Memory:
    """Return the memory of a process: private pages, and its part of shared ones."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)
    return Memory(int(found[1]) / 1024 if found else 0.0, int(_stat(pid)[17]))


def _busy_seconds() -> float:
    user, nice, system, _, _, irq, softirq, *_ = Path("/proc/stat").read_text().split(maxsplit=9)[1:9]
    return sum(map(int, (user, nice, system, irq, softirq))) / _TICK


def _stat(pid: int) -> list[str]:
    """Return the fields after the command's name; empty when the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
