"""Which connections are kept between calls, and which are not."""

from __future__ import annotations

import gc
import gzip
import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, cast

import pytest

from sift.errors import SourceError
from sift.wire.call import Call
from sift.wire.connection import Connection
from sift.wire.endpoint import Endpoint
from sift.wire.pool import MAX_IDLE, Pool
from tests.calls import failure_of, hold, later, outcome_of, recorded, send
from tests.fakes import FakeClock
from tests.vendors import Behaviour, Seen, Vendors, reply
from tests.wire.clients import GOOD, OK, endpoint, failure, get, keep, post
from tests.wire.tls import CERTIFICATE, TLSVendors


class FakeConnection:
    """A connection without a socket. quiet: whether it has nothing to read."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.quiet = True
        self.closed = False

    def is_quiet(self) -> bool:
        return self.quiet

    def close(self) -> None:
        self.closed = True


def pool(kept: int = 2, clock: Callable[[], float] = time.monotonic) -> Pool:
    """Return a pool of fake connections."""
    return Pool(cast(Any, FakeConnection), kept, clock)


def taken(kept: Pool, count: int) -> list[Any]:
    """Take connections, each for a call of its own."""
    return [kept.take(Call(later())) for _ in range(count)]


def put(kept: Pool, *used: Any) -> None:
    """Return connections to the pool, in this order."""
    for each in used:
        kept.put(cast(Connection, each))


def test_take_several_are_idle_newest_is_used_for_this_call() -> None:
    """contract: HTTP calls: connections are reused last in, first out, and forget their last call."""
    kept, call = pool(), Call(later())
    first, second = taken(kept, 2)
    put(kept, first, second)
    assert kept.take(call) is second
    assert second.call is call
    assert kept.take(call) is first


def test_take_newest_are_unusable_they_are_closed_and_the_next_is_used() -> None:
    """contract: HTTP calls: one that the vendor has closed is replaced before a request is sent."""
    kept = pool(3)
    sound, closed, noisy = taken(kept, 3)
    closed.quiet = noisy.quiet = False
    put(kept, sound, closed, noisy)
    assert kept.take(Call(later())) is sound
    assert (sound.closed, closed.closed, noisy.closed) == (False, True, True)
    (new,) = taken(kept, 1)
    assert new not in (sound, closed, noisy)


def test_take_call_wants_a_fresh_one_idle_ones_stay() -> None:
    """contract: Breaker: a trial says something about the vendor only if its connection is new."""
    kept = pool()
    (idle,) = taken(kept, 1)
    put(kept, idle)
    call = Call(later(), fresh=True)
    assert kept.take(call) is not idle
    assert call.reused_at is None
    assert (taken(kept, 1), idle.closed) == ([idle], False)


def test_take_idle_ones_are_old_they_are_closed() -> None:
    """contract: HTTP calls: after a minute a firewall may have forgotten an idle connection."""
    clock = FakeClock(100.0)
    kept = pool(3, clock)
    old = taken(kept, 2)
    put(kept, *old)
    clock.tick(MAX_IDLE)
    assert taken(kept, 1)[0] not in old
    assert [each.closed for each in old] == [True, True]


def test_put_another_idle_one_is_old_it_is_closed() -> None:
    """contract: HTTP calls: also those that no call needs any more, one with each call."""
    clock = FakeClock(100.0)
    kept = pool(3, clock)
    busy, *old = taken(kept, 3)
    put(kept, *old, busy)
    clock.tick(MAX_IDLE / 2)
    call = Call(later())
    assert kept.take(call) is busy
    assert call.reused_at == clock.now
    put(kept, busy)
    assert not any(each.closed for each in old)
    clock.tick(MAX_IDLE / 2)
    for count in (1, 2):
        assert taken(kept, 1) == [busy]
        put(kept, busy)
        assert [each.closed for each in (*old, busy)].count(True) == count
    assert not busy.closed


def test_close_idle_some_were_used_since_these_stay() -> None:
    """contract: HTTP calls: a connection that answered after the failed call began works."""
    clock = FakeClock(100.0)
    kept = pool(3, clock)
    before, at, since = taken(kept, 3)
    for each in (before, at, since):
        put(kept, each)
        clock.tick(1)
    kept.close_idle(101.0)
    assert [each.closed for each in (before, at, since)] == [True, True, False]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_put_enough_are_idle_next_is_closed(count: int) -> None:
    """contract: HTTP calls: no more idle connections are kept than configured."""
    kept = pool(count)
    used = taken(kept, 3)
    put(kept, *used)
    assert [each.closed for each in used] == [False] * count + [True] * (3 - count)


def test_pool_is_gone_its_connections_are_closed() -> None:
    """contract: HTTP calls: no socket outlives its client."""
    kept = pool()
    used = taken(kept, 2)
    put(kept, *used)
    del kept
    gc.collect()
    assert [each.closed for each in used] == [True, True]


# With sockets


def test_calls_one_after_another_share_a_connection(vendors: Vendors) -> None:
    """contract: HTTP calls: keep-alive, for GET, POST, compressed and chunked answers."""
    client, used = endpoint(vendors.port), list[socket.socket]()
    packed = gzip.compress(json.dumps(GOOD).encode())
    for behaviour in (
        reply(GOOD),
        reply(packed, headers=[("Content-Encoding", "gzip")]),
        keep(OK + b"Transfer-Encoding: chunked\r\n\r\ne\r\n" + b'{"results":[]}' + b"\r\n0\r\n\r\n"),
        reply(GOOD),
    ):
        vendors.behaviour["tavily"] = recorded(behaviour, used)
        assert outcome_of(lambda: (get(client, later()), post(client, later()))) == (GOOD, GOOD)
    assert len(used) == 8
    assert len(set(used)) == 1


def test_32_threads_call_at_once_every_connection_is_kept_and_nothing_logged(
    vendors: Vendors, caplog: pytest.LogCaptureFixture
) -> None:
    """contract: HTTP calls: the pool has room for a connection per call."""
    caplog.set_level("DEBUG")
    together, used = threading.Barrier(32), list[socket.socket]()

    def behave(connection: socket.socket, seen: Seen) -> object:
        together.wait(20)
        return reply(GOOD)(connection, seen)

    vendors.behaviour["tavily"] = recorded(behave, used)
    client, outcomes = endpoint(vendors.port, connections=32), list[Any]()
    for _ in range(2):
        threads = [threading.Thread(target=lambda: outcomes.append(post(client, later()))) for _ in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert outcomes == [GOOD] * 64
    assert len(set(used)) == 32
    assert caplog.records == []


def test_vendor_closed_idle_connection_next_call_works(vendors: Vendors) -> None:
    """contract: HTTP calls: a connection that the vendor closed between two calls is replaced."""
    client, used = endpoint(vendors.port), list[socket.socket]()
    closed = threading.Event()

    def behave(connection: socket.socket, seen: Seen) -> bool:
        keep(OK + b"Content-Length: 2\r\n\r\n{}")(connection, seen)
        connection.shutdown(socket.SHUT_RDWR)
        closed.set()
        return False

    vendors.behaviour["tavily"] = recorded(behave, used)
    for _ in range(3):
        closed.clear()
        assert outcome_of(lambda: post(client, later())) == {}
        assert closed.wait(10)
    assert len(set(used)) == 3


@pytest.mark.parametrize(
    "whole",
    [
        b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\n{}",
        OK + b"Transfer-Encoding: CHUNKED\r\nContent-Length: 9\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2;name=value\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
    ],
)
def test_vendor_leaves_the_connection_open_it_is_kept(vendors: Vendors, whole: bytes) -> None:
    """contract: HTTP calls: every framing that ends before the connection does leaves it for the next call."""
    client, used = endpoint(vendors.port), list[socket.socket]()
    vendors.behaviour["tavily"] = recorded(keep(whole), used)
    assert outcome_of(lambda: [post(client, later()) for _ in range(2)]) == [{}, {}]
    assert len(used) == 2
    assert len(set(used)) == 1


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
    """contract: HTTP calls: not after `Connection: close`, nor if the answer was not read to its end."""
    client, used = endpoint(vendors.port), list[socket.socket]()
    vendors.behaviour["tavily"] = recorded(keep(whole), used)
    for _ in range(2):
        with suppress(SourceError):
            assert post(client, later()) == {}
    assert len(set(used)) == 2


def test_vendor_closes_one_connection_next_call_uses_another_idle_one(vendors: Vendors) -> None:
    """contract: HTTP calls: a closed connection does not hide the open ones."""
    client, used, together = endpoint(vendors.port, connections=2), list[socket.socket](), threading.Barrier(2)

    def behave(connection: socket.socket, seen: Seen) -> object:
        together.wait(20)
        return reply(GOOD)(connection, seen)

    vendors.behaviour["tavily"] = recorded(behave, used)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: post(client, later()), "xx")) == [GOOD, GOOD]
    vendors.behaviour["tavily"] = recorded(keep(OK + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}"), used)
    assert post(client, later()) == {}
    vendors.behaviour["tavily"] = recorded(reply(GOOD), used)
    assert post(client, later()) == GOOD
    assert len(used) == 4
    assert len(set(used)) == 2


def test_vendor_drops_idle_connection_on_request_it_is_not_sent_again(vendors: Vendors) -> None:
    """contract: HTTP calls: a request that may have arrived is never repeated, and counts as sent."""
    client, used = endpoint(vendors.port), list[socket.socket]()
    vendors.behaviour["tavily"] = recorded(reply(GOOD), used)
    assert outcome_of(lambda: post(client, later())) == GOOD
    vendors.behaviour["tavily"] = recorded(send(), used)
    error = failure_of(lambda: post(client, later()))
    assert (error.reason, error.sent, error.counts) == ("unreachable", True, True)
    assert len(used) == 2
    assert used[0] is used[1]


def test_vendor_drops_new_connection_on_request_it_is_not_sent_again(vendors: Vendors) -> None:
    """contract: HTTP calls: one POST per call, whatever the outcome."""
    error = failure(vendors, send())
    assert (error.reason, error.sent) == ("unreachable", True)
    assert len(vendors.seen) == 1


def test_failed_answer_has_excess_bytes_they_are_no_answer_to_the_next_call(vendors: Vendors) -> None:
    """contract: HTTP calls: the rest of a broken answer never becomes the next call's answer."""
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


