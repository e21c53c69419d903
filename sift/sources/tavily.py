"""Tavily, `POST /search` and no other path (contract: Tavily)."""

from __future__ import annotations

from typing import Any

from sift.config import SourceConfig, VendorSettings
from sift.search.model import Content, Filter, Prepared, Row, Skip, SourceOut
from sift.sources.headers import HEADERS
from sift.sources.limits import fit, too_long
from sift.sources.rows import date_of, hits_of, rows_of, score_of, text_of
from sift.sources.treatment import ENFORCED, NATIVE, treatments
from sift.sources.vendor import Vendor
from sift.wire.endpoint import Endpoint

SETTINGS = VendorSettings(
    "tavily",
    "SIFT_TAVILY",
    "Tavily",
    url="https://api.tavily.com/search",
    key="Tavily key",
    daily_cap=30,
    rerank_is_optional=True,
)
MAX_CHARACTERS = 400
MAX_CREDITS = 1_000_000  # a higher number is not a price; keeps sums within the ledger's range
MAX_RESULTS = 20  # 1 and 20 cost the same, and deeper lists fuse and filter better


class Tavily:
    """Tavily as a source: basic search, and no option that costs more."""

    name = SETTINGS.name

    def __init__(self, endpoint: Endpoint, timeout: float, *, reranked: bool = True) -> None:
        self._endpoint = endpoint
        self.timeout = timeout
        self.reranked = reranked

    @classmethod
    def from_config(cls, config: SourceConfig, calls: int) -> Tavily:
        """Return the source described by its settings."""
        endpoint = Endpoint(config.url, {**HEADERS, "Authorization": f"Bearer {config.key}"}, connections=calls)
        return cls(endpoint, config.timeout, reranked=config.rerank)

    def skip(self) -> Skip | None:
        """Return no skip: nothing is known that would rule a call out."""
        return None

    def prepare(self, query: str, filter: Filter) -> Prepared:
        """Cut the query to Tavily's limit, or do not ask at all."""
        fitted, cuts = fit(self.name, query, characters=MAX_CHARACTERS)
        if cuts and filter.exact_match:
            return Prepared(query, (too_long(self.name),), asked=False)
        return Prepared(fitted, notes(filter) + cuts)

    def treats(self, filter: Filter) -> dict[str, str]:
        """Return how each filter is applied."""
        sent = dict.fromkeys(("time_range", "start_date", "end_date", "topic", "exact_match"), NATIVE)
        if _with_dot(filter.include_domains):
            sent |= {"include_domains": NATIVE, "include_domains_mode": NATIVE}
        if _with_dot(filter.exclude_domains):
            sent["exclude_domains"] = NATIVE
        return treatments(filter, sent | {"min_score": ENFORCED})

    def search(self, query: str, k: int, filter: Filter, *, deadline: float, fresh: bool = False) -> SourceOut:
        """Search once; hits below `min_score` are dropped before any ranking (R2). Raises SourceError."""
        prepared = self.prepare(query, filter)
        if not prepared.asked:
            return SourceOut(notes=prepared.notes, asked=False)
        body = self._endpoint.post_json(request_body(prepared.text, filter), deadline=deadline, fresh=fresh)
        return parse(body, filter.min_score, prepared.notes)


VENDOR = Vendor(SETTINGS, Tavily.from_config, probe="sift.sources.probes.tavily")


def request_body(query: str, filter: Filter) -> dict[str, Any]:
    """Return the JSON body: the fixed fields, and a field for each filter that is set (contract: Tavily).

    `filter_by_published_date` and `include_usage` stay unset.
    """
    body: dict[str, Any] = {
        "query": query,
        "search_depth": "basic",
        "auto_parameters": False,  # automatic mode may pick a depth that costs two credits
        "include_answer": False,
        "include_raw_content": False,
        "include_images": False,
        "max_results": MAX_RESULTS,
    }
    if include := _with_dot(filter.include_domains):
        # Without a mode Tavily has treated the list as a preference.
        body |= {"include_domains": include, "include_domains_mode": filter.include_domains_mode}
    if exclude := _with_dot(filter.exclude_domains):
        body["exclude_domains"] = exclude
    if filter.time_range:
        body["time_range"] = filter.time_range
    if filter.start_date:
        body["start_date"] = filter.start_date
    if filter.end_date:
        body["end_date"] = filter.end_date
    if filter.topic != "general":
        body["topic"] = filter.topic
    if filter.exact_match:
        body["exact_match"] = True
    if filter.topic == "news" or filter.time_range or filter.dated:
        body["include_published_date"] = True
    return body


def notes(filter: Filter) -> tuple[str, ...]:
    """Return a note if part of the include list is not sent because Tavily would refuse it (contract: Notes)."""
    if len(_with_dot(filter.include_domains)) < len(filter.include_domains):
        return (f"{Tavily.name}: include_domains without a dot not sent",)
    return ()


def parse(body: Any, min_score: float = 0.0, notes: tuple[str, ...] = ()) -> SourceOut:
    """Parse an answer; a generated answer and other extras are ignored. Raises SourceError."""
    rows = rows_of(body, "results")
    hits = hits_of(rows, read_row)
    # A hit without a score counts as 0.0, below any min_score.
    kept = hits.at_least(min_score) if min_score else hits
    return SourceOut(hits=kept, found=len(hits), sent=len(rows), notes=notes, credits=_credits(body))


def read_row(row: Row) -> Content:
    """Return a result's content."""
    return Content(
        text_of(row.get("title")),
        (text_of(row.get("content")),),
        date_of(row.get("published_date")),
        score_of(row.get("score")),
    )


def _credits(body: dict[str, Any]) -> int:
    usage = body.get("usage")
    used = usage.get("credits") if isinstance(usage, dict) else None
    return min(used, MAX_CREDITS) if type(used) is int and used >= 1 else 1


def _with_dot(domains: tuple[str, ...]) -> list[str]:
    return [domain for domain in domains if "." in domain]
