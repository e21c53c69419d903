"""Protection against web pages: a browser may not send searches for a page of another origin (contract: Origins).

Browsers say where a request comes from, in headers that no page can set; programs send none of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_FOREIGN_SITES = frozenset({"cross-site", "same-site"})
_ORIGIN = re.compile(r"(https?)://([^/?#@]*)", re.IGNORECASE)
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\],]+)(?::([0-9]{0,5}))?", re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_foreign(environ: Mapping[str, Any], *, checks_host: bool) -> bool:
    """Whether a request comes from a web page of another origin, or may be one that was rebound to this address.

    environ: of WSGI. checks_host: whether the Host must be a name that cannot be rebound, since no key is asked for.
    """
    if environ.get("HTTP_SEC_FETCH_SITE", "").lower() in _FOREIGN_SITES:
        return True
    host = environ.get("HTTP_HOST", "")
    origin = environ.get("HTTP_ORIGIN")
    if origin is not None and not _is_own(origin, host):
        return True
    return checks_host and not is_local(host)


@lru_cache(maxsize=64)
def is_local(host: str) -> bool:
    """Whether a Host header is an address or a name without a dot, such as `localhost`, or absent.

    DNS gives such names to no site, so none of them can be made to resolve to this service.
    """
    found = _HOST.fullmatch(host)
    if not found:
        return not host
    name = found[1]
    # The last label of an IPv4 address is a number, in any spelling; that of a name never is.
    return name.startswith("[") or "." not in name or name.rpartition(".")[2].isdecimal()


def _is_own(origin: str, host: str) -> bool:
    """Whether an Origin has the host and port of the Host header; behind a proxy the scheme may be either."""
    match = _ORIGIN.fullmatch(origin)
    if not match:
        return False  # `null`, for one: a page that hides where it is from
    default = _DEFAULT_PORTS[match[1].lower()]
    theirs = _authority(match[2], default)
    return theirs is not None and theirs == _authority(host, default)


def _authority(text: str, default_port: int) -> tuple[str, int] | None:
    found = _HOST.fullmatch(text)
    return (found[1].lower(), int(found[2] or default_port)) if found else None
