"""The addresses that settings may hold: those to call, and those to listen on. Nothing here connects."""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from urllib.parse import urlsplit

_NAME = re.compile(r"(?=[^:]{1,254}(?::|$))[\w-]{1,63}(?:\.[\w-]{1,63})*\.?(?::\d*)?", re.ASCII)
_IPV6 = re.compile(r"\[([^]]*)\](?::\d*)?")


def is_endpoint(url: str) -> bool:
    """Return whether an absolute http or https URL can be called: without user name, fragment and IPv6 zone."""
    if not (url.isascii() and url.isprintable()) or any(char in url for char in " \\#"):
        return False
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and port != 0 and "@" not in parts.netloc and _is_host(parts.netloc)


def _is_host(netloc: str) -> bool:
    """Return whether a host, perhaps with a port, is a name or an address; IPv6 zones are of one host only."""
    if (address := _IPV6.fullmatch(netloc)) is None:
        return _NAME.fullmatch(netloc) is not None
    try:
        return "%" not in address[1] and bool(IPv6Address(address[1]))
    except ValueError:
        return False


def is_bindable(text: str) -> bool:
    """Return whether gunicorn can listen here: host:port, [IPv6]:port or unix:/path."""
    if text.startswith("unix:"):
        return len(text) > len("unix:")
    _, colon, port = text.rpartition(":")
    return bool(colon) and _is_host(text) and port.isdigit() and int(port[:6]) <= 65_535
