"""Bounded reading and parsing of request bodies, whatever their content type (contract: Search request)."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING, Any, BinaryIO

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.wsgi import get_content_length

from sift.errors import InvalidJsonError

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

MAX_BODY = 64 * 1024
MAX_BATCH = 512 * 1024
"""Bytes of a body that holds many URLs."""
MAX_DRAINED = 2 * 1024 * 1024
MAX_DEPTH = 100
_PIECE = 64 * 1024
# The closing quote is optional: a text of many unterminated strings is then scanned once, not once per string.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def read_body(environ: WSGIEnvironment, most: int = MAX_BODY) -> bytes:
    """Read the body of a request, of `most` bytes at most.

    Raises RequestEntityTooLarge, or InvalidJsonError when it is truncated.
    """
    length = get_content_length(environ)
    if length is None and not environ.get("wsgi.input_terminated"):
        return b""  # no length, and no server that ends the stream: reading could block forever
    wanted = most + 1 if length is None else min(length, most + 1)
    stream = environ["wsgi.input"]
    body = _read(stream, wanted)
    if len(body) > most:
        drain(stream, None if length is None else length - len(body))
        raise RequestEntityTooLarge
    if length is not None and len(body) < length:
        raise InvalidJsonError
    return body


class Again:
    """A stream of which the beginning has been read: it comes again, then the rest."""

    def __init__(self, begun: bytes, rest: BinaryIO) -> None:
        self._begun = io.BytesIO(begun)
        self._rest = rest

    def read(self, size: int) -> bytes:
        """Return the next bytes, fewer than `size` only at the end."""
        found = self._begun.read(size)
        return found + self._rest.read(size - len(found)) if len(found) < size else found


def key_in_body(environ: WSGIEnvironment) -> str | None:
    """Return the `api_key` of a JSON body, None if there is none; the body can be read again.

    At most 64 KiB are read: who sends it is not known yet.
    """
    length = get_content_length(environ)
    if length is None and not environ.get("wsgi.input_terminated"):
        return None
    if length is not None and length > MAX_BODY:
        return None
    stream = environ["wsgi.input"]
    try:
        begun = _read(stream, MAX_BODY if length is None else length)
        environ["wsgi.input"] = Again(begun, stream)
        key = parse_object(begun).get("api_key")
    except InvalidJsonError:
        return None
    return key if isinstance(key, str) else None


def drain(stream: BinaryIO, left: int | None) -> None:
    """Discard up to 2 MiB of a refused body, so that the client sees the answer and not a connection reset."""
    room = MAX_DRAINED if left is None else min(left, MAX_DRAINED)
    while room > 0 and (piece := _read(stream, min(room, _PIECE))):
        room -= len(piece)


def parse_object(body: bytes) -> dict[str, Any]:
    """Parse a body as a JSON object. Raises InvalidJsonError."""
    try:
        text = body.decode("utf-8-sig")
        if _depth(text) > MAX_DEPTH:
            raise InvalidJsonError
        parsed = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # bad UTF-8, bad JSON, an integer of thousands of digits
        raise InvalidJsonError from None
    if not isinstance(parsed, dict):
        raise InvalidJsonError
    return parsed


def _read(stream: BinaryIO, size: int) -> bytes:
    try:
        return stream.read(size)
    except Exception:
        # Servers raise their own errors for a bad chunk or a lost client; either way the body is truncated.
        raise InvalidJsonError from None


def _refuse_constant(name: str) -> float:
    raise ValueError(name)  # NaN and Infinity are not JSON


def _depth(text: str) -> int:
    """Return the nesting depth of JSON text; text with at most MAX_DEPTH brackets counts as 0."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return 0
    depth = deepest = 0
    for char in _STRING.sub("", text):
        if char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest
