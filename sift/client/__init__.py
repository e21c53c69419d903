"""HTTP client of the Sift service, for the command line; none of its errors contains a query, token or address."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from threading import Thread
from typing import Any, NamedTuple, NoReturn, TypeVar
from urllib.parse import quote, urlsplit

import requests

from sift import __version__
from sift.client.reasons import may_have_arrived, reason
from sift.client.settings import authorities_of, checked_token, is_loopback, origin_of
from sift.client.shapes import (
    GATEWAY,
    Shape,
    is_batch,
    is_ended,
    is_errors,
    is_fetch,
    is_health,
    is_list,
    is_plan,
    is_receipt,
    is_results,
    is_search,
    is_status,
    is_usage,
)
from sift.errors import SiftError

TIMEOUT = 60.0  # seconds for a whole search; a request takes at most 4 queries × 10 s
FETCH_TIMEOUT = 15.0  # seconds that a fetch takes at most unless its request says otherwise
GRACE = 10.0  # seconds that a fetch's call may take beyond that: the way there and back, and a service under load
BATCH_TIMEOUT = 30.0  # seconds for a call about a batch, beyond those that the service may wait
REPEATS = 3  # of a batch whose receipt was lost
PAUSE = 0.5  # seconds before a repeat
MAX_BODY = 64 << 20  # bytes; four queries with three vendors' answers of at most 4 MiB each stay below
CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")  # in order of precedence

_LATE = "the service did not answer in time"

T = TypeVar("T")


class UnreachableError(SiftError):
    """Raised when the service sent no response: no connection, a broken one, none in time, or a proxy's own error."""


