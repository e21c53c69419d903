"""One URL that answers JSON, and no other: no redirects, nothing of the environment, one deadline for a call.

`requests` is used below its Session: a prepared request goes straight through an adapter, so that no proxy or .netrc
of the environment, no cookie and no redirect can come in.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from urllib.parse import quote_plus, urlsplit

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from requests.exceptions import Timeout as RequestTimeout

from sift.errors import SourceError
from sift.wire.body import ACCEPT_ENCODING, TooLargeError, parse_json, read_body
from sift.wire.call import Call
from sift.wire.dial import dial, tls_context
from sift.wire.exchange import Exchange
from sift.wire.pool import Pool
from sift.wire.resolver import Resolver

MAX_BODY = 4 * 1024 * 1024
"""Bytes of a decoded body; what comes after is not read."""


class _Request(PreparedRequest):
    """A request filled in, and the call it is part of; `prepare` would quote, join and count all of it once more."""

    def __init__(self, method: str, url: str, headers: dict[str, str], body: bytes | None, call: Call) -> None:
        super().__init__()
        self.method, self.url, self.body, self.call = method, url, body, call
        # Not requests' own dict, which is slow to copy: names are spelled one way throughout.
        self.headers = headers  # type: ignore[assignment]


class _Answer(Response):
    """An answer with its body unread, without the cookies and the encoding that requests would look for."""

    def __init__(self, request: PreparedRequest, raw: Any) -> None:
        # The `responses` library, which vendor tests use, looks at these.
        self.request, self.status_code, self.headers, self.raw = request, raw.status, raw.headers, raw


class _Adapter(HTTPAdapter):
    """The way from requests to one origin. Threads share it, so what belongs to a call comes with its request."""

    def __init__(self, pool: Pool, origin: str) -> None:
        super().__init__(pool_connections=1, pool_maxsize=1)
        self._pool = pool
        self._origin = origin

    def get_connection_with_tls_context(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return Exchange(self._pool, request.call)

    def cert_verify(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the pool's own context verifies."""

    def request_url(self, request: PreparedRequest, proxies: Any) -> str:
        return str(request.url).removeprefix(self._origin)

    def build_response(self, req: PreparedRequest, resp: Any) -> Response:
        return _Answer(req, resp)


class Endpoint:
    """One URL, with the headers it wants.

    connections: calls to expect at a time; so many connections are kept alive.
    resolver: looks the host up; one of its own without it.
    clock: seconds, as the deadlines of calls are given.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        connections: int,
        resolver: Resolver | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        parts = urlsplit(url)
        origin = url[: len(f"{parts.scheme}://{parts.netloc}")]  # as it is spelled: `HTTP://` is a scheme too
        self._url = url if parts.path else f"{origin}/{url[len(origin) :]}"
        self._headers = {"Host": parts.netloc, "Accept-Encoding": ACCEPT_ENCODING, **headers}
        self._clock = clock
        host, tls = (parts.hostname or "").rstrip("."), tls_context() if parts.scheme == "https" else None
        connect = partial(dial, host, parts.port or (443 if tls else 80), resolver=resolver or Resolver(), tls=tls)
        self._adapter = _Adapter(Pool(connect, connections), origin)

    def get_json(self, parameters: Mapping[str, str], *, deadline: float, fresh: bool = False) -> Any:
        """GET with a query string, and return the parsed body. Raises SourceError.

        fresh: use a new connection.
        """
        # A colon may stay (RFC 3986, section 3.4); `site:` would else be all that takes quote's slow path in a query.
        query = "&".join([f"{name}={quote_plus(value, safe=':')}" for name, value in parameters.items()])
        url = f"{self._url}{'&' if '?' in self._url else '?'}{query}"
        return self._ask("GET", url, self._headers, None, Call(deadline, self._clock, fresh=fresh))

    def post_json(self, body: Mapping[str, Any], *, deadline: float, fresh: bool = False) -> Any:
        """POST a JSON body, and return the parsed answer. Raises SourceError.

        fresh: use a new connection.
        """
        data = json.dumps(body).encode()
        headers = {**self._headers, "Content-Type": "application/json", "Content-Length": str(len(data))}
        return self._ask("POST", self._url, headers, data, Call(deadline, self._clock, fresh=fresh))

    def _ask(self, method: str, url: str, headers: dict[str, str], body: bytes | None, call: Call) -> Any:
        try:
            call.left()
            response = self._adapter.send(_Request(method, url, headers, body, call), stream=True)
        except (OSError, ValueError) as error:  # every error of requests is an OSError
            # The error's text may hold the URL and so the query: it goes no further than here.
            raise _failure(error, call) from None
        call.answered = True
        raw: Any = response.raw
        with raw:
            _check_status(raw.status, raw.headers)
            try:
                content = read_body(raw, MAX_BODY)
            except (OSError, ValueError, zlib.error) as error:
                raise _failure(error, call) from None
        return parse_json(content)


def _failure(error: Exception, call: Call) -> SourceError:
    """Put a failed call into a word of the closed vocabulary."""
    if isinstance(error, TooLargeError):
        return SourceError("response too large")
    if isinstance(error, RequestTimeout) or call.is_over():
        return SourceError("timeout", sent=call.sent, counts=True)
    if call.answered:
        return SourceError("bad response")
    return SourceError("unreachable", sent=call.sent, counts=True)


def _check_status(status: int, headers: Mapping[str, str]) -> None:
    """Look at the status before the body. Raises SourceError."""
    if status == 200:
        return
    if 300 <= status < 400:
        raise SourceError("redirect refused")
    retry_after = _seconds(headers.get("retry-after", "")) if status in (429, 503) else None
    raise SourceError(f"http {status}", counts=status == 429 or status >= 500, retry_after=retry_after)


def _seconds(retry_after: str) -> float | None:
    """Read a Retry-After header, seconds or a date; None when it is neither or in the past."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9]) or None
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    left = (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return left if left > 0 else None
