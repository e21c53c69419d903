"""A program on a pseudo-terminal, as a person sees it."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import termios
from collections.abc import Callable, Sequence


class Terminal:
    """A running program; `shown` grows as it prints."""

    def __init__(self, command: Sequence[str], environ: dict[str, str], columns: int, rows: int) -> None:
        self.shown = ""
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (rows, columns))
        self.process = subprocess.Popen(command, env=environ, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)

    def read(self, until: str = "") -> str:
        """Return what has been shown, up to the end of the program or until a text has appeared."""
        while not until or until not in self.shown:
            assert select.select([self._master], [], [], 30)[0], self.shown
            try:
                chunk = os.read(self._master, 65536)
            except OSError:  # the program is gone
                chunk = b""
            if not chunk:
                break
            self.shown += chunk.decode().replace("\r\n", "\n")
        return self.shown

    def write(self, text: str) -> None:
        """Type a text."""
        os.write(self._master, text.encode())

    def close(self) -> int:
        """Wait for the end of the program and return its exit code."""
        self.read()
        return self.process.wait(30)

    def kill(self) -> None:
        """End the program, if it has not ended, and close its terminal."""
        self.process.kill()
        self.process.wait(30)
        os.close(self._master)


Open = Callable[..., Terminal]
