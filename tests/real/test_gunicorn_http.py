"""HTTP as gunicorn speaks it with the shipped settings: JSON answers, locked paths, nothing of a request in the log."""

from __future__ import annotations

import http.client
import itertools
import json
import socket
from pathlib import Path

import pytest

from sift.app import create_app
from sift.config import Config, SourceConfig
from tests.real.conftest import Running
from tests.real.programs import bearer
from tests.service import Reply, Service
from tests.vendors import Vendors

ROUTES = [
    *(("GET", "/v1/search?q=x", 405), ("OPTIONS", "/v1/search", 405), ("BREW", "/v1/search", 405)),
    *(("OPTIONS", "/v2/search", 405), ("POST", "/v1/status", 405), ("OPTIONS", "/nowhere", 404)),
    *(("GET", "/", 404), ("GET", "/v1/", 404), ("GET", "/V1/search", 404), ("POST", "/v1/search/", 404)),
    *(("POST", "//v1/search", 404), ("POST", "/v1//search", 404), ("POST", "/v1/search%2F", 404)),
    *(("POST", "/v2//search", 404), ("POST", "/v2/crawl", 404), ("GET", "/static/x", 404)),
    *(("GET", "/healthz/", 404), ("GET", "/v1/../healthz", 404), ("GET", "/%2e%2e/etc/passwd", 404)),
]


def assert_json_error(reply: Reply, path: str) -> None:
    """Check that an error has the form of its API version and is no redirect."""
    body = reply.json()
    assert reply.headers["content-type"] == "application/json"
    assert "location" not in reply.headers
    if path.lstrip("/").startswith("v2/"):
        assert list(body) == ["success", "error", "details"]
        assert body["success"] is False
    else:
        assert list(body) == ["error", "hint"]
        assert body["hint"] == ""
    assert body["error"]


_peers = (f"127.1.{high}.{low}" for high, low in itertools.product(range(256), range(1, 255)))


