"""The deadline of a whole call, in wall time.

The vendors below drip or hold until the test is over, so a call that ends has kept its deadline.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from sift.errors import SourceError
from sift.wire.endpoint import Endpoint
from tests.calls import counted, drip, failure_of, hold, later, outcome_of, send, soon, timeout_of
from tests.vendors import Vendors, reply
from tests.wire.clients import GOOD, OK, endpoint, get, named, post
from tests.wire.tls import CERTIFICATE, TLSVendors

DRIPS = {
    "silence": (b"", b""),
    "status line": (b"HTTP/1.1 2", b"0"),
    "header": (OK + b"X-Filler: ", b"a"),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "body of known length": (OK + b"Content-Length: 1000000\r\n\r\n{", b" "),
    "chunked body": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "chunk size": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
    "body until close": (OK + b"\r\n", b" "),
    "compressed body": (OK + b"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08" + bytes(6), b"a"),  # a file name
}


@pytest.mark.parametrize(("start", "more"), DRIPS.values(), ids=DRIPS.keys())
def test_call_vendor_drips_ends_at_the_deadline(
    vendors: Vendors, release: threading.Event, start: bytes, more: bytes
) -> None:
    """contract: HTTP calls: a call ends within its timeout in wall time, however the bytes drip, headers included."""
    vendors.behaviour["tavily"] = drip(release, start, more)
    client = endpoint(vendors.port)
    error = timeout_of(lambda deadline: post(client, deadline))
    assert (error.reason, error.sent, error.counts) == ("timeout", True, True)


def test_get_vendor_drips_ends_at_the_deadline(vendors: Vendors, release: threading.Event) -> None:
    """contract: HTTP calls: GET keeps it as POST does."""
    vendors.behaviour["tavily"] = drip(release, *DRIPS["header"])
    client = endpoint(vendors.port)
    assert timeout_of(lambda deadline: get(client, deadline)).sent


@pytest.mark.parametrize("part", ["silence", "header", "chunked body"])
def test_tls_vendor_drips_ends_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch, release: threading.Event, part: str
) -> None:
    """contract: HTTP calls: under TLS too."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with TLSVendors() as vendors:
        vendors.behaviour["tavily"] = drip(release, *DRIPS[part])
        client = endpoint(vendors.port, scheme="https")
        error = timeout_of(lambda deadline: post(client, deadline))
    assert (error.reason, error.sent) == ("timeout", True)


def test_call_on_kept_connection_gets_its_own_deadline(vendors: Vendors, release: threading.Event) -> None:
    """contract: HTTP calls: a connection that is kept brings nothing of the earlier call's deadline with it."""
    client = endpoint(vendors.port)
    lines: list[socket.socket] = []
    vendors.behaviour["tavily"] = counted(reply(GOOD), lines)
    assert outcome_of(lambda: post(client, later())) == GOOD
    vendors.behaviour["tavily"] = counted(drip(release, *DRIPS["silence"]), lines)
    assert timeout_of(lambda deadline: post(client, deadline)).sent
    assert lines[0] is lines[1]


def test_call_nobody_accepts_ends_at_the_deadline() -> None:
    """contract: HTTP calls: a listener that never accepts is a silent one."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = endpoint(listener.getsockname()[1])
        error = timeout_of(lambda deadline: post(client, deadline))
    assert (error.reason, error.sent) == ("timeout", True)


@pytest.fixture
def silent() -> Iterator[tuple[str, int]]:
    """Return an address whose connect queue is full, so that one more connection gets no answer."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as waiting:
        for _ in range(4096):
            connection = waiting.enter_context(socket.socket())
            connection.settimeout(0.1)
            try:
                connection.connect(listener.getsockname())
            except OSError:
                break
        yield listener.getsockname()


def test_connect_queue_is_full_ends_at_the_deadline_unsent(silent: tuple[str, int]) -> None:
    """contract: HTTP calls: connecting counts into the deadline; the credit of a call that never left is given back."""
    client = endpoint(silent[1])
    error = failure_of(lambda: post(client, soon()))
    assert error.reason in ("timeout", "unreachable")  # some kernels refuse instead of being silent
    assert not error.sent


def test_first_address_keeps_silent_next_is_tried_in_time(vendors: Vendors, silent: tuple[str, int]) -> None:
    """contract: HTTP calls: a host that has an IPv6 address and no route there is reached by its other address."""
    vendors.behaviour["tavily"] = reply(GOOD)
    client = named(silent, ("127.0.0.1", vendors.port))
    assert outcome_of(lambda: post(client, time.monotonic() + 2)) == GOOD


def test_tls_handshake_stalls_ends_at_the_deadline_unsent(release: threading.Event) -> None:
    """contract: HTTP calls: a server that never answers the ClientHello holds a call to its deadline, no longer."""
    hello: list[bytes] = []
    arrived = threading.Event()

    def listen() -> None:
        connection, _ = listener.accept()
        with connection:
            hello.append(connection.recv(10))
            arrived.set()
            release.wait(30)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=listen, daemon=True).start()
        client = endpoint(listener.getsockname()[1], scheme="https")
        error = failure_of(lambda: post(client, time.monotonic() + 0.5))
        assert arrived.wait(10)
    assert (error.reason, error.sent) == ("timeout", False)
    assert hello[0][:1] == b"\x16"


def test_deadline_has_passed_nothing_is_sent(vendors: Vendors) -> None:
    """contract: Credits: waiting elsewhere counts into the timeout; nothing goes out after it."""
    client = endpoint(vendors.port)
    error = failure_of(lambda: post(client, time.monotonic() - 1))
    assert (error.reason, error.sent) == ("timeout", False)
    assert vendors.seen == []


def test_length_is_longer_than_body_and_line_stays_open_timeout(vendors: Vendors, release: threading.Event) -> None:
    """contract: HTTP calls: what is announced and does not come is waited for until the deadline, no longer."""
    vendors.behaviour["tavily"] = hold(release, OK + b"Content-Length: 99\r\n\r\n{}")
    client = endpoint(vendors.port)
    error = timeout_of(lambda deadline: post(client, deadline))
    assert (error.reason, error.sent) == ("timeout", True)


def test_thread_has_made_calls_before_each_failure_is_its_own(vendors: Vendors) -> None:
    """contract: Credits: a thread makes many calls; no earlier one says that this one was sent or answered."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = endpoint(listener.getsockname()[1])
    dropping = Endpoint(f"http://127.0.0.1:{vendors.port}/searxng/search", {}, connections=1)
    vendors.behaviour["tavily"], vendors.behaviour["searxng"] = reply(GOOD), send()
    answering = endpoint(vendors.port)

    def sent_and_reason(client: Endpoint) -> tuple[bool, str]:
        with pytest.raises(SourceError) as raised:
            post(client, later())
        return raised.value.sent, raised.value.reason

    def in_one_thread() -> list[Any]:
        return [post(answering, later()), sent_and_reason(dropping), post(answering, later()), sent_and_reason(closed)]

    assert outcome_of(in_one_thread) == [GOOD, (True, "unreachable"), GOOD, (False, "unreachable")]
