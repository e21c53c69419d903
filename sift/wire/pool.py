"""Idle connections to one host, kept for later calls."""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable

from sift.wire.call import Call
from sift.wire.connection import Connection

MAX_IDLE = 60.0
"""Seconds after which an idle connection is closed: firewalls forget it sooner or later, and tell nobody."""


class Pool:
    """Connections to one host, used by one call at a time; safe between threads.

    dial: opens a new connection. kept: the most idle ones to keep, 0 for none.
    """

    def __init__(
        self, dial: Callable[[Call], Connection], kept: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._dial = dial
        self._kept = kept
        self._clock = clock
        self._idle: deque[Connection] = deque()  # the longest idle one first
        self._lock = threading.Lock()
        weakref.finalize(self, _close_all, self._idle)

    def take(self, call: Call) -> Connection:
        """Return a connection for a call: the newest usable idle one, else or for a fresh call a new one.

        One that has something to read was closed by the host, or holds bytes that would pass for the next answer.
        Raises OSError and ValueError as `dial` does.
        """
        now = self._clock()
        while not call.fresh and (connection := self._newest()) is not None:
            if now - connection.idle_since < MAX_IDLE and connection.is_quiet():
                connection.call, call.reused_at = call, now
                return connection
            connection.close()
        return self._dial(call)

    def put(self, connection: Connection) -> None:
        """Keep a connection for a later call, or close it when enough are kept."""
        connection.idle_since = now = self._clock()
        excess = connection
        with self._lock:
            if len(self._idle) < self._kept:
                self._idle.append(connection)
                if now - self._idle[0].idle_since < MAX_IDLE:
                    return
                excess = self._idle.popleft()  # one at a time is enough: each call puts one
        excess.close()

    def close_idle(self, until: float) -> None:
        """Close the connections that have been idle since `until` or longer, in seconds of the clock."""
        with self._lock:
            kept = [connection for connection in self._idle if connection.idle_since > until]
            closed = [connection for connection in self._idle if connection.idle_since <= until]
            self._idle.clear()
            self._idle.extend(kept)
        for connection in closed:
            connection.close()

    def _newest(self) -> Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None


def _close_all(connections: deque[Connection]) -> None:
    while connections:
        connections.pop().close()
