"""A connection on which every wait ends at the deadline of the call that uses it.

The socket is non-blocking, with and without TLS: what can be done at once takes one system call, and all waiting
happens here, where the remaining time is known. A timeout per read would not bound an answer that arrives in drips.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Callable
from typing import Any, TypeVar

from sift.wire.call import Call

READ_SIZE = 65_536
"""Bytes requested per read: room for most answers in one read, and for any TLS record, so that OpenSSL keeps no
decrypted data back."""
MAX_LINE = 65_536

_T = TypeVar("_T")


class BadReplyError(ValueError):
    """An answer that is not readable as HTTP/1."""


class Connection:
    """A connected socket, the bytes received but not yet read, and the call that uses it.

    call: the current user; a connection outlives calls, so it is set anew for each.
    idle_since: when its last call ended, as the pool that keeps it says.
    """

    __slots__ = ("_at", "_readable", "_received", "_socket", "call", "idle_since")

    def __init__(self, connected: socket.socket, call: Call) -> None:
        connected.setblocking(False)
        self.call = call
        self.idle_since = 0.0
        self._socket = connected
        self._received, self._at = b"", 0
        self._readable = select.poll()
        self._readable.register(connected, select.POLLIN)

    def handshake(self) -> None:
        """Complete the TLS handshake, if the socket speaks TLS. Raises OSError, also for an untrusted certificate."""
        if isinstance(self._socket, ssl.SSLSocket):
            self._complete(select.POLLIN, self._socket.do_handshake)

    def send(self, data: bytes) -> None:
        """Send all of `data`. Raises OSError, ValueError."""
        while data:
            self.call.left()  # before anything has left: a call that was never sent costs no credit
            self.call.sent = True
            data = data[self._complete(select.POLLOUT, self._socket.send, data) :]

    def wait(self) -> None:
        """Wait until there is something to read, the end of the stream included. Raises TimeoutError, ValueError."""
        self._wait(select.POLLIN)

    def read_line(self) -> bytes:
        """Return the next line with its line end, or the rest if the stream ends first.

        Raises OSError, BadReplyError for a line longer than MAX_LINE, and ValueError for an answer in too many pieces.
        """
        while not (end := self._received.find(b"\n", self._at, self._at + MAX_LINE) + 1):
            if len(self._received) - self._at >= MAX_LINE:
                raise BadReplyError("a line that is too long")
            if not (more := self._receive()):
                end = len(self._received)
                break
            self._received, self._at = self._received[self._at :] + more, 0
        line, self._at = self._received[self._at : end], end
        return line

    def read1(self, size: int) -> bytes:
        """Return up to `size` bytes, waiting only if none have arrived; nothing at the end of the stream.

        Raises OSError, and ValueError for an answer in too many pieces.
        """
        if self._at == len(self._received):
            self._received, self._at = self._receive(), 0
        piece = self._received[self._at : self._at + size]
        self._at += len(piece)
        if self._at == len(self._received):  # an idle connection must not hold on to the memory of its last answer
            self._received, self._at = b"", 0
        return piece

    def has_unread(self) -> bool:
        """Return whether bytes were received that nobody has read."""
        return self._at < len(self._received)

    def is_quiet(self) -> bool:
        """Return whether the socket has nothing to read: neither unsolicited bytes nor the end of the stream."""
        return not self._readable.poll(0)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _receive(self) -> bytes:
        self.call.left()  # without a wait there would be no other check while bytes keep arriving
        return self._complete(select.POLLIN, self._socket.recv, READ_SIZE)

    def _complete(self, event: int, operation: Callable[..., _T], *arguments: Any) -> _T:
        """Repeat an operation after a wait while it would block; TLS may have to read to write, or write to read."""
        while True:
            try:
                return operation(*arguments)
            except BlockingIOError:
                self._wait(event)
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT)

    def _wait(self, event: int) -> None:
        poll = self._readable
        if event != select.POLLIN:
            poll = select.poll()
            poll.register(self._socket, event)
        while not poll.poll(min(left := self.call.left(), self.call.longest_wait) * 1000):
            if left <= self.call.longest_wait:
                raise TimeoutError("deadline")
