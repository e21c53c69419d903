"""The head of an answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sift.wire.call import Call
from sift.wire.connection import BadReplyError, Connection
from sift.wire.head import Head, read_head
from tests.calls import later


@contextmanager
def answered(whole: bytes) -> Iterator[Connection]:
    """Return a connection over which these bytes came, and nothing after them."""
    near, far = socket.socketpair()
    with far:
        far.sendall(whole)
    connection = Connection(near, Call(later()))
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("whole", "head"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n", Head(200, {"a": "b"}, True)),
        (b"HTTP/1.1 404\n\n", Head(404, {}, True)),
        (b"HTTP/1.1 200 OK\r\nAccept:\tx \r\naccept:y\r\n\r\n", Head(200, {"accept": "x, y"}, True)),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n\te\r\nno colon\r\n\r\n", Head(200, {"a": "b"}, True)),
        (b"HTTP/1.1 200 OK\r\nA: \xe9\r\n\r\n", Head(200, {"a": "\u00e9"}, True)),
        (b"HTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", Head(200, {}, True)),
        (b"HTTP/1.1 200 OK\r\nConnection: Keep, Close\r\n\r\n", Head(200, {"connection": "Keep, Close"}, False)),
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
def test_head_is_whole_it_says_status_headers_and_whether_the_connection_stays(whole: bytes, head: Head) -> None:
    """contract: HTTP calls: read as tolerantly as servers are careless."""
    with answered(whole + b"body") as connection:
        assert read_head(connection) == head
        assert connection.call.answered
        assert connection.read1(9) == b"body"


@pytest.mark.parametrize(
    ("whole", "words", "is_answer"),
    [
        (b"", "no status line", False),
        (b"HTTP/1.1 2", "no status", False),
        (b"HTTP/1.1 200 OK\r\nA: b", "a head that is cut", True),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 101, "too many headers", True),
        (b"HTTP/2 200 OK\r\n\r\n", "an unknown version", True),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "no status line", True),
    ],
)
def test_head_is_broken_it_says_whether_a_status_line_came(whole: bytes, words: str, is_answer: bool) -> None:
    """contract: Failures: before the status line a vendor is `unreachable`, after it its answer is a `bad response`."""
    with answered(whole) as connection:
        with pytest.raises(BadReplyError, match=f"^{words}$"):
            read_head(connection)
        assert connection.call.answered is is_answer
