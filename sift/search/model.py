"""The records that travel through a search: request down, hits up. All are immutable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Mode = Literal["restrict", "prefer"]
CallerClass = Literal["restricted", "fleet"]


@dataclass(frozen=True, slots=True)
class Filter:
    """Hold the filters of a request in normal form; `Filter()` filters nothing (§2).

    Every default means "off", so two spellings of one filter are one value before any key is computed (R6).
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
        """Tell whether the include list is a preference and not a restriction."""
        return bool(self.include_domains) and self.include_domains_mode == "prefer"

    @property
    def restricts(self) -> bool:
        """Tell whether hits outside the include list must go (§6.3)."""
        return bool(self.include_domains) and self.include_domains_mode == "restrict"

    @property
    def dated(self) -> bool:
        """Tell whether a start or end date is set."""
        return self.start_date is not None or self.end_date is not None

    def kinds(self) -> tuple[str, ...]:
        """Name the kinds of filter in use, never their values (§8)."""
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
    """Hold one valid request: 1–4 different queries, the number of hits wanted, the filters."""

    queries: tuple[str, ...]
    k: int = 8
    rerank: bool = True
    digest: bool = False
    filter: Filter = Filter()

    @property
    def q_len(self) -> int:
        """Count the code points of all queries (§8)."""
        return sum(map(len, self.queries))


class Shape(NamedTuple):
    """Name the fields of a vendor's rows; "" stands for one that its rows do not have."""

    text: str = ""
    texts: str = ""  # a list of paragraphs
    score: str = ""
    date: str = ""


class RawHit(NamedTuple):
    """Hold a usable hit: what is compared, and the row that the vendor sent.

    Most hits never reach an answer, so title, texts and date are looked up only when one does (`build_hits`); they are
    what the vendor sent, of whatever type. A named tuple because a search makes up to hundreds: a third of a frozen
    dataclass' cost to make.
    """

    url: str  # the vendor's own string, byte for byte
    key: str  # canonical form, for comparing only (contract §7)
    host: str  # as a browser reads it; "" when it cannot be encoded
    score: float  # the vendor's own, finite
    row: Mapping[str, Any]
    shape: Shape

    @property
    def title(self) -> Any:
        """Look the title up."""
        return self.row.get("title")

    @property
    def texts(self) -> Any:
        """Look the snippet's paragraphs up, a list or a tuple."""
        return (self.row.get(self.shape.text),) if self.shape.text else self.row.get(self.shape.texts)

    @property
    def published_date(self) -> Any:
        """Look the date up."""
        return self.row.get(self.shape.date) if self.shape.date else None


class Hit(NamedTuple):
    """Hold a hit as it is shown."""

    url: str
    title: str
    snippet: str
    source: str
    score: float
    published_date: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Give the hit in v1's form; an unknown date has no key (§3)."""
        shown = self._asdict()
        if not self.published_date:
            del shown["published_date"]
        return shown


@dataclass(frozen=True, slots=True)
class SourceOut:
    """Hold what one source gave for one query (§3.1).

    hits: ranked, after the source's own min_score. found: usable hits before it.
    warn: set when the source failed; its hits are then discarded.
    notes: what the source could not do; its hits are kept.
    credits: what a paid call cost. asked: False when the source chose not to be asked (contract §5).
    """

    hits: tuple[RawHit, ...] = ()
    warn: str = ""
    notes: tuple[str, ...] = ()
    credits: int = 1
    found: int = 0
    asked: bool = True


class Sizes(NamedTuple):
    """Count hits: usable ones of all sources and queries, different ones after filters, returned ones."""

    hits: int
    unique: int
    results: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hold an answer.

    results: the hits as one JSON array in v1's form, encoded once and spliced into every answer:
    a cached answer costs its bytes and little more.
    warnings: failures, then notes. skips: sources that were not asked, and why.
    """

    results: bytes
    sizes: Sizes
    sources_ok: tuple[str, ...] = ()
    sources_failed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    skips: tuple[str, ...] = ()
    rerank_ms: int = 0

    def hits(self) -> list[dict[str, Any]]:
        """Decode the hits."""
        decoded: list[dict[str, Any]] = json.loads(self.results)
        return decoded


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def encode(value: object) -> bytes:
    """Encode a value as strict JSON in UTF-8."""
    return _encoder.encode(value).encode()


def unique(values: tuple[str, ...]) -> tuple[str, ...]:
    """Drop repeats, keeping first-seen order."""
    return tuple(dict.fromkeys(values))


def not_applied(name: str, fields: Mapping[str, bool]) -> tuple[str, ...]:
    """Note each set filter that a source cannot apply: `<name>: <field> not applied` (§5)."""
    return tuple([f"{name}: {field} not applied" for field, is_set in fields.items() if is_set])
