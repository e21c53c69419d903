"""Merging ranked lists into one (R4; contract: Merge)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.search.merge import MAX_TEXT, SourceList, best_score, build_hits, fuse, fuse_queries, merge
from sift.search.model import Hit, RawHit
from sift.sources import tavily
from tests.fakes import raw, raw_hits
from tests.search.moderate import moderate

A, B, C, D = (f"https://docs.example/{name}" for name in "abcd")


def listed(source: str, *hits: RawHit | str, reranked: bool = True) -> SourceList:
    """Return one source's list from hits or bare URLs."""
    return SourceList(source, raw_hits(*hits), reranked)


def keys(*urls: str) -> list[str]:
    """Return the keys of URLs."""
    return [raw(url).address.key for url in urls]


def built(*lists: SourceList, rerank: bool = True, k: int = 50) -> tuple[Hit, ...]:
    """Return the hits of one query's lists."""
    return build_hits(merge(lists, rerank=rerank), [lists], k)


# --- fuse


def test_fuse_first_place_in_one_list_is_one_sixty_first() -> None:
    """contract: Merge: ranks count from 1, and a list that does not hold a key adds nothing."""
    fused = fuse([["x", "a", "y"], ["b", "c", "y"]])
    assert list(fused) == ["y", "x", "b", "a", "c"]
    assert fused == {"y": 2 / 63, "x": 1 / 61, "b": 1 / 61, "a": 1 / 62, "c": 1 / 62}


def test_fuse_repeat_in_one_list_counts_once_at_its_best_rank() -> None:
    """contract: Merge: a page at ranks 1 and 2 of one source counts at 1, and the next page has rank 2."""
    assert fuse([["x", "x", "y", "x"]]) == {"x": 1 / 61, "y": 1 / 62}


def test_fuse_ties_go_by_list_then_rank() -> None:
    """contract: Merge: equal sums keep the order of the lists, and within a list that of its ranks."""
    for _ in range(20):
        assert list(fuse([["a", "b"], ["c", "d"]])) == ["a", "c", "b", "d"]
    assert list(fuse([["a", "b"], ["b", "a"]])) == ["a", "b"]
    assert list(fuse([["b", "a"], ["a", "b"]])) == ["b", "a"]
    assert list(fuse([["x", "a"], ["y", "b"], ["a", "z"], ["b", "w"]]))[:2] == ["a", "b"]


def test_fuse_sums_are_exact_whatever_the_order_of_adding() -> None:
    """contract: Merge: ties are decided on exact sums; running sums would order this pair by rounding."""
    places = {"p": {0: 1, 1: 7, 3: 2}, "q": {0: 2, 2: 7, 3: 1}}  # list: rank
    running = {key: reduce(add, [1 / (60 + rank) for rank in ranks.values()]) for key, ranks in places.items()}
    assert running["p"] < running["q"]  # else this case would prove nothing
    lists = [[f"{number}-{rank}" for rank in range(1, 9)] for number in range(4)]
    for key, ranks in places.items():
        for number, rank in ranks.items():
            lists[number][rank - 1] = key
    fused = fuse(lists)
    assert fused["p"] == fused["q"]
    assert list(fused)[:2] == ["p", "q"]


LISTS = st.lists(st.lists(st.integers(0, 12).map(str), max_size=12), max_size=5)


@moderate
@given(LISTS)
def test_fuse_equals_the_plain_definition(lists: list[list[str]]) -> None:
    """R4: exactly the keys of the lists, best first, Σ 1/(60 + rank), ties by list, then rank."""
    first_seen = list(dict.fromkeys(key for keys in lists for key in keys))
    exact = {key: Fraction(0) for key in first_seen}
    for ranked in lists:
        for rank, key in enumerate(dict.fromkeys(ranked), 1):
            exact[key] += Fraction(1, 60 + rank)
    fused = fuse(lists)
    assert fused.keys() == exact.keys()
    assert fused == {key: pytest.approx(float(score), rel=1e-15) for key, score in exact.items()}
    assert list(fused) == sorted(first_seen, key=lambda key: (-fused[key], first_seen.index(key)))
    assert list(fused.values()) == sorted(fused.values(), reverse=True)


