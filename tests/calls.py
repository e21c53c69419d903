"""Helpers for tests of the vendors: vendors that misbehave, and calls that may hang."""

from __future__ import annotations

import re
import socket
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from sift.errors import SourceError
from tests.vendors import Behaviour, Seen

SECRET = "zebra-secret"
"""Part of every query sent by these tests; no error may hold it."""

_VOCABULARY = re.compile(
    "timeout|unreachable|http [0-9]{3}|redirect refused|bad response|response too large|no engine answered"
)


def soon() -> float:
    """Give a deadline that a call is meant to meet."""
    return time.monotonic() + 0.2


def later() -> float:
    """Give a deadline that a call is not meant to meet."""
    return time.monotonic() + 20


def outcome_of(call: Callable[[], Any]) -> Any:
    """Give what a call returned, or its SourceError; a call that hangs fails the test and not the run."""
    outcomes: list[Any] = []

    def run() -> None:
        try:
            outcomes.append(call())
        except Exception as error:
            outcomes.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(10)
    assert outcomes, "the call hangs"
    if isinstance(outcomes[0], Exception) and not isinstance(outcomes[0], SourceError):
        raise outcomes[0]
    return outcomes[0]


def failure_of(call: Callable[[], Any]) -> SourceError:
    """Give the error of a call that must fail: in words of the closed vocabulary, telling nothing of the request."""
    error = outcome_of(call)
    assert isinstance(error, SourceError), error
    assert _VOCABULARY.fullmatch(error.reason), error.reason
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
    told = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
    assert SECRET not in told
    assert "127.0.0.1" not in told
    return error


def timeout_of(call: Callable[[float], Any]) -> SourceError:
    """Give the error of a call that must end at the deadline it is given, after it was sent.

    On a busy machine a short deadline may pass before anything is sent; it is then given more time.
    """
    for seconds in (0.2, 1.0, 5.0):
        error = failure_of(lambda seconds=seconds: call(time.monotonic() + seconds))
        assert error.reason == "timeout"
        if error.sent:
            break
    return error


def drip(release: threading.Event, start: bytes, more: bytes) -> Behaviour:
    """Send `start`, then `more` for ever: until the test is over or the other side has gone."""

    def behave(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(start)
        while not release.wait(0.01):
            connection.sendall(more)
        return False

    return behave


def send(*pieces: bytes) -> Behaviour:
    """Send pieces as they are, each in a segment of its own, then close."""

    def behave(connection: socket.socket, seen: Seen) -> bool:
        for piece in pieces:
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_RDWR)
        return False

    return behave


def hold(release: threading.Event, start: bytes) -> Behaviour:
    """Send `start` and then nothing, with the connection open."""

    def behave(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(start)
        release.wait(30)
        return False

    return behave


def counted(behaviour: Behaviour, lines: list[socket.socket]) -> Behaviour:
    """Note the connection each request comes in by."""

    def behave(connection: socket.socket, seen: Seen) -> object:
        lines.append(connection)
        return behaviour(connection, seen)

    return behave
