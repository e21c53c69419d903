"""Network and mount namespaces without names: they end with the process that holds them, whatever becomes of a test."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tests.service import ROOT

NEEDED = ("ip", "unshare", "nsenter", "mount", "openssl")
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


class UnavailableError(Exception):
    """This machine does not let us make a namespace; the text says why."""


def program(name: str) -> str:
    """Return the path of a program, also of one that only the path of root has. Raises UnavailableError."""
    found = shutil.which(name, path=_PATH)
    if found is None:
        raise UnavailableError(f"the program {name} is missing")
    return found


def check() -> None:
    """Raise UnavailableError when it is plain that no namespace can be made here."""
    if sys.platform != "linux":
        raise UnavailableError("network namespaces need Linux")
    if os.geteuid() != 0:
        raise UnavailableError("network namespaces need root")
    for name in NEEDED:
        program(name)


class Namespace:
    """A network and a mount namespace, with a host name of its own, held by a child process that ends with this one."""

    def __init__(self) -> None:
        check()
        self._holder = subprocess.Popen(
            [program("unshare"), "--net", "--mount", "--uts", "cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
        )
        assert self._holder.stdin is not None
        assert self._holder.stdout is not None
        try:
            self._holder.stdin.write(b"there\n")
            self._holder.stdin.flush()
            is_there = self._holder.stdout.readline() == b"there\n"
        except OSError:
            is_there = False
        if not is_there:
            _, said = self._holder.communicate()
            raise UnavailableError(f"no namespace can be made: {said.decode(errors='replace').strip()}")

    @property
    def pid(self) -> int:
        """Return the process that holds it."""
        return self._holder.pid

    def command(self, command: Sequence[str]) -> list[str]:
        """Return a command that runs another one in here, in the directory of the project."""
        here = f"/proc/{self.pid}/ns"
        enter = [program("nsenter"), f"--net={here}/net", f"--mount={here}/mnt", f"--uts={here}/uts", "--"]
        return [*enter, "env", f"--chdir={ROOT}", *command]

    def popen(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a program in here."""
        return subprocess.Popen(self.command(command), **options)

    def run(
        self, *command: str, environ: Mapping[str, str] | None = None, timeout: float = 60, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in here to its end. Raises CalledProcessError when it fails."""
        done = subprocess.run(
            self.command(command), env=environ, capture_output=True, text=True, timeout=timeout, check=False
        )
        if check and done.returncode:
            raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
        return done

    def script(self, *lines: str) -> None:
        """Run lines of shell in here; the first that fails ends it."""
        self.run("sh", "-ec", "\n".join(lines), environ={"PATH": _PATH})

    def close(self) -> None:
        """Let go of it. It is gone when no program is left in it."""
        self._holder.communicate()
