"""The one HTTP client against real sockets (contract §6, kind g of the field cases)."""

from __future__ import annotations

import gzip
import json
import math
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
import requests
import responses

from sift import __version__
from sift.errors import SourceError
from sift.sources.deadline import _DeadlineSocket, call
from sift.sources.http import MAX_BODY, Endpoint, parse_json
from tests.sources.calls import (
    CERTIFICATE,
    SECRET,
    TLSVendors,
    counted,
    drip,
    failure_of,
    hold,
    later,
    outcome_of,
    send,
    soon,
    timeout_of,
)
from tests.vendors import Behaviour, Seen, Vendors, reply

OK = b"HTTP/1.1 200 OK\r\n"
GOOD = {"results": []}


def endpoint(port: int, headers: Mapping[str, str] = {}, *, scheme: str = "http", connections: int = 4) -> Endpoint:
    """Make a client of the vendor that listens on a port."""
    return Endpoint(f"{scheme}://127.0.0.1:{port}/tavily/search", headers, connections=connections)


def get(client: Endpoint, deadline: float) -> Any:
    return client.get_json({"q": SECRET}, deadline=deadline)


def post(client: Endpoint, deadline: float) -> Any:
    return client.post_json({"query": SECRET}, deadline=deadline)


def failure(vendors: Vendors, behaviour: Behaviour) -> SourceError:
    """Give the error of one POST to a vendor that behaves so."""
    vendors.behaviour["tavily"] = behaviour
    client = endpoint(vendors.port)
    return failure_of(lambda: post(client, later()))


def answer(vendors: Vendors, behaviour: Behaviour) -> Any:
    """Give what one POST to a vendor that behaves so returns."""
    vendors.behaviour["tavily"] = behaviour
    client = endpoint(vendors.port)
    return outcome_of(lambda: post(client, later()))


# The deadline. Vendors below drip or hold until the test is over, so a call that ends has kept its deadline.

DRIPS = {
    "silence": (b"", b""),
    "status line": (b"HTTP/1.1 2", b"0"),
    "header": (OK + b"X-Filler: ", b"a"),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "body of known length": (OK + b"Content-Length: 1000000\r\n\r\n{", b" "),
    "chunked body": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "chunk size": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
    "body until close": (OK + b"\r\n", b" "),
    "compressed body": (OK + b"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08" + bytes(6), b"a"),  # a file name,
}


@pytest.mark.parametrize(("start", "more"), DRIPS.values(), ids=DRIPS.keys())
def test_call_vendor_drips_ends_at_the_deadline(
    vendors: Vendors, release: threading.Event, start: bytes, more: bytes
) -> None:
    """B096: a call ends within its timeout in wall time, however the bytes drip, headers included."""
    vendors.behaviour["tavily"] = drip(release, start, more)
    client = endpoint(vendors.port)
    error = timeout_of(lambda deadline: post(client, deadline))
    assert (error.reason, error.sent, error.counts) == ("timeout", True, True)


def test_get_vendor_drips_ends_at_the_deadline(vendors: Vendors, release: threading.Event) -> None:
    """B096: GET keeps it as POST does."""
    vendors.behaviour["tavily"] = drip(release, *DRIPS["header"])
    client = endpoint(vendors.port)
    assert timeout_of(lambda deadline: get(client, deadline)).sent


def test_call_on_kept_connection_gets_its_own_deadline(vendors: Vendors, release: threading.Event) -> None:
    """B096: a connection that is kept brings nothing of the earlier call's deadline with it."""
    client = endpoint(vendors.port)
    lines: list[socket.socket] = []
    vendors.behaviour["tavily"] = counted(reply(GOOD), lines)
    assert outcome_of(lambda: post(client, later())) == GOOD
    vendors.behaviour["tavily"] = counted(drip(release, *DRIPS["silence"]), lines)
    assert timeout_of(lambda deadline: post(client, deadline)).sent
    assert lines[0] is lines[1]


