"""Merging ranked lists into one (R4; contract: Merge): pure functions over canonical keys.

Ranks are fused on keys alone, and only the hits that are returned get built.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from sift.search.model import Content, Hit, RawHits
from sift.search.text import cut, plain, tidy
from sift.search.urls import raw_host

RRF_K = 60
MAX_TEXT = 512 * 1024
"""Raw characters of all snippets that are cleaned for one answer. Vendors send a tenth of it; megabytes made to be slow
to clean would otherwise hold up the answer past every deadline."""
MAX_TITLE = 2000

Ranking = dict[str, float]
"""Scores by key, best first."""
_Copy = tuple[str, RawHits, int, Content, int]
"""A page in one list: source, list, place, content, and the characters of its snippet as sent."""


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


def best_score(lists: int) -> float:
    """Return the highest sum that so many lists allow: that of a key which is first in all of them."""
    return math.fsum([1 / (RRF_K + 1)] * lists)


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


def build_hits(
    ranking: Ranking, rounds: Sequence[Sequence[SourceList]], k: int, max_snippet: int = 0
) -> tuple[Hit, ...]:
    """Return the first k hits of a ranking. rounds: all lists, by query and in source order.

    The first source gives attribution, title and URL; the longest snippet (of equals the earlier) and the first known
    date win. max_snippet: characters of a snippet; 0 for all.
    """
    found: dict[str, list[_Copy]] = {key: [] for key in list(ranking)[:k]}
    copies_of = found.get
    for lists in rounds:
        for source, hits, _ in lists:
            for place, address in enumerate(hits.addresses):
                if (copies := copies_of(address.key)) is not None:
                    content = hits.read(hits.rows[place])
                    copies.append((source, hits, place, content, _length(content.texts)))
    room = _fair_share([sum([length for *_, length in copies]) for copies in found.values()], MAX_TEXT)
    return tuple(_build(copies, ranking[key], room, max_snippet) for key, copies in found.items())


def _build(copies: list[_Copy], score: float, room: int, max_snippet: int) -> Hit:
    source, hits, place, content, _ = copies[0]
    first = hits[place]
    snippet = _longest(copies, room)
    dates = (tidy(copy.published_date) for _, _, _, copy, _ in copies if copy.published_date)
    return Hit(
        url=first.url,
        title=plain(content.title[:MAX_TITLE]) or first.address.host or tidy(raw_host(first.address.key)),
        snippet=cut(snippet, max_snippet) if max_snippet else snippet,
        source=source,
        score=score,
        published_date=next(filter(None, dates), ""),
    )


def _longest(copies: list[_Copy], room: int) -> str:
    """Return the longest snippet as plain text, the first of equals. room: characters that are read as sent.

    Plain text is never longer than raw text: candidates are cleaned longest first, until none left can win.
    """
    best, at = "", 0
    raw = [copy[4] for copy in copies]
    for index in sorted(range(len(raw)), key=raw.__getitem__, reverse=True):
        if room <= 0 or raw[index] < len(best) or (raw[index] == len(best) and index >= at):
            break
        texts = copies[index][3].texts
        text = "\n\n".join(filter(None, map(plain, texts if raw[index] <= room else _within(texts, room))))
        room -= raw[index]
        if len(text) > len(best) or (len(text) == len(best) and index < at):
            best, at = text, index
    return best


def _length(texts: tuple[str, ...]) -> int:
    """Return the length of paragraphs once joined; less than 0 without any."""
    return sum(map(len, texts), 2 * len(texts) - 2)


def _within(texts: tuple[str, ...], room: int) -> Iterator[str]:
    """Yield paragraphs until `room` characters are used up."""
    for text in texts:
        if room <= 0:
            return
        yield text[:room]
        room -= len(text) + 2


def _fair_share(lengths: Sequence[int], room: int) -> int:
    """Return the most that each may have for all to fit into `room`; what the shorter ones leave is shared."""
    share = room
    for taken, length in enumerate(sorted(lengths)):
        share = room // (len(lengths) - taken)
        if length > share:
            break
        room -= length
    return share


def _keys(source_list: SourceList) -> list[str]:
    return [address.key for address in source_list.hits.addresses]


def _sorted(scores: Ranking) -> Ranking:
    return dict(sorted(scores.items(), key=itemgetter(1), reverse=True))  # stable, reversed too