@moderate
@given(st.lists(st.text(max_size=3), unique=True))
def test_fuse_of_one_list_keeps_its_order(ranked: list[str]) -> None:
    """R4: one list is the identity."""
    assert list(fuse([ranked])) == ranked
    ranking = {key: float(score) for score, key in enumerate(ranked)}
    assert fuse_queries([ranking]) == ranking
    assert list(fuse_queries([ranking])) == ranked


@pytest.fixture(scope="module")
def ranx() -> Iterator[Any]:
    """The ranx library, interpreted: compiling it takes longer than all these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_DISABLE_JIT", "1")
        yield pytest.importorskip("ranx")  # a large one, which the `unit` extra leaves out


@pytest.mark.filterwarnings("ignore:unsafe cast from uint64 to int64")  # numba's, about ranx' own code
def test_fuse_equals_an_independent_implementation(ranx: Any) -> None:
    """R4: ranx gives the same scores and, up to ties, the same order."""
    dice = random.Random(20260929)
    pages = [f"d{number}" for number in range(30)]
    searches = [[dice.sample(pages, dice.randint(1, 20)) for _ in range(4)] for _ in range(100)]
    runs = [
        ranx.Run(
            {f"q{at}": {page: 99.0 - rank for rank, page in enumerate(lists[n])} for at, lists in enumerate(searches)}
        )
        for n in range(4)
    ]
    theirs = ranx.fuse(runs, norm=None, method="rrf", params={"k": 60}).to_dict()
    for at, lists in enumerate(searches):
        ours = fuse(lists)
        assert ours == pytest.approx(theirs[f"q{at}"], rel=1e-12)
        ranked = list(ours.values())
        assert ranked == sorted(ranked, reverse=True)


# --- merge


def test_merge_page_of_several_sources_adds_their_shares() -> None:
    """contract: Canonical URLs: http and https forms are one hit, and both ranks count."""
    merged = merge([listed("s1", A, B.replace("https", "http")), listed("s2", C, B)], rerank=True)
    assert merged == dict(zip(keys(B, A, C), (2 / 62, 1 / 61, 1 / 61), strict=True))
    assert list(merged) == keys(B, A, C)


def test_merge_rerank_false_chains_the_lists_with_native_scores() -> None:
    """contract: Merge: lists in source order, without repeats; the first list's score stays."""
    lists = [
        listed("s1", raw(A, score=0.1), raw(B, score=7.5), raw(A, score=9)),
        listed("s2", raw(B, score=0.9), raw(C, score=0.0)),
    ]
    merged = merge(lists, rerank=False)
    assert list(merged.items()) == list(zip(keys(A, B, C), (0.1, 7.5, 0.0), strict=True))


def test_merge_list_outside_the_sum_keeps_native_scores_and_takes_the_higher_of_two() -> None:
    """contract: Merge: sorted by score; a page in both kinds of list takes the higher one."""
    lists = [
        listed("s1", A, B, C),
        listed("s2", raw(D, score=0.9), raw(B, score=0.001), raw(C, score=0.4), raw(D, score=0.95), reranked=False),
    ]
    merged = merge(lists, rerank=True)
    assert list(merged.items()) == list(zip(keys(D, C, A, B), (0.9, 0.4, 1 / 61, 1 / 62), strict=True))


def test_merge_list_outside_the_sum_adds_no_share() -> None:
    """contract: Merge: its ranks stay out of the others' sums, even where its score is 0 or below."""
    lists = [listed("s1", A), listed("s2", raw(A, score=0.0), raw(B, score=-1.0), raw(C, score=-1.0), reranked=False)]
    assert list(merge(lists, rerank=True).items()) == list(zip(keys(A, B, C), (1 / 61, -1.0, -1.0), strict=True))


def test_merge_list_outside_the_sum_ties_go_by_source_then_rank() -> None:
    """contract: Merge: equal scores keep source order, also where the native list is the first source."""
    first = [listed("s1", raw(C, score=1 / 61), reranked=False), listed("s2", A, B)]
    assert list(merge(first, rerank=True)) == keys(C, A, B)
    last = [listed("s1", A, B), listed("s2", raw(C, score=1 / 61), reranked=False)]
    assert list(merge(last, rerank=True)) == keys(A, C, B)


