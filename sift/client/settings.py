"""The settings of the command's client, checked before anything is sent; none is shown when it is wrong."""

from __future__ import annotations

import ssl
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import requests

from sift.errors import ConfigError


def origin_of(url: str) -> str:
    """Return a base address without a trailing slash; raise ConfigError when it is none."""
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


def checked_token(token: str) -> str:
    """Return a token; raise ConfigError when it can be no part of a header."""
    # requests would reject such a token with an error that shows it.
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise ConfigError("SIFT_TOKEN holds a blank, control or non-ASCII character")
    return token


def authorities_of(variable: str, path: str) -> str:
    """Return the path of a file or directory of authorities; raise ConfigError if there is none."""
    try:
        if Path(path).is_dir():
            ssl.create_default_context(capath=path)
        else:
            ssl.create_default_context(cafile=path)
    except OSError:
        raise ConfigError(f"{variable} must be the path of a file or directory of certificates") from None
    return path


def is_loopback(host: str) -> bool:
    """Return whether a host is this one, by its name or address alone."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
