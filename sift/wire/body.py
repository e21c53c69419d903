"""The body of an answer: read and inflated within a limit, and parsed."""

from __future__ import annotations

import codecs
import json
import zlib
from collections.abc import Mapping
from typing import Any, Protocol

from sift.errors import SourceError
from sift.wire.connection import READ_SIZE

ACCEPT_ENCODING = "gzip, identity"
"""The encodings that `read_body` can read, as a header value."""


class TooLargeError(ValueError):
    """A body that exceeds its limit."""


class Unread(Protocol):
    """An answer whose body has not been read: a Reply, or in tests a urllib3 response in its place."""

    headers: Mapping[str, str]

    def read1(self, n: int, decode_content: bool) -> bytes:
        """Return the next part of the body, still encoded; nothing at its end."""


def read_body(raw: Unread, limit: int) -> bytes:
    """Read and inflate a body. Raises OSError, ValueError, zlib.error; and TooLargeError.

    limit: bytes, which hold for the body as it was sent and for the inflated one.
    """
    encoding = raw.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise ValueError("an encoding that was not requested")
    inflate = zlib.decompressobj(31) if "gzip" in encoding else None
    pieces: list[bytes] = []
    room = limit + 1
    while chunk := raw.read1(READ_SIZE, decode_content=False):
        if inflate and inflate.eof:
            raise ValueError("data after the compressed body")
        # Bounded while inflating, so that a bomb stops at the limit and not at its full size.
        piece = inflate.decompress(chunk, room) if inflate else chunk
        pieces.append(piece)
        room -= len(piece)
        if room <= 0:
            raise TooLargeError
    if inflate and (not inflate.eof or inflate.unused_data):
        raise ValueError("a truncated compressed body, or data after it")
    return b"".join(pieces)


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
