from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, NoReturn

import pytest
import requests

from sift.client import ForeignResponseError, LostError, SiftClient, UnreachableError
from sift.client.shapes import (
    FETCH_ERRORS,
    Shape,
    is_batch,
    is_ended,
    is_errors,
    is_list,
    is_receipt,
    is_results,
)
from sift.errors import ConfigError
from tests.wire.tls import CERTIFICATE, PRIVATE_CA

ANSWER = {"queries": ["x"], "results": [], "warnings": []}
PAGE = {"final_url": "https://a.example/", "content": "text", "chars": 4, "warnings": []}
Wire = Callable[..., tuple[str, list[Any]]]


@pytest.fixture
def wire() -> Iterator[Wire]:
    """Start servers that answer every request with the same bytes; return the address and the requests seen."""
    stops: list[Callable[[], object]] = []

    def start(answer: bytes, *, tls: bool = False) -> tuple[str, list[Any]]:
        seen: list[Any] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                seen.append((self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        stops.extend((server.shutdown, thread.join, server.server_close))
        return f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}", seen

    yield start
    for stop in stops:
        stop()


def ok(payload: object = ANSWER, status: str = "200 OK", headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\n{headers}\r\n{json.dumps(payload)}".encode()


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    netrc = tmp_path / "netrc"
    netrc.write_text("default login other password other\n")
    monkeypatch.setenv("NETRC", str(netrc))


@pytest.mark.parametrize("base", ["", "/sift//"])
def test_search_posts_once_with_its_token(wire: Wire, base: str) -> None:
    """contract: Command line: the token is the caller's, whatever .netrc holds;
    a base path and trailing slashes are fine.
    """
    url, seen = wire(ok())
    assert SiftClient(url + base, "tok").search({"query": "ü", "k": 3}) == (200, ANSWER, None)
    ((path, headers, body),) = seen
    assert path == base.rstrip("/") + "/v1/search"
    assert headers["Authorization"] == "Bearer tok"
    assert headers["User-Agent"].startswith("sift/")
    assert json.loads(body) == {"query": "ü", "k": 3}


def test_without_token_no_authorization_is_sent(wire: Wire) -> None:
    """contract: Command line: no token means none, and not one out of .netrc."""
    url, seen = wire(ok())
    SiftClient(url).search({})
    assert "Authorization" not in seen[0][1]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_never_goes_through_a_proxy(wire: Wire, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """contract: Command line: a proxy of the environment is not used for this machine."""
    proxy, proxied = wire(ok())
    monkeypatch.setenv("http_proxy", proxy)
    url, seen = wire(ok())
    SiftClient(url.replace("127.0.0.1", host), "tok").search({})
    assert (len(seen), proxied) == (1, [])


def test_other_hosts_go_through_the_proxy_with_their_token(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """contract: Command line: elsewhere a proxy is used, and .netrc still does not replace the token."""
    proxy, proxied = wire(ok())
    monkeypatch.setenv("http_proxy", proxy)
    assert SiftClient("http://sift.invalid", "tok").search({}) == (200, ANSWER, None)
    assert proxied[0][0] == "http://sift.invalid/v1/search"
    assert proxied[0][1]["Authorization"] == "Bearer tok"


def test_redirect_is_not_followed(wire: Wire) -> None:
    """contract: Command line: a redirect is not Sift's answer, and the token is not sent on."""
    elsewhere, seen = wire(ok())
    url, _ = wire(ok(status="307 Temporary Redirect", headers=f"Location: {elsewhere}/v1/search\r\n"))
    with pytest.raises(ForeignResponseError, match="307"):
        SiftClient(url, "tok").search({})
    assert seen == []


@pytest.mark.parametrize("status", [400, 500])
def test_refusals_of_the_service_are_answers(wire: Wire, status: int) -> None:
    """contract: Errors: an error in Sift's own form is returned as it is."""
    error = {"error": "some error", "hint": "k", "warnings": ["tavily: timeout"]}
    url, _ = wire(ok(error, f"{status} X"))
    assert SiftClient(url).search({}) == (status, error, None)


BROKEN = {
    "nothing": (b"", UnreachableError),
    "no HTTP": (b"SSH-2.0-x\r\n", UnreachableError),
    "cut": (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", UnreachableError),
    "bad gzip": (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nxx", ForeignResponseError),
    "latin-1": (b'HTTP/1.1 200 OK\r\n\r\n{"results": [], "warnings": ["\xfc"]}', ForeignResponseError),
    "created": (ok(status="201 Created"), ForeignResponseError),
    "no hint": (ok({"error": "x"}, "404 X"), ForeignResponseError),
    "no results": (ok({"warnings": []}), ForeignResponseError),
    "warning no text": (ok({"results": [], "warnings": [1]}), ForeignResponseError),
}


@pytest.mark.parametrize(("answer", "error"), BROKEN.values(), ids=BROKEN)
def test_broken_answers_tell_nothing_of_the_request(wire: Wire, answer: bytes, error: type[Exception]) -> None:
    """contract: Command line: no error's text, cause or context contains the query, token or address."""
    url, _ = wire(answer)
    with pytest.raises(error) as caught:
        SiftClient(url, "tok-needle").search({"query": "needle"})
    assert "needle" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("name", ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_private_authority_is_trusted_when_named_on_loopback_too(wire: Wire, name: str) -> None:
    """contract: Command line: the usual variables for authorities count wherever the service is."""
    url, _ = wire(ok(), tls=True)
    assert SiftClient(url, environ={name: str(CERTIFICATE)}).search({}).payload == ANSWER


@pytest.mark.parametrize("name", ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
@pytest.mark.parametrize("content", [None, "no certificate"])
def test_authorities_that_cannot_be_read_are_a_setting_error(tmp_path: Path, name: str, content: str | None) -> None:
    """contract: Command line: a file of authorities that is missing or holds none is reported by its variable."""
    if content:
        (tmp_path / "ca.pem").write_text(content)
    with pytest.raises(ConfigError, match=name) as caught:
        SiftClient("https://sift.invalid", environ={name: str(tmp_path / "ca.pem")})
    assert str(tmp_path) not in str(caught.value)


def failure(url: str, **settings: Any) -> str:
    """Return the message with which a service turns out to be unreachable."""
    with pytest.raises(UnreachableError) as caught:
        SiftClient(url, **settings).search({})
    return str(caught.value)


def test_failed_connection_is_named_by_its_kind(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """contract: Command line: a wrong port, name, scheme or certificate can be told apart."""
    plain, _ = wire(ok())
    tls, _ = wire(ok(), tls=True)
    closed, _ = wire(b"")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # bound but not listening
        refused = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert "refused" in failure(refused)
        monkeypatch.setenv("http_proxy", refused)
        assert "proxy" in failure("http://sift.invalid")
    monkeypatch.delenv("http_proxy")
    assert "name cannot be resolved" in failure("http://sift.invalid")
    untrusted = failure(tls)
    assert "not trusted (self-signed certificate); SSL_CERT_FILE may name its authority" in untrusted
    named = failure(tls.replace("127.0.0.1", "localhost"), environ={"SSL_CERT_FILE": str(CERTIFICATE)})
    assert named.endswith("not trusted (Hostname mismatch)")  # its authority is known
    assert "localhost" not in named
    assert "no TLS" in failure(plain.replace("http:", "https:"))
    assert "closed before an answer" in failure(closed)


@pytest.mark.parametrize("name", ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_authorities_are_named_and_the_services_is_another_the_variable_is_named(wire: Wire, name: str) -> None:
    """contract: Command line: the advice is about the variable that counts, which may not be the one just set."""
    url, _ = wire(ok(), tls=True)
    environ = dict.fromkeys(("SSL_CERT_FILE", name), str(PRIVATE_CA))
    assert failure(url, environ=environ).endswith(f"; {name} names other authorities")


GATEWAYS = {
    "html": ok("<html>bad gateway</html>", "502 X"),
    "timeout": ok({"success": False, "error": "sift does not answer", "hint": "", "details": ""}, "504 X"),
    "json": ok({"success": False, "error": "sift does not answer", "hint": "", "details": ""}, "503 X"),
}


@pytest.mark.parametrize("answer", GATEWAYS.values(), ids=GATEWAYS)
def test_error_of_a_proxy_is_an_unreachable_service(wire: Wire, answer: bytes) -> None:
    """contract: Command line: a proxy that cannot reach the service is not taken for a service without sources."""
    url, _ = wire(answer)
    assert "a proxy answered" in failure(url)


@pytest.mark.parametrize(("header", "seconds"), [("29", 29), ("soon", None), ("9" * 30, None)])
def test_wait_of_an_unavailable_service_is_read(wire: Wire, header: str, seconds: int | None) -> None:
    """contract: Unavailable: Retry-After is whole seconds; anything else is ignored."""
    error = {"error": "search unavailable", "hint": "", "warnings": [], "sources_failed": []}
    url, _ = wire(ok(error, "503 X", f"Retry-After: {header}\r\n"))
    assert SiftClient(url).search({}) == (503, error, seconds)


def test_fetch_posts_once_to_its_own_path(wire: Wire) -> None:
    """contract: Fetch command: the same connection, token and checks as those of a search."""
    url, seen = wire(ok(PAGE))
    assert SiftClient(url, "tok").fetch({"url": "https://a.example/", "start": 3}) == (200, PAGE, None)
    ((path, headers, body),) = seen
    assert (path, headers["Authorization"]) == ("/v1/fetch", "Bearer tok")
    assert json.loads(body) == {"url": "https://a.example/", "start": 3}


@pytest.mark.parametrize(("status", "error"), FETCH_ERRORS.items())
def test_failure_of_a_page_is_an_answer_of_the_service(wire: Wire, status: int, error: str) -> None:
    """contract: Fetch command: statuses that proxies use, too, are told from theirs by the word in `error`."""
    payload = {"error": error, "hint": ""}
    url, _ = wire(ok(payload, f"{status} X", "Retry-After: 1\r\n"))
    assert SiftClient(url).fetch({}) == (status, payload, 1)


FETCH_GATEWAYS = {
    "html": ok("<html>bad gateway</html>", "502 X"),
    "nginx": ok({"success": False, "error": "sift does not answer", "hint": "", "details": ""}, "503 X"),
    "another word": ok({"error": "upstream failed", "hint": ""}, "504 X"),
    "the word of another status": ok({"error": "busy", "hint": ""}, "502 X"),
    "a search's": ok({"error": "search unavailable", "hint": "", "warnings": [], "sources_failed": []}, "503 X"),
    "no hint": ok({"error": "fetch failed"}, "502 X"),
}


@pytest.mark.parametrize("answer", FETCH_GATEWAYS.values(), ids=FETCH_GATEWAYS)
def test_error_of_a_proxy_is_no_failure_of_a_page(wire: Wire, answer: bytes) -> None:
    """contract: Fetch command: any other 502, 503 or 504 means that the service cannot be reached."""
    url, _ = wire(answer)
    with pytest.raises(UnreachableError, match="a proxy answered"):
        SiftClient(url).fetch({})


def test_failure_of_a_page_is_no_answer_to_a_search(wire: Wire) -> None:
    """contract: Command line: what is Sift's own depends on what was asked."""
    url, _ = wire(ok({"error": "busy", "hint": ""}, "503 X"))
    assert "a proxy answered" in failure(url)


NO_PAGES = {
    "search": ANSWER,
    "no content": {name: value for name, value in PAGE.items() if name != "content"},
    "content no text": PAGE | {"content": ["text"]},
    "no final url": PAGE | {"final_url": None},
    "chars no number": PAGE | {"chars": "4"},
    "next no number": PAGE | {"next_start": "4"},
    "next null": PAGE | {"next_start": None},
    "warning no text": PAGE | {"warnings": [1]},
}


@pytest.mark.parametrize("payload", NO_PAGES.values(), ids=NO_PAGES)
def test_what_is_no_page_is_not_sifts(wire: Wire, payload: object) -> None:
    """contract: Fetch command: an answer has the text, its length and where it is from."""
    url, _ = wire(ok(payload))
    with pytest.raises(ForeignResponseError):
        SiftClient(url).fetch({})


@pytest.fixture
def drip() -> Iterator[Callable[[bytes], str]]:
    """Start servers that begin with the given bytes and go on byte by byte; return the address."""
    done = threading.Event()
    threads: list[threading.Thread] = []
    listeners: list[socket.socket] = []

    def run(listener: socket.socket, start: bytes) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(start)
            for _ in range(500):  # a client without a deadline must not wait for ever
                if done.wait(0.01):
                    return
                connection.sendall(b"x")

    def serve(start: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threads.append(threading.Thread(target=run, args=(listener, start)))
        threads[-1].start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield serve
    done.set()
    for thread in threads:
        thread.join()
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nX-", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_answer_that_drips_ends_with_the_deadline(drip: Callable[[bytes], str], start: bytes) -> None:
    """contract: Command line: there is one deadline for a whole call, however steadily bytes come."""
    assert "in time" in failure(drip(start), timeout=0.3)


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_fetch_that_drips_ends_soon_after_its_own_timeout(drip: Callable[[bytes], str], start: bytes) -> None:
    """contract: Fetch command: the deadline of the call follows from the request's timeout."""
    with pytest.raises(UnreachableError, match="in time"):
        SiftClient(drip(start), grace=0.2).fetch({"timeout": 0.1})


def test_endless_answer_is_given_up(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """contract: Command line: an answer larger than any of Sift's is not read to its end."""
    monkeypatch.setattr("sift.client.MAX_BODY", 1000)
    url, _ = wire(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 2000)
    with pytest.raises(ForeignResponseError, match="too large"):
        SiftClient(url).search({})


BAD_ADDRESSES = (
    *("", "127.0.0.1:1", "ftp://a", "http://:80", "http://a:x", "http://a:0", "http://[::1", "http://*"),
    *("http://user:pw@a", "http://a?x", "http://a#x", "http://a b", "http://a\n", "http://é", "http://a\\b"),
)


@pytest.mark.parametrize("url", BAD_ADDRESSES)
def test_bad_address_is_a_setting_error(url: str) -> None:
    """contract: Command line: a bad SIFT_URL is reported before anything is sent, without a password in it."""
    with pytest.raises(ConfigError, match="SIFT_URL") as caught:
        SiftClient(url)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("token", ["q b", "q\nb", "qé"])
def test_bad_token_is_a_setting_error(token: str) -> None:
    """contract: Command line: a token that no header can hold is reported by its variable and not shown."""
    with pytest.raises(ConfigError, match="SIFT_TOKEN") as caught:
        SiftClient("http://127.0.0.1", token)
    assert "q" not in str(caught.value)


# --- batches -------------------------------------------------------------------------------------------------------

ID = "b_" + "a" * 26
RECEIPT = {
    "id": ID,
    "status": "queued",
    "total": 1,
    "duplicates": 0,
    "invalid": [],
    "expires_at": "2026-11-30T12:00:00Z",
}
NUMBERS = {"id": ID, "status": "done", "total": 1, "ok": 1, "failed": 0, "pending": 0}
ITEM = {"index": 0, "url": "https://a.example/", "state": "ok", "attempts": 1, "result": PAGE}
RESULTS = {"id": ID, "status": "done", "items": [ITEM]}
FAILURE = {"index": 0, "url": "https://a.example/", "error": "fetch failed", "hint": "dns", "at": None}
SHAPES: dict[str, tuple[Shape, dict[str, object], list[dict[str, object]]]] = {
    "receipt": (is_receipt, RECEIPT, [{"id": "b_x"}, {"id": 5}, {"status": "new"}, {"total": "1"}, {"invalid": [5]}]),
    "batch": (is_batch, NUMBERS, [{"id": f"{ID}/"}, {"status": ""}, {"ok": None}, {"pending": "0"}]),
    "results": (
        is_results,
        RESULTS,
        [
            *({"items": {}}, {"items": [5]}, {"items": [ITEM | {"index": -1}]}, {"items": [ITEM | {"index": 10**9}]}),
            *(
                {"items": [ITEM | {"state": "fine"}]},
                {"items": [ITEM | {"result": {}}]},
                {"items": [ITEM | {"url": 5}]},
            ),
            *({"next_offset": -1}, {"next_offset": "1"}, {"next_offset": None}),
        ],
    ),
    "errors": (is_errors, {"errors": [FAILURE]}, [{"errors": None}, {"errors": [FAILURE | {"hint": None}]}]),
    "end": (is_ended, {"id": ID, "status": "cancelled"}, [{"id": None}]),
    "list": (is_list, {"batches": [NUMBERS]}, [{"batches": NUMBERS}, {"batches": [NUMBERS | {"ok": ""}]}]),
}


@pytest.mark.parametrize(("shape", "good", "changes"), SHAPES.values(), ids=SHAPES)
def test_answer_about_batches_is_told_from_another_programs(
    shape: Shape, good: dict[str, object], changes: list[dict[str, object]]
) -> None:
    """contract: Batch command: whatever the command relies on is there and of its type; a 503 is Sift's by its word."""
    assert shape(200, good)
    assert [change for change in changes if shape(200, good | change)] == []
    assert shape(503, {"error": "busy", "hint": ""})
    assert not shape(503, {"error": "unavailable", "hint": ""})
    assert not shape(502, {"error": "busy", "hint": ""})


def caused(cause: Exception) -> Exception:
    """Return an error as requests raises it, with a cause."""
    error = requests.ConnectionError()
    error.__cause__ = cause
    return error


LOST = {
    "closed": (ConnectionResetError(), LostError),
    "broken off": (requests.exceptions.ChunkedEncodingError(), LostError),
    "late": (requests.ReadTimeout(), LostError),
    "too late": (TimeoutError(), LostError),
    "refused": (caused(ConnectionRefusedError()), UnreachableError),
    "no name": (caused(socket.gaierror()), UnreachableError),
    "no connection in time": (requests.ConnectTimeout(), UnreachableError),
    "no trust": (caused(ssl.SSLError()), UnreachableError),
    "no proxy": (requests.exceptions.ProxyError(), UnreachableError),
}


@pytest.mark.parametrize(("error", "kind"), LOST.values(), ids=LOST)
def test_request_that_may_have_arrived_is_sent_again(
    error: Exception, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """contract: Batch command: with its key; what never left this host is not."""
    keys: list[str] = []

    def fail(self: requests.Session, *args: object, headers: dict[str, str], **more: object) -> NoReturn:
        keys.append(headers["Idempotency-Key"])
        raise error

    monkeypatch.setattr(requests.Session, "request", fail)
    pauses: list[float] = []
    client = SiftClient("http://127.0.0.1:1", pause=pauses.append)
    with pytest.raises(UnreachableError) as raised:
        client.submit_batch({"urls": ["https://a.example/"]}, "a key")
    assert type(raised.value) is kind
    assert (keys, pauses) == ((["a key"] * 4, [0.5] * 3) if kind is LostError else (["a key"], []))
