"""Parsing the head of an answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sift.wire.call import Call
from sift.wire.connection import MAX_LINE, BadReplyError, Connection
from sift.wire.head import MAX_HEADERS, MAX_INTERIM, Head, read_head
from tests.calls import later


@contextmanager
def received(whole: bytes) -> Iterator[Connection]:
    """Yield a connection that receives these bytes, and then the end of the stream."""
    near, far = socket.socketpair()
    far.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * len(whole))
    with far:
        far.sendall(whole)
    connection = Connection(near, Call(later()))
    try:
        yield connection
    finally:
        connection.close()


OK = b"HTTP/1.1 200 OK\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@pytest.mark.parametrize(
    ("whole", "head"),
    [
        (OK + b"A: b\r\n\r\n", Head(200, {"a": "b"}, True)),
        (b"HTTP/1.1 404\n\n", Head(404, {}, True)),
        (OK + b"Accept:\tx \r\naccept:y\r\n\r\n", Head(200, {"accept": "x, y"}, True)),
        (OK + b"A: b\r\n c: d\r\n\te\r\nno colon\r\n\r\n", Head(200, {"a": "b"}, True)),
        (OK + b"A: \xe9\r\n\r\n", Head(200, {"a": "\u00e9"}, True)),
        (OK + b"A: b\r\n" * MAX_HEADERS + b"\r\n", Head(200, {"a": ", ".join("b" * MAX_HEADERS)}, True)),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"\r\n", Head(200, {}, True)),
        (
            b"HTTP/1.1 102 Wait\r\n\r\nHTTP/1.1 103 Hints\r\nConnection: close\r\n\r\n" + OK + b"\r\n",
            Head(200, {}, True),
        ),
        (b"HTTP/1.1 104 New\r\n\r\nHTTP/1.1 199 Newer\r\n\r\n" + OK + b"\r\n", Head(200, {}, True)),
        (CONTINUE * MAX_INTERIM + OK + b"\r\n", Head(200, {}, True)),
        (b"HTTP/1.1 101 Switching\r\n\r\n", Head(101, {}, True)),
        (OK + b"Connection: Keep, Close\r\n\r\n", Head(200, {"connection": "Keep, Close"}, False)),
        (b"HTTP/1.9 200 OK\r\n\r\n", Head(200, {}, True)),
        (b"HTTP/1.0 200 OK\r\n\r\n", Head(200, {}, False)),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n", Head(200, {"connection": "Keep-Alive"}, True)),
        (b"HTTP/1.0 200 OK\r\nKeep-Alive: max=9\r\n\r\n", Head(200, {"keep-alive": "max=9"}, True)),
        (
            b"HTTP/1.0 200 OK\r\nProxy-Connection: keep-alive\r\n\r\n",
            Head(200, {"proxy-connection": "keep-alive"}, True),
        ),
    ],
)
def test_head_is_complete_status_headers_and_persistence_are_read(whole: bytes, head: Head) -> None:
    """contract: HTTP calls: lenient where servers are careless; interim answers are skipped."""
    with received(whole + b"body") as connection:
        assert read_head(connection) == head
        assert connection.call.answered
        assert connection.read1(9) == b"body"


@pytest.mark.parametrize(
    ("whole", "words", "is_answered"),
    [
        (b"", "no status line", False),
        (b"HTTP/1.1\r\n\r\n", "no status line", False),
        (b"ICY 200 OK\r\n\r\n", "no status line", False),
        (b"HTTP/1.1 2", "no status", False),
        (b"HTTP/1.1 99 Low\r\n\r\n", "no status", False),
        (b"HTTP/1.1 +200 OK\r\n\r\n", "no status", False),
        (b"HTTP/1.1 \xb2\xb2\xb2 OK\r\n\r\n", "no status", False),
        (b"HTTP/1.1 200" + b" " * MAX_LINE, "a line that is too long", False),
        (OK + b"A: b", "a truncated head", True),
        (OK + b"A: b\r\n" * (MAX_HEADERS + 1), "too many headers", True),
        (OK + b"A: " + b"b" * MAX_LINE, "a line that is too long", True),
        (OK + (b"A: " + b"b" * (MAX_LINE - 9) + b"\r\n") * 3, "a header that is too long", True),
        (CONTINUE * (MAX_INTERIM + 1) + OK + b"\r\n", "too many interim answers", True),
        (b"HTTP/2 200 OK\r\n\r\n", "an unknown HTTP version", True),
        (CONTINUE, "no status line", True),
    ],
)
def test_head_is_malformed_error_and_whether_a_status_line_arrived(whole: bytes, words: str, is_answered: bool) -> None:
    """contract: Failures: what fails before the status line is `unreachable`, what fails after it `bad response`."""
    with received(whole) as connection:
        with pytest.raises(BadReplyError, match=f"^{words}$"):
            read_head(connection)
        assert connection.call.answered is is_answered
