"""A connection that enforces the deadline of its call."""

from __future__ import annotations

import gc
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from sift.wire.call import MAX_STEPS, Call
from sift.wire.connection import MAX_LINE, BadReplyError, Connection
from tests.calls import later
from tests.fakes import FakeClock


@pytest.fixture
def pair() -> Iterator[tuple[Connection, socket.socket]]:
    """Yield a connection whose call has time, and the socket at its other end."""
    near, far = socket.socketpair()
    far.settimeout(10)
    connection = Connection(near, Call(later()))
    with far:
        yield connection, far
    connection.close()


Pair = tuple[Connection, socket.socket]


def brief() -> Call:
    """Return a call whose every wait is short, while its own clock stands still."""
    return Call(100.05, FakeClock(100.0))


def test_send_deadline_has_passed_nothing_leaves(pair: Pair) -> None:
    """contract: Credits: a credit is given back if no byte has left, so `sent` must not be set too early."""
    connection, far = pair
    connection.call = Call(100.0, lambda: 101.0)
    with pytest.raises(TimeoutError):
        connection.send(b"x")
    assert not connection.call.sent
    far.setblocking(False)
    with pytest.raises(BlockingIOError):
        far.recv(1)


def test_send_data_exceeds_the_socket_buffer_all_of_it_arrives(pair: Pair) -> None:
    """contract: HTTP calls: a long request is sent piece by piece."""
    connection, far = pair
    connection.call = Call(time.monotonic() + 10)
    data = bytes(range(256)) * 20_000
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(connection.send, data)
        with far.makefile("rb") as arriving:
            assert arriving.read(len(data)) == data
        sending.result(10)


def test_send_peer_reads_nothing_ends_at_the_deadline_sent(pair: Pair) -> None:
    """contract: HTTP calls: sending ends with the call; part of the request has left."""
    connection, _ = pair
    connection.call = brief()
    with pytest.raises(TimeoutError):
        connection.send(bytes(50_000_000))
    assert connection.call.sent


def test_read_bytes_are_waiting_after_the_deadline_timeout(pair: Pair) -> None:
    """contract: HTTP calls: the deadline holds while bytes keep arriving."""
    connection, far = pair
    far.sendall(b"x")
    connection.call = Call(100.0, lambda: 101.0)
    with pytest.raises(TimeoutError):
        connection.read1(1)


def test_wait_nothing_arrives_timeout(pair: Pair) -> None:
    """contract: HTTP calls: a wait ends with its call."""
    connection, _ = pair
    connection.call = brief()
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
def test_read_line_bytes_arrive_in_pieces_lines_are_whole(pair: Pair, pieces: list[bytes], lines: list[bytes]) -> None:
    """contract: HTTP calls: segments do not matter; the last line may lack its line end."""
    connection, far = pair
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(lambda: [far.sendall(piece) for piece in pieces] and far.shutdown(socket.SHUT_WR))
        assert [connection.read_line() for _ in lines] == lines
        sending.result(10)


def test_read_line_is_too_long_it_is_refused(pair: Pair) -> None:
    """contract: HTTP calls: at most 64 KiB of a header line."""
    connection, far = pair
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(far.sendall, b"x" * MAX_LINE + b"\n")
        with pytest.raises(BadReplyError):
            connection.read_line()
        sending.result(10)


def test_read1_after_a_line_returns_first_what_arrived_with_it(pair: Pair) -> None:
    """contract: HTTP calls: head and body may share a segment; no byte is lost, none is returned unasked."""
    connection, far = pair
    far.sendall(b"head\nbody")
    assert connection.read_line() == b"head\n"
    assert (connection.read1(3), connection.read1(3)) == (b"bod", b"y")
    far.sendall(b"more")
    far.close()
    assert (connection.read1(9), connection.read1(9)) == (b"more", b"")


def test_read1_everything_was_read_no_memory_is_held(pair: Pair) -> None:
    """contract: Operations: idle connections do not hold their last answers."""
    connection, far = pair
    far.sendall(b"x" * 50_000)
    while connection.read1(50_000) and connection.has_unread():
        pass
    assert max(sys.getsizeof(held) for held in gc.get_referents(connection)) < 1000


def test_read1_one_byte_arrives_at_a_time_ends_after_a_bounded_number(pair: Pair) -> None:
    """contract: HTTP calls: bytes that arrive one by one may not keep a CPU busy until the deadline."""
    connection, far = pair
    for _ in range(MAX_STEPS):
        far.sendall(b"x")
        assert connection.read1(9) == b"x"
    with pytest.raises(ValueError, match=r"^too many small pieces$"):
        connection.wait()
    connection.call = Call(later())
    far.sendall(b"x")
    connection.wait()


def test_has_unread_more_was_received_than_read_true(pair: Pair) -> None:
    """contract: HTTP calls: a connection with bytes left over is not used again."""
    connection, far = pair
    far.sendall(b"ab")
    assert not connection.has_unread()  # nothing was received yet; `is_quiet` sees these
    connection.read1(1)
    assert connection.has_unread()
    connection.read1(1)
    assert not connection.has_unread()


def test_is_quiet_bytes_wait_or_peer_has_closed_false(pair: Pair) -> None:
    """contract: HTTP calls: nor is one on which anything arrived between two calls, its end included."""
    connection, far = pair
    assert connection.is_quiet()
    far.sendall(b"a")
    assert not connection.is_quiet()
    connection.read1(1)
    assert connection.is_quiet()
    far.close()
    assert not connection.is_quiet()


def test_read_call_is_given_up_while_it_waits_it_ends(pair: Pair) -> None:
    """contract: Batch work: the deadline is far, and nothing ever comes."""
    connection, _ = pair
    looks: list[None] = []

    def is_given_up() -> bool:
        looks.append(None)
        return len(looks) > 2

    connection.call = Call(later(), is_given_up=is_given_up)
    with pytest.raises(TimeoutError):
        connection.read1(1)
    assert len(looks) == 3


def test_read_answer_comes_after_several_looks_it_is_read(pair: Pair) -> None:
    """contract: Batch work: a look is not the deadline."""
    connection, far = pair
    looks: list[None] = []

    def is_given_up() -> bool:
        looks.append(None)
        if len(looks) == 3:
            far.sendall(b"x")
        return False

    connection.call = Call(later(), is_given_up=is_given_up)
    assert connection.read1(1) == b"x"
