"""The body of an answer: encodings, limits, JSON."""

from __future__ import annotations

import gzip
import math
import socket
import threading
import tracemalloc
from typing import Any

import pytest

from sift.wire.body import parse_json
from sift.wire.endpoint import MAX_BODY
from tests.calls import drip, send
from tests.vendors import Seen, Vendors, reply
from tests.wire.clients import GOOD, OK, answer, failure

PACKED = gzip.compress(b'{"results": []}')
BROKEN = {
    "empty body": OK + b"Content-Length: 0\r\n\r\n",
    "HTML": OK + b"Content-Type: text/html\r\n\r\n<!doctype html><title>sign in</title>",
    "gzip without its check sum": OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED[:-1],
    "gzip with a wrong check sum": OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED[:-8] + b"12345678",
    "gzip and more": OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED + b"more",
    "gzip and another": OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED + PACKED,
    "gzip that is none": OK + b'Content-Encoding: gzip\r\n\r\n{"results":[]}',
    "gzip twice": OK + b"Content-Encoding: gzip, gzip\r\n\r\n" + gzip.compress(PACKED),
    "gzip that is empty": OK + b"Content-Encoding: gzip\r\n\r\n",
    "unknown encoding": OK + b'Content-Encoding: br\r\n\r\n{"results":[]}',
    "UTF-16": OK + b"\r\n" + '{"results":[]}'.encode("utf-16"),
    "Latin-1": OK + b"Content-Type: application/json; charset=latin-1\r\n\r\n" + '{"results":["é"]}'.encode("latin-1"),
    "two documents": OK + b'\r\n{"results":[]}{"results":[]}',
    "deeper than any stack": OK + b"\r\n" + b"[" * 200_000,
}


@pytest.mark.parametrize("whole", BROKEN.values(), ids=BROKEN.keys())
def test_body_is_unreadable_bad_response(vendors: Vendors, whole: bytes) -> None:
    """contract: HTTP calls: HTML, empty and truncated bodies are `bad response`, which the breaker does not count."""
    error = failure(vendors, send(whole))
    assert (error.reason, error.sent, error.counts) == ("bad response", True, False)


@pytest.mark.parametrize(
    ("whole", "body"),
    [
        (OK + b"Content-Encoding: identity\r\n\r\n{}", {}),
        (OK + b"Content-Encoding: X-GZIP\r\n\r\n" + PACKED, GOOD),
        (OK + b"Content-Type: text/html\r\n\r\n{}", {}),
        (OK + b"Content-Type: application/json; charset=latin-1\r\n\r\n" + '{"a":"é"}'.encode(), {"a": "é"}),
        (OK + b"\r\n\xef\xbb\xbf{}", {}),
        (OK + b"\r\n \r\n{} \n", {}),
        (OK + b"\r\nnull", None),
        (OK + b'\r\n{"a":"\\ud800"}', {"a": "\ud800"}),
    ],
)
def test_body_is_unusual_but_readable_it_is_read(vendors: Vendors, whole: bytes, body: Any) -> None:
    """contract: HTTP calls: UTF-8 whatever charset is declared, BOM dropped, any JSON value."""
    assert answer(vendors, send(whole)) == body


def test_bytes_after_gzip_never_end_bad_response_at_once(vendors: Vendors, release: threading.Event) -> None:
    """contract: HTTP calls: data after the compressed body ends the call; it is not read."""
    error = failure(vendors, drip(release, OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED, b"x"))
    assert error.reason == "bad response"


def test_body_has_nan_it_is_read_as_such() -> None:
    """contract: HTTP calls: Python's parser accepts a bare NaN; the fields that hold numbers reject it later."""
    body = parse_json(b'{"a": NaN, "b": -Infinity, "c": 1e999}')
    assert math.isnan(body["a"])
    assert (body["b"], body["c"]) == (-math.inf, math.inf)


def test_body_has_an_integer_of_thousands_of_digits_rest_is_read() -> None:
    """contract: HTTP calls: an unusable value counts as absent and affects no other."""
    digits = b"9" * 5000
    body = parse_json(b'{"a": ' + digits + b', "b": [1, -' + digits + b'], "c": "kept"}')
    assert body == {"a": None, "b": [1, None], "c": "kept"}


def test_body_has_exactly_the_limit_it_is_read(vendors: Vendors) -> None:
    """contract: HTTP calls: a decoded body may have 4 MiB."""
    assert MAX_BODY == 4 * 1024 * 1024
    whole = b'"' + b"x" * (MAX_BODY - 2) + b'"'
    assert len(answer(vendors, reply(whole))) == MAX_BODY - 2
    packed = gzip.compress(whole, 1)
    assert len(answer(vendors, reply(packed, headers=[("Content-Encoding", "gzip")]))) == MAX_BODY - 2


def test_body_exceeds_the_limit_by_a_byte_it_is_refused(vendors: Vendors) -> None:
    """contract: HTTP calls: over 4 MiB, plain or compressed: `response too large`."""
    whole = b'"' + b"x" * (MAX_BODY - 1) + b'"'
    for body, headers in ((whole, []), (gzip.compress(whole, 1), [("Content-Encoding", "gzip")])):
        error = failure(vendors, reply(body, headers=headers))
        assert (error.reason, error.sent, error.counts) == ("response too large", True, False)


def test_body_is_a_bomb_memory_stays_flat(vendors: Vendors) -> None:
    """contract: HTTP calls: 64 kB that inflate to 64 MiB are stopped at the limit."""
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
def test_body_never_ends_reading_stops_at_the_limit(
    vendors: Vendors, release: threading.Event, head: bytes, more: bytes
) -> None:
    """contract: HTTP calls: the limit holds while streaming, whatever length is declared; the connection is closed."""
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
