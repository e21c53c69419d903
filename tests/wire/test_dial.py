"""Opening a connection: addresses, the judge that filters them, and TLS."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from sift.errors import RefusedAddressError
from sift.guard.guard import Guard
from sift.wire.call import Call
from sift.wire.dial import dial, is_own, tls_context
from sift.wire.endpoint import Endpoint
from sift.wire.resolver import Address, Resolver
from tests.calls import SECRET, failure_of, later, outcome_of, recorded
from tests.fakes import PATIENCE
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


class Refusal(Exception):  # noqa: N818 - what a guard raises: no OSError
    """What a stand-in for the guard raises."""


def test_connection_is_made_it_is_confirmed_before_anything_is_sent() -> None:
    """contract: Guard: both ends of the connected socket are checked, and the address that was judged is named."""
    confirmed: list[tuple[str, str, Address]] = []
    with socket.create_server(("127.0.0.2", 0)) as listener:
        place = listener.getsockname()
        resolver = Resolver(lambda *_, **__: found(place))
        dial(
            "vendor.example", 80, Call(later()), resolver=resolver, confirm=lambda *seen: confirmed.append(seen)
        ).close()
    # The kernel connects from 127.0.0.1, but both addresses are this host's.
    assert confirmed == [("127.0.0.2", "127.0.0.2", Address(socket.AF_INET, place))]


@pytest.mark.parametrize(
    ("family", "address", "expected"),
    [
        (socket.AF_INET, "127.0.0.9", True),
        (socket.AF_INET, "8.8.8.8", False),
        (socket.AF_INET6, "::1", True),
        (socket.AF_INET6, "::ffff:127.0.0.9", True),
        (socket.AF_INET6, "::ffff:8.8.8.8", False),
        (socket.AF_INET6, "2606:4700:4700::1111", False),
    ],
)
def test_address_of_this_host_is_told_from_others(family: int, address: str, expected: bool) -> None:
    """contract: Guard: by what a socket can be bound to; nothing is sent to find out."""
    assert is_own(family, address) is expected


@pytest.mark.parametrize("tls", [False, True])
def test_confirm_refuses_the_connection_ends_with_nothing_sent_and_no_other_is_made(tls: bool) -> None:
    """contract: Guard: a peer that is not the judged one ends the dial; not even a TLS greeting reaches it."""

    def refuse(own: str, peer: str, address: Address) -> None:
        raise Refusal

    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        resolver = Resolver(lambda *_, **__: found(first.getsockname(), second.getsockname()))
        context = tls_context(environment=False) if tls else None
        with pytest.raises(Refusal):
            dial("vendor.example", 443, Call(later()), resolver=resolver, confirm=refuse, tls=context)
        with first.accept()[0] as connection:
            connection.settimeout(PATIENCE)
            assert connection.recv(1) == b""
        second.setblocking(False)
        with pytest.raises(BlockingIOError):
            second.accept()


def test_confirm_cannot_tell_next_address_is_tried() -> None:
    """contract: HTTP calls: a connection that is gone before it could be checked is one that failed."""
    asked: list[Address] = []

    def fail_once(own: str, peer: str, address: Address) -> None:
        asked.append(address)
        if len(asked) == 1:
            raise ConnectionResetError

    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        names = [first.getsockname(), second.getsockname()]
        resolver = Resolver(lambda *_, **__: found(*names))
        dial("vendor.example", 80, Call(later()), resolver=resolver, confirm=fail_once).close()
    assert asked == [Address(socket.AF_INET, name) for name in names]


def test_judge_raises_what_is_no_oserror_it_ends_the_dial() -> None:
    """contract: Guard: one bad address refuses the host, and nothing is connected to."""

    def refuse(_: Sequence[Address]) -> Sequence[Address]:
        raise Refusal

    with socket.create_server(("127.0.0.1", 0)) as listener:
        resolver = Resolver(lambda *_, **__: found(listener.getsockname()))
        with pytest.raises(Refusal):
            dial("vendor.example", 80, Call(later()), resolver=resolver, judge=refuse)
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_guard_is_asked_its_own_host_is_refused() -> None:
    """contract: Guard: the socket's own address is no peer, whatever the look-up said."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        resolver = Resolver(lambda *_, **__: found(listener.getsockname()))
        with pytest.raises(RefusedAddressError):
            dial("vendor.example", 80, Call(later()), resolver=resolver, judge=Guard().judge)
        with pytest.raises(RefusedAddressError):
            dial("vendor.example", 80, Call(later()), resolver=resolver, confirm=Guard().confirm)


