"""Clients that hold connections and send little or nothing: others are served meanwhile."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.faults.callers import head
from tests.faults.nginx import BINARY, Nginx
from tests.faults.test_vendors import settings
from tests.faults.watch import threads, worker
from tests.service import Service
from tests.vendors import Vendors

HELD = 60
THREADS = 8
# What is sent first, and what is then dripped byte by byte.
STARTS = {
    "idle": (b"", b""),
    "half a head": (b"POST /v1/search HTTP/1.1\r\nHost: sift\r\nX-A", b"a"),
    "dripped body": (head("/v1/search", "Content-Length: 5000") + b'{"query"', b" "),
    "dripped chunks": (head("/v2/search", "Transfer-Encoding: chunked") + b"1388\r\n", b" "),
}


@contextmanager
def held(port: int, start: bytes, count: int = HELD) -> Iterator[list[socket.socket]]:
    """Hold connections on which `start` has been sent."""
    with ExitStack() as stack:
        connections = []
        for _ in range(count):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            connection.sendall(start)
            connections.append(connection)
        yield connections


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Nginx]]:
    """A service behind nginx."""
    place = tmp_path_factory.mktemp("proxied")
    with (
        Vendors() as vendors,
        Service(place, settings(vendors, SIFT_THREADS=str(THREADS))) as service,
        Nginx(place, service) as nginx,
    ):
        yield service, nginx


@pytest.mark.skipif(BINARY is None, reason="nginx is not installed")
@pytest.mark.parametrize(("start", "drip"), STARTS.values(), ids=STARTS)
def test_slow_clients_behind_nginx_hold_nobody_up(proxied: tuple[Service, Nginx], start: bytes, drip: bytes) -> None:
    """contract: Operations: with a buffering proxy in front, many slow clients cost no thread."""
    service, nginx = proxied
    with held(nginx.port, start) as slow:
        started = time.monotonic()
        for number in range(20):
            assert nginx.front.search(f"words {number} {len(start)}")["warnings"] == []
            for connection in slow:
                connection.sendall(drip)
        assert time.monotonic() - started < 20
        assert threads(worker(service)) <= 1 + 4 * THREADS + 2


@pytest.mark.skipif(BINARY is None, reason="nginx is not installed")
def test_shipped_nginx_block_answers_in_json(proxied: tuple[Service, Nginx]) -> None:
    """contract: Errors: nginx passes bodies up to Sift's own limit and answers larger ones with a 413 in JSON."""
    _, nginx = proxied
    passed = nginx.front.post("/v1/search", {"query": "words", "x": "y" * 65_000})
    assert (passed.status, passed.json()["warnings"]) == (200, ["unknown field ignored: x"])
    refused = nginx.front.post("/v2/search", {"query": "words", "x": "y" * 70_000})
    assert (refused.status, refused.json()["error"]) == (413, "request too large")


def test_idle_connections_alone_hold_nobody_up_without_a_proxy(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: kept-alive connections without a request cost no thread."""
    whole = b"GET /healthz HTTP/1.1\r\nHost: sift\r\n\r\n"
    with (
        Service(tmp_path, settings(vendors, SIFT_THREADS=str(THREADS))) as service,
        held(service.port, whole, 3 * THREADS) as kept,
    ):
        assert all(is_well(connection) for connection in kept)
        assert service.search("words")["warnings"] == []
        for connection in kept:
            connection.sendall(whole)
            assert is_well(connection)


def is_well(connection: socket.socket) -> bool:
    """Read an answer of /healthz and return whether it is a 200."""
    answer = b""
    while not answer.endswith(b"}"):
        answer += connection.recv(4096)
    return answer.startswith(b"HTTP/1.1 200")
