"""HTTP client of the Sift service, for the command line; none of its errors contains a query, token or address."""

from __future__ import annotations

import json
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlsplit

import requests

from sift import __version__
from sift.errors import ConfigError, SiftError

CONNECT_TIMEOUT = 10.0  # seconds
ANSWER_TIMEOUT = 60.0  # seconds; a request takes at most 4 queries × 10 s


class UnreachableError(SiftError):
    """Raised when no response arrived: no connection, a broken one, or none in time."""


class ForeignResponseError(SiftError):
    """Raised when what answered is not Sift: a proxy's page, a redirect, another program."""


class Response(NamedTuple):
    """A response of the service: 200 with an envelope, or another status with `{"error", "hint", …}`."""

    status: int
    payload: dict[str, Any]


class SiftClient:
    """Client of one service. Raises ConfigError, naming the variable, for an unusable address or token."""

    def __init__(self, url: str, token: str = "") -> None:
        self._endpoint = f"{_origin(url)}/v1/search"
        self._authorization = f"Bearer {_checked(token)}" if token else ""
        # This host is never reached through a proxy, whatever the environment says.
        self._trust_env = not _is_loopback(urlsplit(self._endpoint).hostname or "")

    def search(self, body: Mapping[str, object]) -> Response:
        """Post a search and return the response, the service's own errors included (contract: Errors).

        Raises UnreachableError or ForeignResponseError.
        """
        try:
            status, content = self._post(json.dumps(body, allow_nan=False).encode())
        # `from None` throughout: the text of a requests error contains the address, and possibly more.
        except requests.exceptions.ContentDecodingError:
            raise ForeignResponseError("the answer cannot be read") from None
        except requests.Timeout:
            raise UnreachableError("the service did not answer in time") from None
        except OSError:  # the base of every requests error; a missing CA bundle is a plain one
            raise UnreachableError("the service cannot be reached") from None
        return Response(status, _payload(status, content))

    def _post(self, body: bytes) -> tuple[int, bytes]:
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": f"sift/{__version__}",
        }
        with requests.Session() as session:
            session.trust_env = self._trust_env
            with session.post(
                self._endpoint,
                data=body,
                headers=headers,
                auth=self._sign,
                allow_redirects=False,
                timeout=(CONNECT_TIMEOUT, ANSWER_TIMEOUT),
                stream=True,  # the body is read below, so that the connection is closed even when that fails
            ) as response:
                return response.status_code, response.content

    def _sign(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        # Only with an auth of its own does a request keep its header: .netrc would replace it.
        if self._authorization:
            request.headers["Authorization"] = self._authorization
        return request


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


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _payload(status: int, content: bytes) -> dict[str, Any]:
    """Return the body's object; raise ForeignResponseError unless it has the shape of Sift's responses."""
    try:
        payload = json.loads(content.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        payload = None
    if not isinstance(payload, dict) or not _is_ours(status, payload):
        raise ForeignResponseError(f"something that is not Sift answered, with status {status}")
    return payload


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # NaN and Infinity are not JSON


def _is_ours(status: int, payload: dict[str, Any]) -> bool:
    if status != 200:
        return status >= 400 and isinstance(payload.get("error"), str) and isinstance(payload.get("hint"), str)
    hits, warnings = payload.get("results"), payload.get("warnings")
    return _are(dict, hits) and _are(str, warnings)


def _are(kind: type, values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)