def trusts(context: ssl.SSLContext, certificate: Path = CERTIFICATE) -> bool:
    """Return whether a context trusts a loopback server."""
    with TLSVendors(certificate) as vendors:
        try:
            dial("127.0.0.1", vendors.port, Call(later()), resolver=Resolver(), tls=context).close()
        except ssl.SSLCertVerificationError:
            return False
        return True


def test_environment_names_authorities_they_are_ignored_when_told_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """contract: Guard: TLS of a fetch trusts the system's authorities and certifi's, and no others."""
    keys = tmp_path / "keys"
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    monkeypatch.setenv("SSL_CERT_DIR", str(CERTIFICATE.parent))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(CERTIFICATE))
    assert trusts(tls_context())
    monkeypatch.setenv("SSLKEYLOGFILE", str(keys))
    context = tls_context(environment=False)
    assert not trusts(context)
    assert context.keylog_filename is None
    assert not keys.exists()


def test_environment_is_ignored_names_and_dates_are_checked_all_the_same() -> None:
    """contract: Guard: the context verifies."""
    context = tls_context(environment=False)
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert len(context.get_ca_certs()) >= 100  # certifi's at least


@pytest.mark.parametrize("form", ["file", "directory"])
def test_environment_is_ignored_authorities_of_the_system_are_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str
) -> None:
    """contract: Guard: those in the file and the directory that OpenSSL was built for."""
    directory = tmp_path / "certs"
    if form == "directory":
        directory.mkdir()  # with the name that `openssl x509 -hash` gives
        (directory / "87515939.0").write_bytes(CERTIFICATE.read_bytes())
    file = CERTIFICATE if form == "file" else tmp_path / "missing.pem"
    paths = ssl.DefaultVerifyPaths(None, None, "SSL_CERT_FILE", str(file), "SSL_CERT_DIR", str(directory))
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)
    assert trusts(tls_context(environment=False))


def test_environment_is_ignored_system_has_no_authorities_certifi_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """contract: Guard: a system without a store of its own is no error."""
    (broken := tmp_path / "broken.pem").write_text("no certificate")
    for file in (broken, tmp_path / "missing.pem"):
        paths = ssl.DefaultVerifyPaths(None, None, "SSL_CERT_FILE", str(file), "SSL_CERT_DIR", str(tmp_path / "none"))
        monkeypatch.setattr(ssl, "get_default_verify_paths", lambda paths=paths: paths)
        assert len(tls_context(environment=False).get_ca_certs()) >= 100


@pytest.mark.parametrize(("host", "sent"), [("127.0.0.1", None), ("good.example", "good.example")])
def test_host_is_an_address_no_server_name_is_sent(host: str, sent: str | None) -> None:
    """contract: Guard: the certificate is checked for the host; a server name is for names alone (RFC 6066)."""
    names: list[str | None] = []
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(CERTIFICATE)
    server.sni_callback = lambda _, name, __: names.append(name)
    context = tls_context(environment=False)
    context.load_verify_locations(CERTIFICATE)

    def serve() -> None:
        with suppress(OSError):
            server.wrap_socket(listener.accept()[0], server_side=True).close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve)
        serving.start()
        place = listener.getsockname()
        resolver = Resolver(lambda *_, **__: found(place))
        refused = pytest.raises(ssl.SSLCertVerificationError) if sent else nullcontext()
        with refused:
            dial(host, 443, Call(later()), resolver=resolver, tls=context).close()
        serving.join(PATIENCE)
    assert names == [sent]
