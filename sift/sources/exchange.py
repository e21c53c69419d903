"""One request and its answer on a kept connection: what of urllib3 and http.client a call needs, and no more.

Connections, TLS and the framing of bodies are theirs. The request is one write, and the head of the answer is read
here: with urllib3, http.client and the email package a call took 420 µs of CPU where it takes 230 µs now.
"""

from __future__ import annotations

import select
import socket
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import IO, Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NewConnectionError

from sift.sources.deadline import call, connect, tls_context, wait

MAX_LINE = 65_536
MAX_HEADERS = 100
_INTERIM = (100, 102, 103)  # a front may send early hints to anybody


def make_pool(scheme: str, host: str, port: int | None, connections: int) -> HTTPConnectionPool:
    """Make the pool of one vendor's connections, of which it keeps `connections`."""
    if scheme == "https":
        return _TLSPool(host, port, maxsize=connections, ssl_context=tls_context())
    return _Pool(host, port, maxsize=connections)


class Reply(HTTPResponse):
    """Read one answer. Its length, chunks and end are http.client's affair, its head is not."""

    headers: dict[str, str]  # type: ignore[assignment]  # by name in lower case

    def __init__(self, connection: HTTPConnection, pool: HTTPConnectionPool) -> None:
        super().__init__(connection.sock)
        self._connection = connection
        self._pool = pool
        self._whole = False

    def begin(self) -> None:
        """Read status and headers. Raises HTTPException."""
        version, status, _ = self._read_status()  # type: ignore[attr-defined]
        # Before the status line a vendor is unreachable, after it its answer is bad.
        call.answered = True
        while status in _INTERIM:
            _read_headers(self.fp)
            version, status, _ = self._read_status()  # type: ignore[attr-defined]
        if not version.startswith("HTTP/1."):
            raise HTTPException("an unknown version")
        self.status, self.version = status, 10 if version == "HTTP/1.0" else 11
        self.headers = _read_headers(self.fp)
        self.chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        self.chunk_left = None
        self.length = None if self.chunked else _length(self.headers.get("content-length", ""))
        closes: bool = self._check_close()  # type: ignore[attr-defined]
        self.will_close = closes or not (self.chunked or self.length is not None)

    def read1(self, n: int = -1, decode_content: bool = False) -> bytes:
        """Read what has come of the body, `n` bytes at most, encoded as it is. Raises HTTPException when it is cut.

        `decode_content` is there because urllib3's answers have it, and `responses` puts one in this one's place.
        """
        piece = super().read1(n)
        if not piece:
            if self.length:
                raise IncompleteRead(b"", self.length)
            self._whole = True
        return piece

    def close(self) -> None:
        """Keep the connection for the next call when the answer was read to its end and nothing is left over."""
        if self.closed:
            return
        super().close()
        # What TLS has decrypted is not seen by looking at the socket, as the pool does before it gives one out.
        left_over = getattr(self._connection.sock, "pending", int)()
        if self.will_close or not self._whole or left_over:
            self._connection.close()
        else:
            self._pool._put_conn(self._connection)


def _read_headers(lines: IO[bytes]) -> dict[str, str]:
    """Read headers up to the empty line; a repeated one has all its values. Raises HTTPException."""
    headers: dict[str, str] = {}
    for _ in range(MAX_HEADERS + 1):
        line = lines.readline(MAX_LINE)
        if line in (b"\r\n", b"\n"):
            return headers
        if not line.endswith(b"\n"):
            raise HTTPException("a head that is cut, or a line without end")
        name, colon, value = line.decode("latin-1").partition(":")
        if colon and not name[:1].isspace():  # a line that begins with a blank goes on with the one before: no use here
            name, value = name.lower(), value.strip()
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
    raise HTTPException("too many headers")


def _length(text: str) -> int | None:
    """Read a Content-Length; None when it is no number. Raises HTTPException when there are two."""
    lengths = {length.strip() for length in text.split(",")}
    if len(lengths) > 1:
        raise HTTPException("two lengths")
    length = lengths.pop()
    return int(length) if length.isascii() and length.isdigit() else None


class _Connecting:
    """Connect a deadline socket."""

    host: str
    port: int

    def _new_conn(self) -> socket.socket:
        try:
            return connect(self.host, self.port)
        except OSError as error:
            raise NewConnectionError(self, "no connection") from error  # type: ignore[arg-type]


class _Connection(_Connecting, HTTPConnection):
    def _new_conn(self) -> socket.socket:
        connection = super()._new_conn()
        connection.setblocking(False)
        return connection


class _TLSConnection(_Connecting, HTTPSConnection):
    pass


class _SendingOnce:
    """Send a request, and leave the body of the answer unread; urllib3's own urlopen retries and redirects besides."""

    def urlopen(self: Any, method: str, url: str, body: bytes | None = None, headers: Any = None, **_: Any) -> Reply:
        # One write, so one wait for the interpreter less; all of it was quoted here or checked at start.
        lines = [f"{method} {url} HTTP/1.1", *[f"{name}: {value}" for name, value in headers.items()], "\r\n"]
        request = "\r\n".join(lines).encode("ascii") + (body or b"")
        connection = self._get_conn()  # looks whether the vendor has closed a kept one (B112)
        try:
            connection.send(request)
            wait(connection.sock, select.POLLIN)  # before there is a buffer: many wait at a time, few read
        except BaseException:
            connection.close()
            raise
        reply = Reply(connection, self)
        try:
            reply.begin()
        except BaseException:
            reply.close()
            raise
        return reply


class _Pool(_SendingOnce, HTTPConnectionPool):  # type: ignore[misc]
    ConnectionCls = _Connection


class _TLSPool(_SendingOnce, HTTPSConnectionPool):  # type: ignore[misc]
    ConnectionCls = _TLSConnection
