"""SearXNG, `GET {url}/search?format=json` (contract: SearXNG)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sift.config import SourceConfig, VendorSettings
from sift.errors import SourceError
from sift.search.model import Content, Filter, Prepared, RawHits, Row, Skip, SourceOut, not_applied
from sift.sources.dates import count_outside, is_iso
from sift.sources.headers import HEADERS
from sift.sources.recall import Recall, recall_notes
from sift.sources.rows import date_of, hits_of, rows_of, score_of, text_of
from sift.sources.treatment import APPROXIMATED, NATIVE, treatments
from sift.sources.vendor import Vendor
from sift.wire.endpoint import Endpoint

SETTINGS = VendorSettings("searxng", "SIFT_SEARXNG", "SearXNG", appends="/search")
MAX_SITES = 3
_QUOTED = re.compile(r'"[^"]*"')
_COMMAND = re.compile(r"(?:^|\s)(?:[!:]|<[0-9])")  # SearXNG splits at \s too


class Searxng:
    """A SearXNG instance as a source; only its first page is requested.

    now: Unix time in seconds. recall: what is known of its engines.
    """

    name = SETTINGS.name
    reranked = True

    def __init__(
        self,
        endpoint: Endpoint,
        timeout: float,
        *,
        now: Callable[[], float] = time.time,
        recall: Recall | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._recall = recall
        self.timeout = timeout
        self._now = now

    @classmethod
    def from_config(cls, config: SourceConfig, calls: int) -> Searxng:
        """Return the source described by its settings."""
        base = config.url.rstrip("/")
        described = Endpoint(base + "/config", HEADERS, connections=1)
        recall = Recall(lambda: described.get_json({}, deadline=time.monotonic() + config.timeout))
        endpoint = Endpoint(base + SETTINGS.appends, HEADERS, connections=calls)
        return cls(endpoint, config.timeout, recall=recall)

    def skip(self) -> Skip | None:
        """Return no skip: nothing is known that would rule a call out."""
        return None

    def prepare(self, query: str, filter: Filter) -> Prepared:
        """Return the query as it is: SearXNG takes any."""
        engines = self._recall.engines if self._recall else None
        return Prepared(query, notes(query, filter) + recall_notes(self.name, filter, engines))

    def treats(self, filter: Filter) -> dict[str, str]:
        """Return how each filter is applied."""
        sent = {"time_range": NATIVE, "exact_match": APPROXIMATED}
        if filter.restricts:
            sent["include_domains"] = APPROXIMATED
        if filter.topic == "news":
            sent["topic"] = NATIVE
        return treatments(filter, sent)

    def search(self, query: str, k: int, filter: Filter, *, deadline: float, fresh: bool = False) -> SourceOut:
        """Search once. Raises SourceError."""
        if self._recall:
            self._recall.refresh()
        try:
            body = self._endpoint.get_json(parameters(query, filter), deadline=deadline, fresh=fresh)
            out = parse(body, self.prepare(query, filter).notes)
        except SourceError as error:
            error.notes = syntax_note(query)  # a command may be why it failed, and asking again will not help
            raise
        return replace(out, notes=out.notes + date_note(out.hits, filter, self._now()))


VENDOR = Vendor(SETTINGS, Searxng.from_config, probe="sift.sources.probes.searxng")


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
    """Return a note for each filter that SearXNG cannot apply, and one on search syntax (contract: Notes)."""
    said = {
        "extra include_domains dropped": filter.restricts and len(filter.include_domains) > MAX_SITES,
        "topic ignored (no finance category)": filter.topic == "finance",
    }
    return not_applied(
        Searxng.name,
        {
            "include_domains_mode=prefer": filter.prefers,
            "start_date/end_date": filter.dated,
            "min_score": filter.min_score > 0,
        },
    ) + (tuple(f"{Searxng.name}: {note}" for note, is_due in said.items() if is_due) + syntax_note(query))


def syntax_note(query: str) -> tuple[str, ...]:
    """Return a note if SearXNG takes a word of the query as a command (contract: Notes)."""
    is_command = _COMMAND.search(_QUOTED.sub('"', query))
    return (f"{Searxng.name}: query holds search syntax",) if is_command else ()


def date_note(hits: RawHits, filter: Filter, now: float) -> tuple[str, ...]:
    """Return a note on the hits whose own dates are outside the filter's (contract: Notes). now: Unix time."""
    if not (filter.time_range or filter.dated):
        return ()
    count = count_outside((hit.content.published_date for hit in hits), filter, now)
    fields = "time_range" if filter.time_range else "start_date/end_date"
    return (f"{Searxng.name}: {count} hit{'s' * (count > 1)} dated outside {fields}",) if count else ()


def parse(body: Any, notes: tuple[str, ...] = ()) -> SourceOut:
    """Parse an answer. Raises SourceError, also when no engine answered."""
    rows = rows_of(body, "results")
    hits = hits_of(rows, read_row)
    unresponsive = body.get("unresponsive_engines")
    silent = len(unresponsive) if isinstance(unresponsive, list) else 0
    if silent and not hits:  # blocked engines must not look like "nothing found"
        raise SourceError("no engine answered")
    if silent:
        notes += (f"{Searxng.name}: {silent} engine{'s' * (silent > 1)} unresponsive",)
    return SourceOut(hits=hits, found=len(hits), sent=len(rows), notes=notes)


def read_row(row: Row) -> Content:
    """Return a result's content."""
    return Content(
        text_of(row.get("title")),
        (text_of(row.get("content")),),
        _date(row),
        score_of(row.get("score")),
    )


def _date(row: Row) -> str:
    """Return `publishedDate`, or `pubdate` where that is more exact: older versions write the former for people."""
    published, exact = row.get("publishedDate"), row.get("pubdate")
    if not (published or exact):  # most rows
        return ""
    published = date_of(published)
    return published if is_iso(published) else date_of(exact) or published
