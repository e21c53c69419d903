"""How a test tells the servers of a namespace what to do: over a Unix socket, which no network namespace stops."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Commands = Mapping[str, Callable[..., Any]]


def serve(path: Path, commands: Commands) -> None:
    """Carry out commands that come to a socket, from now on, in threads."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(16)
    threading.Thread(target=_accept, args=(listener, commands), daemon=True).start()


def _accept(listener: socket.socket, commands: Commands) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_carry_out, args=(connection, commands), daemon=True).start()


def _carry_out(connection: socket.socket, commands: Commands) -> None:
    with connection, connection.makefile("rw", encoding="utf-8") as lines:
        name, arguments = json.loads(lines.readline())
        lines.write(json.dumps(commands[name](*arguments)) + "\n")


class Remote:
    """The other end: the servers of one namespace, as a test sees them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def call(self, name: str, *arguments: Any) -> Any:
        """Have a command carried out, and return what it returned."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            connection.connect(str(self._path))
            with connection.makefile("rw", encoding="utf-8") as lines:
                lines.write(json.dumps([name, arguments]) + "\n")
                lines.flush()
                return json.loads(lines.readline())
