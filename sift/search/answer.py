"""Building the answer from the outcomes of all calls: merging, filtering, the summary. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sift.search.domains import host_filter
from sift.search.merge import SourceList, build_hits, fuse_queries, merge
from sift.search.model import (
    Outcome,
    Round,
    SearchRequest,
    SearchResult,
    Sizes,
    Skip,
    SourceOut,
    Unavailable,
    encode,
    unique,
)

if TYPE_CHECKING:
    from sift.search.explanation import Explanation


def compose(
    request: SearchRequest, rounds: Sequence[Round], reranked: Mapping[str, bool], skips: Mapping[str, Skip] = {}
) -> SearchResult | None:
    """Return the result of a request, given one round per query; None if no source answered in any of them.

    reranked: for every enabled source, in source order, whether its list takes part in the RRF sum.
    skips: the sources excluded before the first call.
    """
    outs = [out for _, out in _answered(rounds)]
    if not any(out.asked and not out.warn for out in outs):
        return None
    may_stay = host_filter(request.filter)
    lists, rankings = [], []
    for each in rounds:
        source_lists = _lists(each, reranked)
        ranking = merge(source_lists, rerank=request.rerank)
        if may_stay:  # R3: for every source, on the host a browser would connect to
            addresses = [address for source in source_lists for address in source.hits.addresses]
            dropped = {address.key for address in addresses if not may_stay(address.host)}
            if dropped:
                ranking = {key: score for key, score in ranking.items() if key not in dropped}
        lists.append(source_lists)
        rankings.append(ranking)
    fused = fuse_queries(rankings)
    hits = build_hits(fused, lists, request.k, request.max_snippet)  # R4: cut only here
    shown = [hit.as_dict() for hit in hits]
    explanation: Explanation | None = None
    if request.explain:
        from sift.search.explain import explain, record_calls  # a worker that explains nothing spares the memory

        calls = record_calls(rounds, skips, tuple(reranked))
        reasons, explanation = explain(request, rounds, lists, rankings, fused, calls)
        for hit, why in zip(shown, reasons, strict=True):
            hit.update(why)
    summary = _summary(rounds, tuple(reranked))
    return SearchResult(
        results=encode(shown),
        sizes=Sizes(sum(out.found for out in outs if not out.warn), len(fused), len(hits)),
        sources_ok=summary.ok,
        sources_failed=summary.failed,
        warnings=summary.warnings,
        skips=summary.skips,
        calls=summary.calls,
        explanation=explanation,
    )


def unavailable(rounds: Sequence[Round], skips: Mapping[str, Skip], names: Sequence[str]) -> Unavailable:
    """Return the failure of a request that no source answered.

    skips: the sources excluded before the first call.
    """
    summary = _summary(rounds, names)
    skipped = [*skips.values(), *(out for _, out in _outcomes(rounds) if isinstance(out, Skip))]
    waits = [skip.wait for skip in skipped if skip.wait is not None]
    return Unavailable(
        warnings=unique(summary.warnings + skip_warnings(skips) + summary.skips),
        sources_failed=summary.failed,
        # A source that failed may answer the very next request.
        retry_after=math.ceil(min(waits)) if waits and not summary.failed else None,
        calls=summary.calls,
    )


def may_be_cached(result: SearchResult, rounds: Sequence[Round]) -> bool:
    """Whether an answer may be served again: no source failed (R1), and none was skipped part-way (R5)."""
    return not result.sources_failed and not any(isinstance(out, Skip) for _, out in _outcomes(rounds))


def skip_warnings(skips: Mapping[str, Skip]) -> tuple[str, ...]:
    """Return the warnings for sources that were not asked."""
    return tuple([f"{name}: {skip.reason}" for name, skip in skips.items()])


class _Summary(NamedTuple):
    ok: tuple[str, ...]
    failed: tuple[str, ...]
    warnings: tuple[str, ...]
    skips: tuple[str, ...]
    calls: tuple[tuple[str, int], ...]


def _summary(rounds: Sequence[Round], names: Sequence[str]) -> _Summary:
    """Summarise which sources answered and which failed; warnings are failures, then notes, without repeats."""
    answered = list(_answered(rounds))
    failed = {name for name, out in answered if out.warn}
    asked = [name for name, out in answered if out.asked]
    failures = tuple(out.warn for _, out in answered if out.warn)
    notes = tuple(note for _, out in answered for note in out.notes)
    return _Summary(
        ok=tuple(name for name in names if name in asked and name not in failed),
        failed=tuple(name for name in names if name in failed),
        warnings=unique(failures + notes),
        skips=unique(tuple(f"{name}: {out.reason}" for name, out in _outcomes(rounds) if isinstance(out, Skip))),
        calls=tuple([(name, count) for name in names if (count := asked.count(name))]),
    )


def _lists(outs: Round, reranked: Mapping[str, bool]) -> list[SourceList]:
    """Return the lists of the sources that answered, in source order (R1: a failed one's hits are discarded)."""
    return [
        SourceList(name, out.hits, in_sum)
        for name, in_sum in reranked.items()
        if isinstance(out := outs.get(name), SourceOut) and not out.warn
    ]


def _outcomes(rounds: Sequence[Round]) -> Iterator[tuple[str, Outcome]]:
    return ((name, out) for each in rounds for name, out in each.items())


def _answered(rounds: Sequence[Round]) -> Iterator[tuple[str, SourceOut]]:
    return ((name, out) for name, out in _outcomes(rounds) if isinstance(out, SourceOut))
