"""HTTP client of the Sift service, for the command line; none of its errors contains a query, token or address."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, NoReturn, TypeVar
from urllib.parse import urlsplit

import requests

from sift import __version__
from sift.errors import ConfigError, SiftError

TIMEOUT = 60.0  # seconds for a whole search; a request takes at most 4 queries × 10 s
FETCH_TIMEOUT = 15.0  # seconds that a fetch takes at most unless its request says otherwise
GRACE = 10.0  # seconds that a fetch's call may take beyond that: the way there and back, and a service under load
MAX_BODY = 64 << 20  # bytes; four queries with three vendors' answers of at most 4 MiB each stay below
GATEWAY = (502, 503, 504)  # what proxies answer for a service that they cannot reach
FETCH_ERRORS = {502: "fetch failed", 503: "busy", 504: "fetch timeout"}  # and what Sift itself says with these statuses
USAGE_ERROR = "usage unavailable"
CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")  # in order of precedence
UNKNOWN_AUTHORITY = (2, 18, 19, 20, 21)  # OpenSSL's codes for a chain that ends in no trusted certificate

T = TypeVar("T")
Shape = Callable[[int, dict[str, Any]], bool]  # whether a status and an object can be Sift's answer


class UnreachableError(SiftError):
    """Raised when the service sent no response: no connection, a broken one, none in time, or a proxy's own error."""


class ForeignResponseError(SiftError):
    """Raised when what answered is not Sift: a proxy's page, a redirect, another program."""


class Response(NamedTuple):
    """A response of the service: 200 with an envelope, or another status with `{"error", "hint", …}`.

    retry_after: seconds after which to try again; None when the service does not say.
    """

    status: int
    payload: dict[str, Any]
    retry_after: int | None = None


class SiftClient:
    """Client of one service. Raises ConfigError, naming the variable, for an unusable address, token or CA file.

    environ: CA_VARIABLES name a file or directory of the authorities to trust, on loopback too. timeout: seconds for a
    search. grace: seconds for a fetch, beyond those that its request allows.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        environ: Mapping[str, str] = {},
        timeout: float = TIMEOUT,
        grace: float = GRACE,
    ) -> None:
        self._origin = _origin(url)
        self._authorization = f"Bearer {_checked(token)}" if token else ""
        self._ca_variable = next((name for name in CA_VARIABLES if environ.get(name, "").strip()), None)
        self._authorities: str | bool = True
        if self._ca_variable and self._origin.startswith("https"):
            self._authorities = _authorities(self._ca_variable, environ[self._ca_variable].strip())
        # This host is never reached through a proxy, whatever the environment says.
        self._trust_env = not _is_loopback(urlsplit(self._origin).hostname or "")
        self._timeout = timeout
        self._grace = grace

    def search(self, body: Mapping[str, object]) -> Response:
        """Post a search and return the response, the service's own errors included (contract: Errors).

        Raises UnreachableError or ForeignResponseError.
        """
        return self._call("/v1/search", body, self._timeout, _is_search)

    def plan(self, body: Mapping[str, object]) -> Response:
        """Post a search to be planned and return the response (contract: Plan).

        Raises UnreachableError or ForeignResponseError.
        """
        return self._call("/v1/plan", body, self._timeout, _is_plan)

    def usage(self, days: int) -> Response:
        """Get what was used in the last days (contract: Usage). Raises UnreachableError or ForeignResponseError."""
        return self._call(f"/v1/usage?days={days}", None, self._timeout, _is_usage)

    def health(self) -> Response:
        """Get whether a service is there. Raises UnreachableError or ForeignResponseError."""
        return self._call("/healthz", None, self._timeout, _is_health)

    def status(self) -> Response:
        """Get the service's status (contract: Operations). Raises UnreachableError or ForeignResponseError."""
        return self._call("/v1/status", None, self._timeout, _is_status)

    def fetch(self, body: Mapping[str, object]) -> Response:
        """Post a fetch and return the response, the service's own errors included (contract: Fetch).

        Raises UnreachableError or ForeignResponseError.
        """
        wanted = body.get("timeout")
        seconds = wanted if isinstance(wanted, int | float) else FETCH_TIMEOUT
        return self._call("/v1/fetch", body, seconds + self._grace, _is_fetch)

    def _call(self, path: str, body: Mapping[str, object] | None, timeout: float, is_ours: Shape) -> Response:
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        try:
            # In a thread, because nothing else bounds name resolution and a response that arrives byte by byte.
            status, retry_after, answered = _within(timeout, lambda: self._post(path, content, timeout))
        # `from None` throughout: the text of a requests error contains the address, and possibly more.
        except requests.exceptions.ContentDecodingError:
            raise ForeignResponseError("the answer cannot be decoded") from None
        except (TimeoutError, requests.Timeout):
            raise UnreachableError("the service did not answer in time") from None
        except OSError as error:  # the base of every requests error
            raise UnreachableError(_reason(error, self._ca_variable)) from None
        return Response(status, _payload(status, answered, is_ours), retry_after)

    def _post(self, path: str, body: bytes | None, timeout: float) -> tuple[int, int | None, bytes]:
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": f"sift/{__version__}",
        }
        with requests.Session() as session:
            session.trust_env = self._trust_env
            with session.request(
                "GET" if body is None else "POST",
                self._origin + path,
                data=body,
                headers=headers,
                auth=self._sign,
                allow_redirects=False,
                timeout=timeout,
                verify=self._authorities,
                stream=True,  # the body is read below, so that the connection is closed even when that fails
            ) as response:
                wait = response.headers.get("Retry-After", "")
                seconds = int(wait) if wait.isascii() and wait.isdigit() and len(wait) < 10 else None
                return response.status_code, seconds, _read(response)

    def _sign(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        # Only with an auth of its own does a request keep its header: .netrc would replace it.
        if self._authorization:
            request.headers["Authorization"] = self._authorization
        return request


def _within(seconds: float, work: Callable[[], T]) -> T:
    """Return what the work returns, or raise what it raises; raise TimeoutError when it takes longer than that."""
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=run, name="sift-call", daemon=True).start()
    return outcome.result(seconds)


