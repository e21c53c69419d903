"""A few connections for the threads of a process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """A connection, as far as a pool knows it."""

    def close(self) -> None: ...

    def is_quiet(self) -> bool:
        """Return whether it can be used, as far as is known without asking the server."""


C = TypeVar("C", bound=Closable)


class Pool(Generic[C]):
    """Lend up to `size` connections, opened as they are needed and never used across a fork.

    Each is opened by a thread of its own, as nothing else bounds the wait for a name server. What comes too late for
    whoever wanted it serves the next one.
    """

    def __init__(self, connect: Callable[[], C], size: int = 8, clock: Callable[[], float] = time.monotonic) -> None:
        self._connect = connect
        self._size = size
        self._clock = clock
        self._abandoned: list[C] = []
        self._idle: list[C] = []
        self._begin()

    def take(self, deadline: float) -> C:
        """Return a connection that is the caller's until it is given back or dropped.

        Raises TimeoutError at the deadline, ConnectionError when none can be opened, or what `connect` raised.
        """
        if self._pid != os.getpid():
            self._abandoned += self._idle  # closing them would end the parent's sessions
            self._begin()
        with self._changed:
            failures = self._failures
            self._waiting += 1
            try:
                while True:
                    while self._idle:
                        connection = self._idle.pop()
                        if connection.is_quiet():
                            return connection
                        self._drop(connection)
                    if self._failures != failures:
                        raise self._error
                    self._open_one()
                    if not self._changed.wait(max(0.0, deadline - self._clock())) and self._clock() >= deadline:
                        raise TimeoutError
            finally:
                self._waiting -= 1

    def give(self, connection: C) -> None:
        """Take a connection back that can be used again."""
        with self._changed:
            if self._is_closed:
                self._drop(connection)
            else:
                self._idle.append(connection)
                self._changed.notify()

    def drop(self, connection: C) -> None:
        """Close a connection that is of no use any more."""
        with self._changed:
            self._drop(connection)
            self._changed.notify()

    def close(self) -> None:
        """Close all that are not in use, and the others when they are given back."""
        if self._pid == os.getpid():
            with self._changed:
                self._is_closed = True
                while self._idle:
                    self._drop(self._idle.pop())

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._idle = []
        self._count = 0  # those that are open or being opened
        self._opening = 0
        self._waiting = 0
        self._failures = 0
        self._error: Exception = ConnectionError()
        self._is_closed = False

    def _drop(self, connection: C) -> None:
        self._count -= 1
        connection.close()

    def _open_one(self) -> None:
        """Begin to open a connection if there may be another, and one of those who wait has none to come."""
        if self._count >= self._size or self._opening >= self._waiting:
            return
        self._count += 1
        self._opening += 1
        try:
            threading.Thread(target=self._open, name="sift-store", daemon=True).start()
        except RuntimeError:  # the host lets us start no more threads
            self._failed(ConnectionError())

    def _open(self) -> None:
        try:
            connection = self._connect()
        except Exception as error:
            with self._changed:
                self._failed(error)
            return
        with self._changed:
            self._opening -= 1
            if self._is_closed:
                self._drop(connection)
            else:
                self._idle.append(connection)
                self._changed.notify()

    def _failed(self, error: Exception) -> None:
        self._opening -= 1
        self._count -= 1
        self._failures += 1
        self._error = error
        self._changed.notify_all()
