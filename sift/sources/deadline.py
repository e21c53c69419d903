"""Sockets that keep one deadline for a whole call (contract §6, B096).

Nothing here knows what is sent. A thread says `call.begin(deadline)`; from then on every wait of the connections it
uses, the connect, the TLS handshake, each read, ends when the deadline is there.
"""

from __future__ import annotations

import io
import math
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any

import certifi

from sift.sources.lookups import LookUps

READ_SIZE = 65_536
CLOCK_SLACK = 0.03
"""Seconds; a socket's timeout may end a little before the deadline it was made from."""


class Call(threading.local):
    """Hold the call this thread is making: sockets outlive calls, so a deadline cannot be theirs."""

    deadline: float = math.inf  # time.monotonic() seconds
    sent: bool = False  # some of the request may have left
    answered: bool = False  # a status line came

    def begin(self, deadline: float) -> None:
        """Start a call that ends before `deadline`."""
        self.deadline, self.sent, self.answered = deadline, False, False

    def left(self) -> float:
        """Give the seconds left. Raises TimeoutError when there are none."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("deadline")
        return left


call = Call()
_look_ups = LookUps()


def wait(connection: socket.socket, event: int) -> None:
    """Wait until a socket can be read (`select.POLLIN`) or written. Raises TimeoutError at the call's deadline."""
    poll = select.poll()
    poll.register(connection, event)
    if not poll.poll(call.left() * 1000):
        raise TimeoutError("deadline")


class _Reading(io.RawIOBase):
    """Let a socket be read as a file; socket's own way of it takes three times as long to make."""

    def __init__(self, recv_into: Callable[..., int]) -> None:
        self.readinto = recv_into  # type: ignore[method-assign]

    def readable(self) -> bool:
        return True


class _Readable:
    """Give http.client, which asks for "rb", a file with room for a whole answer: one read does what three did."""

    recv_into: Callable[..., int]

    def makefile(self, *args: Any, **kwargs: Any) -> Any:
        """Make the file."""
        return io.BufferedReader(_Reading(self.recv_into), READ_SIZE)


class _DeadlineSocket(_Readable, socket.socket):
    """Give every wait only the time that is left: a timeout per read is no bound when bytes drip (B096).

    Its user makes it non-blocking once it is connected, unless TLS goes over it: what can be done at once is then one
    system call, where Python's timeouts make two, and at each the interpreter goes to another thread.
    """

    def settimeout(self, value: float | None) -> None:
        """Do nothing: urllib3 sets its own before each request and answer."""

    def connect_within(self, seconds: float, address: Any) -> None:
        """Connect, or raise TimeoutError."""
        super().settimeout(seconds)
        super().connect(address)

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        while True:
            call.left()  # bytes that keep coming end with the deadline too
            try:
                return super().recv_into(*args, **kwargs)
            except BlockingIOError:
                wait(self, select.POLLIN)

    def sendall(self, data: Any, *args: Any) -> None:
        rest = memoryview(data)
        while rest:
            call.left()  # before anything has left: at the deadline a credit is given back
            call.sent = True
            try:
                rest = rest[self.send(rest) :]
            except BlockingIOError:
                wait(self, select.POLLOUT)


class _DeadlineTLSSocket(_Readable, ssl.SSLSocket):
    """Do the same under TLS, where the handshake waits too."""

    def do_handshake(self, block: bool = False) -> None:
        self.settimeout(call.left())
        super().do_handshake(block)

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(call.left())
        return super().recv_into(*args, **kwargs)

    def sendall(self, *args: Any, **kwargs: Any) -> None:
        self.settimeout(call.left())
        call.sent = True
        super().sendall(*args, **kwargs)


def connect(host: str, port: int) -> socket.socket:
    """Connect to the first address of a host that takes the connection; one deadline for all. Raises OSError.

    One that keeps silent, such as an IPv6 address that no route leads to, leaves the others their share of the time.
    """
    failure = OSError("no address")
    addresses = _look_ups.addresses(host, port, call.left())
    for tried, (family, kind, protocol, _, address) in enumerate(addresses):
        try:
            connection = _DeadlineSocket(family, kind, protocol)
        except OSError as error:  # a host without IPv6 may still list an IPv6 address
            failure = error
            continue
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.connect_within(call.left() / (len(addresses) - tried), address)
            return connection
        except OSError as error:
            connection.close()
            failure = error
    raise failure


def tls_context() -> ssl.SSLContext:
    """Verify against the system's authorities and certifi's; waits inside TLS keep the deadline too."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    context.sslsocket_class = _DeadlineTLSSocket
    return context
