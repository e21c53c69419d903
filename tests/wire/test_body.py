"""The body of an answer: encodings, limits, JSON."""

from __future__ import annotations

import gzip
import math
import socket
import threading
import tracemalloc
from typing import Any

import pytest

from sift.wire.body import MAX_MEMBERS, parse_json
from sift.wire.endpoint import MAX_BODY
from tests.calls import drip, send
from tests.vendors import Seen, Vendors, reply
from tests.wire.clients import GOOD, OK, answer, failure

PACKED = gzip.compress(b'{"results": []}')
MEMBERS = [gzip.compress(part) for part in (b'{"resu', b"", b'lts": []}', b"")]
CHUNKS = b"".join(b"%x\r\n%b\r\n" % (len(member), member) for member in MEMBERS) + b"0\r\n\r\n"
BLANKS = gzip.compress(b" " * 99)
BROKEN = {
    "empty body": OK + b"Content-Length: 0\r\n\r\n",
    "HTML": OK + b"Content-Type: text/html\r\n\r\n<!doctype html><title>sign in</title>",
    "gzip without its check sum": OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED[:-1],
    "gzip with a wrong check sum": OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED[:-8] + b"12345678",
    "gzip and more": OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED + b"more",
    "gzip of two documents": OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED + PACKED,
    "gzip and half a member": OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED + PACKED[:9],
    "gzip of too many members": OK + b"Content-Encoding: gzip\r\n\r\n" + BLANKS * MAX_MEMBERS + PACKED,
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
        (OK + b"Content-Encoding: gzip\r\n\r\n" + b"".join(MEMBERS), GOOD),
        (OK + b"Content-Encoding: gzip\r\n\r\n" + BLANKS * (MAX_MEMBERS - 1) + PACKED, GOOD),
        (OK + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS, GOOD),
        (OK + b"Content-Type: text/html\r\n\r\n{}", {}),
        (OK + b"Content-Type: application/json; charset=latin-1\r\n\r\n" + '{"a":"é"}'.encode(), {"a": "é"}),
        (OK + b"\r\n\xef\xbb\xbf{}", {}),
        (OK + b"\r\n \r\n{} \n", {}),
        (OK + b"\r\nnull", None),
        (OK + b'\r\n{"a":"\\ud800"}', {"a": "\ud800"}),
    ],
)
def test_body_is_unusual_but_readable_it_is_read(vendors: Vendors, whole: bytes, body: Any) -> None:
    """contract: HTTP calls: gzip of one or more members; UTF-8 whatever charset is declared, BOM dropped; any JSON."""
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
    packed = gzip.compress(whole, 1)
    members = gzip.compress(whole[:99], 1) + gzip.compress(whole[99:], 1)
    for body, headers in ((whole, []), *((each, [("Content-Encoding", "gzip")]) for each in (packed, members))):
        error = failure(vendors, reply(body, headers=headers))
        assert (error.reason, error.sent, error.counts) == ("response too large", True, False)


def test_body_is_a_bomb_memory_stays_flat(vendors: Vendors) -> None:
    """contract: HTTP calls: 64 kB that inflate to 64 MiB are stopped at the limit."""
    bomb = gzip.compress(bytes(64 << 20), 9)
    tracemalloc.start()
    try:
        error = failure(vendors, reply(bomb, headers=[("Content-Encoding", "gzip")]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert error.reason == "response too large"
    assert peak < 4 * MAX_BODY


def chunked(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


GZIP = OK + b"Content-Encoding: gzip\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
OVERHEAD = {
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "long interim answers": (b"", b"HTTP/1.1 103 Hints\r\n" + (b"X: " + b"y" * 60_000 + b"\r\n") * 3 + b"\r\n"),
    "long headers": (OK, b"X: " + b"y" * 60_000 + b"\r\n"),
    "tiny chunks": (CHUNKED, chunked(b"  ")),
    "long chunk extensions": (CHUNKED, b"1;" + b"x" * 60_000 + b"\r\n \r\n"),
    "trailers": (CHUNKED + chunked(b"{}") + b"0\r\n", b"X: y\r\n"),
    "long trailers": (CHUNKED + chunked(b"{}") + b"0\r\n", b"X: " + b"y" * 60_000 + b"\r\n"),
    "empty deflate blocks": (GZIP + PACKED[:10], b"\x00\x00\x00\xff\xff"),
    "empty gzip members": (GZIP, gzip.compress(b"")),
    "gzip file name": (GZIP + b"\x1f\x8b\x08\x08" + bytes(6), b"a"),
}


@pytest.mark.parametrize(("start", "more"), OVERHEAD.values(), ids=OVERHEAD.keys())
def test_overhead_never_ends_bad_response_after_a_bounded_part(vendors: Vendors, start: bytes, more: bytes) -> None:
    """contract: HTTP calls: what is not body may not exceed the body by much, so a call reads a few MiB at most."""
    sent = 0

    def behave(connection: socket.socket, seen: Seen) -> bool:
        nonlocal sent
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
        connection.sendall(start)
        block = more * (1 + 65_536 // len(more))
        while True:  # until the client has closed the connection
            connection.sendall(block)
            sent += len(block)

    assert failure(vendors, behave).reason == "bad response"
    assert sent < 6 * MAX_BODY  # most of it lies in the socket's buffers


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
