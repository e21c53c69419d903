"""What a request would do, worked out without doing it (contract: Plan): records, and pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sift.search.model import SearchRequest, SearchResult, Skip, unique
from sift.search.protocols import Source
from sift.search.query import normalise_query

CAPPED = "daily cap"
"""Why a source without credits is not asked."""
CACHED = "cached"


class SourcePlan(NamedTuple):
    """What would become of one source.

    asked: True, or why it would not be asked. calls, credits: how many, at most.
    filters: how each filter that is set is applied. notes: those that are known before the call.
    queries: the texts that would be sent, if one of them is cut.
    """

    source: str
    asked: bool | str
    calls: int
    credits: int
    filters: Mapping[str, str]
    notes: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the plan in v1's form, without `queries` where none is cut."""
        shown = self._asdict()
        if not self.queries:
            del shown["queries"]
        return shown


class Plan(NamedTuple):
    """What a request would do. seconds: how long its sources may take. left: credits by source, None if unknown."""

    cached: bool
    sources: tuple[SourcePlan, ...]
    seconds: float
    left: Mapping[str, int | None]


class Outlook(NamedTuple):
    """Whether a source can be asked. skip: why not. left: its credits, None without a cap."""

    skip: Skip | None
    left: int | None


def plan_source(source: Source, request: SearchRequest, outlook: Outlook) -> tuple[SourcePlan, tuple[bool, ...]]:
    """Return what would become of a source, and for which queries it would be asked."""
    filters = source.treats(request.filter)
    if outlook.skip:
        return SourcePlan(source.name, outlook.skip.reason, 0, 0, filters), (False,) * len(request.queries)
    left, is_cut = outlook.left, False
    notes: list[str] = []
    texts: list[str] = []
    asks: list[bool] = []
    for query in map(normalise_query, request.queries):
        prepared = source.prepare(query, request.filter)
        has_credit = left is None or left > len(texts)
        notes += prepared.notes if has_credit else (f"{source.name}: {CAPPED}",)
        asks.append(has_credit and prepared.asked)
        if asks[-1]:
            texts.append(prepared.text)
            is_cut = is_cut or prepared.text != query
    planned = SourcePlan(
        source.name,
        asked=True if texts else notes[0].removeprefix(f"{source.name}: "),
        calls=len(texts),
        credits=0 if left is None else len(texts),
        filters=filters,
        notes=unique(tuple(notes)),
        queries=tuple(texts) if is_cut else (),
    )
    return planned, tuple(asks)


def plan_cached(
    sources: Sequence[Source], request: SearchRequest, found: SearchResult, skips: Mapping[str, Skip]
) -> tuple[SourcePlan, ...]:
    """Return what would become of each source when the answer is cached: nothing. Its notes are those of the answer."""
    return tuple(
        SourcePlan(
            source.name,
            skips[source.name].reason if source.name in skips else CACHED,
            0,
            0,
            source.treats(request.filter),
            tuple(note for note in found.warnings if note.startswith(f"{source.name}: ")),
        )
        for source in sources
    )
