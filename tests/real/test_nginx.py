"""nginx in front of the shipped gunicorn, with the server block that the README shows."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from sift.api.body import MAX_BATCH, MAX_BODY
from sift.client.shapes import FETCH_ERRORS
from sift.search.calls import GRACE
from sift.search.fields import MAX_QUERIES
from tests.real.programs import Nginx, free_port, readme_block, run_sift
from tests.service import Reply, Service
from tests.vendors import NAMES, Vendors
from tests.waiting import wait_for

pytestmark = pytest.mark.skipif(
    not (shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin") and shutil.which("openssl")),
    reason="nginx or openssl is not installed (Debian: nginx-light, openssl)",
)


class Front(NamedTuple):
    """nginx and the service behind it."""

    nginx: Nginx
    service: Service

    def connect(self) -> ssl.SSLSocket:
        """Open a TLS connection that trusts nginx's certificate and no other."""
        context = ssl.create_default_context(cafile=self.nginx.certificate)
        plain = socket.create_connection(("127.0.0.1", self.nginx.port), 20)
        return context.wrap_socket(plain, server_hostname="localhost")

    def request(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}) -> Reply:
        """Send one request through nginx."""
        context = ssl.create_default_context(cafile=self.nginx.certificate)
        connection = http.client.HTTPSConnection("localhost", self.nginx.port, timeout=20, context=context)
        try:
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, found, response.read())
        finally:
            connection.close()

    def logged(self) -> str:
        """Return everything that nginx has written."""
        files = [*self.nginx.logs.iterdir(), self.nginx.log_path]
        return "".join(path.read_text() for path in files)


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    path = tmp_path_factory.mktemp("nginx")
    # One thread: a request that nginx forwards before it is complete would block all others.
    with (
        Vendors() as vendors,
        Service(path, vendors.environ | {"SIFT_THREADS": "1"}) as service,
        Nginx(path / "prefix", service.port) as nginx,
    ):
        yield Front(nginx, service)


def padded(size: int) -> bytes:
    """Return a search request's body of exactly this size."""
    body = json.dumps({"query": "anything", "padding": ""}).encode()
    return body.replace(b'""', b'"%s"' % (b"x" * (size - len(body))))


def test_search_through_nginx(front: Front) -> None:
    """contract: Operations: the documented block serves a search."""
    reply = front.request("POST", "/v1/search", b'{"query": "through nginx"}')
    assert reply.status == 200
    assert reply.json()["sources_ok"] == [*NAMES]


def test_body_limit_is_sifts_own(front: Front) -> None:
    """contract: Search request: 64 KiB pass, one byte more is a 413 in JSON."""
    assert front.request("POST", "/v1/search", padded(MAX_BODY)).status == 200
    refused = front.request("POST", "/v1/search", padded(MAX_BODY + 1))
    assert refused.status == 413
    assert refused.headers["content-type"] == "application/json"
    assert refused.json()["error"] == "request too large"


def batch(size: int) -> bytes:
    """Return a batch's body of exactly this size."""
    return b'{"urls": ["http://10.0.0.1/"]}'.ljust(size)


@pytest.mark.parametrize("path", ["/v1/batch", "/v2/batch/scrape"])
def test_body_limit_of_batches_is_sifts_own(path: str, front: Front) -> None:
    """contract: Batch: 512 KiB pass, one byte more is a 413 in JSON; what is below these paths takes no body."""
    passed = front.request("POST", path, batch(MAX_BATCH))
    assert (passed.status, passed.json()["error"]) == (400, "invalid batch")
    refused = front.request("POST", path, batch(MAX_BATCH + 1))
    assert (refused.status, refused.json()["error"]) == (413, "request too large")
    assert front.request("POST", f"{path}/x", batch(MAX_BODY + 1)).status == 413
    assert front.request("GET", f"{path}/x").status == 404


def test_chunked_body_over_the_limit_refused_in_json(front: Front) -> None:
    """contract: Search request: the same without a length."""
    with front.connect() as connection:
        connection.sendall(b"POST /v1/search HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (MAX_BODY + 1, padded(MAX_BODY + 1)))
        assert connection.recv(4096).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *(("POST", "//v1/search", 404), ("POST", "/v1//search", 404), ("POST", "/v1/search/", 404)),
        *(("GET", "/v1/search", 405), ("OPTIONS", "/v1/search", 405), ("GET", "/", 404), ("GET", "/healthz", 200)),
        ("POST", "/v1/%73earch", 200),
    ],
)
def test_paths_reach_sift_as_they_are(method: str, path: str, status: int, front: Front) -> None:
    """contract: Errors: nginx folds no slashes and redirects nothing; errors stay Sift's."""
    reply = front.request(method, path, b'{"query": "anything"}' if method == "POST" else None)
    assert reply.status == status
    assert reply.headers["content-type"] == "application/json"
    assert "location" not in reply.headers


