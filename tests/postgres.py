"""A real PostgreSQL of a test run's own: in a temporary directory, on loopback, as a user that is not root."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from tests.waiting import wait_for

_numbers = count(1)


def missing() -> str:
    """Return why there can be no server here, "" if there can."""
    if _programs() is None:
        return "PostgreSQL is not installed (Debian: postgresql)"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    return ""


@cache
def _programs() -> Path | None:
    """Return the directory of initdb and postgres, the newest on this machine."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    on_path = shutil.which("initdb")
    best = max(found, key=lambda path: int(path.parent.name.partition(".")[0]), default=None)
    return best or (Path(on_path).resolve().parent if on_path else None)


def _user() -> dict[str, Any]:
    """Return the arguments of a process that must not be root's."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise RuntimeError("no user but root")


class Server:
    """A server; a context manager that runs it. `settings` go on top of PostgreSQL's defaults."""

    def __init__(self, **settings: str) -> None:
        programs = _programs()
        assert programs is not None
        self._programs = programs
        self._settings = settings
        self.directory = Path(tempfile.mkdtemp(prefix="sift-pg-"))
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    def __enter__(self) -> Server:
        user = _user()
        if user:
            os.chown(self.directory, user["user"], user["group"])
        command = [
            self._programs / "initdb",
            "-D",
            self.data,
            "-U",
            "owner",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-locale",
        ]
        subprocess.run([*map(str, command), "--no-sync"], check=True, capture_output=True, cwd="/", **user)
        self.start()
        with self.owner() as owner:
            owner.execute("CREATE ROLE sift LOGIN")
            owner.execute("CREATE DATABASE sift OWNER sift")
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def log(self) -> str:
        """What the server has logged."""
        return (self.directory / "log").read_text(errors="replace")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = {"listen_addresses": "127.0.0.1", "port": str(self.port), "unix_socket_directories": ""}
        options = [f"-c{name}={value}" for name, value in (settings | self._settings).items()]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._programs / "postgres"), "-D", str(self.data), *options],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd="/",
                **_user(),
            )
        wait_for(self._answers, 60)

    def url(self, user: str = "sift", database: str = "sift", **more: str) -> str:
        """Return a libpq URI."""
        query = "&".join(f"{name}={value}" for name, value in more.items())
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}" + (f"?{query}" if query else "")

    def room(self) -> str:
        """Return the URI of a place without tables."""
        name = f"room{next(_numbers)}"
        with self.owner("sift") as owner:
            owner.execute(f"CREATE SCHEMA {name} AUTHORIZATION sift")
        return self.url(options=f"-csearch_path%3D{name}")

    @contextmanager
    def owner(self, database: str = "postgres") -> Iterator[Any]:
        """Yield a superuser's connection."""
        import psycopg

        with psycopg.connect(self.url("owner", database), autocommit=True) as connection:
            yield connection

    def stop(self) -> None:
        """Let all its processes hang."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let them go on."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill all its processes."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None
            with suppress(FileNotFoundError):  # what a killed one leaves keeps nobody from starting another
                (self.data / "postmaster.pid").unlink()

    def _answers(self) -> bool:
        import psycopg

        assert self._process is not None
        assert self._process.poll() is None, self.log
        try:
            with self.owner():
                return True
        except psycopg.OperationalError:
            return False

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        main = self._process.pid
        # The first one first: it starts no others then.
        for pid in (main, *(child for child in _children(main))):
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def _children(parent: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if path.read_text().rpartition(")")[2].split()[1] == str(parent):
                yield int(path.parent.name)
