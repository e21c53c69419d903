"""Callers that send anything at all, against both endpoints of a running service."""

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
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run one service for all callers."""
    with Vendors() as vendors:
        environ = {**vendors.environ, "SIFT_THREADS": "8", **for_all("DAILY_CAP", "1000000")}
        with Service(tmp_path_factory.mktemp("callers"), environ) as running:
            yield running
        assert b"Traceback" not in running.log()
        assert not running.records("internal_error")
        assert not running.records("source_error")


@many
@given(path=st.sampled_from(PATHS), body=bodies, kind=st.sampled_from(CONTENT_TYPES))
def test_any_body_is_answered_in_our_json(service: Service, path: str, body: bytes, kind: str) -> None:
    """contract: Search request: every JSON type at every place, any bytes, any content type: 200, 400 or 413."""
    check(path, service.request("POST", path, body, {"Content-Type": kind}))


@many
@given(path=st.sampled_from(PATHS), body=objects, size=st.integers(1, 40), kept=st.floats(0, 1), whole=st.booleans())
def test_chunked_body_is_read_or_refused(
    service: Service, path: str, body: bytes, size: int, kept: float, whole: bool
) -> None:
    """contract: Search request: a chunked body counts like any other; one that is cut short is `invalid json`."""
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
    """contract: Search request: shorter than its Content-Length is `invalid json`,
    also when what came is a whole object.
    """
    body = body[:1000]
    service.request("POST", path, body)  # where it is sound, its answer is now in the cache
    data = head(path, f"Content-Length: {len(body) + missing}") + body
    answer = parse(exchange(service, data, half_close=True))
    check(path, answer)
    assert (answer.status, answer.json()["error"]) == (400, "invalid json")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("size", [65_537, 200_000, 2_000_000, 5_000_000])
@pytest.mark.parametrize("chunked", [False, True])
def test_oversized_body_gets_its_413(service: Service, path: str, size: int, chunked: bool) -> None:
    """contract: Search request: over 64 KiB is 413, and up to 2 MiB the client gets to see it."""
    body = json.dumps({"query": "a", "x": "y" * size}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
    try:
        pieces = iter([body[at : at + 65_536] for at in range(0, len(body), 65_536)])
        connection.request("POST", path, pieces if chunked else body, encode_chunked=chunked)
        response = connection.getresponse()
        assert response.status == 413
        assert json.loads(response.read())["error"] == "request too large"
    except OSError:  # past 2 MiB the connection may be closed
        assert size > 2 * 1024 * 1024
    finally:
        connection.close()


HEADERS = [
    *("SCRIPT_NAME: /foo", "SCRIPT_NAME: /v1", "PATH_INFO: /healthz", "X-Forwarded-Proto: https", "Range: bytes=0-1"),
    *("X-Forwarded-Proto: https\r\nX-Forwarded-Ssl: off", "Content-Encoding: gzip", "Cookie: \xff", "Accept: \xff;q=x"),
    *("If-None-Match: *", "Expect: 100-continue", "Upgrade: h2c\r\nHTTP2-Settings: AAA"),
    *("X-HTTP-Method-Override: GET", "Authorization: Bearer caf\xe9", "Proxy: http://127.0.0.1:9/", "TE: trailers"),
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("header", HEADERS)
def test_odd_headers_change_nothing(service: Service, path: str, header: str) -> None:
    """contract: Errors: no header moves a route, and none makes an answer that is not ours."""
    body = b'{"query": "words"}'
    answer = parse(exchange(service, head(path, header, f"Content-Length: {len(body)}") + body))
    check(path, answer)
    assert answer.status == 200


@many
@given(
    path=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="?#"), max_size=30),
    method=st.sampled_from(
        ["GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "PROPFIND", "BREW"]
    ),
)
def test_any_path_and_method_is_answered_in_our_json(service: Service, path: str, method: str) -> None:
    """contract: Errors: unknown paths 404, other methods 405, doubled slashes 404, never a redirect, always JSON."""
    answer = parse(exchange(service, head(f"/{path}", "Content-Length: 0", method=method)))
    assert answer.status in (400, 404, 405) or (answer.status == 200 and method == "GET")
    if not (answer.status == 400 and answer.headers["content-type"] == "text/html"):  # broken HTTP: the server's own
        assert isinstance(answer.json(), dict)
    assert "location" not in answer.headers


@pytest.mark.parametrize(
    "path", ["//v1/search", "/v1//search", "///v1/search", "//healthz", "/v1/search/", "/v1/search//"]
)
def test_doubled_slashes_are_unknown_paths(service: Service, path: str) -> None:
    """contract: Errors: doubled slashes 404, wherever they stand."""
    body = b'{"query": "words"}'
    answer = parse(exchange(service, head(path, f"Content-Length: {len(body)}") + body))
    assert (answer.status, answer.json()["error"]) == (404, "not found")


def test_hostile_text_costs_little(service: Service) -> None:
    """contract: Search request: 64 KiB of anything takes no noticeable time; open strings once took ten seconds."""
    started = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        for body in (b"[" * 101 + b'\\"' * 32_000, b"[" * 101 + b'"' * 65_000, b"[" * 32_000 + b'"\\' * 16_000):
            assert pool.submit(service.post, "/v1/search", body).result().status == 400
    assert time.monotonic() - started < 3


def test_client_that_leaves_costs_nothing(service: Service) -> None:
    """contract: Search request: connections closed at every point of a request leave a service that answers."""
    body = b'{"query": "left alone"}'
    whole = head("/v1/search", f"Content-Length: {len(body)}") + body
    for at in range(0, len(whole) + 1, 7):
        with socket.create_connection(("127.0.0.1", service.port), timeout=5) as connection:
            connection.sendall(whole[:at])
    assert service.search("still there")["sources_failed"] == []
