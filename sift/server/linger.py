"""Closing connections without cutting off the last answer, and without keeping anybody else waiting."""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

SECONDS = 2.0
"""How long a peer may take to close its side."""
MOST_BYTES = 65_536
"""How much it may still send meanwhile."""


class Lingering:
    """Connections that have been answered and whose peers have yet to close, all handled by one thread.

    Closing a connection that holds unread bytes resets it, and a reset can overtake the answer (RFC 9112, section 9.6).
    So only the sending side is closed at first. The rest follows when the peer closes its side, sends too much or takes
    too long. When more than `most` linger, the oldest are closed. Use it from one thread.
    """

    def __init__(self, seconds: float = SECONDS, most: int = 64, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._new: deque[socket.socket] = deque()
        self._open: dict[socket.socket, _Bounds] = {}  # oldest first
        self._thread: threading.Thread | None = None
        self._ending = False
        self._woken, self._wake = os.pipe()
        for end in (self._woken, self._wake):
            os.set_blocking(end, False)

    def close(self, connection: socket.socket) -> None:
        """Close a connection, in the thread unless its peer has closed already. Never blocks and never raises."""
        try:
            connection.shutdown(socket.SHUT_WR)
            connection.setblocking(False)
            if _read(connection) == 0:
                connection.close()
                return
            self._start()
        except (OSError, RuntimeError):  # the peer is gone, or no thread can be started
            with suppress(OSError):
                connection.close()
            return
        self._new.append(connection)
        self._wake_up()

    def finish(self) -> None:
        """Wait until every connection is closed; at most as long as one may linger."""
        self._ending = True
        self._wake_up()
        if self._thread is not None:
            self._thread.join(self._seconds + 1)

    def _start(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="sift-lingering", daemon=True)
            thread.start()
            self._thread = thread

    def _wake_up(self) -> None:
        with suppress(BlockingIOError):  # enough wake-ups are pending
            os.write(self._wake, b"\0")

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._woken, selectors.EVENT_READ)
            while self._open or self._new or not self._ending:
                for key, _ in selector.select(self._wait()):
                    self._ready(key.fileobj, selector)
                self._expire(selector)

    def _wait(self) -> float | None:
        for bounds in self._open.values():
            return max(0.0, bounds.until - self._clock())
        return None

    def _ready(self, what: object, selector: selectors.BaseSelector) -> None:
        """Take the new connections, or what a peer sent."""
        if isinstance(what, socket.socket):
            bounds = self._open[what]
            if (count := _read(what)) is not None:
                bounds.bytes_left = bounds.bytes_left - count if count else 0
            if bounds.bytes_left <= 0:
                self._drop(what, selector)
            return
        os.read(self._woken, 4096)
        while self._new:
            connection = self._new.popleft()
            self._open[connection] = _Bounds(self._clock() + self._seconds)
            selector.register(connection, selectors.EVENT_READ)

    def _expire(self, selector: selectors.BaseSelector) -> None:
        now = self._clock()
        for connection, bounds in list(self._open.items()):
            if bounds.until > now and len(self._open) <= self._most:
                break
            self._drop(connection, selector)

    def _drop(self, connection: socket.socket, selector: selectors.BaseSelector) -> None:
        del self._open[connection]
        selector.unregister(connection)
        with suppress(OSError):
            connection.close()


class _Bounds:
    """What is left to a lingering connection; until: monotonic seconds."""

    __slots__ = ("bytes_left", "until")

    def __init__(self, until: float) -> None:
        self.until = until
        self.bytes_left = MOST_BYTES


def _read(connection: socket.socket) -> int | None:
    """Read and forget what is there: return the number of bytes, 0 at the peer's end, None when nothing is there."""
    try:
        return len(connection.recv(8192))
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:
        return 0
