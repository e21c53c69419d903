"""The body of an answer: read and inflated within a limit, and parsed."""

from __future__ import annotations

import codecs
import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol

from sift.errors import SourceError
from sift.wire.connection import READ_SIZE

ACCEPT_ENCODING = "gzip, identity"
"""The encodings that `read_body` can read, as a header value."""
MAX_MEMBERS = 1000
"""Members of a gzip body; each costs the set-up of a decompressor."""
FREE_COMPRESSION = 64 * 1024
"""Bytes by which a body as it was sent may exceed twice its inflated size; no compressor needs as much."""


LOOK = 512
"""Bytes of a body that are looked at for its type."""


class TooLargeError(ValueError):
    """A body that exceeds its limit."""


class EncodingError(ValueError):
    """A body in an encoding that was not asked for, or that is not what its encoding says."""


class Cut(NamedTuple):
    """A body as far as it was read.

    sent: its bytes on the wire. at: which limit ended it, the one on the wire or the one on the inflated body; "" when
    it is whole.
    """

    body: bytes
    sent: int
    at: Literal["", "wire", "body"] = ""


class Unread(Protocol):
    """An answer whose body has not been read: a Reply, or in tests a urllib3 response in its place."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers, names in lower case."""

    def read1(self, n: int, decode_content: bool) -> bytes:
        """Return the next part of the body, still encoded; nothing at its end."""


def read_body(raw: Unread, limit: int) -> bytes:
    """Read and inflate a body. Raises OSError, ValueError, zlib.error; and TooLargeError.

    limit: bytes of the inflated body.
    """
    gunzip = _gunzip(raw.headers)
    pieces: list[bytes] = []
    sent = size = 0
    while chunk := raw.read1(READ_SIZE, decode_content=False):
        sent += len(chunk)
        # Bounded while inflating, so that a bomb stops at the limit and not at its full size.
        piece = gunzip.inflate(chunk, limit + 1 - size) if gunzip else chunk
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise TooLargeError
        if sent > FREE_COMPRESSION + 2 * size:
            raise ValueError("a compressed body with next to no contents")
    if gunzip and not gunzip.is_complete():
        raise ValueError("a truncated compressed body")
    return b"".join(pieces)


def read_upto(raw: Unread, wire: int, limit: int, look: Callable[[bytes], tuple[int, int]]) -> Cut:
    """Read and inflate a body as far as its limits allow. Raises OSError, ValueError, EncodingError.

    wire, limit: bytes as sent, and inflated. look: gets the first LOOK bytes, or all when there are fewer, before more
    is read. It returns the limits for what follows; what it raises ends the reading.
    """
    gunzip = _gunzip(raw.headers)
    pieces: list[bytes] = []
    sent = size = 0
    unseen = True
    while chunk := raw.read1(READ_SIZE, decode_content=False):
        is_over, chunk = sent + len(chunk) > wire, chunk[: wire - sent]
        sent += len(chunk)
        try:
            pieces.append(gunzip.inflate(chunk, limit + 1 - size) if gunzip else chunk)
        except zlib.error:
            raise EncodingError("not gzip") from None
        size += len(pieces[-1])
        following = wire, limit
        if unseen and (size >= LOOK or is_over):
            unseen = False
            following = look(b"".join(pieces)[:LOOK])
        if size > limit or is_over:
            return Cut(b"".join(pieces)[:limit], sent, "body" if size > limit else "wire")
        wire, limit = following
        if sent > FREE_COMPRESSION + 2 * size:
            raise ValueError("a compressed body with next to no contents")
    body = b"".join(pieces)
    if gunzip and not gunzip.is_complete() and (body or sent):
        raise ValueError("a truncated compressed body")
    if unseen:
        look(body)
    return Cut(body, sent)


def _gunzip(headers: Mapping[str, str]) -> _Gunzip | None:
    """Return what inflates a body, None when nothing needs to. Raises EncodingError."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise EncodingError("an encoding that was not requested")
    return _Gunzip() if "gzip" in encoding else None


class _Gunzip:
    """Inflates gzip data of one or more members, as RFC 1952 has it."""

    __slots__ = ("_member", "_members")

    def __init__(self) -> None:
        self._member = zlib.decompressobj(31)
        self._members = 1

    def inflate(self, data: bytes, room: int) -> bytes:
        """Return up to `room` bytes of what `data` inflates to. Raises zlib.error; ValueError for too many members."""
        inflated = self._member.decompress(data, room)
        if not self._member.unused_data:
            return inflated
        pieces = [inflated]
        while (data := self._member.unused_data) and (room := room - len(pieces[-1])) > 0:
            self._members += 1
            if self._members > MAX_MEMBERS:
                raise ValueError("too many gzip members")
            self._member = zlib.decompressobj(31)
            pieces.append(self._member.decompress(data, room))
        return b"".join(pieces)

    def is_complete(self) -> bool:
        """Return whether the last member has ended."""
        return self._member.eof


def parse_json(body: bytes) -> Any:
    """Parse a body as UTF-8 JSON, whatever charset it declares. Raises SourceError."""
    try:
        text = body.removeprefix(codecs.BOM_UTF8).decode()
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise
        except ValueError:  # an integer of thousands of digits: only that field is dropped
            return json.loads(text, parse_int=_bounded_int)
    except (ValueError, RecursionError):
        raise SourceError("bad response") from None


def _bounded_int(digits: str) -> int | None:
    return int(digits) if len(digits) < 400 else None
