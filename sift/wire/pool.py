"""Idle connections to one host, kept for later calls."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable

from sift.wire.call import Call
from sift.wire.connection import Connection


class Pool:
    """Connections to one host, used by one call at a time; safe between threads.

    dial: opens a new connection. kept: the most idle ones to keep, 0 for none.
    """

    def __init__(self, dial: Callable[[Call], Connection], kept: int) -> None:
        self._dial = dial
        self._kept = kept
        self._idle: deque[Connection] = deque()
        self._lock = threading.Lock()
        weakref.finalize(self, _close_all, self._idle)

    def take(self, call: Call) -> Connection:
        """Return a connection for a call: the newest usable idle one, else, or for a fresh call, a new one.

        One that has something to read was closed by the host, or holds bytes that would pass for the next answer.
        Raises OSError and ValueError as `dial` does.
        """
        while not call.fresh and (connection := self._newest()) is not None:
            if connection.is_quiet():
                connection.call = call
                return connection
            connection.close()
        return self._dial(call)

    def put(self, connection: Connection) -> None:
        """Keep a connection for a later call, or close it when enough are kept."""
        with self._lock:
            if len(self._idle) < self._kept:
                self._idle.append(connection)
                return
        connection.close()

    def _newest(self) -> Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None


def _close_all(connections: deque[Connection]) -> None:
    while connections:
        connections.pop().close()
