"""A cheap HTTP client connection on asyncio, which sends prepared request bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import NamedTuple


class Target(NamedTuple):
    """What to send where, and what a correct answer contains.

    pid: of the service, to read its CPU time; 0 reads none.
    """

    name: str
    port: int
    requests: Iterator[bytes]
    expect: bytes = b""
    pid: int = 0


def post(path: str, body: dict[str, object], token: str = "", *, blanks: str = "") -> bytes:
    """Return a POST with a JSON body, followed by blanks."""
    data = (json.dumps(body) + blanks).encode()
    auth = f"Authorization: Bearer {token}\r\n" if token else ""
    head = f"POST {path} HTTP/1.1\r\nHost: bench\r\n{auth}Content-Type: application/json\r\n"
    return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


def get(path: str) -> bytes:
    """Return a GET."""
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n".encode()


def always(request: bytes) -> Iterator[bytes]:
    """Return an endless iterator of the same request."""
    return repeat(request)


class Client(asyncio.Protocol):
    """A connection with at most one request in flight.

    closed: it can no longer be used. stale: the server had closed it while idle, so the request must be sent again.
    """

    def __init__(self, target: Target, answered: Callable[[Client, bool], None]) -> None:
        self._target = target
        self._answered = answered
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._request = b""
        self.due = 0.0
        self.closed = self.stale = self._used = False

    def send(self, due: float) -> None:
        """Send the next request; latency is measured from `due`."""
        self.due, self._request = due, next(self._target.requests)
        if self._transport is None:
            connecting = asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", self._target.port)
            self._task = asyncio.ensure_future(connecting)
        else:
            self._transport.write(self._request)

    def close(self) -> None:
        """Close the connection."""
        self._request = b""
        if self._transport:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the request that waited for the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Receive part of an answer."""
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._received[:end]).lower()
        _, found, rest = head.partition(b"\r\ncontent-length:")
        if found and len(self._received) >= end + 4 + int(rest.split(b"\r\n", 1)[0]):
            self._finish(head)

    def connection_lost(self, error: Exception | None) -> None:
        """Report an answer that never came."""
        self.closed = True
        if self._request:
            self.stale = self._used and not self._received
            self._finish(b"")

    def _finish(self, head: bytes) -> None:
        good = head[9:12] == b"200" and self._target.expect in self._received
        self._received.clear()
        self._request = b""
        self._used = True
        if b"connection: close" in head or head.startswith(b"http/1.0"):
            self.closed = True
            self.close()
        self._answered(self, good)
