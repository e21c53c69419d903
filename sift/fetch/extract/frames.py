"""Frames on the pipes between an extractor and its children: three lengths, a JSON header, two bodies.

What a child sends is as untrusted as the page that it read: it is never unpickled, and every length has a bound.
"""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

_LENGTHS = struct.Struct(">III")
LENGTHS = _LENGTHS.size
MOST_HEADER = 64 << 10
MOST_BODY = 64 << 20
"""Bytes. Above all that a fetch takes, so that this refuses nothing but rubbish."""
BEGUN = bytes(LENGTHS)
"""What a child sends once it has loaded what a job needs: an empty frame. From here on the job's time counts."""


class BadFrameError(Exception):
    """The other end of a pipe sent something else than a frame."""


class Frame(NamedTuple):
    """One message; a job has its document in `first`, an answer its content there and its HTML in `second`."""

    header: dict[str, Any]
    first: bytes = b""
    second: bytes = b""


def pack(frame: Frame) -> list[bytes]:
    """Return the pieces of a frame, in order."""
    header = json.dumps(frame.header).encode()
    return [_LENGTHS.pack(len(header), len(frame.first), len(frame.second)) + header, frame.first, frame.second]


def lengths(start: bytes | bytearray) -> tuple[int, int, int]:
    """Return the lengths that the first bytes of a frame announce. Raises BadFrameError."""
    header, first, second = _LENGTHS.unpack_from(start)
    if not 0 < header <= MOST_HEADER or first > MOST_BODY or second > MOST_BODY:
        raise BadFrameError
    return header, first, second


def unpack(data: bytes | bytearray) -> Frame:
    """Return the frame that makes up the whole of `data`. Raises BadFrameError."""
    header, first, second = lengths(data)
    if len(data) != LENGTHS + header + first + second:
        raise BadFrameError
    behind = LENGTHS + header
    try:
        values = json.loads(bytes(data[LENGTHS:behind]))
    except (ValueError, RecursionError):
        raise BadFrameError from None
    if not isinstance(values, dict):
        raise BadFrameError
    return Frame(values, bytes(data[behind : behind + first]), bytes(data[behind + first :]))
