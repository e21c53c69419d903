"""HTTP client of our own service, for the command line; no error of it holds a query, a token or an address."""

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
ANSWER_TIMEOUT = 60.0  # seconds; the worst case of a request is 4 queries × 10 s


class UnreachableError(SiftError):
    """Say that no answer came: no connection, a broken one, or none in time."""


class ForeignAnswerError(SiftError):
    """Say that something answered that is not Sift: a proxy's page, a redirect, another program."""


class Answer(NamedTuple):
    """Hold an answer of the service: 200 with an envelope, or another status with `{"error", "hint", …}`."""

    status: int
    payload: dict[str, Any]


class SiftClient:
    """Ask one service at one address. Raises ConfigError, naming the variable, for an address or token of no use."""

    def __init__(self, url: str, token: str = "") -> None:
        self._endpoint = f"{_origin(url)}/v1/search"
        self._authorization = f"Bearer {_checked(token)}" if token else ""
        # Its own host is never reached through a proxy, whatever the environment says.
        self._trust_env = not _is_loopback(urlsplit(self._endpoint).hostname or "")

    def search(self, body: Mapping[str, object]) -> Answer:
        """Post a search and give the service's answer, errors of the service included (contract: Errors).

        Raises UnreachableError or ForeignAnswerError.
        """
        try:
            status, content = self._post(json.dumps(body, allow_nan=False).encode())
        # `from None`, everywhere here: the text of a requests error holds the address, and may hold more.
        except requests.exceptions.ContentDecodingError:
            raise ForeignAnswerError("the answer cannot be read") from None
        except requests.Timeout:
            raise UnreachableError("the service did not answer in time") from None
        except OSError:  # every error of requests is one, and a missing CA bundle is nothing more
            raise UnreachableError("the service cannot be reached") from None
        return Answer(status, _payload(status, content))

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
                stream=True,  # the body is read below, so that the connection is closed also when that fails
            ) as response:
                return response.status_code, response.content

    def _sign(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        # A request with an auth of its own is the only one whose header no .netrc replaces.
        if self._authorization:
            request.headers["Authorization"] = self._authorization
        return request


def _origin(url: str) -> str:
    """Check a base address and give it without a trailing slash."""
    try:
        if not (url.isascii() and url.isprintable()) or set(url) & set(" \\?#@"):
            raise ValueError("characters")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError("parts")
        requests.Request("POST", url).prepare()  # refuses hosts it could not ask later
    except (ValueError, requests.RequestException):
        raise ConfigError("SIFT_URL must be an http or https address such as http://127.0.0.1:8787") from None
    return url.rstrip("/")


def _checked(token: str) -> str:
    # requests would refuse such a token in an error that shows it.
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
    """Give the answer's object; raise ForeignAnswerError unless it is of the shape Sift's answers have."""
    try:
        payload = json.loads(content.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        payload = None
    if not isinstance(payload, dict) or not _is_ours(status, payload):
        raise ForeignAnswerError(f"something that is not Sift answered, with status {status}")
    return payload


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # NaN and Infinity are no JSON


def _is_ours(status: int, payload: dict[str, Any]) -> bool:
    if status != 200:
        return status >= 400 and isinstance(payload.get("error"), str) and isinstance(payload.get("hint"), str)
    hits, warnings = payload.get("results"), payload.get("warnings")
    return _are(dict, hits) and _are(str, warnings)


def _are(kind: type, values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)
