"""Clients that were answered and do not close their connections: nobody else waits for them, and nothing is cut."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.real.programs import bearer, new_key
from tests.service import Service
from tests.vendors import Vendors
from tests.waiting import wait_for

COUNT = 40
FIN_WAIT = ("04", "05")  # a connection whose other side has not closed, as /proc/net/tcp has it
PATIENT = ("-k", "tests.real.patient.Patient")
LINGERERS = {
    "Connection: close": b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "401 over HTTP/1.0": b"GET /v1/status HTTP/1.0\r\n\r\n",
    "broken HTTP": b"nothing\r\n\r\n",
    "body that is never read": b"POST /healthz HTTP/1.0\r\nContent-Length: 9\r\n\r\n{}",
}


@contextmanager
def lingering(port: int, request: bytes, count: int = COUNT) -> Iterator[list[bytes]]:
    """Send a request on each of many connections, read to the end of the answer, and close none of them."""
    with ExitStack() as stack:
        answers = []
        for number in range(count):
            peer = (f"127.3.{number // 250}.{number % 250 + 1}", 0)  # refusals of one address are delayed
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30, source_address=peer))
            connection.sendall(request)
            answers.append(b"".join(iter(lambda connection=connection: connection.recv(4096), b"")))  # type: ignore[misc]
        yield answers


def held(service: Service) -> int:
    """Return how many connections the service keeps open for peers that have not closed."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ours = [row for row in rows if row[1].endswith(f":{service.port:04X}") and row[3] in FIN_WAIT]
    return sum(row[9] != "0" for row in ours)  # 0: the process has closed it


@pytest.mark.parametrize("request_", LINGERERS.values(), ids=LINGERERS)
def test_clients_linger_others_are_answered_meanwhile(request_: bytes, vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: a client that does not close keeps nobody waiting, with no proxy in front.

    All of them still linger when the others have their answers, so nobody waited for any of them to be over.
    """
    caller = bearer(new_key(tmp_path / "state", "someone", "fleet"))
    settings = {"SIFT_AUTH": "keys", "SIFT_THREADS": "8"}
    with Service(tmp_path, vendors.environ | settings, PATIENT) as service:
        assert service.post("/v1/search", {"query": "warm"}, caller).json()["cached"] is False
        with lingering(service.port, request_) as answers:
            others = [service.post("/v1/search", {"query": "warm"}, caller).json() for _ in range(20)]
            assert held(service) == COUNT
        assert all(other["cached"] for other in others)
        assert all(re.match(rb"HTTP/1.[01] (200|400|401|405) ", answer) for answer in answers)
        assert len(set(map(len, answers))) == 1  # each came whole


def test_more_linger_than_may_the_oldest_is_closed(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: lingering connections are few, whatever clients do; the others have their answers too."""
    with Service(tmp_path, vendors.environ, [*PATIENT, "--worker-connections", "100"]) as service:
        with lingering(service.port, LINGERERS["Connection: close"], 50) as answers:
            assert service.get("/healthz").status == 200
            wait_for(lambda: held(service) == 12)
        assert {answer[:15] for answer in answers} == {b"HTTP/1.1 200 OK"}


def test_stop_while_clients_linger_ends_cleanly(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: clients that do not close hold up no stop."""
    with Service(tmp_path, vendors.environ) as service, lingering(service.port, LINGERERS["broken HTTP"], 5):
        assert service.stop() == 0
    assert b"SIGKILL" not in service.log()
