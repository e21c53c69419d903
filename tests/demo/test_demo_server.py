"""The HTTP server: sturdy, silent, keep-alive."""

from __future__ import annotations

import json
import logging
import socket
import struct
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Client

KEY = "Authorization: Bearer k\r\n"


def raw(demo: Client, data: bytes) -> bytes:
    """Send raw bytes, shut down the sending side, and return everything that is answered."""
    with socket.create_connection(demo.address, timeout=30) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answered = b""
        try:
            while chunk := connection.recv(65536):
                answered += chunk
        except ConnectionResetError:
            pass  # the server closed with our bytes unread
        return answered


def test_connection_is_kept_and_bodies_have_a_length(demo: Client) -> None:
    """contract: Demo: HTTP/1.1 keep-alive; a GET's body is read, not taken for the next request."""
    connection = HTTPConnection(*demo.address, timeout=30)
    try:
        for _ in range(3):
            connection.request("GET", "/search?q=dict&format=json", b"GET /evil HTTP/1.1\r\n\r\n")
            response = connection.getresponse()
            body = response.read()
            assert (response.status, response.version) == (200, 11)
            assert int(response.headers["Content-Length"]) == len(body)
            assert not response.will_close
    finally:
        connection.close()


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("target", ["/", "/searchx", "/search/", "/res/v1/llm", "//[", "/%2e%2e/search"])
def test_unknown_path_is_404(demo: Client, method: str, target: str) -> None:
    """contract: Demo: three paths and no others."""
    assert demo.send(method, target, {"Authorization": "Bearer k"}, b"{}")[0].status == 404


@pytest.mark.parametrize(
    ("method", "target"), [("POST", "/search"), ("POST", "/res/v1/llm/context"), ("GET", "/tavily/search")]
)
def test_wrong_method_is_405_in_json(demo: Client, method: str, target: str) -> None:
    """contract: Demo: the methods Sift uses and no others."""
    response, body = demo.send(method, target)
    assert response.status == 405
    assert json.loads(body)["error"]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", b""),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", b"400"),
        (b"GET /search?q=x HTTP/9.9\r\n\r\n", b"505"),
        (b"BREW /search HTTP/1.1\r\n\r\n", b"501"),
        (b"GET /search?q=" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET /search HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n", b"431"),
        (b"GET /search?format=json&q=%ff%00%zz& HTTP/1.1\r\n\r\n", b"200"),
        (b"POST /tavily/search HTTP/1.1\r\nContent-Length: \xb2\r\n\r\n", b"413"),
        (b"POST /tavily/search HTTP/1.1\r\nContent-Length: 00000000000000000099\r\n\r\n", b"413"),
        (b"POST /tavily/search HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", b"413"),
        (b"POST /tavily/search HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b"413"),
        (b"POST /tavily/search HTTP/1.1\r\n" + KEY.encode() + b"Content-Length: 50\r\n\r\n{}", b"422"),
    ],
)
def test_malformed_request_is_refused_silently(
    demo: Client, capfd: pytest.CaptureFixture[str], data: bytes, status: bytes
) -> None:
    """contract: Demo: malformed input causes no traceback on stderr, and the next request is answered."""
    answered = raw(demo, data)
    assert answered.partition(b" ")[2][:3] == status
    assert demo.searxng("dict")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_client_that_disconnects_is_ignored_silently(demo: Client, capfd: pytest.CaptureFixture[str]) -> None:
    """contract: Demo: Sift closes connections at its deadline, which is not an error here."""
    for _ in range(20):
        with socket.create_connection(demo.address, timeout=30) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close with a reset
            connection.sendall(b"GET /search?q=dict&format=json HTTP/1.1\r\n\r\n" * 3)
    assert demo.searxng("dict")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_nothing_is_logged(demo: Client, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    """contract: Log: a query is never written to a log."""
    with caplog.at_level(logging.DEBUG):
        demo.searxng("secretquery")
        demo.brave("secretquery", {})
        demo.tavily("secretquery", include_domains=["secret"])
        demo.send("GET", "/secretpath")
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")
