"""One request and its answer: the head, and the three framings of a body."""

from __future__ import annotations

from functools import partial

import pytest

from sift.wire.call import Call
from sift.wire.dial import dial
from sift.wire.exchange import Exchange
from sift.wire.pool import Pool
from sift.wire.resolver import Resolver
from tests.calls import later, send
from tests.vendors import Vendors, reply
from tests.wire.clients import OK, answer, failure


@pytest.mark.parametrize(
    "whole",
    [
        b"",
        b"\r\n\r\n",
        b"<html>no HTTP at all</html>",
        b"HTTP/1.1\r\n\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 99 Low\r\n\r\n",
        b"HTTP/1.1 +200 OK\r\n\r\n",
        b"HTTP/1.1 200" + b" " * 70_000,
        b"ICY 200 OK\r\n\r\n",
        b"SSH-2.0-server\r\n",
    ],
)
def test_no_status_line_comes_unreachable(vendors: Vendors, whole: bytes) -> None:
    """contract: HTTP calls: no status line came, so `unreachable`, and it was sent."""
    error = failure(vendors, send(whole))
    assert (error.reason, error.sent, error.counts) == ("unreachable", True, True)


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
BROKEN = {
    "cut in the headers": OK + b"Content-Le",
    "nothing after 100 Continue": b"HTTP/1.1 100 Continue\r\n\r\n",
    "another protocol": OK.replace(b"HTTP/1.1", b"HTTP/2") + b'Content-Length: 14\r\n\r\n{"results":[]}',
    "over-long header": OK + b"X-Long: " + b"x" * 70_000,
    "a thousand headers": OK + b"X-Many: x\r\n" * 1000 + b"\r\n{}",
    "two lengths, the second right": OK + b"Content-Length: 3\r\nContent-Length: 2\r\n\r\n{}",
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "cut in the body": OK + b'Content-Length: 99\r\n\r\n{"results":[]}',
    "cut before the body": OK + b"Content-Length: 99\r\n\r\n",
    "shorter length than body": OK + b'Content-Length: 5\r\n\r\n{"results":[]}',
    "cut in a chunk": OK + b'Transfer-Encoding: chunked\r\n\r\n20\r\n{"results":[]}',
    "cut between chunks": OK + b'Transfer-Encoding: chunked\r\n\r\ne\r\n{"results":[]}\r\n',
    "bad chunk size": OK + b'Transfer-Encoding: chunked\r\n\r\nzz\r\n{"results":[]}\r\n0\r\n\r\n',
    "negative chunk size": OK + b'Transfer-Encoding: chunked\r\n\r\n-e\r\n{"results":[]}\r\n0\r\n\r\n',
    "no line end after a chunk": CHUNKED + b"2\r\n{}",
    "no last chunk": CHUNKED + b"2\r\n{}\r\n",
    "a trailer that is no line": CHUNKED + b"2\r\n{}\r\n0\r\n" + b"x" * 70_000,
}


@pytest.mark.parametrize("whole", BROKEN.values(), ids=BROKEN.keys())
def test_framing_breaks_after_the_status_bad_response(vendors: Vendors, whole: bytes) -> None:
    """contract: HTTP calls: a cut or broken answer is `bad response`, which the breaker does not count."""
    error = failure(vendors, send(whole))
    assert (error.reason, error.sent, error.counts) == ("bad response", True, False)


@pytest.mark.parametrize(
    "whole",
    [
        OK + b"\r\n{}",
        b"HTTP/1.0 200 OK\r\n\r\n{}",
        b"HTTP/1.1 200\r\n\r\n{}",
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"\r\n{}",
        b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + OK + b"\r\n{}",
        OK + b"Content-Length: nonsense\r\n\r\n{}",
        OK + b"Content-Length: -2\r\n\r\n{}",
        OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        OK + b"content-length:2\r\n\r\n{}",
        OK + b"X-Folded: one\r\n Content-Length: 9\r\nno colon\r\nContent-Length: 2\r\n\r\n{}",
        OK.replace(b"\r\n", b"\n") + b"Content-Length: 2\n\n{}",
        OK + b"X-Many: x\r\n" * 100 + b"\r\n{}",
        OK + b"X-Name: \xff\xfe\r\n\r\n{}",
        CHUNKED + b"2\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b" 0002 ;name=value\r\n{}\r\n0;last\r\nTrailer: x\r\nOther: y\r\n\r\n",
        CHUNKED + b"1\n{\r\n1\n}\r\n0\n\n",
        CHUNKED + b"2\r\n{}\r\n0\r\n",
        CHUNKED.replace(b"chunked", b"Chunked\r\nContent-Length: 99") + b"2\r\n{}\r\n0\r\n\r\n",
    ],
)
def test_framing_is_odd_but_readable_it_is_read(vendors: Vendors, whole: bytes) -> None:
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
