"""Opening a connection: addresses, the judge that filters them, and TLS."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import pytest

from sift.wire.call import Call
from sift.wire.dial import dial, tls_context
from sift.wire.endpoint import Endpoint
from sift.wire.resolver import Address, Resolver
from tests.calls import SECRET, failure_of, later, outcome_of, recorded
from tests.faults.behaviours import reset
from tests.vendors import Vendors, reply
from tests.wire.clients import GOOD, endpoint, failure, post
from tests.wire.tls import CERTIFICATE, PRIVATE, PRIVATE_CA, TLSVendors


def test_port_is_closed_unreachable_and_unsent() -> None:
    """contract: Credits: a call that was never sent costs no credit."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    client = endpoint(port)
    error = failure_of(lambda: post(client, later()))
    assert (error.reason, error.detail, error.sent, error.counts) == ("unreachable", "refused", False, True)


def test_name_does_not_resolve_unreachable_and_unsent() -> None:
    """contract: HTTP calls: a name without an address is `unreachable`."""

    def refuse(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, f"no such name {SECRET}")

    client = Endpoint("http://vendor.example/", {}, connections=1, resolver=Resolver(refuse))
    error = failure_of(lambda: post(client, later()))
    assert (error.reason, error.detail, error.sent) == ("unreachable", "name", False)


def test_name_is_illegal_unreachable_and_unsent() -> None:
    """contract: HTTP calls: a name that cannot be encoded is `unreachable`."""
    client = Endpoint(f"http://{'x' * 64}.example/", {}, connections=1)
    error = failure_of(lambda: post(client, later()))
    assert (error.reason, error.detail, error.sent) == ("unreachable", "name", False)


def test_name_ends_with_a_dot_it_is_looked_up_without() -> None:
    """contract: HTTP calls: a name is one name, and certificates spell it without a dot."""
    asked: list[object] = []

    def refuse(host: str, *_: object, **__: object) -> None:
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    client = Endpoint("http://vendor.example./", {}, connections=1, resolver=Resolver(refuse))
    failure_of(lambda: post(client, later()))
    assert set(asked) == {"vendor.example"}


def test_first_addresses_are_unusable_next_is_tried(vendors: Vendors) -> None:
    """contract: HTTP calls: after a refusal, or an address of an unsupported family, the next one is tried."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = listener.getsockname()
    stream = (socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
    found = [
        (255, *stream, ("unknown", 1)),
        (socket.AF_INET, *stream, closed),
        (socket.AF_INET, *stream, ("127.0.0.1", vendors.port)),
    ]
    vendors.behaviour["tavily"] = reply(GOOD)
    resolver = Resolver(lambda *_, **__: found)
    client = Endpoint("http://vendor.example/tavily/search", {}, connections=1, resolver=resolver)
    assert outcome_of(lambda: post(client, later())) == GOOD


def found(*addresses: tuple[str, int]) -> list[Any]:
    """Return addresses in the form of `getaddrinfo`."""
    return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address) for address in addresses]


def test_judge_drops_addresses_only_the_rest_is_tried() -> None:
    """contract: HTTP calls: a name is resolved once, and the judge decides which results may be connected to."""
    judged: list[Address] = []

    def last(addresses: Sequence[Address]) -> Sequence[Address]:
        judged.extend(addresses)
        return addresses[-1:]

    asked: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as barred, socket.create_server(("127.0.0.1", 0)) as passed:
        names = [barred.getsockname(), passed.getsockname()]
        resolver = Resolver(lambda *args, **_: asked.append(args) or found(*names))
        dial("vendor.example", 80, Call(later()), resolver=resolver, judge=last).close()
        barred.setblocking(False)
        with pytest.raises(BlockingIOError):
            barred.accept()
        passed.accept()[0].close()
    assert judged == [Address(socket.AF_INET, name) for name in names]
    assert len(asked) == 1


def test_judge_refuses_the_host_nothing_is_connected_to() -> None:
    """contract: HTTP calls: the refusal ends the call before any connection."""

    def refuse(_: Sequence[Address]) -> Sequence[Address]:
        raise OSError("refused")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        resolver = Resolver(lambda *_, **__: found(listener.getsockname()))
        with pytest.raises(OSError, match=r"^refused$"):
            dial("vendor.example", 80, Call(later()), resolver=resolver, judge=refuse)
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_judge_drops_every_address_unreachable() -> None:
    """contract: HTTP calls: a host without an address is an error like any other."""
    resolver = Resolver(lambda *_, **__: found(("127.0.0.1", 1)))
    with pytest.raises(OSError, match=r"^no address$"):
        dial("vendor.example", 80, Call(later()), resolver=resolver, judge=lambda _: ())


@pytest.mark.parametrize("scheme", ["https", "HTTPS"])
def test_tls_certificate_is_trusted_answer_is_read(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    """contract: HTTP calls: HTTPS works, with connections kept alive."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    used: list[socket.socket] = []
    with TLSVendors() as vendors:
        vendors.behaviour["tavily"] = recorded(reply(GOOD), used)
        client = endpoint(vendors.port, {"Authorization": "Bearer k"}, scheme=scheme)
        assert outcome_of(lambda: [post(client, later()) for _ in range(3)]) == [GOOD] * 3
        assert [seen.headers["authorization"] for seen in vendors.seen] == ["Bearer k"] * 3
    assert len(set(used)) == 1


def test_tls_certificate_is_not_trusted_nothing_is_sent() -> None:
    """contract: HTTP calls: TLS is verified."""
    with TLSVendors() as vendors:
        client = endpoint(vendors.port, scheme="https")
        error = failure_of(lambda: post(client, later()))
        assert vendors.seen == []
    assert (error.reason, error.detail, error.sent) == ("unreachable", "certificate", False)


def test_tls_certificate_is_for_another_name_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """contract: HTTP calls: the name in the certificate is verified too."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with TLSVendors() as vendors:
        client = Endpoint(f"https://localhost:{vendors.port}/tavily/search", {}, connections=1)
        error = failure_of(lambda: post(client, later()))
        assert vendors.seen == []
    assert (error.reason, error.detail, error.sent) == ("unreachable", "certificate", False)


@pytest.mark.parametrize("strict", [False, True])
def test_tls_authority_is_careless_strict_checks_refuse_its_certificate(strict: bool) -> None:
    """contract: HTTP calls: Python 3.13 makes the strict checks by itself; they fail as an untrusted certificate."""
    context = tls_context()
    context.load_verify_locations(PRIVATE_CA)
    context.verify_flags = ssl.VERIFY_X509_STRICT if strict else ssl.VERIFY_DEFAULT
    refused = pytest.raises(ssl.SSLCertVerificationError) if strict else nullcontext()
    with TLSVendors(PRIVATE) as vendors, refused:
        dial("127.0.0.1", vendors.port, Call(later()), resolver=Resolver(), tls=context).close()


def test_connection_is_reset_unreachable(vendors: Vendors) -> None:
    """contract: Failures: a vendor that resets the connection before it answers is `unreachable`."""
    error = failure(vendors, reset())
    assert (error.reason, error.detail, error.sent) == ("unreachable", "reset", True)


def test_tls_port_speaks_plain_http_unreachable() -> None:
    """contract: HTTP calls: no status line arrives, so `unreachable`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def listen() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.recv(9999)

        threading.Thread(target=listen, daemon=True).start()
        client = endpoint(listener.getsockname()[1], scheme="https")
        error = failure_of(lambda: post(client, later()))
    assert (error.reason, error.detail, error.sent) == ("unreachable", "tls", False)
