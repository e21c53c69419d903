"""What a request would do, worked out without doing it (contract: Plan): records, and pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sift.search.model import CAPPED, SearchRequest, SearchResult, Skip, unique
from sift.search.protocols import Source
from sift.search.query import normalise_query

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


def plan_all(
    sources: Sequence[Source], request: SearchRequest, skips: Mapping[str, Skip], left: Mapping[str, int | None]
) -> Plan:
    """Return what would become of a request that is not cached.

    skips: the sources that would not be asked. left: the credits of those with a cap.
    """
    planned = [
        plan_source(source, request, Outlook(skips.get(source.name), left.get(source.name))) for source in sources
    ]
    waits = [
        [source.timeout for source, (_, asks) in zip(sources, planned, strict=True) if asks[number]]
        for number in range(len(request.queries))
    ]
    return Plan(False, tuple(each for each, _ in planned), sum(max(wait, default=0) for wait in waits), left)


def plan_cached(
    sources: Sequence[Source],
    request: SearchRequest,
    found: SearchResult,
    skips: Mapping[str, Skip],
    left: Mapping[str, int | None],
) -> Plan:
    """Return what would become of a cached request: no call is made. Its notes are those of the answer."""
    planned = tuple(
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
    return Plan(True, planned, 0, left)
