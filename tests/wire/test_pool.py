"""Connections that are kept between calls, and those that are not."""

from __future__ import annotations

import gc
import gzip
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, cast

import pytest

from sift.errors import SourceError
from sift.wire.call import Call
from sift.wire.connection import Connection
from sift.wire.pool import Pool
from tests.calls import counted, failure_of, later, outcome_of, send
from tests.vendors import Seen, Vendors, reply
from tests.wire.clients import GOOD, OK, endpoint, failure, get, keep, post
from tests.wire.tls import CERTIFICATE, TLSVendors


class Line:
    """Stand in for a connection. quiet: whether nothing came over it since its last answer."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.quiet = True
        self.closed = False

    def is_quiet(self) -> bool:
        return self.quiet

    def close(self) -> None:
        self.closed = True


def pool(kept: int = 2) -> Pool:
    """Return a pool of stand-ins."""
    return Pool(cast(Any, Line), kept)


def taken(kept: Pool, count: int) -> list[Any]:
    """Take connections, each for a call of its own."""
    return [kept.take(Call(later())) for _ in range(count)]


def put(kept: Pool, *lines: Any) -> None:
    """Put connections back, in this order."""
    for line in lines:
        kept.put(cast(Connection, line))


def test_take_several_are_kept_newest_is_used_for_this_call() -> None:
    """contract: HTTP calls: a busy connection stays warm and the others may go; its last call is forgotten."""
    kept, call = pool(), Call(later())
    first, second = taken(kept, 2)
    put(kept, first, second)
    assert kept.take(call) is second
    assert second.call is call
    assert kept.take(call) is first


def test_take_kept_ones_are_not_sound_they_are_closed_and_the_next_is_used() -> None:
    """contract: HTTP calls: one that the vendor has closed is replaced before a request is sent."""
    kept = pool(3)
    sound, closed, noisy = taken(kept, 3)
    closed.quiet = noisy.quiet = False
    put(kept, sound, closed, noisy)
    assert kept.take(Call(later())) is sound
    assert (sound.closed, closed.closed, noisy.closed) == (False, True, True)
    (new,) = taken(kept, 1)
    assert new not in (sound, closed, noisy)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_put_enough_are_kept_next_is_closed(count: int) -> None:
    """contract: HTTP calls: connections are kept alive, so many and no more."""
    kept = pool(count)
    lines = taken(kept, 3)
    put(kept, *lines)
    assert [line.closed for line in lines] == [False] * count + [True] * (3 - count)


def test_pool_is_gone_its_connections_are_closed() -> None:
    """contract: HTTP calls: no socket outlives the client it belongs to."""
    kept = pool()
    lines = taken(kept, 2)
    put(kept, *lines)
    del kept
    gc.collect()
    assert [line.closed for line in lines] == [True, True]


# Over the wire


def test_calls_one_after_another_share_a_connection(vendors: Vendors) -> None:
    """contract: HTTP calls: keep-alive, for GET, POST, compressed and chunked answers alike."""
    client, lines = endpoint(vendors.port), list[socket.socket]()
    packed = gzip.compress(json.dumps(GOOD).encode())
    for behaviour in (
        reply(GOOD),
        reply(packed, headers=[("Content-Encoding", "gzip")]),
        keep(OK + b"Transfer-Encoding: chunked\r\n\r\ne\r\n" + b'{"results":[]}' + b"\r\n0\r\n\r\n"),
        reply(GOOD),
    ):
        vendors.behaviour["tavily"] = counted(behaviour, lines)
        assert outcome_of(lambda: (get(client, later()), post(client, later()))) == (GOOD, GOOD)
    assert len(lines) == 8
    assert len(set(lines)) == 1


def test_32_threads_call_at_once_connections_are_kept_without_a_word(
    vendors: Vendors, caplog: pytest.LogCaptureFixture
) -> None:
    """contract: HTTP calls: the pool keeps a connection for each call, so none is thrown away and nothing is logged."""
    caplog.set_level("DEBUG")
    together, lines = threading.Barrier(32), list[socket.socket]()

    def behave(connection: socket.socket, seen: Seen) -> object:
        together.wait(20)
        return reply(GOOD)(connection, seen)

    vendors.behaviour["tavily"] = counted(behave, lines)
    client, outcomes = endpoint(vendors.port, connections=32), list[Any]()
    for _ in range(2):
        threads = [threading.Thread(target=lambda: outcomes.append(post(client, later()))) for _ in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert outcomes == [GOOD] * 64
    assert len(set(lines)) == 32
    assert caplog.records == []


def test_vendor_closed_idle_connection_next_call_works(vendors: Vendors) -> None:
    """contract: HTTP calls: a connection that the vendor closed between two calls is replaced by a new one."""
    client, lines = endpoint(vendors.port), list[socket.socket]()
    closed = threading.Event()

    def behave(connection: socket.socket, seen: Seen) -> bool:
        keep(OK + b"Content-Length: 2\r\n\r\n{}")(connection, seen)
        connection.shutdown(socket.SHUT_RDWR)
        closed.set()
        return False

    vendors.behaviour["tavily"] = counted(behave, lines)
    for _ in range(3):
        closed.clear()
        assert outcome_of(lambda: post(client, later())) == {}
        assert closed.wait(10)
    assert len(set(lines)) == 3


@pytest.mark.parametrize(
    "whole",
    [
        b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nKeep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\n{}",
        OK + b"Transfer-Encoding: CHUNKED\r\nContent-Length: 9\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2;name=value\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
        b"HTTP/1.1 103 Early\r\nConnection: close\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\n{}",
    ],
)
def test_vendor_leaves_the_connection_open_it_is_kept(vendors: Vendors, whole: bytes) -> None:
    """contract: HTTP calls: every framing that ends before the connection does leaves it to the next call."""
    client, lines = endpoint(vendors.port), list[socket.socket]()
    vendors.behaviour["tavily"] = counted(keep(whole), lines)
    assert outcome_of(lambda: [post(client, later()) for _ in range(2)]) == [{}, {}]
    assert len(lines) == 2
    assert len(set(lines)) == 1


@pytest.mark.parametrize(
    "whole",
    [
        OK + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_vendor_ends_with_this_answer_connection_is_not_kept(vendors: Vendors, whole: bytes) -> None:
    """contract: HTTP calls: an answer that closes, or was not read to its end, leaves no connection behind."""
    client, lines = endpoint(vendors.port), list[socket.socket]()
    vendors.behaviour["tavily"] = counted(keep(whole), lines)
    for _ in range(2):
        with suppress(SourceError):
            assert post(client, later()) == {}
    assert len(set(lines)) == 2


def test_vendor_ends_one_connection_next_call_uses_another_that_is_kept(vendors: Vendors) -> None:
    """contract: HTTP calls: a closed connection does not lie on top of those that are open."""
    client, lines, together = endpoint(vendors.port, connections=2), list[socket.socket](), threading.Barrier(2)

    def behave(connection: socket.socket, seen: Seen) -> object:
        together.wait(20)
        return reply(GOOD)(connection, seen)

    vendors.behaviour["tavily"] = counted(behave, lines)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: post(client, later()), "xx")) == [GOOD, GOOD]
    vendors.behaviour["tavily"] = counted(keep(OK + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}"), lines)
    assert post(client, later()) == {}
    vendors.behaviour["tavily"] = counted(reply(GOOD), lines)
    assert post(client, later()) == GOOD
    assert len(lines) == 4
    assert len(set(lines)) == 2


def test_vendor_drops_kept_connection_on_request_it_is_not_sent_again(vendors: Vendors) -> None:
    """contract: HTTP calls: a request that may have arrived is never repeated; it counts as sent."""
    client, lines = endpoint(vendors.port), list[socket.socket]()
    vendors.behaviour["tavily"] = counted(reply(GOOD), lines)
    assert outcome_of(lambda: post(client, later())) == GOOD
    vendors.behaviour["tavily"] = counted(send(), lines)
    error = failure_of(lambda: post(client, later()))
    assert (error.reason, error.sent, error.counts) == ("unreachable", True, True)
    assert len(lines) == 2
    assert lines[0] is lines[1]


def test_vendor_drops_new_connection_on_request_it_is_not_sent_again(vendors: Vendors) -> None:
    """contract: HTTP calls: one POST a call, whatever comes of it."""
    error = failure(vendors, send())
    assert (error.reason, error.sent) == ("unreachable", True)
    assert len(vendors.seen) == 1


def test_answer_is_longer_than_it_says_rest_is_no_answer_to_the_next_call(vendors: Vendors) -> None:
    """contract: HTTP calls: what is left of a broken answer never becomes the next call's answer."""
    client = endpoint(vendors.port)
    for size in (1, 100_000):
        rest = OK + b"Content-Length: 7\r\n\r\n" + b'"wrong"' * size
        for head in (
            b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}",
            b"HTTP/1.1 302 No\r\nContent-Length: 0\r\n\r\n",
            OK + b"Content-Encoding: br\r\nContent-Length: 2\r\n\r\n{}",
            OK + b"Content-Length: 1\r\n\r\n{",
        ):
            vendors.behaviour["tavily"] = keep(head + rest)
            failure_of(lambda: post(client, later()))
            vendors.behaviour["tavily"] = reply(GOOD)
            assert outcome_of(lambda: post(client, later())) == GOOD


