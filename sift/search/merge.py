"""Merging ranked lists into one (R4; contract: Merge): pure functions over canonical keys.

Ranks are fused on keys alone, and only the hits that are returned get built.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

from sift.search.model import Hit, RawHit, RawHits
from sift.search.text import plain

RRF_K = 60
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can hold half of a surrogate pair, UTF-8 cannot

Ranking = dict[str, float]
"""Scores by key, best first."""


class SourceList(NamedTuple):
    """One source's ranked hits for one query; `reranked` lists take part in the RRF sum."""

    source: str
    hits: RawHits
    reranked: bool = True


def fuse(lists: Sequence[Iterable[str]]) -> Ranking:
    """Return the reciprocal rank fusion of ranked lists: score = Σ 1/(60 + rank), ranks from 1 (contract: Merge).

    A key counts once per list, at its best rank. Ties go by list order, then rank: dicts keep insertion order and
    sorting is stable. Sums are exact (fsum), so the order of adding never decides.
    """
    scores: Ranking = {}
    shares: dict[str, list[float]] = {}  # of the few keys in several lists
    for keys in lists:
        for rank, key in enumerate(dict.fromkeys(keys), RRF_K + 1):
            if key in scores:
                shares.setdefault(key, [scores[key]]).append(1 / rank)
            else:
                scores[key] = 1 / rank
    for key, parts in shares.items():
        scores[key] = math.fsum(parts)
    return _sorted(scores)


def merge(lists: Sequence[SourceList], *, rerank: bool) -> Ranking:
    """Return the ranking of one query from its sources' lists, given in source order.

    rerank=False chains the lists with native scores, the first source winning. A list that is not `reranked` keeps its
    native scores; the whole is then sorted by score, and a key with both kinds takes the higher one.
    """
    if not rerank:
        chained: Ranking = {}
        for source_list in lists:
            for hit in source_list.hits:
                chained.setdefault(hit.address.key, hit.content.score)
        return chained
    fused = fuse([_keys(each) for each in lists if each.reranked])
    if all(each.reranked for each in lists):
        return fused
    native: Ranking = {}
    for each in lists:
        if not each.reranked:
            for hit in each.hits:
                native.setdefault(hit.address.key, hit.content.score)
    in_source_order = dict.fromkeys(key for each in lists for key in _keys(each))
    return _sorted({key: max(fused.get(key, -math.inf), native.get(key, -math.inf)) for key in in_source_order})


def fuse_queries(rankings: Sequence[Ranking]) -> Ranking:
    """Return the fusion of several queries' rankings (R4); that of a single query is returned as it is."""
    return rankings[0] if len(rankings) == 1 else fuse(rankings)


def build_hits(ranking: Ranking, rounds: Sequence[Sequence[SourceList]], k: int) -> tuple[Hit, ...]:
    """Return the first k hits of a ranking. rounds: all lists, by query and in source order.

    The first source gives attribution, title and URL; the longest snippet (of equals the earlier) and the first known
    date win.
    """
    wanted = dict.fromkeys(list(ranking)[:k])
    found: dict[str, list[tuple[str, RawHit]]] = {key: [] for key in wanted}
    copies_of = found.get
    for lists in rounds:
        for source, hits, _ in lists:
            for index, address in enumerate(hits.addresses):
                if (copies := copies_of(address.key)) is not None:
                    copies.append((source, hits[index]))
    return tuple(_build(found[key], ranking[key]) for key in wanted)


def _build(copies: list[tuple[str, RawHit]], score: float) -> Hit:
    source, first = copies[0]
    contents = [hit.content for _, hit in copies]
    dates = (_SURROGATE.sub("", content.published_date) for content in contents)
    return Hit(
        url=first.url,
        title=plain(contents[0].title) or first.address.host or first.address.key.partition("/")[0],
        snippet=_longest([content.texts for content in contents]),
        source=source,
        score=score,
        published_date=next(filter(None, dates), ""),
    )


def _longest(snippets: Sequence[tuple[str, ...]]) -> str:
    """Return the longest snippet as plain text, the first of equals.

    Plain text is never longer than raw text: candidates are cleaned longest first, until none left can win.
    """
    best, at = "", 0
    raw = [sum(map(len, texts)) + 2 * max(0, len(texts) - 1) for texts in snippets]
    for index in sorted(range(len(raw)), key=raw.__getitem__, reverse=True):
        if raw[index] < len(best) or (raw[index] == len(best) and index >= at):
            break
        text = "\n\n".join(filter(None, map(plain, snippets[index])))
        if len(text) > len(best) or (len(text) == len(best) and index < at):
            best, at = text, index
    return best


def _keys(source_list: SourceList) -> list[str]:
    return [address.key for address in source_list.hits.addresses]


def _sorted(scores: Ranking) -> Ranking:
    return dict(sorted(scores.items(), key=itemgetter(1), reverse=True))  # stable, reversed too
