"""The immutable records that travel through a search: the request down, the hits up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sift.search.urls import Address

if TYPE_CHECKING:
    from sift.search.explanation import Explanation

Mode = Literal["restrict", "prefer"]
CallerClass = Literal["restricted", "fleet"]
CacheUse = Literal["hit", "miss", "shared", "off"]
"""Where an answer came from: the cache, the vendors, an equal concurrent request, the vendors with the cache off."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The filters of a request in normal form; `Filter()` filters nothing.

    Every default means "off", so all spellings of one filter are one value before any key is computed (R6).
    """

    include_domains: tuple[str, ...] = ()  # normalised, sorted, unique
    exclude_domains: tuple[str, ...] = ()
    include_domains_mode: Mode = "restrict"  # "restrict" whenever there is no include list
    time_range: str | None = None  # day, week, month, year
    start_date: str | None = None  # YYYY-MM-DD
    end_date: str | None = None
    topic: str = "general"
    exact_match: bool = False
    min_score: float = 0.0

    @property
    def prefers(self) -> bool:
        """Whether the include list is a preference and not a restriction."""
        return bool(self.include_domains) and self.include_domains_mode == "prefer"

    @property
    def restricts(self) -> bool:
        """Whether hits outside the include list are dropped (R3)."""
        return bool(self.include_domains) and self.include_domains_mode == "restrict"

    @property
    def dated(self) -> bool:
        """Whether a start or end date is set."""
        return self.start_date is not None or self.end_date is not None

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of filter in use, never their values (contract: Log)."""
        used = {
            "domains": bool(self.include_domains or self.exclude_domains),
            "time": self.time_range is not None or self.dated,
            "topic": self.topic != "general",
            "exact": self.exact_match,
            "score": self.min_score > 0,
        }
        return tuple(kind for kind, on in used.items() if on)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A valid request: 1–4 different queries, the number of hits wanted, the filters."""

    queries: tuple[str, ...]
    k: int = 8
    max_snippet: int = 0  # characters; 0 is all
    rerank: bool = True
    digest: bool = False
    explain: bool = False
    filter: Filter = Filter()

    @property
    def q_len(self) -> int:
        """The number of code points of all queries together."""
        return sum(map(len, self.queries))


class Prepared(NamedTuple):
    """What a source makes of a query before it is called.

    text: the query, cut to what the vendor takes. notes: those known by then.
    asked: False when the vendor is not to be asked (contract: Notes).
    """

    text: str
    notes: tuple[str, ...] = ()
    asked: bool = True


Row = Mapping[str, Any]
"""One row of a vendor's answer, as it was sent: any field may be missing or of any type."""


class Content(NamedTuple):
    """The content of a row: title, snippet paragraphs and date as sent, empty if absent, and the vendor's own score."""

    title: str = ""
    texts: tuple[str, ...] = ()
    published_date: str = ""
    score: float = 0.0


class RawHit(NamedTuple):
    """A usable hit: its address, and the row that the vendor sent."""

    address: Address
    row: Row
    read: Callable[[Row], Content]

    @property
    def url(self) -> str:
        """The vendor's own string, without blanks around it."""
        url: str = self.row["url"]
        return url.strip()

    @property
    def content(self) -> Content:
        """The content of the row."""
        return self.read(self.row)


@dataclass(frozen=True, slots=True)
class RawHits:
    """The usable hits of one source for one query, ranked.

    Columns rather than a record per hit: a search brings hundreds, merging needs addresses alone, and most rows are
    never read. read: the vendor's own function from a row to its content.
    """

    addresses: tuple[Address, ...] = ()
    rows: tuple[Row, ...] = ()
    read: Callable[[Row], Content] = field(default=lambda row: Content(), compare=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> RawHit:
        return RawHit(self.addresses[index], self.rows[index], self.read)

    def __iter__(self) -> Iterator[RawHit]:
        return map(RawHit, self.addresses, self.rows, repeat(self.read))

    def at_least(self, score: float) -> RawHits:
        """Return the hits whose own score is not lower (R2)."""
        kept = [hit for hit in self if hit.content.score >= score]
        return RawHits(tuple(hit.address for hit in kept), tuple(hit.row for hit in kept), self.read)


class Hit(NamedTuple):
    """A hit as shown."""

    url: str
    title: str
    snippet: str
    source: str
    score: float
    published_date: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the hit in v1's form, without a key for an unknown date."""
        shown = self._asdict()
        if not self.published_date:
            del shown["published_date"]
        return shown


@dataclass(frozen=True, slots=True)
class SourceOut:
    """What one source returned for one query (R1).

    hits: ranked, after the source's own min_score. found: usable hits before it.
    warn: set when the source failed; its hits are then discarded.
    notes: what the source could not do, and what in the query may have made it fail.
    credits: what a paid call cost. asked: False when the source chose not to be asked (contract: Notes).
    sent: rows of the vendor's list. measured: the call's seconds and the credits counted for it, if they are wanted.
    """

    hits: RawHits = RawHits()
    warn: str = ""
    notes: tuple[str, ...] = ()
    credits: int = 1
    found: int = 0
    asked: bool = True
    sent: int = 0
    measured: tuple[float, int] = (0.0, 0)


CAPPED = "daily cap"
"""Why a source without credits is not asked."""


class Skip(NamedTuple):
    """Why a source is not asked. wait: seconds until it may be, if known."""

    reason: str
    wait: float | None = None


Outcome = SourceOut | Skip
Round = Mapping[str, Outcome]
"""The outcome of each planned source for one query, in source order."""


class Sizes(NamedTuple):
    """Counts of hits: usable ones of all sources and queries, distinct ones after filters, returned ones."""

    hits: int
    unique: int
    results: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The part of an answer that equal requests share.

    results: the hits as a JSON array in v1's form, encoded once and spliced into every response.
    warnings: failures, then notes. skips: sources that were not asked, and why.
    calls: how many were made, by source.
    explanation: only if it is wanted; `results` then hold their part of it.
    """

    results: bytes
    sizes: Sizes
    sources_ok: tuple[str, ...] = ()
    sources_failed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    skips: tuple[str, ...] = ()
    rerank_ms: int = 0
    calls: tuple[tuple[str, int], ...] = ()
    explanation: Explanation | None = None

    def hits(self) -> list[dict[str, Any]]:
        """Decode the hits."""
        decoded: list[dict[str, Any]] = json.loads(self.results)
        return decoded


class Answer(NamedTuple):
    """A result and where it came from.

    explained: the explanation as this very request gets it, if it is wanted.
    """

    result: SearchResult
    cache: CacheUse
    explained: Mapping[str, Any] | None = None

    @property
    def cached(self) -> bool:
        """Whether no vendor was asked for this very request."""
        return self.cache in ("hit", "shared")


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A search that no source answered: none could be asked, or all failed in every query (contract: Unavailable).

    retry_after: whole seconds until a skipped source may be asked again, if known.
    calls: how many were made, by source.
    """

    warnings: tuple[str, ...]
    sources_failed: tuple[str, ...]
    retry_after: int | None = None
    cache: CacheUse = "miss"
    calls: tuple[tuple[str, int], ...] = ()


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def encode(value: object) -> bytes:
    """Return a value as strict JSON in UTF-8."""
    return _encoder.encode(value).encode()


def unique(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the values without repeats, in first-seen order."""
    return tuple(dict.fromkeys(values))


def not_applied(name: str, fields: Mapping[str, bool]) -> tuple[str, ...]:
    """Return a note for each set filter that a source cannot apply: `<name>: <field> not applied`."""
    return tuple([f"{name}: {field} not applied" for field, is_set in fields.items() if is_set])