def test_merge_rerank_false_ignores_which_lists_are_reranked() -> None:
    """contract: Merge: `rerank: false` is native order for all."""
    lists = [listed("s1", raw(A, score=0.1)), listed("s2", raw(B, score=0.9), reranked=False)]
    assert list(merge(lists, rerank=False).items()) == list(zip(keys(A, B), (0.1, 0.9), strict=True))


@pytest.mark.parametrize("rerank", [True, False])
def test_merge_of_nothing_is_nothing(rerank: bool) -> None:
    """contract: Search answer: zero hits are an answer."""
    assert merge([], rerank=rerank) == {}
    assert merge([listed("s1"), listed("s2")], rerank=rerank) == {}


# --- min_score


def _tavily(*scores: object) -> dict[str, Any]:
    return {"results": [{"url": f"https://docs.example/{n}", "score": score} for n, score in enumerate(scores)]}


def test_min_score_drops_before_ranks_are_counted() -> None:
    """R2: the first hit kept has rank 1; RRF scores are never compared with `min_score`."""
    answer = tavily.parse(_tavily(0.4, 0.49, 0.5, 0.9), min_score=0.5)
    merged = merge([SourceList("s3", answer.hits), listed("s1", "https://other.test/low")], rerank=True)
    assert merged == {"docs.example/2": 1 / 61, "other.test/low": 1 / 61, "docs.example/3": 1 / 62}
    assert max(merged.values()) < 0.5
    assert answer.found == 4


def test_min_score_off_keeps_every_hit() -> None:
    """R2: omitted or 0 is off."""
    assert len(tavily.parse(_tavily(0.0, 0.4, None)).hits) == 3


@pytest.mark.parametrize(
    "score", [float("nan"), float("inf"), float("-inf"), None, "0.9", True, [0.9], 10**400], ids=repr
)
def test_score_that_is_no_number_is_kept_when_off_and_dropped_when_on(score: object) -> None:
    """contract: Tavily: what is not a finite number is no score, so NaN never reaches an answer."""
    off, on = tavily.parse(_tavily(score, 0.9)), tavily.parse(_tavily(score, 0.9), min_score=0.5)
    assert [hit.content.score for hit in off.hits] == [0.0, 0.9]
    assert [hit.url for hit in on.hits] == ["https://docs.example/1"]


# --- across queries


def test_queries_fused_let_the_second_one_in() -> None:
    """R4: the only hit of the second query appears though the first alone would fill k."""
    first = merge([listed("s1", *(f"https://docs.example/{n}" for n in range(5)))], rerank=True)
    second = merge([listed("s1", "https://other.test/only")], rerank=True)
    assert list(fuse_queries([first, second]))[:3] == ["docs.example/0", "other.test/only", "docs.example/1"]


def test_queries_fused_add_the_shares_of_a_page_that_several_found() -> None:
    """R4: keys are fused, not URLs: the shares of one page under two spellings add up."""
    first = merge([listed("s1", A, "http://docs.example/x?utm_source=1")], rerank=True)
    second = merge([listed("s1", B, "https://docs.example/x")], rerank=True)
    assert next(iter(fuse_queries([first, second]).items())) == ("docs.example/x", 2 / 62)


def test_queries_fused_count_positions_and_not_scores() -> None:
    """R4: each query's list is ranked by place, also with native scores."""
    assert fuse_queries([{"a": 900.0, "b": 0.1}, {"b": 5.0}]) == {"b": 1 / 61 + 1 / 62, "a": 1 / 61}


# --- build_hits


def test_build_first_source_keeps_attribution_and_the_longer_snippet_wins() -> None:
    """R4: URL, title and source of the first source, the longest text, the first known date."""
    lists = (
        listed("s1", raw(A, "", title="First")),
        listed("s2", raw(A + "/", "A long snippet.", title="Second", published_date="2026-09-01")),
        listed("s3", raw(A, "A longer snippet.", title="Third", published_date="2026-09-02")),
    )
    (hit,) = built(*lists)
    assert hit._replace(score=0.0) == Hit(A, "First", "A longer snippet.", "s1", 0.0, "2026-09-01")
    assert hit.score == pytest.approx(3 / 61)