class LostError(UnreachableError):
    """Raised when no response came although the request may have arrived; a batch is then sent again."""


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
    search. grace: seconds for a fetch, beyond those that its request allows. pause: waits before a repeat.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        environ: Mapping[str, str] = {},
        timeout: float = TIMEOUT,
        grace: float = GRACE,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self._origin = origin_of(url)
        self._authorization = f"Bearer {checked_token(token)}" if token else ""
        self._ca_variable = next((name for name in CA_VARIABLES if environ.get(name, "").strip()), None)
        self._authorities: str | bool = True
        if self._ca_variable and self._origin.startswith("https"):
            self._authorities = authorities_of(self._ca_variable, environ[self._ca_variable].strip())
        # This host is never reached through a proxy, whatever the environment says.
        self._trust_env = not is_loopback(urlsplit(self._origin).hostname or "")
        self._timeout = timeout
        self._grace = grace
        self._pause = pause

    def search(self, body: Mapping[str, object]) -> Response:
        """Post a search and return the response, the service's own errors included (contract: Errors).

        Raises UnreachableError or ForeignResponseError.
        """
        return self._call("/v1/search", body, self._timeout, is_search)

    def plan(self, body: Mapping[str, object]) -> Response:
        """Post a search to be planned and return the response (contract: Plan).

        Raises UnreachableError or ForeignResponseError.
        """
        return self._call("/v1/plan", body, self._timeout, is_plan)

    def usage(self, days: int) -> Response:
        """Get what was used in the last days (contract: Usage). Raises UnreachableError or ForeignResponseError."""
        return self._call(f"/v1/usage?days={days}", None, self._timeout, is_usage)

    def health(self) -> Response:
        """Get whether a service is there. Raises UnreachableError or ForeignResponseError."""
        return self._call("/healthz", None, self._timeout, is_health)

    def status(self) -> Response:
        """Get the service's status (contract: Operations). Raises UnreachableError or ForeignResponseError."""
        return self._call("/v1/status", None, self._timeout, is_status)

    def fetch(self, body: Mapping[str, object]) -> Response:
        """Post a fetch and return the response, the service's own errors included (contract: Fetch).

        Raises UnreachableError or ForeignResponseError.
        """
        wanted = body.get("timeout")
        seconds = wanted if isinstance(wanted, int | float) else FETCH_TIMEOUT
        return self._call("/v1/fetch", body, seconds + self._grace, is_fetch)

    def submit_batch(self, body: Mapping[str, object], key: str) -> Response:
        """Post a batch and return the response, a receipt if it was taken (contract: Batch command).

        key: makes it one batch however often it arrives; it is sent again while it is not known whether it did.
        Raises UnreachableError or ForeignResponseError.
        """
        for _ in range(REPEATS):
            try:
                response = self._call("/v1/batch", body, BATCH_TIMEOUT, is_receipt, headers={"Idempotency-Key": key})
            except LostError:
                self._pause(PAUSE)
                continue
            if response.status != 503:  # the store did not answer in time, and may have kept it all the same
                return response
            self._pause(min(response.retry_after or PAUSE, BATCH_TIMEOUT))
        return self._call("/v1/batch", body, BATCH_TIMEOUT, is_receipt, headers={"Idempotency-Key": key})

    def batch(self, id: str, wait: int = 0) -> Response:
        """Get the state of a batch. wait: seconds for its end, 20 at most. Raises as the other calls do."""
        return self._call(f"{_path(id)}?wait={wait}", None, wait + BATCH_TIMEOUT, is_batch)

    def batch_results(self, id: str, offset: int = 0, limit: int = 20, only: str = "") -> Response:
        """Get results of a batch in the order of its URLs. only: `ok` or `failed`. Raises as the other calls do."""
        query = f"?offset={offset}&limit={limit}" + (f"&only={only}" if only else "")
        return self._call(f"{_path(id)}/results{query}", None, BATCH_TIMEOUT, is_results)

    def batch_errors(self, id: str) -> Response:
        """Get what failed of a batch. Raises as the other calls do."""
        return self._call(f"{_path(id)}/errors", None, BATCH_TIMEOUT, is_errors)

    def cancel_batch(self, id: str, *, purge: bool = False) -> Response:
        """End a batch. purge: delete it with all results. Raises as the other calls do."""
        return self._call(_path(id) + ("?purge=1" if purge else ""), None, BATCH_TIMEOUT, is_ended, method="DELETE")

    def batches(self) -> Response:
        """Get the caller's batches. Raises as the other calls do."""
        return self._call("/v1/batch", None, BATCH_TIMEOUT, is_list)

    def _call(
        self,
        path: str,
        body: Mapping[str, object] | None,
        timeout: float,
        is_ours: Shape,
        *,
        method: str = "",
        headers: Mapping[str, str] = {},
    ) -> Response:
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        method = method or ("GET" if content is None else "POST")
        try:
            # In a thread, because nothing else bounds name resolution and a response that arrives byte by byte.
            status, wait, answered = _within(timeout, lambda: self._send(method, path, content, headers, timeout))
        # `from None` throughout: the text of a requests error contains the address, and possibly more.
        except requests.exceptions.ContentDecodingError:
            raise ForeignResponseError("the answer cannot be decoded") from None
        except requests.ConnectTimeout:
            raise UnreachableError(_LATE) from None
        except (TimeoutError, requests.Timeout):
            raise LostError(_LATE) from None
        except OSError as error:  # the base of every requests error
            kind = LostError if may_have_arrived(error) else UnreachableError
            raise kind(reason(error, self._ca_variable)) from None
        return Response(status, _payload(status, answered, is_ours), wait)

    def _send(
        self, method: str, path: str, body: bytes | None, more: Mapping[str, str], timeout: float
    ) -> tuple[int, int | None, bytes]:
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": f"sift/{__version__}",
            **more,
        }
        with requests.Session() as session:
            session.trust_env = self._trust_env
            with session.request(
                method,
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


def _path(id: str) -> str:
    return f"/v1/batch/{quote(id, safe='')}"


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


def _payload(status: int, content: bytes, is_ours: Shape) -> dict[str, Any]:
    """Return the body's object; unless it has the shape of Sift's responses raise one of the two errors."""
    try:
        payload = json.loads(content.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        payload = None
    if isinstance(payload, dict) and is_ours(status, payload):
        return payload
    if status in GATEWAY:
        raise LostError(f"a proxy answered for it, with status {status}")
    raise ForeignResponseError(f"something that is not Sift answered, with status {status}")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # NaN and Infinity are not JSON
