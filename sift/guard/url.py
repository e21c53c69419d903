"""Reading the text of a URL that may be hostile: what it asks for, and of whom, or a refusal. Nothing is looked up.

Parsers differ in what they cut, decode and forgive, and whoever finds a URL that two of them read differently has a way
past the first. So what they differ on is refused before any of them sees it, the URL is rebuilt from what was
understood, and a second parser must understand the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address
from urllib.parse import quote

import idna
from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from sift.errors import RefusedURLError
from sift.guard.addresses import Network, is_public

MAX_LENGTH = 4096
"""Characters of a URL, as it is given and as it is rebuilt."""
PORTS = frozenset({80, 443})
SPECIAL_NAMES = (
    *("localhost", "localdomain", "local", "internal", "lan", "intranet", "corp", "home", "home.arpa"),
    *("onion", "i2p", "test", "invalid", "example"),
)
"""Names under which nothing public is: reserved (RFC 6761, 6762, 7686, 8375), or in use inside networks."""

_UNFIT = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")
# ASCII: otherwise IGNORECASE matches a long s (U+017F) with the s of https.
_PARTS = re.compile(r"(https?)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.ASCII | re.IGNORECASE | re.DOTALL)
_WEB = re.compile(r"https?:|\Z", re.ASCII | re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HOST_PORT = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::(.*))?", re.DOTALL)
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"(?:{_LABEL}\.)*(?=[a-z]){_LABEL}")
# Strict: others read a leading zero as octal.
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_QUAD = re.compile(rf"(?:{_OCTET}\.){{3}}{_OCTET}")
_SPECIAL = tuple(f".{name}" for name in SPECIAL_NAMES)
_JOINERS = "\u200c\u200d"
# RFC 3986: escapes are spelled in upper case, and what else a path or a query cannot hold is escaped.
_TO_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~!$&'()*+,;=:@/-]")
_TO_ESCAPE_IN_QUERY = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~!$&'()*+,;=:@/?-]")
_DOTS = {".": 1, "%2E": 1, "..": 2, ".%2E": 2, "%2E.": 2, "%2E%2E": 2}
_DEFAULT_PORT = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Target:
    """What a URL asks for, and of whom.

    scheme: `http` or `https`. host: in ASCII and lower case, without a final dot; an IPv6 address without brackets.
    path: with the query if there is one, escaped; starts with a slash.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The value of the Host header: the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORT[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port, as in `https://host:8443`."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        """The URL, rebuilt."""
        return self.origin + self.path


def parse(text: str, ports: frozenset[int] = frozenset(), deny: Sequence[Network] = ()) -> Target:
    """Return what the text of an absolute URL asks for.

    ports: those that are allowed besides 80 and 443. deny: networks whose literal addresses are refused too.
    Raises RefusedURLError.
    """
    if len(text) > MAX_LENGTH or _UNFIT.search(text):
        raise RefusedURLError("form")
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise RefusedURLError("form" if _WEB.match(text) else "scheme")
    scheme, authority, path, query = parts.groups()
    if "@" in authority:
        raise RefusedURLError("userinfo")
    split = _HOST_PORT.fullmatch(authority)
    if split is None or "%" in authority:
        raise RefusedURLError("form")
    scheme = scheme.lower()
    port = _DEFAULT_PORT[scheme] if split[2] is None else _port(split[2], ports)
    target = Target(scheme, _host(split[1], deny), port, _path(path, query))
    if not _is_read_alike(target):
        raise RefusedURLError("form")
    return target


def resolve(base: Target, reference: str) -> str:
    """Return the URL that a reference, such as a redirect's, leads to from a page (RFC 3986, section 5.2); unjudged."""
    if _SCHEME.match(reference):
        return reference
    if reference.startswith("//"):
        return f"{base.scheme}:{reference}"
    if reference.startswith("/"):
        return base.origin + reference
    path, _, _ = base.path.partition("?")
    if reference.startswith("?"):
        return base.origin + path + reference
    if not reference or reference.startswith("#"):
        return base.url
    return base.origin + path[: path.rindex("/") + 1] + reference


def _port(text: str, ports: frozenset[int]) -> int:
    digits = text.lstrip("0")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 5:
        raise RefusedURLError("port")
    port = int(digits)
    if port not in PORTS and port not in ports:
        raise RefusedURLError("port")
    return port


def _host(text: str, deny: Sequence[Network]) -> str:
    """Return a host in its one form, if it is a public address or a name that may be one's."""
    if text.startswith("["):
        return _ipv6(text[1:-1], deny)
    host = (text.lower() if text.isascii() else _ascii(text)).removesuffix(".")
    last = host.rpartition(".")[2]
    if last[:1].isdigit():  # to some resolvers an address, in decimal, octal or hex
        if not _QUAD.fullmatch(host):
            raise RefusedURLError("form")
        if not is_public(host, deny):
            raise RefusedURLError("address")
        return host
    if len(host) > 253 or not _NAME.fullmatch(host):
        raise RefusedURLError("form")
    if "." not in host or f".{host}".endswith(_SPECIAL):
        raise RefusedURLError("name")
    if "xn--" in host and not all(_is_unicode(label[4:]) for label in host.split(".") if label.startswith("xn--")):
        raise RefusedURLError("form")
    return host


def _ipv6(text: str, deny: Sequence[Network]) -> str:
    try:
        address = IPv6Address(text)
    except ValueError:
        address = None
    if address is None:
        raise RefusedURLError("form")
    # A mapped address is an IPv4 address in disguise; nobody needs one in a URL.
    if address.ipv4_mapped is not None or not is_public(text, deny):
        raise RefusedURLError("address")
    return address.compressed


def _ascii(host: str) -> str:
    """Return a host that is not ASCII as it is looked up; "" if it cannot be, or if mapping it deletes a character."""
    try:
        mapped = _remapped(host)
        if not all(_remapped(char) for char in host):
            return ""
        labels = mapped.split(".")
        # Checked before encoding, which is slow.
        if len(mapped) > 254 or max(map(len, labels)) > 63:
            return ""
        return ".".join([label if label.isascii() else f"xn--{_punycode(label)}" for label in labels])
    except UnicodeError:
        return ""


def _is_unicode(digits: str) -> bool:
    """Return whether Punycode stands for a label that UTS 46 leaves as it is, and that is written in no other way."""
    try:
        label = digits.encode("ascii").decode("punycode")
        return (
            not label.isascii()
            and not label.startswith("xn--")
            and _remapped(label) == label
            and _punycode(label) == digits
            and not unicodedata.category(label[0]).startswith("M")
            and all(idna.valid_contextj(label, at) for at, char in enumerate(label) if char in _JOINERS)
        )
    except ValueError:  # UnicodeError, and that of a neighbour without a name
        return False


def _remapped(text: str) -> str:
    return idna.uts46_remap(text, std3_rules=False, transitional=False)


def _punycode(label: str) -> str:
    return label.encode("punycode").decode("ascii")


def _path(path: str, query: str | None) -> str:
    path = _without_dots(_TO_ESCAPE.sub(_escaped, path or "/"))
    return path if query is None else f"{path}?{_TO_ESCAPE_IN_QUERY.sub(_escaped, query)}"


def _escaped(found: re.Match[str]) -> str:
    text = found[0]
    return text.upper() if len(text) == 3 else quote(text, safe="")


def _without_dots(path: str) -> str:
    """Remove the segments `.` and `..`, escaped ones as well (RFC 3986, section 5.2.4)."""
    if "/." not in path and "/%2E" not in path:
        return path
    kept: list[str] = []
    dots = 0
    for segment in path.split("/")[1:]:
        dots = _DOTS.get(segment, 0)
        if not dots:
            kept.append(segment)
        elif dots == 2 and kept:
            kept.pop()
    return "/".join(["", *kept, ""] if dots else ["", *kept])


def _is_read_alike(target: Target) -> bool:
    """Return whether urllib3 reads the rebuilt URL as it is meant, and whether it is short enough to be read again."""
    url = target.url
    if len(url) > MAX_LENGTH:
        return False
    try:
        seen = parse_url(url)
    except LocationParseError:
        return False
    read = (seen.scheme, seen.auth, seen.netloc, seen.request_uri, seen.fragment)
    return read == (target.scheme, None, target.authority, target.path, None)
