"""Callers that send arbitrary input to both endpoints of a running service."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.faults.callers import CONTENT_TYPES, bodies, check, exchange, head, objects, parse
from tests.service import Service
from tests.vendors import Vendors, for_all

PATHS = ["/v1/search", "/v2/search"]
many = settings(
    max_examples=120,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run one service for all tests."""
    with Vendors() as vendors:
        environ = {**vendors.environ, "SIFT_THREADS": "8", **for_all("DAILY_CAP", "1000000")}
        with Service(tmp_path_factory.mktemp("callers"), environ) as running:
            yield running
        assert b"Traceback" not in running.log()
        assert not running.records("internal_error")
        assert not running.records("source_error")


@many
@given(path=st.sampled_from(PATHS), body=bodies, kind=st.sampled_from(CONTENT_TYPES))
def test_any_body_is_answered_in_json(service: Service, path: str, body: bytes, kind: str) -> None:
    """contract: Search request: any JSON type anywhere, any bytes and any content type: 200, 400 or 413."""
    check(path, service.request("POST", path, body, {"Content-Type": kind}))


@many
@given(path=st.sampled_from(PATHS), body=objects, size=st.integers(1, 40), kept=st.floats(0, 1), whole=st.booleans())
def test_chunked_body_is_read_or_refused(
    service: Service, path: str, body: bytes, size: int, kept: float, whole: bool
) -> None:
    """contract: Search request: a chunked body is read like any other; a truncated one is `invalid json`."""
    body = body[:400]
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    data = b"".join(b"%x;x=y\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    sent = data if whole else data[: int((len(data) - 1) * kept)]
    answer = parse(exchange(service, head(path, "Transfer-Encoding: chunked") + sent, half_close=not whole))
    check(path, answer)
    if not whole:
        assert (answer.status, answer.json()["error"]) == (400, "invalid json")


@many
@given(path=st.sampled_from(PATHS), body=objects, missing=st.integers(1, 5000))
def test_body_shorter_than_its_length_is_refused(service: Service, path: str, body: bytes, missing: int) -> None:
    """contract: Search request: a body shorter than its Content-Length is `invalid json`, even a complete object."""
    body = body[:1000]
    service.request("POST", path, body)  # a valid one is cached from now on
    data = head(path, f"Content-Length: {len(body) + missing}") + body
    answer = parse(exchange(service, data, half_close=True))
    check(path, answer)
    assert (answer.status, answer.json()["error"]) == (400, "invalid json")


@pytest.mark.parametrize("size", [65_537, 2_000_000, 5_000_000])
@pytest.mark.parametrize("chunked", [False, True])
def test_oversized_body_gets_its_413(service: Service, size: int, chunked: bool) -> None:
    """contract: Search request: a body over 64 KiB is 413, which clients that send up to 2 MiB are sure to see."""
    body = json.dumps({"query": "a", "x": "y" * size}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
    try:
        pieces = iter([body[at : at + 65_536] for at in range(0, len(body), 65_536)])
        connection.request("POST", "/v1/search", pieces if chunked else body, encode_chunked=chunked)
        response = connection.getresponse()
        assert response.status == 413
        assert json.loads(response.read())["error"] == "request too large"
    except OSError:  # past 2 MiB the connection may be closed
        assert size > 2 * 1024 * 1024
    finally:
        connection.close()


HEADERS = [
    *("SCRIPT_NAME: /foo", "PATH_INFO: /healthz", "X-Forwarded-Proto: https\r\nX-Forwarded-Ssl: off"),
    *("Content-Encoding: gzip", "Cookie: \xff", "Expect: 100-continue", "Upgrade: h2c\r\nHTTP2-Settings: AAA"),
    *("X-HTTP-Method-Override: GET", "Authorization: Bearer caf\xe9", "Range: bytes=0-1"),
]


@pytest.mark.parametrize("header", HEADERS)
def test_odd_headers_change_nothing(service: Service, header: str) -> None:
    """contract: Operations: no header changes the route or the form of an answer."""
    body = b'{"query": "words"}'
    answer = parse(exchange(service, head("/v1/search", header, f"Content-Length: {len(body)}") + body))
    check("/v1/search", answer)
    assert answer.status == 200


@many
@given(
    path=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="?#"), max_size=30),
    method=st.sampled_from(
        ["GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "PROPFIND", "BREW"]
    ),
)
def test_any_path_and_method_is_answered_in_json(service: Service, path: str, method: str) -> None:
    """contract: Errors: unknown paths are 404, other methods 405; always JSON, never a redirect."""
    answer = parse(exchange(service, head(f"/{path}", "Content-Length: 0", method=method)))
    assert answer.status in (400, 404, 405) or (answer.status == 200 and method == "GET")
    if not (answer.status == 400 and answer.headers["content-type"] == "text/html"):  # broken HTTP
        assert isinstance(answer.json(), dict)
    assert "location" not in answer.headers


@pytest.mark.parametrize("path", ["//v1/search", "/v1//search", "//healthz", "/v1/search/"])
def test_doubled_and_trailing_slashes_are_unknown_paths(service: Service, path: str) -> None:
    """contract: Errors: a doubled or trailing slash makes a path unknown."""
    body = b'{"query": "words"}'
    answer = parse(exchange(service, head(path, f"Content-Length: {len(body)}") + body))
    assert (answer.status, answer.json()["error"]) == (404, "not found")


def test_hostile_text_takes_little_time(service: Service) -> None:
    """contract: Search request: no body of 64 KiB takes long to refuse."""
    started = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        for body in (b"[" * 101 + b'\\"' * 32_000, b"[" * 101 + b'"' * 65_000, b"[" * 32_000 + b'"\\' * 16_000):
            assert pool.submit(service.post, "/v1/search", body).result().status == 400
    assert time.monotonic() - started < 3


def test_client_that_leaves_costs_nothing(service: Service) -> None:
    """contract: Search request: clients may hang up at any point of a request; the service keeps answering."""
    body = b'{"query": "left alone"}'
    whole = head("/v1/search", f"Content-Length: {len(body)}") + body
    for at in range(0, len(whole) + 1, 7):
        with socket.create_connection(("127.0.0.1", service.port), timeout=5) as connection:
            connection.sendall(whole[:at])
    assert service.search("still there")["sources_failed"] == []