def without_key(running: Running, method: str, path: str) -> Reply:
    """Send a request without a key from a fresh address, since repeated refusals of one address are delayed."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", running.service.port, timeout=20, source_address=(next(_peers), 0)
    )
    try:
        connection.request(method, path)
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, headers, response.read())
    finally:
        connection.close()


@pytest.mark.parametrize(("method", "path", "status"), ROUTES, ids=lambda value: str(value))
def test_wrong_method_or_path_json(method: str, path: str, status: int, running: Running) -> None:
    """contract: Errors: unknown paths 404, other methods 405, doubled slashes 404, no redirect, JSON always."""
    reply = running.service.request(method, path, None, running.fleet)
    assert reply.status == status
    assert_json_error(reply, path)


@pytest.mark.parametrize(("method", "path", "status"), ROUTES, ids=lambda value: str(value))
def test_wrong_method_or_path_without_key_unauthorized(method: str, path: str, status: int, running: Running) -> None:
    """contract: Callers: every path but /healthz and /readyz, unknown ones too, answers 401 without a key."""
    reply = without_key(running, method, path)
    assert reply.status == 401
    assert reply.headers["www-authenticate"] == 'Bearer realm="sift"'
    assert_json_error(reply, path)


def test_405_names_the_methods_that_are_allowed(running: Running) -> None:
    """contract: Errors: HTTP requires `Allow` in a 405."""
    assert running.service.request("PUT", "/v1/search", b"", running.fleet).headers["allow"] == "POST"


def test_head_like_get_without_body(running: Running) -> None:
    """contract: Errors: HEAD of the open route is 200, of a search 405; neither has a body."""
    assert running.service.request("HEAD", "/healthz", None)[::2] == (200, b"")
    assert running.service.request("HEAD", "/v1/search", None, running.fleet)[::2] == (405, b"")
    assert without_key(running, "HEAD", "/v1/search").status == 401


def test_url_map_every_route_but_those_for_health_is_locked(running: Running, tmp_path: Path) -> None:
    """contract: Callers: no route is open by accident; this test reads the routes from the URL map."""
    source = SourceConfig("searxng", "http://127.0.0.1:1")
    app = create_app(Config((source,), state_dir=tmp_path, keys_file=tmp_path / "keys.json", auth=False))
    routes = [(method, rule.rule) for rule in app.url_map.iter_rules() for method in sorted(rule.methods or ())]
    assert {path for _, path in routes} == {
        *("/healthz", "/metrics", "/openapi.json", "/readyz", "/tavily/extract", "/tavily/search", "/v1/batch",),
        *("/v1/batch/<id>", "/v1/batch/<id>/errors", "/v1/batch/<id>/results", "/v1/fetch", "/v1/plan",),
        *("/v1/search", "/v1/status", "/v1/usage", "/v2/batch/scrape", "/v2/batch/scrape/<id>",),
        *("/v2/batch/scrape/<id>/errors", "/v2/scrape", "/v2/search",),
    }  # fmt: skip
    for method, path in routes:
        expected = 200 if path in ("/healthz", "/readyz") else 401
        asked = path.replace("<id>", "x")
        assert "<" not in asked, "this test needs a value for the variable part"
        assert without_key(running, method, asked).status == expected, (method, path)


@pytest.mark.parametrize("path", ["/v1/search", "/v2/search", "/nowhere"])
@pytest.mark.parametrize("framing", ["Content-Length: 5000", "Transfer-Encoding: chunked"])
def test_unauthorized_before_the_body_is_read(path: str, framing: str, running: Running) -> None:
    """contract: Callers: the answer comes although the body never does."""
    peer = (next(_peers), 0)
    with socket.create_connection(("127.0.0.1", running.service.port), 20, source_address=peer) as connection:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(1024).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("authorization", ["Bearer {}", "bearer {}", "BEARER   {}", "Bearer \t{} "])
def test_key_of_the_real_command_opens(authorization: str, running: Running) -> None:
    """contract: Callers: case of the scheme and number of blanks do not matter."""
    headers = {"Authorization": authorization.format(running.tokens.restricted)}
    assert running.service.post("/v1/search", {"query": "anything"}, headers).status == 200


def test_class_comes_from_the_key(running: Running) -> None:
    """contract: Callers, Operations: status is for fleet callers, whatever a restricted one says of itself."""
    restricted = bearer(running.tokens.restricted) | {"X-Class": "fleet"}
    assert running.service.get("/v1/status", running.fleet).status == 200
    refused = running.service.get("/v1/status", restricted)
    assert (refused.status, refused.json()) == (403, {"error": "forbidden", "hint": "class"})


SECRETS = ("secretquery", "secretpath", "secretagent", "secretreferer", "secretbody", "secret.example")


BROKEN = [
    b"GET /secretpath HTTP/9.9\r\n\r\n",
    b"secretpath\r\n\r\n",
    b"POST /v1/search?q=secretquery HTTP/1.1\r\nHost: x\r\nsecretagent\r\n\r\n",
    b"POST /v1/search HTTP/1.1\r\nHost: x\r\nContent-Length: secretbody\r\n\r\n",
    b"POST /v1/search HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nsecretbody\r\n",
    b"GET /" + b"secretpath" * 2000 + b" HTTP/1.1\r\n\r\n",
]


def test_access_log_off_by_default_and_broken_http_leaves_no_words(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: by default no line per request; gunicorn's own messages contain nothing of one,
    at debug level too.
    """
    with Service(tmp_path, vendors.environ | {"SIFT_LOG_LEVEL": "debug"}) as service:
        service.get("/secretpath?q=secretquery")
        for raw in BROKEN:
            with socket.create_connection(("127.0.0.1", service.port), 20) as connection:
                connection.sendall(raw)
                while connection.recv(4096):
                    pass
        assert service.get("/healthz").status == 200
    lines = service.log().decode().splitlines()
    assert not [secret for secret in SECRETS for line in lines if secret in line]
    assert not [line for line in lines if "Traceback" in line or "HTTP/" in line]
    assert "access" not in {json.loads(line)["event"] for line in lines}
