"""A client for one URL that answers with JSON: no redirects, one deadline per call, no proxies of the environment.

`requests` is used below its Session: a prepared request goes straight to an adapter, which rules out proxies, .netrc,
cookies and redirects.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote_plus, urlsplit

from sift.errors import SourceError
from sift.wire.body import ACCEPT_ENCODING, TooLargeError, parse_json, read_body
from sift.wire.call import Call
from sift.wire.dial import dial, tls_context
from sift.wire.exchange import Exchange
from sift.wire.pool import Pool
from sift.wire.reasons import reason
from sift.wire.resolver import Resolver
from sift.wire.retry import retry_after
from sift.wire.transport import HTTPAdapter, PreparedRequest, RequestConnectionError, RequestTimeout, Response

MAX_BODY = 4 * 1024 * 1024
"""Bytes of a decoded body; a longer one is refused."""


class _Request(PreparedRequest):
    """A finished request, and the call it belongs to; `prepare` would quote, join and measure all of it again."""

    def __init__(self, method: str, url: str, headers: dict[str, str], body: bytes | None, call: Call) -> None:
        super().__init__()
        self.method, self.url, self.body, self.call = method, url, body, call
        # A plain dict: requests' case-insensitive one is slow to copy, and names here are spelled one way.
        self.headers = headers  # type: ignore[assignment]


class _UnreadResponse(Response):
    """An answer with its body unread, without the cookies and the encoding that requests would extract."""

    def __init__(self, request: PreparedRequest, raw: Any) -> None:
        # The `responses` library, which the vendor tests use, reads these.
        self.request, self.status_code, self.headers, self.raw = request, raw.status, raw.headers, raw


class _Adapter(HTTPAdapter):
    """The transport to one origin. Threads share it, so what belongs to a call travels with its request."""

    def __init__(self, pool: Pool, origin: str) -> None:
        super().__init__(pool_connections=1, pool_maxsize=1)
        self._pool = pool
        self._origin = origin

    def get_connection_with_tls_context(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return Exchange(self._pool, request.call)

    def cert_verify(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the pool verifies certificates by its own context."""

    def request_url(self, request: PreparedRequest, proxies: Any) -> str:
        return str(request.url).removeprefix(self._origin)

    def build_response(self, req: PreparedRequest, resp: Any) -> Response:
        return _UnreadResponse(req, resp)


class Endpoint:
    """A client for one URL.

    headers: sent with every request. connections: the most idle connections to keep.
    resolver: resolves the host; by default one of its own. clock: the clock that deadlines refer to, in seconds.
    heard: called with the headers of every answer, names in lower case; it must return at once and never raise.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        connections: int,
        resolver: Resolver | None = None,
        clock: Callable[[], float] = time.monotonic,
        heard: Callable[[Mapping[str, str]], None] | None = None,
    ) -> None:
        parts = urlsplit(url)
        origin = url[: len(f"{parts.scheme}://{parts.netloc}")]  # as spelled by the operator, who may write `HTTP://`
        self._url = url if parts.path else f"{origin}/{url[len(origin) :]}"
        self._headers = {"Host": parts.netloc, "Accept-Encoding": ACCEPT_ENCODING, **headers}
        self._clock = clock
        self._heard = heard
        host, tls = (parts.hostname or "").rstrip("."), tls_context() if parts.scheme == "https" else None
        connect = partial(dial, host, parts.port or (443 if tls else 80), resolver=resolver or Resolver(), tls=tls)
        self._pool = Pool(connect, connections, clock)
        self._adapter = _Adapter(self._pool, origin)

    def get_json(self, parameters: Mapping[str, str], *, deadline: float, fresh: bool = False) -> Any:
        """Send a GET with a query string, and return the parsed answer. Raises SourceError.

        fresh: whether to use a new connection, and no idle one.
        """
        # A colon may stay (RFC 3986, section 3.4); escaping that of `site:` would force quote's slow path.
        query = "&".join([f"{name}={quote_plus(value, safe=':')}" for name, value in parameters.items()])
        url = f"{self._url}{'&' if '?' in self._url else '?'}{query}"
        return self._ask("GET", url, self._headers, None, Call(deadline, self._clock, fresh=fresh))

    def post_json(self, body: Mapping[str, Any], *, deadline: float, fresh: bool = False) -> Any:
        """Send a POST with a JSON body, and return the parsed answer. Raises SourceError.

        fresh: whether to use a new connection, and no idle one.
        """
        data = json.dumps(body).encode()
        headers = {**self._headers, "Content-Type": "application/json", "Content-Length": str(len(data))}
        return self._ask("POST", self._url, headers, data, Call(deadline, self._clock, fresh=fresh))

    def _ask(self, method: str, url: str, headers: dict[str, str], body: bytes | None, call: Call) -> Any:
        try:
            response = self._adapter.send(_Request(method, url, headers, body, call), stream=True)
        except (OSError, ValueError) as error:  # every error of requests is an OSError
            # Its text may hold the URL and so the query: it goes no further than this.
            raise self._failed(error, call) from None
        call.answered = True
        raw: Any = response.raw
        with raw:
            if self._heard is not None:
                self._heard(raw.headers)
            _check_status(raw.status, raw.headers)
            try:
                content = read_body(raw, MAX_BODY)
            except (OSError, ValueError, zlib.error) as error:
                raise self._failed(error, call) from None
        return parse_json(content)

    def _failed(self, error: Exception, call: Call) -> SourceError:
        failed = failure(error, call)
        if failed.counts and call.reused_at is not None:
            # Connections that a firewall or a host forgot die together, and each would cost a call.
            self._pool.close_idle(call.reused_at)
        return failed


def failure(error: Exception, call: Call) -> SourceError:
    """Translate a failed call into the closed vocabulary."""
    if isinstance(error, TooLargeError):
        return SourceError("response too large")
    if isinstance(error, RequestTimeout) or call.is_over():
        return SourceError("timeout", sent=call.sent, counts=True)
    if call.answered:
        return SourceError("bad response")
    return SourceError("unreachable", sent=call.sent, counts=True, detail=_detail(error))


def _detail(error: BaseException) -> str:
    """Return why a host is unreachable, in a word of a closed vocabulary, "" if there is none for it."""
    return reason(error.args[0] if isinstance(error, RequestConnectionError) and error.args else error)


def _check_status(status: int, headers: Mapping[str, str]) -> None:
    """Raise SourceError unless the status is 200."""
    if status == 200:
        return
    if 300 <= status < 400:
        raise SourceError("redirect refused")
    rest = retry_after(headers.get("retry-after", "")) if status in (429, 503) else None
    raise SourceError(f"http {status}", counts=status == 429 or status >= 500, retry_after=rest)