def test_build_url_is_the_vendors_own_byte_for_byte() -> None:
    """contract: Merge, Canonical URLs: URLs are normalised for comparison, not for display."""
    for url in ("https://docs.example/manual/", "HTTPS://Docs.Example:443/it%27s?utm_source=1#a"):
        assert built(listed("s1", url))[0].url == url


def test_build_snippets_of_equal_length_the_earlier_stays() -> None:
    """contract: Merge: only a longer snippet replaces the text."""
    assert built(listed("s1", raw(A, "one")), listed("s2", raw(A, "two")))[0].snippet == "one"


def test_build_snippet_length_is_counted_once_plain() -> None:
    """contract: Merge: markup does not make a snippet longer."""
    lists = (listed("s1", raw(A, "long text")), listed("s2", raw(A, "<b>s</b>&nbsp;&nbsp;&nbsp;&nbsp;hort")))
    assert built(*lists)[0].snippet == "long text"


def test_build_paragraphs_are_joined_and_empty_ones_go() -> None:
    """contract: Texts: paragraphs are joined by a blank line, each folded by itself."""
    hit = raw(A)
    hit = hit._replace(row={**hit.row, "texts": ["one\n two", " ", "<p></p>", "three"]})
    assert built(listed("s1", hit))[0].snippet == "one two\n\nthree"


def test_build_title_falls_back_to_the_host() -> None:
    """contract: Texts: a missing title is the host; if no host can be read, the text in its place."""
    assert built(listed("s1", raw("https://Docs.Example:8443/x", title="<b> </b>")))[0].title == "docs.example"
    for rest in ("/x", "?token=1", ":8080/x", "#/x"):  # no browser would go to this host
        assert (
            built(listed("s1", raw(f"https://user:pass@a..docs.example{rest}", title="")))[0].title == "a..docs.example"
        )


@pytest.mark.parametrize("title", ["\u200b", "\u3164", "\u202e \x1b", "<b></b>"])
def test_build_title_is_invisible_it_falls_back_to_the_host(title: str) -> None:
    """contract: Texts: a title of nothing but unfit characters is none."""
    assert built(listed("s1", raw("https://docs.example/x", title=title)))[0].title == "docs.example"


def test_build_date_is_tidied_and_one_without_anything_fit_is_passed_over() -> None:
    """contract: Texts: a date holds no unfit character, and the first that then is one wins."""
    copies = [raw(A, published_date=date) for date in ("", "\u202e", "\x1b2026-\u200b09-01", "2026-09-02")]
    assert built(*(listed(f"s{n}", copy) for n, copy in enumerate(copies)))[0].published_date == "2026-09-01"


def test_build_snippet_is_cut_behind_a_word_when_that_is_asked_for() -> None:
    """contract: Search request: `max_snippet` counts the plain text that won, `…` included; 0 is all of it."""
    lists = [listed("s1", raw(A, "<b>one</b> two three")), listed("s2", raw(A, "one"))]
    for limit, snippet in ((0, "one two three"), (13, "one two three"), (12, "one two…"), (1, "…")):
        assert build_hits(merge(lists, rerank=True), [lists], 8, limit)[0].snippet == snippet


def paragraphs(*texts: str) -> RawHit:
    """Return a hit of several paragraphs."""
    hit = raw(A)
    return hit._replace(row={**hit.row, "texts": texts})


