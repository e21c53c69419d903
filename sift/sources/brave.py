"""Brave's LLM Context API, `GET …/res/v1/llm/context?q=` (contract: Brave)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from sift.config import SourceConfig, VendorSettings
from sift.search.model import Content, Filter, Prepared, Row, Skip, SourceOut, not_applied
from sift.sources.headers import HEADERS
from sift.sources.limits import fit, too_long
from sift.sources.pace import Pace
from sift.sources.rows import hits_of, rows_of, text_of
from sift.sources.treatment import treatments
from sift.sources.vendor import Vendor
from sift.wire.endpoint import Endpoint

SETTINGS = VendorSettings(
    "brave_llm",
    "SIFT_BRAVE",
    "Brave",
    url="https://api.search.brave.com/res/v1/llm/context",
    key="Brave subscription token",
)
MAX_CHARACTERS = 400
MAX_WORDS = 50
QUOTA = "monthly quota"
MAX_SNIPPETS = 100  # Brave sends a few; a million empty ones would take long to read


class Brave:
    """Brave as a source, with Brave's own defaults: nothing but `q` is ever sent.

    pace: what Brave says of its limits.
    """

    name = SETTINGS.name
    reranked = True

    def __init__(self, endpoint: Endpoint, timeout: float, pace: Pace | None = None) -> None:
        self._endpoint = endpoint
        self.timeout = timeout
        self._pace = pace or Pace()

    @classmethod
    def from_config(cls, config: SourceConfig, calls: int) -> Brave:
        """Return the source described by its settings."""
        pace, headers = Pace(), {**HEADERS, "X-Subscription-Token": config.key}
        return cls(Endpoint(config.url, headers, connections=calls, heard=pace.hear), config.timeout, pace)

    def skip(self) -> Skip | None:
        """Return a skip while the month's quota is used up."""
        rest = self._pace.rest()
        return None if rest is None else Skip(QUOTA, rest)

    def prepare(self, query: str, filter: Filter) -> Prepared:
        """Cut the query to Brave's limits, or do not ask at all."""
        fitted, cuts = fit(self.name, query, characters=MAX_CHARACTERS, words=MAX_WORDS)
        if cuts and filter.exact_match:
            return Prepared(query, (too_long(self.name),), asked=False)
        return Prepared(fitted, notes(filter) + cuts)

    def treats(self, filter: Filter) -> dict[str, str]:
        """Return how each filter is applied: Brave is sent none."""
        return treatments(filter, {})

    def search(self, query: str, k: int, filter: Filter, *, deadline: float, fresh: bool = False) -> SourceOut:
        """Search once. Raises SourceError."""
        prepared = self.prepare(query, filter)
        if not prepared.asked:
            return SourceOut(notes=prepared.notes, asked=False)
        self._pace.wait(deadline)
        return parse(self._endpoint.get_json({"q": prepared.text}, deadline=deadline, fresh=fresh), prepared.notes)


VENDOR = Vendor(SETTINGS, Brave.from_config, probe="sift.sources.probes.brave")


def notes(filter: Filter) -> tuple[str, ...]:
    """Return a note for each set filter that Brave cannot apply (contract: Brave, Notes)."""
    return not_applied(
        Brave.name,
        {
            "time_range": filter.time_range is not None,
            "start_date/end_date": filter.dated,
            "topic": filter.topic != "general",
            "exact_match": filter.exact_match,
            "include_domains_mode=prefer": filter.prefers,
            "min_score": filter.min_score > 0,
        },
    )


def parse(body: Any, notes: tuple[str, ...] = ()) -> SourceOut:
    """Parse an answer. Hits have no score and no date, as `age` may be that of a change. Raises SourceError."""
    rows = rows_of(body, "grounding", "generic")
    sources = body.get("sources")
    hits = hits_of(rows, partial(read_row, sources=sources if isinstance(sources, dict) else {}))
    return SourceOut(hits=hits, found=len(hits), sent=len(rows), notes=notes)


def read_row(row: Row, sources: Mapping[str, Any]) -> Content:
    """Return a row's title and snippets; a missing title is looked up in `sources`, by URL."""
    title = text_of(row.get("title"))
    if not title:
        source = sources.get(row["url"])
        title = text_of(source.get("title")) if isinstance(source, dict) else ""
    snippets = row.get("snippets")
    return Content(title, tuple(map(text_of, snippets[:MAX_SNIPPETS])) if isinstance(snippets, list) else ())
