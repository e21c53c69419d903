"""What is at the address of a SearXNG instance: searches without a query, and its own description."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from sift.config import SourceConfig
from sift.findings import Finding, caution, fail, ok
from sift.sources.headers import HEADERS
from sift.sources.probes import Ask, is_sift, unexpected
from sift.sources.recall import GENERAL, read_engines
from sift.sources.searxng import SETTINGS
from sift.wire.look import Seen

NAME, URL = SETTINGS.name, SETTINGS.variable("URL")
NO_QUERY = f"{SETTINGS.appends}?format=json"
EXEMPT = "list Sift's address under botdetection.ip_lists.pass_ip in limiter.toml, or set server.limiter: false"


def probe(config: SourceConfig, ask: Ask) -> Iterator[Finding]:
    """Yield whether JSON is on, and how many engines there are. Raises SourceError."""
    base = config.url.rstrip("/")
    seen = ask(base + NO_QUERY, HEADERS)
    if not _is_on(seen):
        yield _wrong(seen, config.url, ask)
        return
    yield ok(NAME, "it answers, and its JSON format is on")
    yield from _described(ask(f"{base}/config", HEADERS))


def _is_on(seen: Seen) -> bool:
    """Whether this is how an instance with JSON answers a search without a query."""
    return seen.status == 400 and "error" in seen.json() and not is_sift(seen)


def _wrong(seen: Seen, url: str, ask: Ask) -> Finding:
    if seen.status == 403 and not is_sift(seen):
        return fail(NAME, "its JSON format is off", "settings.yml of SearXNG: search.formats: [html, json]; restart it")
    if seen.status == 429:
        return fail(NAME, "its limiter refuses Sift", EXEMPT)
    if seen.status == 401 and not is_sift(seen):
        return fail(NAME, "it wants a password, and Sift has none to send", "let Sift's address in without one")
    if seen.status in (200, 400, 404, 405) and not is_sift(seen):
        return _wrong_path(url, ask) or unexpected(NAME, URL, seen)
    return unexpected(NAME, URL, seen)


def _wrong_path(url: str, ask: Ask) -> Finding | None:
    """Return the finding for an address whose path leads nowhere; None when nothing there is a page."""
    parts = urlsplit(url)
    root = f"{parts.scheme}://{parts.netloc}"
    if parts.path.strip("/") and _is_on(ask(root + NO_QUERY, HEADERS)):
        return fail(NAME, "wrong path: SearXNG is at the root of that address", f"take the path out of {URL}")
    if not ask(f"{root}/", HEADERS).is_html:
        return None
    cure = f"set {URL} to where its search page opens, without {SETTINGS.appends}"
    return fail(NAME, "wrong path: a page answers, and no SearXNG", cure)


def _described(seen: Seen) -> Iterator[Finding]:
    """Yield what an instance says of its engines and its limiter."""
    described = seen.json()
    engines = read_engines(described)
    if engines is not None:
        yield from _engines(engines.enabled, None if engines.dated is None else engines.dated[GENERAL])
    elif isinstance(described.get("engines"), list):
        yield fail(NAME, "no engine is enabled", "settings.yml of SearXNG: enable engines; restart it")
    else:
        yield caution(NAME, "it does not say which engines it has", f"let Sift read /config below {URL}")
    limiter = described.get("limiter")
    if isinstance(limiter, dict) and limiter.get("enabled") is True:
        yield caution(NAME, "its limiter is on: 4 JSON answers an hour for each address", EXEMPT)


def _engines(enabled: int, dated: int | None) -> Iterator[Finding]:
    count = f"{enabled} engine{'s are' if enabled > 1 else ' is'} enabled"
    if dated == 0:
        yield caution(NAME, f"{count}, and none knows dates", "enable one that does: time_range finds nothing without")
    else:
        yield ok(NAME, count if dated is None else f"{count}, {dated} for general topics with dates")