def test_good_answer_has_excess_bytes_they_are_no_answer_to_the_next_call(vendors: Vendors) -> None:
    """contract: HTTP calls: nor does what arrives together with a good answer; that connection is closed."""
    client, used = endpoint(vendors.port), list[socket.socket]()
    rest = OK + b"Content-Length: 7\r\n\r\n" + b'"wrong"'
    vendors.behaviour["tavily"] = recorded(keep(OK + b"Content-Length: 2\r\n\r\n{}" + rest), used)
    assert outcome_of(lambda: [post(client, later()) for _ in range(2)]) == [{}, {}]
    assert len(set(used)) == 2


@pytest.mark.parametrize("behaviour", [hold(threading.Event(), b""), send()], ids=["silence", "end"])
def test_reused_connection_is_dead_the_other_idle_ones_are_closed(vendors: Vendors, behaviour: Behaviour) -> None:
    """contract: HTTP calls: connections may die together and unnoticed; that costs one call, and not one each."""
    client = Endpoint(f"http://127.0.0.1:{vendors.port}/tavily/search", {}, connections=3, clock=FakeClock(100.0))
    old, used, together = list[socket.socket](), list[socket.socket](), threading.Barrier(3)

    def answer(connection: socket.socket, seen: Seen) -> object:
        together.wait(20)
        return reply(GOOD)(connection, seen)

    vendors.behaviour["tavily"] = recorded(answer, old)
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(lambda _: post(client, 120.0), "xxx")) == [GOOD] * 3

    def ignore_old(connection: socket.socket, seen: Seen) -> object:
        return (behaviour if connection in old else reply(GOOD))(connection, seen)

    vendors.behaviour["tavily"] = recorded(ignore_old, used)
    assert failure_of(lambda: post(client, 100.05)).counts
    assert outcome_of(lambda: post(client, 120.0)) == GOOD
    assert [connection in old for connection in used] == [True, False]


