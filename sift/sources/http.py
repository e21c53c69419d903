"""The one HTTP client of all vendors: the configured URL and no other, one deadline for the whole call (contract §6).

`requests` is used below its Session: a prepared request goes straight through a mounted adapter, so that nothing of
the environment (proxies, .netrc), no cookie and no redirect can come in, and a quarter of a call's CPU is saved.
"""

from __future__ import annotations

import codecs
import json
import time
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any
from urllib.parse import quote_plus, urlsplit

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from requests.exceptions import RequestException
from requests.exceptions import Timeout as RequestTimeout
from urllib3 import HTTPConnectionPool
from urllib3.exceptions import HTTPError
from urllib3.response import BaseHTTPResponse

from sift import __version__
from sift.errors import SourceError
from sift.sources.deadline import CLOCK_SLACK, READ_SIZE, call
from sift.sources.exchange import make_pool

MAX_BODY = 4 * 1024 * 1024
"""Bytes of a decoded body; what comes after is not read."""
_HEADERS = {
    "User-Agent": f"sift/{__version__}",
    # SearXNG's limiter refuses clients that do not take HTML or name no language (vendors.md §2.5).
    "Accept": "application/json, text/html;q=0.5",
    "Accept-Language": "en",
    "Accept-Encoding": "gzip, identity",
}


class _PinnedAdapter(HTTPAdapter):
    """Send to one origin through one kept pool; the per-call work of finding pool, certificates and path is gone."""

    def __init__(self, pool: HTTPConnectionPool, origin: str) -> None:
        super().__init__(pool_connections=1, pool_maxsize=1)
        self._pool = pool
        self._origin = origin

    def get_connection_with_tls_context(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Any:
        return self._pool

    def cert_verify(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the pool's own context verifies."""

    def request_url(self, request: PreparedRequest, proxies: Any) -> str:
        return str(request.url).removeprefix(self._origin)

    def build_response(self, req: PreparedRequest, resp: BaseHTTPResponse) -> Response:
        return _Answer(req, resp)


class _Answer(Response):
    """Hold what is read of an answer; cookies and encoding, which requests puts into one too, take it 40 µs."""

    def __init__(self, request: PreparedRequest, raw: BaseHTTPResponse) -> None:
        self.request = request  # the `responses` library, which vendor tests use, looks at it
        self.status_code = raw.status
        self.headers = raw.headers  # type: ignore[assignment]
        self.raw = raw


class Endpoint:
    """Be one vendor's URL, with the headers it wants.

    connections: calls to expect at a time; so many sockets are kept alive.
    """

    def __init__(self, url: str, headers: Mapping[str, str], *, connections: int) -> None:
        parts = urlsplit(url)
        origin = url[: len(f"{parts.scheme}://{parts.netloc}")]  # as it is spelled: `HTTP://` is a scheme too
        self._url = url if parts.path else f"{origin}/{url[len(origin) :]}"
        host, port = parts.hostname or "", parts.port
        self._headers = {"Host": parts.netloc, **_HEADERS, **headers}
        pool = make_pool(parts.scheme, host, port, connections)
        self._adapter = _PinnedAdapter(pool, origin)

    def get_json(self, parameters: Mapping[str, str], *, deadline: float) -> Any:
        """GET with a query string; give the parsed body. Raises SourceError."""
        # A colon may stay (RFC 3986 §3.4), and `site:` would else be all that sends a query down quote's slow path.
        query = "&".join([f"{name}={quote_plus(value, safe=':')}" for name, value in parameters.items()])
        url = f"{self._url}{'&' if '?' in self._url else '?'}{query}"
        return self._call(_request("GET", url, self._headers), deadline)

    def post_json(self, body: Mapping[str, Any], *, deadline: float) -> Any:
        """POST a JSON body; give the parsed answer. Raises SourceError."""
        data = json.dumps(body).encode()
        headers = {**self._headers, "Content-Type": "application/json", "Content-Length": str(len(data))}
        return self._call(_request("POST", self._url, headers, data), deadline)

    def _call(self, request: PreparedRequest, deadline: float) -> Any:
        call.begin(deadline)
        try:
            call.left()
            response = self._adapter.send(request, stream=True)
        except (RequestException, HTTPError, HTTPException, OSError, ValueError) as error:
            # The error's text may hold the URL and so the query: it goes no further than here.
            raise _failure(error) from None
        call.answered = True
        with response.raw:
            _check_status(response)
            try:
                body = _read(response.raw)
            except (HTTPError, HTTPException, OSError, ValueError, zlib.error) as error:
                raise _failure(error) from None
        return parse_json(body)


def _request(method: str, url: str, headers: dict[str, str], body: bytes | None = None) -> PreparedRequest:
    """Fill a request in; `prepare` would quote, join and count what is quoted, joined and counted here."""
    request = PreparedRequest()
    request.method, request.url, request.body = method, url, body
    # Not requests' own dict, which takes 10 µs to copy: names are spelled one way throughout.
    request.headers = headers  # type: ignore[assignment]
    return request


def parse_json(body: bytes) -> Any:
    """Parse a vendor's body as UTF-8 JSON, whatever its charset says. Raises SourceError."""
    try:
        text = body.removeprefix(codecs.BOM_UTF8).decode()
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise
        except ValueError:  # an integer of thousands of digits: that field is absent, the rest is fine
            return json.loads(text, parse_int=_bounded_int)
    except (ValueError, RecursionError):
        raise SourceError("bad response") from None


def _bounded_int(digits: str) -> int | None:
    return int(digits) if len(digits) < 400 else None


def _failure(error: Exception) -> SourceError:
    """Put a failed call into a word of the closed vocabulary."""
    if isinstance(error, _TooLargeError):
        return SourceError("response too large")
    if isinstance(error, RequestTimeout) or time.monotonic() >= call.deadline - CLOCK_SLACK:
        return SourceError("timeout", sent=call.sent, counts=True)
    if call.answered:
        return SourceError("bad response")
    return SourceError("unreachable", sent=call.sent, counts=True)


def _check_status(response: Response) -> None:
    """Look at the status before the body. Raises SourceError."""
    status = response.status_code
    if status == 200:
        return
    if 300 <= status < 400:
        raise SourceError("redirect refused")
    retry_after = _seconds(response.headers.get("retry-after", "")) if status in (429, 503) else None
    raise SourceError(f"http {status}", counts=status == 429 or status >= 500, retry_after=retry_after)


def _seconds(retry_after: str) -> float | None:
    """Read a Retry-After header, seconds or a date; None when it is neither or in the past (B114)."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9]) or None
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    left = (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return left if left > 0 else None


class _TooLargeError(ValueError):
    """Say that a body went over MAX_BODY."""


def _read(raw: BaseHTTPResponse) -> bytes:
    """Read and inflate a body, up to MAX_BODY bytes of either."""
    encoding = raw.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise ValueError("an encoding that was not asked for")
    inflate = zlib.decompressobj(31) if "gzip" in encoding else None
    pieces: list[bytes] = []
    room = MAX_BODY + 1
    while chunk := raw.read1(READ_SIZE, decode_content=False):
        if inflate and inflate.eof:
            raise ValueError("bytes after the compressed body")
        # Bounded while inflating, so a bomb stops at the cap and not at its full size (B118).
        piece = inflate.decompress(chunk, room) if inflate else chunk
        pieces.append(piece)
        room -= len(piece)
        if room <= 0:
            raise _TooLargeError
    if inflate and (not inflate.eof or inflate.unused_data):
        raise ValueError("a compressed body that is cut, or bytes after it")
    return b"".join(pieces)
