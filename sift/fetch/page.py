"""Opening a page: redirects followed within the guard, status, type and size checked before and while it is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

from sift.errors import FetchError, RefusedURLError
from sift.fetch.extract.model import HTML, PDF
from sift.fetch.model import RawPage
from sift.fetch.web import Web, failed
from sift.guard.url import Target
from sift.wire.body import EncodingError, read_upto
from sift.wire.call import Call
from sift.wire.exchange import Reply
from sift.wire.retry import retry_after

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 5
MIB = 1024 * 1024
MAX_WIRE, MAX_BODY = 5 * MIB, 10 * MIB
MAX_PDF = 20 * MIB
TYPES = HTML | {
    "text/plain",
    "text/markdown",
    "text/csv",
    "text/xml",
    "application/json",
    "application/ld+json",
    "application/xml",
    "application/rss+xml",
    "application/atom+xml",
}
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE | re.ASCII)
# Parameters of a query that give whoever holds the URL access to the page; compared in lower case.
_CREDENTIALS = frozenset("auth authorization key api_key apikey api-key access_key sig hmac pwd code sid jwt".split())
_CREDENTIAL = re.compile(r"token|secret|signature|credential|passw|session|accesskey", re.ASCII)


def open_page(
    web: Web, target: Target, call: Callable[[], Call], allowed: Callable[[Target], None], *, takes_pdf: bool
) -> RawPage:
    """Return the page of a guarded address, or of where it redirects to. Raises FetchError.

    call: returns the state of the next request; all share one deadline. allowed: is asked before each request, and
    raises FetchError to refuse it.
    """
    keeps = True
    for hops in range(MAX_REDIRECTS + 1):
        allowed(target)
        state = call()
        with web.get(target, state) as reply:
            location = reply.headers.get("location")
            keeps = keeps and is_public(target.path, reply.headers)
            if reply.status not in REDIRECTS or location is None:
                return replace(_read(target, reply, state, takes_pdf=takes_pdf), hops=hops, keeps=keeps)
            target = redirect(web, target, location)
    raise FetchError("fetch failed", "redirects")


def redirect(web: Web, target: Target, location: str) -> Target:
    """Return where a redirect leads to. Raises FetchError: it was not the caller who named that address."""
    try:
        return web.guard.redirect(target, _reference(location))
    except RefusedURLError:
        raise FetchError("fetch failed", "redirects") from None


def _reference(location: str) -> str:
    """Return a Location as browsers read it. Headers come as Latin-1; these bytes are UTF-8, or stay what they are."""
    try:
        return location.encode("latin-1").decode()
    except UnicodeError:
        return "".join(char if char.isascii() else f"%{ord(char):02X}" for char in location)


def _read(target: Target, reply: Reply, call: Call, *, takes_pdf: bool) -> RawPage:
    if not 200 <= reply.status < 300:
        rest = retry_after(reply.headers.get("retry-after", ""))
        raise FetchError("fetch failed", f"status {reply.status}", retry_after=rest)
    declared, charset = _content_type(reply.headers.get("content-type", ""))
    kind = declared
    if declared:
        _check_type(declared, takes_pdf=takes_pdf)

    def look(first: bytes) -> tuple[int, int]:
        nonlocal kind
        kind = declared or sniffed(first)
        if kind != PDF and first.startswith(b"%PDF-"):
            kind = "" if declared else PDF
        _check_type(kind, takes_pdf=takes_pdf)
        return _limits(kind)

    try:
        body, sent, cut = read_upto(reply, *_limits(declared), look)
    except EncodingError:
        raise FetchError("fetch failed", "encoding") from None
    except (OSError, ValueError) as error:
        raise failed(error, call) from None
    if cut and kind == PDF:
        raise FetchError("fetch failed", "too large")
    warnings = (f"page cut at {(MAX_WIRE if cut == 'wire' else MAX_BODY) // MIB} MiB",) if cut else ()
    return RawPage(target.url, reply.status, kind, charset, body, sent, warnings=warnings)


def _limits(kind: str) -> tuple[int, int]:
    """Return how many bytes of a type are read at most, as sent and when inflated."""
    return (MAX_PDF, MAX_PDF) if kind == PDF else (MAX_WIRE, MAX_BODY)


def _check_type(kind: str, *, takes_pdf: bool) -> None:
    if kind not in TYPES and not (kind == PDF and takes_pdf):
        raise FetchError("unsupported content type")


def _content_type(value: str) -> tuple[str, str]:
    """Return type and charset, both in lower case, "" where they are missing."""
    charset = _CHARSET.search(value)
    return value.partition(";")[0].partition(",")[0].strip().lower(), charset[1].lower() if charset else ""


def sniffed(first: bytes) -> str:
    """Return the type of a page that declares none, from its first bytes; "" if it is none that is taken."""
    start = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"%PDF-"):
        return PDF
    if start.startswith(b"<"):
        return "text/html"
    try:
        first.decode()
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":  # the first bytes may end within a character
            return ""
    return "" if b"\0" in first else "text/plain"


def is_public(path: str, headers: Mapping[str, str]) -> bool:
    """Return whether an answer may be kept: neither it nor its address is meant for one reader (contract: Fetch)."""
    control = {word.partition("=")[0].strip().lower() for word in headers.get("cache-control", "").split(",")}
    if control & {"no-store", "private"} or "set-cookie" in headers:
        return False
    names = [name.lower() for name, _ in parse_qsl(urlsplit(path).query, keep_blank_values=True)]
    return not any(name in _CREDENTIALS or _CREDENTIAL.search(name) for name in names)
