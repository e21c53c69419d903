"""Connections that were answered and whose peers have yet to close."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from sift.server.linger import MOST_BYTES, Lingering
from tests.waiting import wait_for

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Callable[[], Pair]]:
    """Return a function that makes two ends of a connection: ours, and the peer's."""
    with ExitStack() as stack:

        def make() -> Pair:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            peer = stack.enter_context(socket.create_connection(listener.getsockname(), 20))
            return stack.enter_context(listener.accept()[0]), peer

        yield make


def is_closed(connection: socket.socket) -> bool:
    return connection.fileno() == -1


def test_peer_has_closed_the_connection_is_closed_at_once(pair: Callable[[], Pair]) -> None:
    """The ordinary case needs no thread."""
    ours, peer = pair()
    peer.close()
    lingering = Lingering(300)
    lingering.close(ours)
    wait_for(lambda: is_closed(ours))
    lingering.finish()


def test_peer_is_silent_it_sees_the_end_and_the_connection_stays_until_it_closes(pair: Callable[[], Pair]) -> None:
    """Its answer is whole; the connection is neither reset nor closed before the peer has closed."""
    ours, peer = pair()
    ours.sendall(b"answer")
    lingering = Lingering(300)
    lingering.close(ours)
    assert b"".join(iter(lambda: peer.recv(100), b"")) == b"answer"
    assert not is_closed(ours)
    peer.sendall(b"more of the request")  # would reset a connection that was closed
    peer.sendall(b"and more")
    assert not is_closed(ours)
    peer.close()
    wait_for(lambda: is_closed(ours))
    lingering.finish()


def test_peer_sends_without_end_the_connection_is_closed(pair: Callable[[], Pair]) -> None:
    """What is read and thrown away has a bound."""
    ours, peer = pair()
    lingering = Lingering(300)
    lingering.close(ours)
    with pytest.raises(OSError):  # noqa: PT011 - a reset or a broken pipe, as it happens
        peer.sendall(bytes(1000 * MOST_BYTES))
    wait_for(lambda: is_closed(ours))
    lingering.finish()


def test_time_is_over_the_connection_is_closed(pair: Callable[[], Pair]) -> None:
    """A peer that never closes holds a file for a short time only."""
    now = [0.0]
    (first, _), (second, peer) = pair(), pair()
    lingering = Lingering(300, clock=lambda: now[0])
    lingering.close(first)
    wait_for(lambda: lingering._open)
    now[0] = 301.0
    lingering.close(second)  # the thread looks again
    wait_for(lambda: is_closed(first))
    assert not is_closed(second)
    peer.close()
    lingering.finish()


def test_more_than_may_linger_the_oldest_is_closed(pair: Callable[[], Pair]) -> None:
    """Files are not used up by clients that never close."""
    ends = [pair() for _ in range(4)]
    lingering = Lingering(300, most=2)
    for ours, _ in ends:
        lingering.close(ours)
    wait_for(lambda: is_closed(ends[0][0]) and is_closed(ends[1][0]))
    assert [is_closed(ours) for ours, _ in ends] == [True, True, False, False]
    for _, peer in ends:
        peer.close()
    lingering.finish()
    assert all(is_closed(ours) for ours, _ in ends)


def test_connection_is_gone_nothing_is_raised(pair: Callable[[], Pair]) -> None:
    """gunicorn may have closed it already."""
    ours, _ = pair()
    ours.close()
    Lingering(300).close(ours)
