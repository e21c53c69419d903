"""One request and its answer: the three framings of a body."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from sift.wire.call import Call
from sift.wire.dial import dial
from sift.wire.exchange import Exchange
from sift.wire.pool import Pool
from sift.wire.resolver import Resolver
from tests.calls import hold, later, send
from tests.vendors import Vendors, reply
from tests.wire.clients import OK, answer, failure

CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
BROKEN = {
    "head": OK + b"Content-Le",
    "two lengths, the second right": OK + b"Content-Length: 3\r\nContent-Length: 2\r\n\r\n{}",
    "two lengths, the first right": OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "truncated body": OK + b'Content-Length: 99\r\n\r\n{"results":[]}',
    "no body": OK + b"Content-Length: 99\r\n\r\n",
    "length shorter than the body": OK + b'Content-Length: 5\r\n\r\n{"results":[]}',
    "truncated chunk": CHUNKED + b'20\r\n{"results":[]}',
    "no next chunk": CHUNKED + b'e\r\n{"results":[]}\r\n',
    "no chunk size": CHUNKED + b'zz\r\n{"results":[]}\r\n0\r\n\r\n',
    "negative chunk size": CHUNKED + b'-e\r\n{"results":[]}\r\n0\r\n\r\n',
    "no line end after a chunk": CHUNKED + b"2\r\n{}",
    "trailer that is too long": CHUNKED + b"2\r\n{}\r\n0\r\n" + b"x" * 70_000,
}


TWICE = OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
IDENTITY = OK + b"Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize("whole", [TWICE, TWICE.replace(b"ed\r\nTransfer-Encoding:", b"ed,"), IDENTITY])
def test_transfer_encoding_is_repeated_or_none_body_is_read_once(
    vendors: Vendors, release: threading.Event, whole: bytes
) -> None:
    """contract: HTTP calls: the answer ends where its framing says, although the connection stays open."""
    assert answer(vendors, hold(release, whole)) == {}


@pytest.mark.parametrize("value", [b"gzip, chunked", b"chunked, gzip", b"x"])
def test_transfer_encoding_is_unknown_bad_response_at_once(
    vendors: Vendors, release: threading.Event, value: bytes
) -> None:
    """contract: HTTP calls: an encoding that cannot be read is refused, and its end not waited for."""
    error = failure(vendors, hold(release, OK + b"Transfer-Encoding: " + value + b"\r\n\r\n2\r\n{}\r\n0\r\n\r\n"))
    assert (error.reason, error.counts) == ("bad response", False)


def test_no_status_line_arrives_unreachable(vendors: Vendors) -> None:
    """contract: HTTP calls: without a status line the vendor is `unreachable`, although the request was sent."""
    error = failure(vendors, send(b"SSH-2.0-server\r\n"))
    assert (error.reason, error.sent, error.counts) == ("unreachable", True, True)


@pytest.mark.parametrize("whole", BROKEN.values(), ids=BROKEN.keys())
def test_answer_breaks_after_the_status_line_bad_response(vendors: Vendors, whole: bytes) -> None:
    """contract: HTTP calls: a truncated or malformed answer is `bad response`, which the breaker does not count."""
    error = failure(vendors, send(whole))
    assert (error.reason, error.sent, error.counts) == ("bad response", True, False)


@pytest.mark.parametrize(
    "whole",
    [
        OK + b"\r\n{}",
        OK + b"Content-Length: nonsense\r\n\r\n{}",
        OK + b"Content-Length: -2\r\n\r\n{}",
        OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        CHUNKED + b"2\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b" 0002 ;name=value\r\n{}\r\n0;last\r\nTrailer: x\r\nOther: y\r\n\r\n",
        CHUNKED + b"1\n{\r\n1\n}\r\n0\n\n",
        CHUNKED + b"2\r\n{}\r\n0\r\n",
        CHUNKED.replace(b"chunked", b"Chunked\r\nContent-Length: 99") + b"2\r\n{}\r\n0\r\n\r\n",
    ],
)
def test_framing_is_careless_but_unambiguous_body_is_read(vendors: Vendors, whole: bytes) -> None:
    """contract: HTTP calls: what can be read in one way only is read."""
    assert answer(vendors, send(whole)) == {}


def test_reply_is_closed_twice_connection_is_kept_once(vendors: Vendors) -> None:
    """contract: HTTP calls: no two calls use a connection at the same time."""
    vendors.behaviour["tavily"] = reply({})
    pool, call = Pool(partial(dial, "127.0.0.1", vendors.port, resolver=Resolver()), 4), Call(later())
    with Exchange(pool, call).urlopen("GET", "/tavily/search", None, {"Host": "vendor.example"}) as got:
        assert (got.read1(), got.read1()) == (b"{}", b"")
        got.close()
    first, second = pool.take(call), pool.take(call)
    assert first is not second
    first.close()
    second.close()