def _read(response: requests.Response) -> bytes:
    content = bytearray()
    for chunk in response.iter_content(1 << 16):
        content += chunk
        if len(content) > MAX_BODY:
            raise ForeignResponseError("the answer is too large to be Sift's")
    return bytes(content)


_REASONS: tuple[tuple[type[BaseException], str], ...] = (  # the first that matches: a proxy's failure has a cause, too
    (requests.exceptions.ProxyError, "the proxy named in the environment cannot be reached"),
    (socket.gaierror, "the service's host name cannot be resolved"),
    (ConnectionRefusedError, "the connection was refused: nothing listens at that address"),
    (ssl.SSLError, "no TLS connection could be made: that port may speak plain http"),
    (ConnectionError, "the connection was closed before an answer came"),
)


def _reason(error: OSError, ca_variable: str | None) -> str:
    """Return what kind of failure this is, from the types of its causes: their texts may contain anything.

    ca_variable: the one that names the trusted authorities, if one does.
    """
    causes = tuple(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            # OpenSSL's own words; after the comma they may name the host.
            words = f"the service's certificate is not trusted ({cause.verify_message.partition(',')[0]})"
            if cause.verify_code not in UNKNOWN_AUTHORITY:
                return words
            advice = f"{ca_variable} names other authorities" if ca_variable else "SSL_CERT_FILE may name its authority"
            return f"{words}; {advice}"
    found = (words for kind, words in _REASONS for cause in causes if isinstance(cause, kind))
    return next(found, "the service cannot be reached")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _origin(url: str) -> str:
    """Check a base address and return it without a trailing slash."""
    try:
        if not (url.isascii() and url.isprintable()) or set(url) & set(" \\?#@"):
            raise ValueError("characters")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError("parts")
        requests.Request("POST", url).prepare()  # rejects hosts that a later request would reject
    except (ValueError, requests.RequestException):
        raise ConfigError("SIFT_URL must be an http or https address such as http://127.0.0.1:8787") from None
    return url.rstrip("/")


def _checked(token: str) -> str:
    # requests would reject such a token with an error that shows it.
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise ConfigError("SIFT_TOKEN holds a blank, control or non-ASCII character")
    return token


def _authorities(variable: str, path: str) -> str:
    """Return the path of a file or directory of authorities; raise ConfigError if there is none."""
    try:
        if Path(path).is_dir():
            ssl.create_default_context(capath=path)
        else:
            ssl.create_default_context(cafile=path)
    except OSError:
        raise ConfigError(f"{variable} must be the path of a file or directory of certificates") from None
    return path


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _payload(status: int, content: bytes, is_ours: Shape) -> dict[str, Any]:
    """Return the body's object; unless it has the shape of Sift's responses raise one of the two errors."""
    try:
        payload = json.loads(content.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        payload = None
    if isinstance(payload, dict) and is_ours(status, payload):
        return payload
    if status in GATEWAY:
        raise UnreachableError(f"a proxy answered for it, with status {status}")
    raise ForeignResponseError(f"something that is not Sift answered, with status {status}")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # NaN and Infinity are not JSON


def _is_search(status: int, payload: dict[str, Any]) -> bool:
    if status == 200:
        return _are(dict, payload.get("results")) and _are(str, payload.get("warnings"))
    if status in GATEWAY and not _are(str, payload.get("sources_failed")):  # only Sift's own 503 has it
        return False
    return _is_error(status, payload)


def _is_plan(status: int, payload: dict[str, Any]) -> bool:
    if status == 200:
        return _are(dict, payload.get("sources")) and _are(str, payload.get("warnings"))
    return status not in GATEWAY and _is_error(status, payload)


def _is_usage(status: int, payload: dict[str, Any]) -> bool:
    if status == 200:
        return _are(dict, payload.get("days"))
    # A proxy's error may be JSON of the same form; its word is another.
    return (status not in GATEWAY or payload.get("error") == USAGE_ERROR) and _is_error(status, payload)


def _is_health(status: int, payload: dict[str, Any]) -> bool:
    return (status, payload) == (200, {"status": "ok"})


def _is_status(status: int, payload: dict[str, Any]) -> bool:
    if status == 200:
        known = isinstance(payload.get("version"), str) and isinstance(payload.get("cache"), dict)
        return known and _are(dict, payload.get("sources"))
    return status not in GATEWAY and _is_error(status, payload)


def _is_fetch(status: int, payload: dict[str, Any]) -> bool:
    if status == 200:
        texts = [payload.get(name) for name in ("final_url", "content")]
        numbers = [payload.get("chars"), payload.get("next_start", 0)]
        return _are(str, texts) and _are(int, numbers) and _are(str, payload.get("warnings"))
    # A proxy's error may be JSON of the same form; its word is another.
    if status in GATEWAY and payload.get("error") != FETCH_ERRORS[status]:
        return False
    return _is_error(status, payload)


def _is_error(status: int, payload: dict[str, Any]) -> bool:
    return status >= 400 and isinstance(payload.get("error"), str) and isinstance(payload.get("hint"), str)


def _are(kind: type, values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)
