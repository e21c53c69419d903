"""Writing lines to a file descriptor without ever waiting long for whoever reads it."""

from __future__ import annotations

import os
import select
import socket
import stat
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial

PATIENCE = 0.2
"""Seconds to wait for a reader that does not keep up, before lines are dropped."""


class Lines:
    """Lines written whole, or dropped and counted while they cannot be written. Thread-safe.

    write: writes bytes and returns how many; raises BlockingIOError instead of waiting, OSError otherwise.
    wait: waits for a bounded time until more can be written. report: the line that says how many were dropped.
    """

    def __init__(
        self, write: Callable[[bytes], int], wait: Callable[[], object], report: Callable[[int], bytes]
    ) -> None:
        self._write = write
        self._wait = wait
        self._report = report
        self._lock = threading.Lock()
        self._dropped = 0
        self.dropped: Callable[[], None] = lambda: None
        """Called for each line that is dropped; it must return at once."""

    def __call__(self, line: bytes) -> bool:
        """Write a line; return whether it was written. Only the first line that cannot be written waits."""
        if not self._dropped and self._put(line, self._wait):
            return True
        with self._lock:
            if self._dropped and self._put(self._report(self._dropped)):
                self._dropped = 0
                if self._put(line):
                    return True
            self._dropped += 1
            self.dropped()
            return False

    def _put(self, line: bytes, wait: Callable[[], object] | None = None) -> bool:
        """Write a line in one call, so that lines of threads and processes never interleave."""
        with suppress(OSError):
            try:
                done = self._write(line)
            except BlockingIOError:
                if wait is None:
                    return False
                wait()
                done = self._write(line)
            if done < len(line):  # a long line and little room; the rest must follow, or the next line is spoilt too
                self._wait()
                done += self._write(line[done:])
            return done == len(line)
        return False


def lines_to(descriptor: int, report: Callable[[int], bytes], patience: float = PATIENCE) -> Lines:
    """Return the lines of a file descriptor, whose own mode stays as it is: other processes share it."""
    return Lines(_writer(descriptor), partial(_is_ready, descriptor, patience), report)


def _is_ready(descriptor: int, seconds: float = 0) -> bool:
    """Wait until something can be written, or writing would fail at once; return whether it is so."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(seconds * 1000))


def _writer(descriptor: int) -> Callable[[bytes], int]:
    """Return a way to write that does not block, in one system call where the system has one."""
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISSOCK(mode):  # systemd's journal
            return _sender(socket.socket(fileno=os.dup(descriptor)))
        if stat.S_ISFIFO(mode):
            path = f"/proc/self/fd/{descriptor}"
            return partial(os.write, os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        if stat.S_ISREG(mode):  # it has no reader to wait for
            return partial(os.write, descriptor)
    except OSError:  # closed, or a pipe that belongs to another user
        pass

    def write_when_ready(data: bytes) -> int:
        if not _is_ready(descriptor):
            raise BlockingIOError
        return os.write(descriptor, data)

    return write_when_ready


def _sender(connection: socket.socket) -> Callable[[bytes], int]:
    def send(data: bytes) -> int:
        return connection.send(data, socket.MSG_DONTWAIT)

    weakref.finalize(send, connection.close)
    return send
