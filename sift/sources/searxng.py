"""SearXNG, `GET {url}/search?format=json` (contract: SearXNG)."""

from __future__ import annotations

import re
from typing import Any

from sift.config import SourceConfig, VendorSettings
from sift.errors import SourceError
from sift.search.model import Content, Filter, Row, SourceOut, not_applied
from sift.sources.headers import HEADERS
from sift.sources.rows import hits_of, rows_of, score_of, text_of
from sift.sources.vendor import Vendor
from sift.wire.endpoint import Endpoint

SETTINGS = VendorSettings("searxng", "SIFT_SEARXNG", "SearXNG", appends="/search")
MAX_SITES = 3
_QUOTED = re.compile(r'"[^"]*"')
_COMMAND = re.compile(r"(?:^|\s)(?:[!:]|<[0-9])")  # SearXNG splits at \s too


class Searxng:
    """A SearXNG instance as a source; only its first page is requested."""

    name = SETTINGS.name
    reranked = True

    def __init__(self, endpoint: Endpoint, timeout: float) -> None:
        self._endpoint = endpoint
        self.timeout = timeout

    @classmethod
    def from_config(cls, config: SourceConfig, calls: int) -> Searxng:
        """Return the source described by its settings."""
        return cls(Endpoint(config.url.rstrip("/") + SETTINGS.appends, HEADERS, connections=calls), config.timeout)

    def search(self, query: str, k: int, filter: Filter, *, deadline: float, fresh: bool = False) -> SourceOut:
        """Search once. Raises SourceError."""
        body = self._endpoint.get_json(parameters(query, filter), deadline=deadline, fresh=fresh)
        return parse(body, notes(query, filter))


VENDOR = Vendor(SETTINGS, Searxng.from_config)


def parameters(query: str, filter: Filter) -> dict[str, str]:
    """Return the URL parameters: `site:` goes before the query, other filters are parameters, never bangs."""
    sites = " OR ".join(f"site:{host}" for host in filter.include_domains[:MAX_SITES]) if filter.restricts else ""
    built = {"q": f"{sites} {query}" if sites else query, "format": "json"}
    if filter.time_range:
        built["time_range"] = filter.time_range
    if filter.topic == "news":
        built["categories"] = "news"
    return built


def notes(query: str, filter: Filter) -> tuple[str, ...]:
    """Return a note for each set filter that SearXNG cannot apply, and one for search syntax (contract: Notes)."""
    said = {
        "extra include_domains dropped": filter.restricts and len(filter.include_domains) > MAX_SITES,
        "topic ignored (no finance category)": filter.topic == "finance",
        "query holds search syntax": bool(_COMMAND.search(_QUOTED.sub('"', query))),
    }
    return not_applied(
        Searxng.name,
        {
            "include_domains_mode=prefer": filter.prefers,
            "start_date/end_date": filter.dated,
            "min_score": filter.min_score > 0,
        },
    ) + tuple(f"{Searxng.name}: {note}" for note, is_due in said.items() if is_due)


def parse(body: Any, notes: tuple[str, ...] = ()) -> SourceOut:
    """Parse an answer. Raises SourceError, also when no engine answered."""
    hits = hits_of(rows_of(body, "results"), read_row)
    unresponsive = body.get("unresponsive_engines")
    silent = len(unresponsive) if isinstance(unresponsive, list) else 0
    if silent and not hits:  # blocked engines must not look like "nothing found"
        raise SourceError("no engine answered")
    if silent:
        notes += (f"{Searxng.name}: {silent} engine{'s' * (silent > 1)} unresponsive",)
    return SourceOut(hits=hits, found=len(hits), notes=notes)


def read_row(row: Row) -> Content:
    """Return a result's content."""
    return Content(
        text_of(row.get("title")),
        (text_of(row.get("content")),),
        text_of(row.get("publishedDate")),
        score_of(row.get("score")),
    )
