"""A running service seen from outside: its workers, threads, sockets and memory."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from tests.service import Service


def workers(service: Service) -> list[int]:
    """Return the process ids of gunicorn's workers."""
    assert service.process is not None
    pid = service.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def worker(service: Service) -> int:
    """Return the process id of the only worker."""
    (pid,) = workers(service)
    return pid


def threads(pid: int) -> int:
    """Return the number of threads of a process."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def sockets(pid: int) -> int:
    """Return the number of sockets a process has open."""
    count = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            count += str(entry.readlink()).startswith("socket:")
    return count


def memory(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def title(pid: int) -> bytes:
    """Return the command line and the name of a process, as `ps` shows them."""
    return Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/comm").read_bytes()


def is_alive(pid: int) -> bool:
    """Return whether a process is running."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