def test_call_wants_a_fresh_connection_it_gets_one(vendors: Vendors) -> None:
    """contract: Breaker: by GET and by POST."""
    client, used = endpoint(vendors.port), list[socket.socket]()
    vendors.behaviour["tavily"] = recorded(reply(GOOD), used)
    assert post(client, later()) == GOOD
    assert client.post_json({}, deadline=later(), fresh=True) == GOOD
    assert client.get_json({}, deadline=later(), fresh=True) == GOOD
    assert len(set(used)) == 3


def leave(rest: bytes, due: threading.Event, left: threading.Event) -> Behaviour:
    """Send a good answer, and when `due` is set another one that nobody asked for."""

    def behave(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(OK + b"Content-Length: 2\r\n\r\n{}")
        due.wait(20)
        connection.sendall(rest)
        left.set()
        return True

    return behave


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_idle_connection_receives_an_answer_it_is_not_used_again(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    """contract: HTTP calls: an answer that arrives after the call has ended is no answer to the next call."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    rest = OK + b"Content-Length: 7\r\n\r\n" + b'"wrong"'
    due, left, used = threading.Event(), threading.Event(), list[socket.socket]()
    with TLSVendors() if scheme == "https" else Vendors() as vendors:
        vendors.behaviour["tavily"] = recorded(leave(rest, due, left), used)
        client = endpoint(vendors.port, scheme=scheme)
        assert outcome_of(lambda: post(client, later())) == {}
        due.set()
        assert left.wait(10)
        assert outcome_of(lambda: post(client, later())) == {}
    assert len(set(used)) == 2


def test_tls_answer_has_excess_bytes_they_are_no_answer_to_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """contract: HTTP calls: nor does what OpenSSL holds, decrypted, after an answer."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    rest = OK + b"Content-Length: 7\r\n\r\n" + b'"wrong"'

    def behave(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(OK + b"Content-Length: 2\r\n\r\n")
        connection.sendall(b"{}" + rest)  # one record
        return True

    used: list[socket.socket] = []
    with TLSVendors() as vendors:
        vendors.behaviour["tavily"] = recorded(behave, used)
        client = endpoint(vendors.port, scheme="https")
        assert outcome_of(lambda: [post(client, later()) for _ in range(2)]) == [{}, {}]
    assert len(set(used)) == 2
