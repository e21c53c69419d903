"""Why each hit is in an answer, and where every other row went (contract: Explain): pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sift.search.explanation import CallRecord, Dropped, Explanation
from sift.search.merge import RRF_K, Ranking, SourceList
from sift.search.model import Outcome, Round, SearchRequest, Skip, SourceOut


class _Entry(NamedTuple):
    """A list that holds a page. share: what it adds to the score if it counts. in_sum: whether it adds by its rank."""

    query: int
    source: str
    rank: int
    share: float
    in_sum: bool


def explain(
    request: SearchRequest,
    rounds: Sequence[Round],
    lists: Sequence[Sequence[SourceList]],
    rankings: Sequence[Ranking],
    fused: Ranking,
    calls: Iterable[CallRecord],
) -> tuple[list[dict[str, Any]], Explanation]:
    """Return what explains each hit that is shown, and what explains the rest of the answer.

    lists: of the sources that answered, by query and in source order. rankings: of each query, after the domain filter.
    fused: of all queries.
    """
    keys = list(fused)[: request.k]
    dropped = count_dropped(rounds, lists, fused, len(keys))
    return explain_hits(keys, lists, rankings, rerank=request.rerank), Explanation(tuple(calls), dropped)


def explain_hits(
    keys: Sequence[str], rounds: Sequence[Sequence[SourceList]], rankings: Sequence[Ranking], *, rerank: bool
) -> list[dict[str, Any]]:
    """Return `why` and `copies` of each page that is shown.

    keys: the pages. rounds: all lists, by query and in source order. rankings: of each query, after the domain filter.
    """
    several = len(rounds) > 1
    found: dict[str, tuple[list[_Entry], dict[str, None]]] = {key: ([], {}) for key in keys}
    for query, lists in enumerate(rounds, 1):
        for each in lists:
            _collect(found, query, each, in_sum=rerank and each.reranked, several=several)
    places = [{key: place for place, key in enumerate(ranking, 1) if key in found} for ranking in rankings]
    return [
        {
            "why": [_placed(entry, places[entry.query - 1][key]) for entry in entries] if several else _shares(entries),
            "copies": list(urls)[1:],  # the first is the one that is shown
        }
        for key, (entries, urls) in found.items()
    ]


def _collect(
    found: Mapping[str, tuple[list[_Entry], dict[str, None]]],
    query: int,
    listed: SourceList,
    *,
    in_sum: bool,
    several: bool,
) -> None:
    """Add one list to what is known of the pages."""
    hits = listed.hits
    keys = [address.key for address in hits.addresses]
    ranks = {key: rank for rank, key in enumerate(dict.fromkeys(keys), 1)}
    for key, (entries, urls) in found.items():
        if rank := ranks.get(key):
            place = keys.index(key)
            own = 0.0 if in_sum or several else hits.read(hits.rows[place]).score
            entries.append(_Entry(query, listed.source, rank, own, in_sum))
            urls[hits[place].url] = None
    if len(ranks) < len(keys):  # there are repeats, which may be spelt otherwise
        for place, key in enumerate(keys):
            if key in found:
                found[key][1][hits[place].url] = None


def _placed(entry: _Entry, place: int) -> dict[str, Any]:
    """Return an entry of one of several queries, which adds by the place in that query's list."""
    return {
        "query": entry.query,
        "source": entry.source,
        "rank": entry.rank,
        "place": place,
        "share": 1 / (RRF_K + place),
    }


def _shares(entries: Sequence[_Entry]) -> list[dict[str, Any]]:
    """Return the entries of a single query's page. Lists outside the sum do not add up: one of them counts, or none."""
    ranked = math.fsum(1 / (RRF_K + entry.rank) for entry in entries if entry.in_sum)
    own = next((entry for entry in entries if not entry.in_sum), None)
    counts = None if own is None or (ranked and ranked >= own.share) else own
    return [
        {"query": entry.query, "source": entry.source, "rank": entry.rank, "share": _share(entry, counts)}
        for entry in entries
    ]


def _share(entry: _Entry, counts: _Entry | None) -> float:
    """Return what a list adds. counts: the list whose own score is the page's; None when the sum over ranks is."""
    if counts is not None:
        return entry.share if entry is counts else 0.0
    return 1 / (RRF_K + entry.rank) if entry.in_sum else 0.0


def count_dropped(
    rounds: Sequence[Round], lists: Sequence[Sequence[SourceList]], fused: Ranking, shown: int
) -> Dropped:
    """Return where the rows went that sources sent and the answer does not show."""
    outs = [out for each in rounds for out in each.values() if isinstance(out, SourceOut) and not out.warn]
    hits = [source.hits for each in lists for source in each]
    pages = {address.key for each in hits for address in each.addresses}
    kept = sum(map(len, hits))
    found = sum(out.found for out in outs)
    return Dropped(
        unusable=sum(out.sent for out in outs) - found,
        repeats=kept - len(pages),
        min_score=found - kept,
        domains=len(pages) - len(fused),
        beyond_k=len(fused) - shown,
    )


def record_calls(rounds: Sequence[Round], skips: Mapping[str, Skip], names: Sequence[str]) -> Iterator[CallRecord]:
    """Yield what each source did for each query. skips: the sources excluded before the first call."""
    for query, each in enumerate(rounds, 1):
        for name in names:
            outcome = skips.get(name) or each.get(name)
            if outcome is not None:
                yield _record(name, query, outcome)


def _record(name: str, query: int, outcome: Outcome) -> CallRecord:
    if isinstance(outcome, Skip):
        return CallRecord(name, query, outcome.reason)
    if not outcome.asked:
        return CallRecord(name, query, _bare(name, outcome.notes[0]))
    seconds, spent = outcome.measured
    ms = round(seconds * 1000)
    if outcome.warn:  # its hits are discarded
        return CallRecord(name, query, _bare(name, outcome.warn), ms, 0, spent)
    return CallRecord(name, query, "ok", ms, outcome.found, spent)


def _bare(name: str, warning: str) -> str:
    return warning.removeprefix(f"{name}: ")
