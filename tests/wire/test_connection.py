"""A connection that keeps the deadline of the call that uses it."""

from __future__ import annotations

import gc
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from sift.wire.call import Call
from sift.wire.connection import MAX_LINE, BadReplyError, Connection
from tests.calls import later, soon


@pytest.fixture
def pair() -> Iterator[tuple[Connection, socket.socket]]:
    """Return a connection, used by a call that has time, and the socket at its other end."""
    near, far = socket.socketpair()
    far.settimeout(10)
    connection = Connection(near, Call(later()))
    with far:
        yield connection, far
    connection.close()


Pair = tuple[Connection, socket.socket]


def test_send_deadline_has_passed_nothing_leaves(pair: Pair) -> None:
    """contract: Credits: a credit comes back when no byte has left, so `sent` must not be said too early."""
    connection, far = pair
    connection.call = Call(100.0, lambda: 101.0)
    with pytest.raises(TimeoutError):
        connection.send(b"x")
    assert not connection.call.sent
    far.setblocking(False)
    with pytest.raises(BlockingIOError):
        far.recv(1)


def test_send_more_than_the_system_takes_at_once_all_arrives(pair: Pair) -> None:
    """contract: HTTP calls: a long request is sent piece by piece."""
    connection, far = pair
    connection.call = Call(time.monotonic() + 10)
    data = bytes(range(256)) * 20_000
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(connection.send, data)
        with far.makefile("rb") as arriving:
            assert arriving.read(len(data)) == data
        sending.result(10)


def test_send_other_side_takes_nothing_ends_at_the_deadline_sent(pair: Pair) -> None:
    """contract: HTTP calls: and no longer than its call lasts; some of it has left."""
    connection, _ = pair
    connection.call = Call(soon())
    with pytest.raises(TimeoutError):
        connection.send(bytes(50_000_000))
    assert connection.call.sent


def test_read_bytes_are_there_after_the_deadline_timeout(pair: Pair) -> None:
    """contract: HTTP calls: bytes that keep coming end with the deadline too."""
    connection, far = pair
    far.sendall(b"x")
    connection.call = Call(100.0, lambda: 101.0)
    with pytest.raises(TimeoutError):
        connection.read1(1)


def test_wait_nothing_comes_timeout(pair: Pair) -> None:
    """contract: HTTP calls: a wait ends with its call."""
    connection, _ = pair
    connection.call = Call(soon())
    with pytest.raises(TimeoutError):
        connection.wait()


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([b"one\r\ntwo\n"], [b"one\r\n", b"two\n", b""]),
        ([b"o", b"n", b"e\r", b"\ntwo\n\n"], [b"one\r\n", b"two\n", b"\n", b""]),
        ([b"one\ncut"], [b"one\n", b"cut", b"", b""]),
        ([b""], [b""]),
        ([b"x" * (MAX_LINE - 1) + b"\n"], [b"x" * (MAX_LINE - 1) + b"\n", b""]),
    ],
)
def test_read_line_bytes_come_in_any_pieces_lines_are_whole(
    pair: Pair, pieces: list[bytes], lines: list[bytes]
) -> None:
    """contract: HTTP calls: what is a line does not depend on how it travels; the last one may lack its end."""
    connection, far = pair
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(lambda: [far.sendall(piece) for piece in pieces] and far.shutdown(socket.SHUT_WR))
        assert [connection.read_line() for _ in lines] == lines
        sending.result(10)


def test_read_line_is_too_long_it_is_refused(pair: Pair) -> None:
    """contract: HTTP calls: 64 KiB of a header line, and no byte more."""
    connection, far = pair
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(far.sendall, b"x" * MAX_LINE + b"\n")
        with pytest.raises(BadReplyError):
            connection.read_line()
        sending.result(10)


def test_read1_after_a_line_gives_what_came_with_it_first(pair: Pair) -> None:
    """contract: HTTP calls: head and body come in one piece; neither is lost, and no more than asked for is given."""
    connection, far = pair
    far.sendall(b"head\nbody")
    assert connection.read_line() == b"head\n"
    assert (connection.read1(3), connection.read1(3)) == (b"bod", b"y")
    far.sendall(b"more")
    far.close()
    assert (connection.read1(9), connection.read1(9)) == (b"more", b"")


def test_read1_all_was_read_no_memory_is_held(pair: Pair) -> None:
    """contract: Operations: dozens of idle connections do not each keep the answer that came last."""
    connection, far = pair
    far.sendall(b"x" * 50_000)
    while connection.read1(50_000) and connection.has_unread():
        pass
    assert max(sys.getsizeof(held) for held in gc.get_referents(connection)) < 1000


def test_has_unread_more_came_than_was_read_says_so(pair: Pair) -> None:
    """contract: HTTP calls: a connection with bytes left over is not used again."""
    connection, far = pair
    far.sendall(b"ab")
    assert not connection.has_unread()  # nothing was received yet; that is what `is_quiet` sees
    connection.read1(1)
    assert connection.has_unread()
    connection.read1(1)
    assert not connection.has_unread()


def test_is_quiet_bytes_wait_or_other_side_has_closed_it_is_not(pair: Pair) -> None:
    """contract: HTTP calls: nor is one over which something came between two calls, its end included."""
    connection, far = pair
    assert connection.is_quiet()
    far.sendall(b"a")
    assert not connection.is_quiet()
    connection.read1(1)
    assert connection.is_quiet()
    far.close()
    assert not connection.is_quiet()