def test_call_nobody_accepts_ends_at_the_deadline() -> None:
    """B096: a listener that never accepts is a silent one."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = endpoint(listener.getsockname()[1])
        error = timeout_of(lambda deadline: post(client, deadline))
    assert (error.reason, error.sent) == ("timeout", True)


@pytest.fixture
def silent() -> Iterator[tuple[str, int]]:
    """Give an address whose connect queue is full, so that one more connection gets no answer."""
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
    """B096: connecting counts into the deadline; the credit of a call that never left is given back (contract §8)."""
    client = endpoint(silent[1])
    error = failure_of(lambda: post(client, soon()))
    assert error.reason in ("timeout", "unreachable")  # some kernels refuse instead of being silent
    assert not error.sent


def test_first_address_keeps_silent_next_is_tried_in_time(
    vendors: Vendors, silent: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B096: a host that has an IPv6 address and no route there is reached by its other address."""
    stream = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
    found = [(*stream, silent), (*stream, ("127.0.0.1", vendors.port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    vendors.behaviour["tavily"] = reply(GOOD)
    client = endpoint(vendors.port)
    assert outcome_of(lambda: post(client, time.monotonic() + 2)) == GOOD


def test_tls_handshake_stalls_ends_at_the_deadline_unsent(release: threading.Event) -> None:
    """B096: a server that never answers the ClientHello holds a call to its deadline, no longer."""
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
    """contract §8: waiting elsewhere counts into the timeout; nothing goes out after it."""
    client = endpoint(vendors.port)
    error = failure_of(lambda: post(client, time.monotonic() - 1))
    assert (error.reason, error.sent) == ("timeout", False)
    assert vendors.seen == []


# Connecting


def test_port_is_closed_unreachable_and_unsent() -> None:
    """contract §8: a call that was never sent gives its credit back."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    client = endpoint(port)
    error = failure_of(lambda: post(client, later()))
    assert (error.reason, error.sent, error.counts) == ("unreachable", False, True)


def test_thread_has_made_calls_before_each_failure_is_its_own(vendors: Vendors, release: threading.Event) -> None:
    """contract §8: pool threads make many calls; nothing of an earlier one says that this one was sent or answered."""
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


def test_name_cannot_be_looked_up_unreachable_and_unsent(monkeypatch: pytest.MonkeyPatch) -> None:
    """contract §6: a name without an address is `unreachable`."""

    def refuse(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, f"no such name {SECRET}")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    client = endpoint(1)
    error = failure_of(lambda: post(client, later()))
    assert (error.reason, error.sent) == ("unreachable", False)


def test_name_is_no_legal_one_unreachable_and_unsent() -> None:
    """contract §6: a name that cannot even be asked for is `unreachable`."""
    client = Endpoint(f"http://{'x' * 64}.example/", {}, connections=1)
    error = failure_of(lambda: post(client, later()))
    assert (error.reason, error.sent) == ("unreachable", False)


def test_first_addresses_unusable_next_is_tried(vendors: Vendors, monkeypatch: pytest.MonkeyPatch) -> None:
    """contract §6: a refused address, or one of a family this host lacks, leaves the others of the name."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = listener.getsockname()
    stream = (socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
    found = [
        (255, *stream, ("unknown", 1)),
        (socket.AF_INET, *stream, closed),
        (socket.AF_INET, *stream, ("127.0.0.1", vendors.port)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    assert answer(vendors, reply(GOOD)) == GOOD


def test_deadline_has_passed_when_it_is_sent_nothing_left() -> None:
    """contract §8: a credit comes back when no byte of the call has left, so `sent` must not be said too early."""
    client, server = socket.socketpair()
    with _DeadlineSocket(fileno=client.detach()) as connection, server:
        call.begin(time.monotonic() - 1)
        with pytest.raises(TimeoutError):
            connection.sendall(b"x")
        assert not call.sent


# TLS


def test_tls_certificate_is_trusted_answer_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """contract §6: HTTPS works, with kept connections."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    lines: list[socket.socket] = []
    with TLSVendors() as vendors:
        vendors.behaviour["tavily"] = counted(reply(GOOD), lines)
        client = endpoint(vendors.port, {"Authorization": "Bearer k"}, scheme="https")
        assert outcome_of(lambda: [post(client, later()) for _ in range(3)]) == [GOOD] * 3
        assert [seen.headers["authorization"] for seen in vendors.seen] == ["Bearer k"] * 3
    assert len(set(lines)) == 1


def test_tls_answer_is_longer_than_it_says_rest_is_no_answer_to_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """contract §6: what OpenSSL holds decrypted of a broken answer never becomes the next call's answer."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    rest = OK + b"Content-Length: 7\r\n\r\n" + b'"wrong"'

    def behave(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(OK + b"Content-Length: 2\r\n\r\n")
        connection.sendall(b"{}" + rest)  # one record
        return True

    lines: list[socket.socket] = []
    with TLSVendors() as vendors:
        vendors.behaviour["tavily"] = counted(behave, lines)
        client = endpoint(vendors.port, scheme="https")
        assert outcome_of(lambda: [post(client, later()) for _ in range(2)]) == [{}, {}]
    assert len(set(lines)) == 2


def test_tls_certificate_is_not_trusted_nothing_is_sent() -> None:
    """contract §6: TLS is verified."""
    with TLSVendors() as vendors:
        client = endpoint(vendors.port, scheme="https")
        error = failure_of(lambda: post(client, later()))
        assert vendors.seen == []
    assert (error.reason, error.sent) == ("unreachable", False)


def test_tls_certificate_is_for_another_name_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """contract §6: and the name in the certificate is looked at."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with TLSVendors() as vendors:
        client = Endpoint(f"https://localhost:{vendors.port}/tavily/search", {}, connections=1)
        error = failure_of(lambda: post(client, later()))
        assert vendors.seen == []
    assert (error.reason, error.sent) == ("unreachable", False)


@pytest.mark.parametrize("part", ["silence", "header", "chunked body"])
def test_tls_vendor_drips_ends_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch, release: threading.Event, part: str
) -> None:
    """B096: under TLS too."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with TLSVendors() as vendors:
        vendors.behaviour["tavily"] = drip(release, *DRIPS[part])
        client = endpoint(vendors.port, scheme="https")
        error = timeout_of(lambda deadline: post(client, deadline))
    assert (error.reason, error.sent) == ("timeout", True)


def test_tls_port_speaks_plain_http_unreachable(vendors: Vendors) -> None:
    """contract §6: no status line came, so `unreachable`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def listen() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.recv(9999)

        threading.Thread(target=listen, daemon=True).start()
        client = endpoint(listener.getsockname()[1], scheme="https")
        error = failure_of(lambda: post(client, later()))
    assert (error.reason, error.sent) == ("unreachable", False)


# The request


def test_get_headers_are_exactly_these(vendors: Vendors) -> None:
    """contract §6: User-Agent, Accept and Accept-Language as SearXNG's limiter wants them, and the vendor's own."""
    vendors.behaviour["tavily"] = reply(GOOD)
    client = endpoint(vendors.port, {"X-Subscription-Token": "key"})
    outcome_of(lambda: client.get_json({"q": "x"}, deadline=later()))
    assert vendors.seen[0].headers == {
        "host": f"127.0.0.1:{vendors.port}",
        "user-agent": f"sift/{__version__}",
        "accept": "application/json, text/html;q=0.5",
        "accept-language": "en",
        "accept-encoding": "gzip, identity",
        "x-subscription-token": "key",
    }


def test_post_headers_are_exactly_these(vendors: Vendors) -> None:
    """contract §6: POST names type and length of its body, and nothing else more."""
    vendors.behaviour["tavily"] = reply(GOOD)
    client = endpoint(vendors.port, {"Authorization": "Bearer key"})
    outcome_of(lambda: client.post_json({"query": "ü"}, deadline=later()))
    (seen,) = vendors.seen
    assert seen.method == "POST"
    assert seen.target == "/tavily/search"
    assert seen.json() == {"query": "ü"}
    assert seen.headers == {
        "host": f"127.0.0.1:{vendors.port}",
        "user-agent": f"sift/{__version__}",
        "accept": "application/json, text/html;q=0.5",
        "accept-language": "en",
        "accept-encoding": "gzip, identity",
        "authorization": "Bearer key",
        "content-type": "application/json",
        "content-length": str(len(seen.body)),
    }


@pytest.mark.parametrize(
    "text",
    ["a b", "a&b=c#d?e", "100% + 1", '"quoted phrase" \\ /', "日本 ü 🙂", "a\tb\nc\x7f", "%20 %zz", "x" * 1500],
)
def test_get_query_holds_anything_vendor_reads_the_same(vendors: Vendors, text: str) -> None:
    """contract §6: nothing in a query changes what the URL means."""
    vendors.behaviour["tavily"] = reply(GOOD)
    client = endpoint(vendors.port)
    outcome_of(lambda: client.get_json({"q": text, "format": "json"}, deadline=later()))
    assert vendors.seen[0].parameters == {"q": text, "format": "json"}


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://127.0.0.1:{port}/tavily/a%2Fb", "/tavily/a%2Fb?q=x"),
        ("http://127.0.0.1:{port}/tavily/search?safe=1", "/tavily/search?safe=1&q=x"),
        ("HTTP://127.0.0.1:{port}/tavily/search", "/tavily/search?q=x"),
        ("http://127.0.0.1:{port}", "/?q=x"),
        ("http://127.0.0.1:{port}?safe=1", "/?safe=1&q=x"),
    ],
)
def test_get_url_is_spelled_oddly_target_is_whole(vendors: Vendors, url: str, target: str) -> None:
    """contract §2: the whole endpoint URL is the owner's, however it is spelled."""
    vendors.behaviour["tavily"] = vendors.behaviour[""] = reply(GOOD)
    client = Endpoint(url.format(port=vendors.port), {}, connections=1)
    assert outcome_of(lambda: client.get_json({"q": "x"}, deadline=later())) == GOOD
    assert vendors.seen[0].target == target


# Nothing of the environment, nothing kept but the connection


@pytest.mark.parametrize("variable", ["HOME", "NETRC"])
def test_netrc_names_the_vendor_own_key_is_sent(
    vendors: Vendors, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    """B106: (B107 too) a .netrc neither replaces Sift's key nor adds one."""
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login other password other\ndefault login other password other\n")
    monkeypatch.setenv(variable, str(tmp_path if variable == "HOME" else netrc))
    vendors.behaviour["tavily"] = reply(GOOD)
    keyed, bare = endpoint(vendors.port, {"Authorization": "Bearer own"}), endpoint(vendors.port)
    outcome_of(lambda: (post(keyed, later()), post(bare, later())))
    assert [seen.headers.get("authorization") for seen in vendors.seen] == ["Bearer own", None]


def test_proxy_variables_are_set_call_goes_straight(vendors: Vendors, monkeypatch: pytest.MonkeyPatch) -> None:
    """B108: proxies of the environment are not used."""
    with socket.create_server(("127.0.0.1", 0)) as spy:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{spy.getsockname()[1]}")
        assert answer(vendors, reply(GOOD)) == GOOD
        spy.setblocking(False)
        with pytest.raises(BlockingIOError):
            spy.accept()
    assert vendors.seen[0].target == "/tavily/search"


def test_vendor_sets_cookies_none_goes_back(vendors: Vendors) -> None:
    """B111: no cookie of one call goes out in another, between threads neither."""
    numbers = iter(range(1000))

    def behave(connection: socket.socket, seen: Seen) -> object:
        return reply(GOOD, headers=[("Set-Cookie", f"session={next(numbers)}; Path=/")])(connection, seen)

    vendors.behaviour["tavily"] = behave
    client = endpoint(vendors.port, connections=20)
    outcomes: list[Any] = []
    threads = [
        threading.Thread(target=lambda: outcomes.append([post(client, later()) for _ in range(5)])) for _ in "x" * 20
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert outcomes == [[GOOD] * 5] * 20
    assert len(vendors.seen) == 100
    assert not [seen for seen in vendors.seen if "cookie" in seen.headers]


def test_calls_one_after_another_share_a_connection(vendors: Vendors) -> None:
    """contract §6: keep-alive, for GET, POST, compressed and chunked answers alike."""
    client, lines = endpoint(vendors.port), list[socket.socket]()
    packed = gzip.compress(json.dumps(GOOD).encode())
    for behaviour in (
        reply(GOOD),
        reply(packed, headers=[("Content-Encoding", "gzip")]),
        keep(OK + b"Transfer-Encoding: chunked\r\n\r\ne\r\n" + b'{"results":[]}' + b"\r\n0\r\n\r\n"),
        reply(GOOD),
    ):
        vendors.behaviour["tavily"] = counted(behaviour, lines)
        assert outcome_of(lambda: (get(client, later()), post(client, later()))) == (GOOD, GOOD)
    assert len(lines) == 8
    assert len(set(lines)) == 1


def keep(whole: bytes) -> Behaviour:
    """Send bytes as they are, and keep the connection."""

    def behave(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(whole)
        return True

    return behave


def test_32_threads_call_at_once_connections_are_kept_without_a_word(
    vendors: Vendors, caplog: pytest.LogCaptureFixture
) -> None:
    """B109: the pool holds a connection for each call, so none is thrown away and nothing is logged."""
    caplog.set_level("DEBUG", "urllib3.connectionpool")
    together, lines = threading.Barrier(32), list[socket.socket]()

    def behave(connection: socket.socket, seen: Seen) -> object:
        together.wait(20)
        return reply(GOOD)(connection, seen)

    vendors.behaviour["tavily"] = counted(behave, lines)
    client, outcomes = endpoint(vendors.port, connections=32), list[Any]()
    for _ in range(2):
        threads = [threading.Thread(target=lambda: outcomes.append(post(client, later()))) for _ in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert outcomes == [GOOD] * 64
    assert len(set(lines)) == 32
    assert not [record for record in caplog.records if record.levelname != "DEBUG"]


def test_vendor_closed_idle_connection_next_call_works(vendors: Vendors) -> None:
    """B112: a connection that the vendor closed between two calls is replaced by a new one."""
    client, lines = endpoint(vendors.port), list[socket.socket]()
    closed = threading.Event()

    def behave(connection: socket.socket, seen: Seen) -> bool:
        keep(OK + b"Content-Length: 2\r\n\r\n{}")(connection, seen)
        connection.shutdown(socket.SHUT_RDWR)
        closed.set()
        return False

    vendors.behaviour["tavily"] = counted(behave, lines)
    for _ in range(3):
        closed.clear()
        assert outcome_of(lambda: post(client, later())) == {}
        assert closed.wait(10)
    assert len(set(lines)) == 3


@pytest.mark.parametrize(
    "whole",
    [
        OK + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_vendor_ends_with_this_answer_connection_is_not_kept(vendors: Vendors, whole: bytes) -> None:
    """contract §6: an answer that closes, or that was not read to its end, leaves no connection to the next call."""
    client, lines = endpoint(vendors.port), list[socket.socket]()
    vendors.behaviour["tavily"] = counted(keep(whole), lines)
    for _ in range(2):
        with suppress(SourceError):
            assert post(client, later()) == {}
    assert len(set(lines)) == 2


def test_vendor_ends_one_connection_next_call_uses_another_that_is_kept(vendors: Vendors) -> None:
    """contract §6: a closed connection does not lie on top of those that are open."""
    client, lines, together = endpoint(vendors.port, connections=2), list[socket.socket](), threading.Barrier(2)

    def behave(connection: socket.socket, seen: Seen) -> object:
        together.wait(20)
        return reply(GOOD)(connection, seen)

    vendors.behaviour["tavily"] = counted(behave, lines)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: post(client, later()), "xx")) == [GOOD, GOOD]
    vendors.behaviour["tavily"] = counted(keep(OK + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}"), lines)
    assert post(client, later()) == {}
    vendors.behaviour["tavily"] = counted(reply(GOOD), lines)
    assert post(client, later()) == GOOD
    assert len(lines) == 4
    assert len(set(lines)) == 2


def test_vendor_drops_kept_connection_on_request_it_is_not_sent_again(vendors: Vendors) -> None:
    """B112: a request that may have arrived is never repeated; it counts as sent."""
    client, lines = endpoint(vendors.port), list[socket.socket]()
    vendors.behaviour["tavily"] = counted(reply(GOOD), lines)
    assert outcome_of(lambda: post(client, later())) == GOOD
    vendors.behaviour["tavily"] = counted(send(), lines)
    error = failure_of(lambda: post(client, later()))
    assert (error.reason, error.sent, error.counts) == ("unreachable", True, True)
    assert len(lines) == 2
    assert lines[0] is lines[1]


def test_vendor_drops_new_connection_on_request_it_is_not_sent_again(vendors: Vendors) -> None:
    """B117: one POST a call, whatever comes of it."""
    error = failure(vendors, send())
    assert (error.reason, error.sent) == ("unreachable", True)
    assert len(vendors.seen) == 1


def test_answer_is_longer_than_it_says_rest_is_no_answer_to_the_next_call(vendors: Vendors) -> None:
    """contract §6: what is left of a broken answer never becomes the next call's answer."""
    client = endpoint(vendors.port)
    for size in (1, 100_000):
        rest = OK + b"Content-Length: 7\r\n\r\n" + b'"wrong"' * size
        for head in (
            b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}",
            b"HTTP/1.1 302 No\r\nContent-Length: 0\r\n\r\n",
            OK + b"Content-Encoding: br\r\nContent-Length: 2\r\n\r\n{}",
            OK + b"Content-Length: 1\r\n\r\n{",
        ):
            vendors.behaviour["tavily"] = keep(head + rest)
            failure_of(lambda: post(client, later()))
            vendors.behaviour["tavily"] = reply(GOOD)
            assert outcome_of(lambda: post(client, later())) == GOOD


# Redirects and statuses


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 305, 307, 308, 399])
def test_vendor_redirects_nobody_is_asked_there(vendors: Vendors, release: threading.Event, status: int) -> None:
    """B104: a 3xx is a failure; the place it names gets no request (nor keys), and its own body is not waited for."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        place = f"http://127.0.0.1:{other.getsockname()[1]}/?q={SECRET}"
        head = f"HTTP/1.1 {status} Moved\r\nLocation: {place}\r\nContent-Length: 1000000\r\n\r\n"
        error = failure(vendors, hold(release, head.encode()))
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.accept()
    assert (error.reason, error.sent, error.counts) == ("redirect refused", True, False)
    assert len(vendors.seen) == 1


def test_vendor_redirects_to_itself_it_is_asked_once(vendors: Vendors) -> None:
    """B101: nor is the vendor's own host asked again (SearXNG sends suspects to `/`)."""
    error = failure(vendors, reply(b"", 302, [("Location", "/")]))
    assert error.reason == "redirect refused"
    assert len(vendors.seen) == 1


@pytest.mark.parametrize(
    ("status", "counts"),
    [
        *[(status, False) for status in (201, 202, 204, 206, 400, 401, 403, 404, 410, 414, 422, 432, 433, 499)],
        *[(status, True) for status in (429, 500, 502, 503, 504, 599, 999)],
    ],
)
def test_status_is_not_200_failure_names_it_alone(
    vendors: Vendors, release: threading.Event, status: int, counts: bool
) -> None:
    """contract §6: status is looked at before the body; 5xx and 429 count for the breaker, 4xx do not (§8)."""
    head = f"HTTP/1.1 {status} {SECRET}\r\nContent-Length: 1000000\r\n\r\n"
    error = failure(vendors, hold(release, head.encode() + b'{"detail": '))
    assert (error.reason, error.sent, error.counts) == (f"http {status}", True, counts)


@pytest.mark.parametrize(
    ("header", "low", "high"),
    [
        ("12", 12, 12),
        (" 7 ", 7, 7),
        ("0", None, None),
        ("", None, None),
        ("-5", None, None),
        ("1.5", None, None),
        ("soon", None, None),
        ("\u00b2", None, None),
        ("99999999999999999999999999", 86_400, math.inf),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None, None),
        (format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True), 3000, 3600),
        (format_datetime(datetime.now(UTC) + timedelta(hours=1)).replace("+0000", ""), 3000, 3600),
        ("Wed, 21 Oct 2026 07:28:00 +99999999999999999999", None, None),
        ("Wed, 99 Foo 2026", None, None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_vendor_names_a_wait_it_is_read_where_it_makes_sense(
    vendors: Vendors, status: int, header: str, low: float | None, high: float | None
) -> None:
    """B114: Retry-After in seconds or as a date; anything else is as none, and never an exception."""
    error = failure(vendors, reply({}, status, [("Retry-After", header)]))
    assert error.reason == f"http {status}"
    if low is None or high is None:
        assert error.retry_after is None
    else:
        assert error.retry_after is not None
        assert low <= error.retry_after <= high


def test_other_status_names_a_wait_it_is_not_read(vendors: Vendors) -> None:
    """contract §8: it is a 429's or 503's Retry-After that opens the breaker."""
    assert failure(vendors, reply({}, 500, [("Retry-After", "60")])).retry_after is None


# Bodies


@pytest.mark.parametrize(
    "whole",
    [
        b"",
        b"\r\n\r\n",
        b"<html>no HTTP at all</html>",
        b"HTTP/1.1\r\n\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 99 Low\r\n\r\n",
        b"SSH-2.0-server\r\n",
    ],
)
def test_no_status_line_comes_unreachable(vendors: Vendors, whole: bytes) -> None:
    """contract §6: no status line came, so `unreachable`, and it was sent."""
    error = failure(vendors, send(whole))
    assert (error.reason, error.sent, error.counts) == ("unreachable", True, True)


PACKED = gzip.compress(b'{"results": []}')
BROKEN = {
    "cut in the headers": OK + b"Content-Le",
    "nothing after 100 Continue": b"HTTP/1.1 100 Continue\r\n\r\n",
    "another protocol": OK.replace(b"HTTP/1.1", b"HTTP/2") + b'Content-Length: 14\r\n\r\n{"results":[]}',
    "over-long header": OK + b"X-Long: " + b"x" * 70_000,
    "a thousand headers": OK + b"X-Many: x\r\n" * 1000 + b"\r\n{}",
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "empty body": OK + b"Content-Length: 0\r\n\r\n",
    "empty body until close": OK + b"\r\n",
    "cut in the body": OK + b'Content-Length: 99\r\n\r\n{"results":[]}',
    "cut before the body": OK + b"Content-Length: 99\r\n\r\n",
    "cut JSON": OK + b'\r\n{"results":[',
    "shorter length than body": OK + b'Content-Length: 5\r\n\r\n{"results":[]}',
    "cut in a chunk": OK + b'Transfer-Encoding: chunked\r\n\r\n20\r\n{"results":[]}',
    "cut between chunks": OK + b'Transfer-Encoding: chunked\r\n\r\ne\r\n{"results":[]}\r\n',
    "bad chunk size": OK + b'Transfer-Encoding: chunked\r\n\r\nzz\r\n{"results":[]}\r\n0\r\n\r\n',
    "negative chunk size": OK + b'Transfer-Encoding: chunked\r\n\r\n-e\r\n{"results":[]}\r\n0\r\n\r\n',
    "HTML": OK + b"Content-Type: text/html\r\n\r\n<!doctype html><title>sign in</title>",
    "gzip cut": OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED[:-9],
    "gzip without its check sum": OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED[:-1],
    "gzip with a wrong check sum": OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED[:-8] + b"12345678",
    "gzip and more": OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED + b"more",
    "gzip and another": OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED + PACKED,
    "gzip that is none": OK + b'Content-Encoding: gzip\r\n\r\n{"results":[]}',
    "gzip twice": OK + b"Content-Encoding: gzip, gzip\r\n\r\n" + gzip.compress(PACKED),
    "gzip in two headers": OK + b"Content-Encoding: gzip\r\nContent-Encoding: br\r\n\r\n" + PACKED,
    "gzip that is empty": OK + b"Content-Encoding: gzip\r\n\r\n",
    "unknown encoding": OK + b'Content-Encoding: br\r\n\r\n{"results":[]}',
    "deflate, not asked for": OK + b'Content-Encoding: deflate\r\n\r\n{"results":[]}',
    "UTF-16": OK + b"\r\n" + '{"results":[]}'.encode("utf-16"),
    "Latin-1": OK + b"Content-Type: application/json; charset=latin-1\r\n\r\n" + '{"results":["é"]}'.encode("latin-1"),
    "two documents": OK + b'\r\n{"results":[]}{"results":[]}',
    "deeper than any stack": OK + b"\r\n" + b"[" * 200_000,
    "a NUL": OK + b'\r\n{"results":[]}\x00',
}


@pytest.mark.parametrize("whole", BROKEN.values(), ids=BROKEN.keys())
def test_answer_breaks_after_its_status_bad_response(vendors: Vendors, whole: bytes) -> None:
    """B098: HTML, empty and cut bodies, broken framing: `bad response`, which the breaker does not count."""
    error = failure(vendors, send(whole))
    assert (error.reason, error.sent, error.counts) == ("bad response", True, False)


def test_bytes_after_gzip_never_end_bad_response_at_once(vendors: Vendors, release: threading.Event) -> None:
    """contract §6: what follows the compressed body is neither read to its end nor kept."""
    error = failure(vendors, drip(release, OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED, b"x"))
    assert error.reason == "bad response"


@pytest.mark.parametrize(
    ("whole", "body"),
    [
        (OK + b"\r\n{}", {}),
        (b"HTTP/1.0 200 OK\r\n\r\n{}", {}),
        (b"HTTP/1.1 200\r\n\r\n{}", {}),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"\r\n{}", {}),
        (b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + OK + b"\r\n{}", {}),
        (OK + b"Content-Length: nonsense\r\n\r\n{}", {}),
        (OK + b"Content-Length: -2\r\n\r\n{}", {}),
        (OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", {}),
        (OK + b"content-length:2\r\n\r\n{}", {}),
        (OK + b"X-Folded: one\r\n Content-Length: 9\r\nno colon\r\nContent-Length: 2\r\n\r\n{}", {}),
        (OK.replace(b"\r\n", b"\n") + b"Content-Length: 2\n\n{}", {}),
        (OK + b"X-Many: x\r\n" * 100 + b"\r\n{}", {}),
        (OK + b"X-Name: \xff\xfe\r\n\r\n{}", {}),
        (OK + b"Content-Encoding: identity\r\n\r\n{}", {}),
        (OK + b"Content-Encoding: X-GZIP\r\n\r\n" + PACKED, GOOD),
        (OK + b"Content-Type: text/html\r\n\r\n{}", {}),
        (OK + b"Content-Type: application/json; charset=latin-1\r\n\r\n" + '{"a":"é"}'.encode(), {"a": "é"}),
        (OK + b"\r\n\xef\xbb\xbf{}", {}),
        (OK + b"\r\n \r\n{} \n", {}),
        (OK + b"\r\nnull", None),
        (OK + b"\r\n[]", []),
        (OK + b"\r\n7", 7),
        (OK + b'\r\n"text"', "text"),
        (OK + b'\r\n{"a":1,"a":2}', {"a": 2}),
        (OK + b'\r\n{"a":"\\ud800"}', {"a": "\ud800"}),
    ],
)
def test_answer_is_odd_but_readable_it_is_read(vendors: Vendors, whole: bytes, body: Any) -> None:
    """contract §6: UTF-8 whatever the charset says, BOM dropped; what the JSON means is the vendor file's affair."""
    assert answer(vendors, send(whole)) == body


def test_body_holds_nan_it_is_read_as_one() -> None:
    """B067: Python reads a bare NaN; the fields that hold numbers refuse it later."""
    body = parse_json(b'{"a": NaN, "b": -Infinity, "c": 1e999}')
    assert math.isnan(body["a"])
    assert (body["b"], body["c"]) == (-math.inf, math.inf)


def test_body_holds_an_integer_of_thousands_of_digits_rest_is_read() -> None:
    """contract §6: a field of a wrong type is absent, and costs no other."""
    digits = b"9" * 5000
    body = parse_json(b'{"a": ' + digits + b', "b": [1, -' + digits + b'], "c": "kept"}')
    assert body == {"a": None, "b": [1, None], "c": "kept"}


def test_body_is_as_large_as_may_be_it_is_read(vendors: Vendors) -> None:
    """contract §6: decoded bodies stop at 4 MiB, not before."""
    assert MAX_BODY == 4 * 1024 * 1024
    whole = b'"' + b"x" * (MAX_BODY - 2) + b'"'
    assert len(answer(vendors, reply(whole))) == MAX_BODY - 2
    packed = gzip.compress(whole, 1)
    assert len(answer(vendors, reply(packed, headers=[("Content-Encoding", "gzip")]))) == MAX_BODY - 2


def test_body_is_a_byte_too_large_it_is_refused(vendors: Vendors) -> None:
    """B119: over 4 MiB, plain or compressed: `response too large`."""
    whole = b'"' + b"x" * (MAX_BODY - 1) + b'"'
    for body, headers in ((whole, []), (gzip.compress(whole, 1), [("Content-Encoding", "gzip")])):
        error = failure(vendors, reply(body, headers=headers))
        assert (error.reason, error.sent, error.counts) == ("response too large", True, False)


def test_body_is_a_bomb_memory_stays_flat(vendors: Vendors) -> None:
    """B118: 64 kB that would inflate to 64 MiB stop at the limit."""
    bomb = gzip.compress(bytes(64 * 1024 * 1024), 9)
    tracemalloc.start()
    try:
        error = failure(vendors, reply(bomb, headers=[("Content-Encoding", "gzip")]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert error.reason == "response too large"
    assert peak < 4 * MAX_BODY


@pytest.mark.parametrize(
    ("head", "more"),
    [
        (b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65_536 + b"\r\n"),
        (b"\r\n", b" " * 65_536),
        (b"Content-Length: 99999999999\r\n\r\n", b" " * 65_536),
    ],
)
def test_body_never_ends_it_is_cut_at_the_limit(
    vendors: Vendors, release: threading.Event, head: bytes, more: bytes
) -> None:
    """B119: the limit holds while streaming, whatever length is announced, and the connection is closed."""
    gone = threading.Event()

    def behave(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(OK + head)
        try:
            while not release.is_set():
                connection.sendall(more)
        except OSError:
            gone.set()
        return False

    assert failure(vendors, behave).reason == "response too large"
    assert gone.wait(10)


def test_length_is_longer_than_body_and_line_stays_open_timeout(vendors: Vendors, release: threading.Event) -> None:
    """contract §6: what is announced and does not come is waited for until the deadline, no longer."""
    vendors.behaviour["tavily"] = hold(release, OK + b"Content-Length: 99\r\n\r\n{}")
    client = endpoint(vendors.port)
    error = timeout_of(lambda deadline: post(client, deadline))
    assert (error.reason, error.sent) == ("timeout", True)


# The `responses` library, as vendor tests use it


@responses.activate
def test_responses_library_stands_in_call_is_answered() -> None:
    """layout §9: `responses` still intercepts calls, which go past requests' Session."""
    responses.get(
        "https://vendor.example/search",
        json={"a": 1},
        match=[
            responses.matchers.query_param_matcher({"q": SECRET}),
            responses.matchers.header_matcher({"X-Key": "k"}),
        ],
    )
    responses.post(
        "https://vendor.example/search",
        json={"b": 2},
        match=[responses.matchers.json_params_matcher({"query": SECRET})],
    )
    client = Endpoint("https://vendor.example/search", {"X-Key": "k"}, connections=1)
    assert (get(client, later()), post(client, later())) == ({"a": 1}, {"b": 2})


@pytest.mark.parametrize(
    ("stands_in", "reason"),
    [
        ({"status": 403}, "http 403"),
        ({"status": 302, "headers": {"Location": "https://other.example/"}}, "redirect refused"),
        ({"body": "<html>"}, "bad response"),
        ({"body": "{}", "headers": {"Content-Encoding": "br"}}, "bad response"),
        ({"body": requests.ConnectionError(SECRET)}, "unreachable"),
        ({"body": requests.ReadTimeout(SECRET)}, "timeout"),
        ({"body": requests.ConnectTimeout(SECRET)}, "timeout"),
    ],
)
@responses.activate
def test_responses_library_fails_reason_is_as_on_the_wire(stands_in: dict[str, Any], reason: str) -> None:
    """contract §4: the closed vocabulary."""
    responses.get("https://vendor.example/search", **stands_in)
    client = Endpoint("https://vendor.example/search", {}, connections=1)
    assert failure_of(lambda: get(client, later())).reason == reason
