"""Helpers for calls to vendors that misbehave, and that may therefore hang."""

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
"""Part of every query of these tests; no error may contain it."""

_VOCABULARY = re.compile(
    "timeout|unreachable|http [0-9]{3}|redirect refused|bad response|response too large|no engine answered"
)


def soon() -> float:
    """Return a deadline that the call is meant to reach."""
    return time.monotonic() + 0.2


def later() -> float:
    """Return a deadline that the call is not meant to reach."""
    return time.monotonic() + 20


def outcome_of(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or its SourceError. A call that hangs fails the test instead of the run."""
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
    """Return the error of a call that must fail, with a reason of the closed vocabulary and nothing of the request."""
    error = outcome_of(call)
    assert isinstance(error, SourceError), error
    assert _VOCABULARY.fullmatch(error.reason), error.reason
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
    shown = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
    assert SECRET not in shown
    assert "127.0.0.1" not in shown
    return error


def timeout_of(call: Callable[[float], Any]) -> SourceError:
    """Return the error of a call that must end at the given deadline, after it was sent.

    On a busy machine a short deadline may pass before anything is sent; the call is then repeated with a longer one.
    """
    for seconds in (0.2, 1.0, 5.0):
        error = failure_of(lambda seconds=seconds: call(time.monotonic() + seconds))
        assert error.reason == "timeout"
        if error.sent:
            break
    return error


def drip(release: threading.Event, start: bytes, more: bytes) -> Behaviour:
    """Send `start`, then `more` again and again until the test is over or the client has gone."""

    def behave(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(start)
        while not release.wait(0.01):
            connection.sendall(more)
        return False

    return behave


def send(*pieces: bytes) -> Behaviour:
    """Send each piece in a segment of its own, then close."""

    def behave(connection: socket.socket, seen: Seen) -> bool:
        for piece in pieces:
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_RDWR)
        return False

    return behave


def hold(release: threading.Event, start: bytes) -> Behaviour:
    """Send `start` and then nothing, leaving the connection open."""

    def behave(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(start)
        release.wait(30)
        return False

    return behave


def recorded(behaviour: Behaviour, connections: list[socket.socket]) -> Behaviour:
    """Record the connection of each request."""

    def behave(connection: socket.socket, seen: Seen) -> object:
        connections.append(connection)
        return behaviour(connection, seen)

    return behave
