"""One request and its answer: sent in one write; framed by length, by chunks or by the end of the connection."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from sift.wire.call import Call
from sift.wire.connection import READ_SIZE, BadReplyError, Connection
from sift.wire.head import HEAD_ENDS, read_head, skip_trailers
from sift.wire.pool import Pool

MAX_CHUNKS = 65_536
"""Chunks of a body: enough for the largest one in chunks of 64 bytes, and not for millions of bytes one by one."""
MAX_CHUNK_LINE = 256
"""Bytes of the line before a chunk, which holds its size and extensions that nobody uses."""


class Exchange:
    """Sends the request of one call over a pooled connection, behind the interface of a urllib3 pool."""

    def __init__(self, pool: Pool, call: Call) -> None:
        self._pool = pool
        self._call = call

    def urlopen(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], **_: Any) -> Reply:
        """Send a request once, and return its answer with the body unread. Raises OSError, ValueError.

        url: path and query. Other arguments of requests are ignored: nothing is retried, no redirect followed.
        """
        # One write, so one release of the interpreter lock fewer. Everything was quoted or checked before.
        lines = [f"{method} {url} HTTP/1.1", *[f"{name}: {value}" for name, value in headers.items()], "\r\n"]
        request = "\r\n".join(lines).encode("ascii") + (body or b"")
        connection = self._pool.take(self._call)
        try:
            connection.send(request)
            connection.wait()  # before a buffer is allocated: many calls wait at a time, few read
            return Reply(connection, self._pool)
        except BaseException:
            connection.close()
            raise


class Reply:
    """An answer whose head has been read and whose body has not.

    status, headers: as in `Head`.
    """

    def __init__(self, connection: Connection, pool: Pool) -> None:
        self.status, self.headers, persistent = read_head(connection)
        self._connection = connection
        self._pool = pool
        encodings = self.headers.get("transfer-encoding")
        self._is_chunked = encodings is not None and _is_chunked(encodings)
        self._chunks = 0
        # Bytes of the body, or of this chunk, still to come; None if the end of the connection ends the body.
        self._left = 0 if self._is_chunked else _length(self.headers.get("content-length", ""))
        self._is_reusable = persistent and self._left is not None
        self._is_whole = False
        self._is_closed = False

    def __enter__(self) -> Reply:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def read1(self, n: int = READ_SIZE, decode_content: bool = False) -> bytes:
        """Return the next part of the body, `n` bytes at most, still encoded; nothing at its end.

        Raises OSError, and BadReplyError if the body is truncated. `decode_content` matches the signature of urllib3's
        responses, which the `responses` library uses instead of this class.
        """
        if self._is_whole:
            return b""
        if self._is_chunked and not self._left:
            self._left = self._next_chunk()
        if self._left == 0:
            self._is_whole = True
            return b""
        piece = self._connection.read1(n if self._left is None else min(n, self._left))
        if self._left is None:
            self._is_whole = not piece
        elif not piece:
            raise BadReplyError("a truncated body")
        else:
            self._left -= len(piece)
        return piece

    def close(self) -> None:
        """Keep the connection if the answer was read to its end and nothing is left over, else close it."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._is_whole and self._is_reusable and not self._connection.has_unread():
            self._pool.put(self._connection)
        else:
            self._connection.close()

    def _next_chunk(self) -> int:
        """Return the size of the next chunk; 0 after the last one, once its trailers have been skipped."""
        if self._chunks:
            self._skip(2)  # the line end of the previous chunk
        self._chunks += 1
        line = self._connection.read_line()
        if self._chunks > MAX_CHUNKS or len(line) > MAX_CHUNK_LINE:
            raise BadReplyError("more framing than a body needs")
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError:
            raise BadReplyError("a chunk without a size") from None
        if size < 0:
            raise BadReplyError("a chunk of negative size")
        if size == 0 and self._connection.read_line() not in HEAD_ENDS:
            skip_trailers(self._connection)
        return size

    def _skip(self, count: int) -> None:
        while count:
            if not (piece := self._connection.read1(count)):
                raise BadReplyError("a truncated body")
            count -= len(piece)


def _is_chunked(encodings: str) -> bool:
    """Parse a Transfer-Encoding, of which "chunked" may be repeated. Raises BadReplyError for any other."""
    if encodings.lower() == "chunked":
        return True
    names = {name.strip() for name in encodings.lower().split(",")} - {"", "identity"}
    if names - {"chunked"}:
        raise BadReplyError("an unknown transfer encoding")
    return bool(names)


def _length(text: str) -> int | None:
    """Parse a Content-Length; None if it is not a number. Raises BadReplyError for two different ones."""
    if text.isascii() and text.isdigit():
        return int(text)
    lengths = {length.strip() for length in text.split(",")}
    if len(lengths) > 1:
        raise BadReplyError("two lengths")
    length = lengths.pop()
    return int(length) if length.isascii() and length.isdigit() else None