def test_whole_answer_is_longer_than_it_says_rest_is_no_answer_to_the_next_call(vendors: Vendors) -> None:
    """contract: HTTP calls: what came together with a good answer neither; such a connection is closed at once."""
    client, lines = endpoint(vendors.port), list[socket.socket]()
    rest = OK + b"Content-Length: 7\r\n\r\n" + b'"wrong"'
    vendors.behaviour["tavily"] = counted(keep(OK + b"Content-Length: 2\r\n\r\n{}" + rest), lines)
    assert outcome_of(lambda: [post(client, later()) for _ in range(2)]) == [{}, {}]
    assert len(set(lines)) == 2


def test_tls_answer_is_longer_than_it_says_rest_is_no_answer_to_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """contract: HTTP calls: what OpenSSL holds decrypted of a broken answer never becomes the next call's answer."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    rest = OK + b"Content-Length: 7\r\n\r\n" + b'"wrong"'

    def behave(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(OK + b"Content-Length: 2\r\n\r\n")
        connection.sendall(b"{}" + rest)  # one record
        return True

    lines: list[socket.socket] = []
    with TLSVendors() as vendors:
        vendors.behaviour["tavily"] = counted(behave, lines)
        client = endpoint(vendors.port, scheme="https")
        assert outcome_of(lambda: [post(client, later()) for _ in range(2)]) == [{}, {}]
    assert len(set(lines)) == 2