def test_slow_clients_hold_no_thread(front: Front) -> None:
    """contract: Operations: request buffering is on: many half-sent requests, and the only thread is still free."""
    with ExitStack() as stack:
        clients = [stack.enter_context(front.connect()) for _ in range(5)]
        for client in clients:
            client.sendall(b"POST /v1/search HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
        assert front.request("POST", "/v1/search", b'{"query": "whole"}').status == 200
        for client in clients:  # nginx had not dropped them: that is not why the thread was free
            client.setblocking(False)
            with pytest.raises(ssl.SSLWantReadError):
                client.recv(1)


def chunked(body: bytes, extension: bytes = b"") -> bytes:
    """Return a search request that sends each byte of its body in a chunk of its own."""
    chunks = b"".join(b"1%s\r\n%c\r\n" % (extension, byte) for byte in body)
    return b"POST /v1/search HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("size", "extension", "used"), [(30 * 1024, b"", []), (64 * 1024, b"", []), (3000, b";" + b"x" * 200, ["run"])]
)
def test_body_in_tiny_chunks_reaches_no_disk(front: Front, size: int, extension: bytes, used: list[str]) -> None:
    """contract: Operations: a body is kept in memory; what no buffer can hold goes to a file system in memory."""
    places = {name: front.nginx.prefix / name for name in ("client_body", "run")}
    before = {name: place.stat().st_mtime_ns for name, place in places.items()}  # changes when a file is made
    with front.connect() as connection:
        connection.sendall(chunked(padded(size), extension))
        assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")
    assert [name for name, place in places.items() if place.stat().st_mtime_ns != before[name]] == used


def test_logs_hold_nothing_of_a_request(front: Front) -> None:
    """contract: Log: status and time; no method, path, query string, body, address or header."""
    headers = {"User-Agent": "secretagent", "Referer": "https://secretreferer/", "Authorization": "Bearer secrettoken"}
    front.request("GET", "/v1/search?q=secretquery", None, headers)
    front.request("POST", "/secretpath", b'{"query": "secretbody"}', headers)
    front.request("POST", "/v1/search", padded(MAX_BODY + 10).replace(b"anything", b"secretbody"), headers)
    front.request("SECRETMETHOD", "/v1/search")
    with front.connect() as connection:
        connection.sendall(b"GET /secretbroken HTTP/1.1\r\nsecretheader\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 400 ")
    log = front.nginx.logs / "sift.log"
    wait_for(lambda: " 400 " in log.read_text())  # a line is written after the response
    logged = front.logged()
    assert "secret" not in logged.lower()
    assert "127.0.0.1" not in logged
    lines = log.read_text().splitlines()
    assert all(re.fullmatch(r"[\d:T+-]+ \d{3} [\d.]+", line) for line in lines)
    assert {"404", "405", "413"} <= {line.split()[1] for line in lines}


def test_service_away_json_and_no_words_in_the_log(tmp_path: Path) -> None:
    """contract: Errors: not nginx's HTML, not a 502 (which Firecrawl's SDK repeats),
    and nothing logged of the request.
    """
    with Nginx(tmp_path / "prefix", free_port()) as nginx:
        front = Front(nginx, Service(tmp_path, {}))
        reply = front.request("POST", "/v2/search?q=secretquery", b'{"query": "secretbody"}')
        assert (reply.status, reply.headers["content-type"]) == (503, "application/json")
        assert set(reply.json()) == {"success", "error", "hint", "details", "detail"}
        assert "secret" not in front.logged()


def test_command_tells_an_absent_service_from_one_without_sources(front: Front, tmp_path: Path) -> None:
    """contract: Command line: behind nginx too, exit code 4 means that Sift is away."""

    def search(nginx: Nginx) -> tuple[int, str]:
        environ = {"SIFT_URL": f"https://localhost:{nginx.port}", "SSL_CERT_FILE": str(nginx.certificate)}
        done = run_sift("search", "through nginx", environ=environ, home=tmp_path)
        return done.returncode, done.stderr

    assert search(front.nginx) == (0, "")
    with Nginx(tmp_path / "prefix", free_port()) as alone:
        code, message = search(alone)
    assert code == 4
    assert message.startswith("sift: a proxy answered for it, with status 503;")


class _Answers(BaseHTTPRequestHandler):
    """Answers each request with the status in its body and that status' error."""

    def do_POST(self) -> None:
        wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["start"]
        content = json.dumps({"error": FETCH_ERRORS[wanted], "hint": ""}).encode()
        self.send_response(wanted)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def test_failures_of_pages_pass_through_nginx(tmp_path: Path) -> None:
    """contract: Fetch command: nginx leaves the 502, 503 and 504 of Sift's own alone, and the command knows them."""
    with HTTPServer(("127.0.0.1", 0), _Answers) as server, Nginx(tmp_path / "prefix", server.server_port) as nginx:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        environ = {"SIFT_URL": f"https://localhost:{nginx.port}", "SSL_CERT_FILE": str(nginx.certificate)}
        codes = {
            status: run_sift("fetch", "x", "--start", str(status), environ=environ, home=tmp_path).returncode
            for status in FETCH_ERRORS
        }
        server.shutdown()
        thread.join()
    assert codes == {502: 7, 503: 8, 504: 7}


def test_timeouts_above_the_worst_case() -> None:
    """contract: Operations: nginx does not give up before Sift does."""
    block = readme_block("nginx", "proxy_pass")
    worst = MAX_QUERIES * (10 + GRACE)
    found = dict(re.findall(r"(proxy_(?:read|send)_timeout) (\d+)s;", block))
    assert {name: int(value) > worst for name, value in found.items()} == {
        "proxy_read_timeout": True,
        "proxy_send_timeout": True,
    }
