"""The deadline of a whole call, in wall time.

The vendors below drip or hold until the test is over, so a call that ends at all has kept its deadline.
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
from tests.calls import drip, failure_of, later, outcome_of, recorded, send, soon, timeout_of
from tests.fakes import FakeClock
from tests.vendors import Vendors, reply
from tests.wire.clients import GOOD, OK, endpoint, named, post
from tests.wire.tls import CERTIFICATE, TLSVendors

DRIPS = {
    "silence": (b"", b""),
    "status line": (b"HTTP/1.1 2", b"0"),
    "header": (OK + b"X-Filler: ", b"a"),
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
    """contract: HTTP calls: a call ends within its timeout in wall time, however slowly bytes arrive."""
    vendors.behaviour["tavily"] = drip(release, start, more)
    client = endpoint(vendors.port)
    error = timeout_of(lambda deadline: post(client, deadline))
    assert (error.reason, error.sent, error.counts) == ("timeout", True, True)


@pytest.mark.parametrize("part", ["silence", "header"])
def test_tls_vendor_drips_ends_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch, release: threading.Event, part: str
) -> None:
    """contract: HTTP calls: over TLS too."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with TLSVendors() as vendors:
        vendors.behaviour["tavily"] = drip(release, *DRIPS[part])
        client = endpoint(vendors.port, scheme="https")
        error = timeout_of(lambda deadline: post(client, deadline))
    assert (error.reason, error.sent) == ("timeout", True)


def test_call_reuses_a_connection_it_has_its_own_deadline(vendors: Vendors, release: threading.Event) -> None:
    """contract: HTTP calls: an idle connection keeps nothing of its last call's deadline."""
    client = endpoint(vendors.port)
    used: list[socket.socket] = []
    vendors.behaviour["tavily"] = recorded(reply(GOOD), used)
    assert outcome_of(lambda: post(client, later())) == GOOD
    vendors.behaviour["tavily"] = recorded(drip(release, *DRIPS["silence"]), used)
    assert timeout_of(lambda deadline: post(client, deadline)).sent
    assert used[0] is used[1]


def test_call_nobody_accepts_ends_at_the_deadline() -> None:
    """contract: HTTP calls: a listener that never accepts counts as silent."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = endpoint(listener.getsockname()[1])
        error = timeout_of(lambda deadline: post(client, deadline))
    assert (error.reason, error.sent) == ("timeout", True)


@pytest.fixture
def silent() -> Iterator[tuple[str, int]]:
    """Yield an address whose accept queue is full, so that one more connection gets no answer."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as waiting:
        for _ in range(4096):
            connection = waiting.enter_context(socket.socket())
            connection.settimeout(0.1)
            try:
                connection.connect(listener.getsockname())
            except OSError:
                break
        yield listener.getsockname()


def test_accept_queue_is_full_ends_at_the_deadline_unsent(silent: tuple[str, int]) -> None:
    """contract: HTTP calls: connecting counts towards the deadline; an unsent call costs no credit."""
    client = endpoint(silent[1])
    error = failure_of(lambda: post(client, soon()))
    assert error.reason in ("timeout", "unreachable")  # some kernels refuse instead
    assert not error.sent


def test_first_address_keeps_silent_next_is_tried_in_time(vendors: Vendors, silent: tuple[str, int]) -> None:
    """contract: HTTP calls: a host with an IPv6 address but no route to it is reached by its other address."""
    vendors.behaviour["tavily"] = reply(GOOD)
    client = named(silent, ("127.0.0.1", vendors.port))
    # Half of the time goes to the silent address. The rest may be too short on a busy machine, but not each time.
    outcomes = (outcome_of(lambda seconds=seconds: post(client, time.monotonic() + seconds)) for seconds in (0.4, 2, 8))
    assert GOOD in outcomes


def test_tls_handshake_stalls_ends_at_the_deadline_unsent(release: threading.Event) -> None:
    """contract: HTTP calls: a handshake that never completes ends with its call."""
    clock, hello = FakeClock(100.0), list[bytes]()

    def listen() -> None:
        connection, _ = listener.accept()
        with connection:
            hello.append(connection.recv(1))
            clock.tick(20)
            connection.sendall(b"\x16")  # of an answer that never comes: the client looks at its clock
            release.wait(30)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=listen, daemon=True).start()
        client = Endpoint(f"https://127.0.0.1:{listener.getsockname()[1]}/", {}, connections=1, clock=clock)
        error = failure_of(lambda: post(client, 120.0))
    assert (error.reason, error.sent, hello) == ("timeout", False, [b"\x16"])


def test_deadline_has_passed_nothing_is_sent(vendors: Vendors) -> None:
    """contract: Credits: time spent waiting elsewhere counts; after the timeout nothing is sent."""
    client = endpoint(vendors.port)
    error = failure_of(lambda: post(client, time.monotonic() - 1))
    assert (error.reason, error.sent) == ("timeout", False)
    assert vendors.seen == []


def test_thread_made_earlier_calls_each_failure_is_its_own(vendors: Vendors) -> None:
    """contract: Credits: whether a call was sent or answered is not left over from an earlier one."""
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
