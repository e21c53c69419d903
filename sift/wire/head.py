"""The head of an answer: status line and headers, parsed leniently, since many servers are careless."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sift.wire.connection import MAX_LINE, BadReplyError, Connection

HEAD_ENDS = (b"\r\n", b"\n", b"")
"""What ends trailers; some servers omit the empty line."""
MAX_HEADERS = 100
MAX_INTERIM = 8
"""Interim answers before the final one, such as the early hints of a proxy."""


class Head(NamedTuple):
    """Status and headers of an answer.

    headers: names in lower case; the values of a repeated header are joined by commas.
    persistent: whether the server leaves the connection open after this answer.
    """

    status: int
    headers: dict[str, str]
    persistent: bool


def read_head(connection: Connection) -> Head:
    """Read the head of the final answer, skipping interim ones. Raises OSError; BadReplyError if it is malformed."""
    version, status = _read_status(connection)
    # What fails before the status line is "unreachable", what fails after it a "bad response".
    connection.call.answered = True
    interim = 0
    while status < 200 and status != 101:
        interim += 1
        if interim > MAX_INTERIM:
            raise BadReplyError("too many interim answers")
        _read_headers(connection)
        version, status = _read_status(connection)
    if not version.startswith("HTTP/1."):
        raise BadReplyError("an unknown HTTP version")
    headers = _read_headers(connection)
    return Head(status, headers, _is_persistent(version, headers))


def skip_trailers(connection: Connection) -> None:
    """Skip the headers that follow a chunked body, after the first. Raises OSError, BadReplyError."""
    for _ in range(MAX_HEADERS):
        if connection.read_line() in HEAD_ENDS:
            return
    raise BadReplyError("too many trailers")


def _read_status(connection: Connection) -> tuple[str, int]:
    words = connection.read_line().decode("latin-1").split(None, 2)
    if len(words) < 2 or not words[0].startswith("HTTP/"):
        raise BadReplyError("no status line")
    version, status = words[:2]
    if not (status.isascii() and status.isdigit() and 100 <= int(status) <= 999):
        raise BadReplyError("no status")
    return version, int(status)


def _read_headers(connection: Connection) -> dict[str, str]:
    """Read headers up to and including the empty line."""
    headers: dict[str, str] = {}
    for _ in range(MAX_HEADERS + 1):
        line = connection.read_line()
        if line in (b"\r\n", b"\n"):
            return headers
        if not line.endswith(b"\n"):
            raise BadReplyError("a truncated head")
        name, colon, value = line.decode("latin-1").partition(":")
        if colon and not name[:1].isspace():  # folded lines are ignored: no header that matters here is ever folded
            name, value = name.lower(), value.strip()
            headers[name] = _join(headers[name], value) if name in headers else value
    raise BadReplyError("too many headers")


def _join(values: str, value: str) -> str:
    if len(values) > MAX_LINE:  # joining a hundred of the longest would copy hundreds of MiB
        raise BadReplyError("a header that is too long")
    return f"{values}, {value}"


def _is_persistent(version: str, headers: Mapping[str, str]) -> bool:
    connection = headers.get("connection", "").lower()
    if version != "HTTP/1.0":
        return "close" not in connection
    proxy = headers.get("proxy-connection", "").lower()
    return bool(headers.get("keep-alive")) or "keep-alive" in connection or "keep-alive" in proxy
