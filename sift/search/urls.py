"""A hit's URL: the canonical key by which hits are the same page, and the host a browser would connect to.

Both serve for comparison only; the URL shown is always the vendor's own (contract: Canonical URLs).
"""

from __future__ import annotations

import ipaddress
import re
import socket
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote

import idna

_TRACKERS = frozenset(  # and utm_*
    ["gclid", "gbraid", "wbraid", "fbclid", "msclkid", "dclid", "yclid", "mc_cid", "mc_eid", "igshid", "_ga", "_gl"]
)
_DEFAULT_PORT = {"http": "80", "https": "443"}

# The fast path, for nearly all URLs: an ASCII host whose last label is not a number, path and query in printable ASCII.
# A property test holds it to the answers of _read_slowly.
_USUAL = re.compile(
    r"(https?)://((?:[A-Za-z0-9_-]++\.)*+[A-Za-z][A-Za-z0-9-]*+)(?::([0-9]{1,4}))?"
    r"""(/[!-"$->@-~]*+)?(?:\?([!-"$-~]*+))?(?:#(?![/!])[^\ud800-\udfff]*+)?"""
)
# ASCII: otherwise IGNORECASE matches a long s (U+017F) with the s of https.
_PARTS = re.compile(r"(https?)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.ASCII | re.IGNORECASE | re.DOTALL)
_HOST_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]*)(?::([0-9]*))?")
_RAW_HOST = re.compile(r"(?:[^/?#]*@)?(\[[^\]]*\]|[^/?#:@]*)")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_UNFIT_AUTHORITY = re.compile(r"[\\\s\x00-\x1f\x7f-\x9f]")
_FORBIDDEN_IN_HOST = re.compile(r"[\x00-\x20\x7f#%/:<>?@\[\\\]^|]")  # WHATWG URL, forbidden domain code points
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+|[^\x21-\x7e]+")
# RFC 3986's unreserved characters, and the apostrophe: browsers escape it, servers treat both forms alike.
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~'")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_BARE_HEX = re.compile(r"(?<![^.])0x(?![^.])")  # zero to a browser; inet_aton refuses it


class Address(NamedTuple):
    """Where a URL leads, for comparison only."""

    key: str  # canonical form
    host: str  # as a browser reads it; "" when a browser could not go there


def read_url(url: str) -> Address | None:
    """Return the address of an absolute http(s) URL, blanks around it ignored; None if it is unusable."""
    # Long URLs, and those that grow when escaped, are not memoised: the memo stays small.
    return read_short_url(url) if len(url) <= _LONGEST and url.isascii() else _read(url)


def _read(url: str) -> Address | None:
    usual = _USUAL.fullmatch(url)
    if usual is None:
        return _read_slowly(url)
    scheme, host, port, path, query = usual.groups()
    if len(host) > 63 or (port and port != _DEFAULT_PORT[scheme]):
        return _read_slowly(url)
    host = key = host.lower()
    if path:
        key += (_normal(path) if "%" in path else path).removesuffix("/")
    if query and (kept := _kept(_normal(query) if "%" in query else query)):
        key += "?" + kept
    return Address(key, host)


_LONGEST = 1024
read_short_url = lru_cache(maxsize=4096)(_read)  # sources, and the queries of a request, find the same pages
"""What read_url does for an ASCII URL of at most _LONGEST characters: for the loop that reads all of them."""


def raw_host(key: str) -> str:
    """Return the host in a key as it was spelled, without user name and port: for one that no browser would go to."""
    found = _RAW_HOST.match(key)
    return found[1] if found else ""


def browser_host(host: str) -> str:
    """Return the host a browser would connect to, in ASCII; "" if it would refuse (WHATWG URL, host parsing).

    Lower case, escapes decoded, UTS 46 mapped, without a final dot; any spelling of an IPv4 address in dotted decimal.
    """
    if host.startswith("["):
        try:
            return f"[{ipaddress.IPv6Address(host[1:-1]).compressed}]"
        except ValueError:
            return ""
    try:
        mapped = idna.uts46_remap(unquote(host, errors="strict"), std3_rules=False, transitional=False)
        # Not idna.encode: it refuses names that browsers and DNS accept (emoji, underscores, hyphens of CDN names).
        labels = mapped.split(".")
        # Checked before and after encoding: punycode only lengthens a label, and is slow.
        if len(mapped) > 254 or max(map(len, labels)) > 63:
            return ""
        name = ".".join(map(_ascii_label, labels)).lower().removesuffix(".")
    except (UnicodeError, idna.IDNAError):
        return ""
    lengths = sorted(map(len, name.split(".")))
    if not lengths[0] or lengths[-1] > 63 or len(name) > 253 or _FORBIDDEN_IN_HOST.search(name):
        return ""
    if not _NUMBER.fullmatch(name.rpartition(".")[2]):
        return name
    try:
        # inet_aton accepts the octal, hex and short forms that browsers accept.
        return socket.inet_ntoa(socket.inet_aton(_BARE_HEX.sub("0", name)))
    except OSError:
        return ""


def _read_slowly(url: str) -> Address | None:
    url = url.strip()  # here alone, as the fast path takes no URL with blanks around it
    parts = _PARTS.fullmatch(url)
    if parts is None or _SURROGATE.search(url):
        return None
    scheme, authority, path, query, fragment = parts.groups("")
    if not authority or _UNFIT_AUTHORITY.search(authority):
        return None
    user, at, host_port = authority.rpartition("@")
    split = _HOST_PORT.fullmatch(host_port)
    if split is None or not split[1]:
        return None
    port = (split[2].lstrip("0") or "0") if split[2] else ""
    if len(port) > 5 or int(port or 0) > 65_535:
        return None
    host = browser_host(split[1])
    key = user + at + (host or split[1].lower())
    if port and port != _DEFAULT_PORT[scheme.lower()]:
        key += ":" + port
    key += _normal(path).removesuffix("/")
    if kept := _kept(_normal(query)):
        key += "?" + kept
    if fragment.startswith(("/", "!")):  # a route of a single-page application, not an anchor
        key += "#" + _normal(fragment)
    return Address(key, host)


def _ascii_label(label: str) -> str:
    return label if label.isascii() else "xn--" + label.encode("punycode").decode()


def _kept(query: str) -> str:
    """Return a query, escapes already normalised, without trackers and empty parameters."""
    return "&".join(
        [
            part
            for part in query.split("&")
            if part and (name := part.partition("=")[0].lower()) not in _TRACKERS and not name.startswith("utm_")
        ]
    )


def _normal(text: str) -> str:
    """Normalise escapes: upper case, unreserved characters decoded, everything but printable ASCII encoded."""
    return _ESCAPES.sub(_one_form, text)


def _one_form(run: re.Match[str]) -> str:
    text = run[0]
    if text[0] != "%":
        return quote(text)
    return "".join([_FORMS[escape] for escape in text.upper().split("%")[1:]])


_FORMS = {f"{code:02X}": char if (char := chr(code)) in _UNRESERVED else f"%{code:02X}" for code in range(256)}
"""The normal form of each escape, by its digits."""