def test_build_texts_are_longer_than_is_read_the_rest_is_left() -> None:
    """contract: Texts: so much raw text is cleaned for an answer, and the shorter snippets are not cut for it."""
    long = "x" * MAX_TEXT
    assert built(listed("s1", raw(A, long + "y")))[0].snippet == long
    many = built(*(listed("s1", raw(A, long), raw(B, long), raw(C, "short")),))
    assert [len(hit.snippet) for hit in many] == [(MAX_TEXT - 5) // 2] * 2 + [5]
    (hit,) = built(listed("s1", paragraphs("x" * (MAX_TEXT - 3), "one", "two")))
    assert hit.snippet == "x" * (MAX_TEXT - 3) + "\n\no"
    assert built(listed("s1", raw(A, title="x" * 3000)))[0].title == "x" * 2000


def test_build_copies_are_longer_than_is_read_together_no_more_are_cleaned() -> None:
    """contract: Texts: the limit holds for all copies of a page; those that come to nothing use it up too."""
    blanks = " " * (MAX_TEXT - 4)
    assert built(listed("s1", raw(A, blanks)), listed("s2", raw(A, "text")))[0].snippet == "text"
    assert built(listed("s1", raw(A, blanks + "    ")), listed("s2", raw(A, "text")))[0].snippet == ""


def test_build_title_and_url_come_from_the_first_query_that_has_the_hit() -> None:
    """contract: Merge: across queries the first query wins, then source order."""
    rounds = [
        [listed("s1", B), listed("s2", raw(A, title="q1 s2"))],
        [listed("s1", raw(A, "much longer text", title="q2 s1", published_date="d"))],
    ]
    ranking = fuse_queries([merge(lists, rerank=True) for lists in rounds])
    hits = {hit.url: hit for hit in build_hits(ranking, rounds, 8)}
    assert hits[A][1:4] == ("q1 s2", "much longer text", "s2")
    assert hits[A].published_date == "d"


def test_build_cuts_at_k_and_not_before() -> None:
    """R4: truncation is the last step."""
    lists = (listed("s1", A, B, C),)
    assert [hit.url for hit in built(*lists, k=2)] == [A, B]
    assert len(built(*lists, k=50)) == 3


def test_build_ranking_without_a_hit_leaves_it_out() -> None:
    """R3: a hit that the post-filter removed is not built."""
    lists = [listed("s1", A, B)]
    assert [hit.url for hit in build_hits({raw(B).address.key: 0.5}, [lists], 8)] == [B]


PAGES = st.integers(0, 9).map(lambda number: f"https://docs.example/{number}")
TEXTS = st.sampled_from(["", "a", "bb", "<b>bb</b>", "ccc", "&amp;&amp;", " c c ", "dddd\u202e"])
HITS = st.builds(
    lambda url, text, score, date: raw(url, text, score=score, published_date=date),
    PAGES,
    TEXTS,
    st.floats(-5, 5),
    st.sampled_from(["", "", "d1", "d2"]),
)
ROUND = st.lists(st.tuples(st.lists(HITS, max_size=8), st.booleans()), min_size=1, max_size=3).map(
    lambda given: [SourceList(f"s{n}", raw_hits(*hits), reranked) for n, (hits, reranked) in enumerate(given)]
)


@moderate
@given(st.lists(ROUND, min_size=1, max_size=4), st.booleans(), st.integers(1, 12))
def test_hits_of_any_lists_are_the_pages_found_once_each(rounds: list[list[SourceList]], rerank: bool, k: int) -> None:
    """R4: no page is invented, none is lost below k, the best come first, with the best text and date known."""
    rankings = [merge(lists, rerank=rerank) for lists in rounds]
    for lists, ranking in zip(rounds, rankings, strict=True):
        assert ranking.keys() == {hit.address.key for each in lists for hit in each.hits}
    fused = fuse_queries(rankings)
    hits = build_hits(fused, rounds, k)
    copies: dict[str, list[tuple[str, RawHit]]] = {}
    for each in (each for lists in rounds for each in lists):
        for hit in each.hits:
            copies.setdefault(hit.url, []).append((each.source, hit))
    assert len(hits) == min(k, len(copies))
    assert [hit.score for hit in hits] == list(fused.values())[:k]
    for shown in hits:
        same = copies[shown.url]
        assert shown.source == same[0][0]
        texts = [next(iter(_shown(copy.content.texts)), "") for _, copy in same]
        assert shown.snippet == max(texts, key=len)
        assert shown.published_date == next((date for _, copy in same if (date := copy.content.published_date)), "")
    assert build_hits(fused, rounds, k) == hits


def _shown(texts: Sequence[str]) -> list[str]:
    cleaned = {"<b>bb</b>": "bb", "&amp;&amp;": "&&", " c c ": "c c", "dddd\u202e": "dddd"}
    return [cleaned.get(text, text) for text in texts]


@pytest.mark.parametrize("lists", [0, 1, 2, 3, 7])
def test_best_score_is_that_of_a_key_which_is_first_everywhere(lists: int) -> None:
    """contract: Tavily door: exactly, so that its share is 1 and never more."""
    assert best_score(lists) == fuse([["a", "b"]] * lists).get("a", 0)
