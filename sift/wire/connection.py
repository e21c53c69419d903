"""A connection whose every wait ends at the deadline of the call that uses it.

Its socket never blocks, under TLS neither: what can be done at once is one system call, and all waiting is done here,
where the time that is left is known. A timeout for each read would be no bound when bytes drip.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Callable
from typing import Any, TypeVar

from sift.wire.call import Call

READ_SIZE = 65_536
"""Bytes asked of a socket at a time: room for a whole answer, so that it takes one read, and for any TLS record, so
that OpenSSL keeps nothing back that it has decrypted."""
MAX_LINE = 65_536

_T = TypeVar("_T")


class BadReplyError(ValueError):
    """An answer that is no HTTP/1 that can be read."""


class Connection:
    """A connected socket, what came over it and was not read yet, and the call that uses it.

    call: the one that uses it now; a connection outlives calls, so each sets itself before it begins.
    """

    __slots__ = ("_at", "_readable", "_received", "_socket", "call")

    def __init__(self, connected: socket.socket, call: Call) -> None:
        connected.setblocking(False)
        self.call = call
        self._socket = connected
        self._received, self._at = b"", 0
        self._readable = select.poll()
        self._readable.register(connected, select.POLLIN)

    def handshake(self) -> None:
        """Agree on TLS where the socket speaks it. Raises OSError, for a certificate that is not trusted too."""
        if isinstance(self._socket, ssl.SSLSocket):
            self._complete(select.POLLIN, self._socket.do_handshake)

    def send(self, data: bytes) -> None:
        """Send all of `data`. Raises OSError."""
        while data:
            self.call.left()  # before anything has left: what was never sent at the deadline is not paid for
            self.call.sent = True
            data = data[self._complete(select.POLLOUT, self._socket.send, data) :]

    def wait(self) -> None:
        """Wait until something has come, the end of the stream included. Raises TimeoutError."""
        self._wait(select.POLLIN)

    def read_line(self) -> bytes:
        """Return the next line with its end, or what is left when the stream ends before.

        Raises OSError, and BadReplyError for a line longer than MAX_LINE.
        """
        while not (end := self._received.find(b"\n", self._at, self._at + MAX_LINE) + 1):
            if len(self._received) - self._at >= MAX_LINE:
                raise BadReplyError("a line without an end")
            if not (more := self._receive()):
                end = len(self._received)
                break
            self._received, self._at = self._received[self._at :] + more, 0
        line, self._at = self._received[self._at : end], end
        return line

    def read1(self, size: int) -> bytes:
        """Return what has come, `size` bytes at most, after a wait if need be; nothing at the end of the stream.

        Raises OSError.
        """
        if self._at == len(self._received):
            self._received, self._at = self._receive(), 0
        piece = self._received[self._at : self._at + size]
        self._at += len(piece)
        if self._at == len(self._received):  # a connection that is kept holds no answer on to memory
            self._received, self._at = b"", 0
        return piece

    def has_unread(self) -> bool:
        """Return whether more was received than was read."""
        return self._at < len(self._received)

    def is_quiet(self) -> bool:
        """Return whether nothing waits in the socket: neither bytes that nobody asked for nor the end of the stream."""
        return not self._readable.poll(0)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _receive(self) -> bytes:
        self.call.left()  # bytes that keep coming end with the deadline too
        return self._complete(select.POLLIN, self._socket.recv, READ_SIZE)

    def _complete(self, event: int, operation: Callable[..., _T], *arguments: Any) -> _T:
        """Repeat what would block, each time after a wait; TLS may have to read in order to write, and the reverse."""
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
        if not poll.poll(self.call.left() * 1000):
            raise TimeoutError("deadline")
