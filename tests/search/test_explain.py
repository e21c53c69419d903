"""Why hits are there, and where the others went (contract: Explain)."""

from __future__ import annotations

import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.errors import SourceError
from sift.flight import Flight
from sift.search.model import Answer, Filter, SearchRequest, SourceOut
from sift.search.urls import read_url
from tests.fakes import (
    PATIENCE,
    FakeCache,
    FakeClock,
    FakeLedger,
    FakeSource,
    Gate,
    Step,
    ask,
    engine_of,
    out,
    page,
    raw,
    raw_hits,
)
from tests.search.moderate import moderate
from tests.waiting import threads_in, wait_for

TIMEOUT = SourceError("timeout", counts=True)


def explained(*sources: FakeSource, queries: tuple[str, ...] = ("q",), **fields: Any) -> Any:
    """Return the explained answer of sources: its hits, and the explanation."""
    answer = ask(engine_of(*sources), *queries, explain=True, **fields)
    return answer.result.hits(), answer.explained


UNASKED = {"total": 1, "sources": 0, "merge": 0}


# --- why


def test_why_names_every_list_with_rank_and_share() -> None:
    """contract: Explain: lists in source order; the rank after repeats; the share of RRF."""
    lists = (out(page(1), page(1), page(2)), out(page(3)), out(page(4), page(2)))
    hits, _ = explained(*(FakeSource(f"s{n}", each) for n, each in enumerate(lists)))
    assert hits[0]["url"] == page(2)
    assert list(hits[0])[-2:] == ["why", "copies"]
    assert hits[0]["why"] == [
        {"query": 1, "source": "s0", "rank": 2, "share": 1 / 62},
        {"query": 1, "source": "s2", "rank": 2, "share": 1 / 62},
    ]


def test_copies_are_the_other_spellings_in_order() -> None:
    """contract: Explain: spellings of any list and query, each once, without the one that is shown."""
    a = FakeSource("a", out("https://docs.example/1", "http://docs.example/1/", "https://docs.example/2"))
    b = FakeSource("b", out("https://docs.example/1?utm_source=x", "http://docs.example/1/"))
    hits, _ = explained(a, b)
    assert [(hit["url"], hit["copies"]) for hit in hits] == [
        ("https://docs.example/1", ["http://docs.example/1/", "https://docs.example/1?utm_source=x"]),
        ("https://docs.example/2", []),
    ]


def test_why_of_several_queries_has_the_place_in_the_query() -> None:
    """contract: Explain: rank in the source's list, place in the query's after the domain filter, one share a query."""
    by_query: dict[str, Step] = {"one": out("https://bad.example/", page(1)), "two": out(page(2), page(1))}
    sources = [FakeSource(name, out(), by_query=by_query) for name in ("a", "b")]
    hits, _ = explained(*sources, queries=("one", "two"), filter=Filter(exclude_domains=("bad.example",)))
    assert hits[0]["why"] == [
        {"query": 1, "source": "a", "rank": 2, "place": 1, "share": 1 / 61},
        {"query": 1, "source": "b", "rank": 2, "place": 1, "share": 1 / 61},
        {"query": 2, "source": "a", "rank": 2, "place": 2, "share": 1 / 62},
        {"query": 2, "source": "b", "rank": 2, "place": 2, "share": 1 / 62},
    ]
    assert hits[0]["score"] == math.fsum([1 / 61, 1 / 62])


@pytest.mark.parametrize(
    ("rerank", "score", "shares"),
    [(False, 0.4, [0.4, 0.0]), (True, 0.9, [0.0, 0.9]), (True, 0.001, [1 / 61, 0.0]), (True, -1.0, [1 / 61, 0.0])],
)
def test_share_of_lists_outside_the_sum_is_that_of_the_one_that_counts(
    rerank: bool, score: float, shares: list[float]
) -> None:
    """contract: Explain: `rerank: false`: the first list's own score; a list outside the sum: the higher of the two."""
    a = FakeSource("a", out(raw(page(1), score=0.4)))
    b = FakeSource("b", out(raw(page(1), score=score)), reranked=False)
    (hit,), _ = explained(a, b, rerank=rerank)
    assert [entry["share"] for entry in hit["why"]] == shares
    assert math.fsum(shares) == hit["score"]


# --- the account


def test_sources_say_what_each_did_for_each_query() -> None:
    """contract: Explain: words without the source's name; sources skipped from the start have an entry too."""
    by_query: dict[str, Step] = {"two": TIMEOUT}
    sources = [
        FakeSource("a", out(page(1), page(2)), by_query=by_query),
        FakeSource("b", SourceOut(asked=False, notes=("b: query too long, not asked",))),
        FakeSource("c", out()),
        FakeSource("d", out(page(1))),
    ]
    ledger = FakeLedger({"c": 0, "d": 5})
    answer = ask(engine_of(*sources, ledger=ledger), "one", "two", explain=True)
    assert answer.explained is not None
    assert [tuple(entry.values()) for entry in answer.explained["sources"]] == [
        ("a", 1, "ok", 0, 2, 0),
        ("b", 1, "query too long, not asked", 0, 0, 0),
        ("c", 1, "daily cap", 0, 0, 0),
        ("d", 1, "ok", 0, 1, 1),
        ("a", 2, "timeout", 0, 0, 0),
        ("b", 2, "query too long, not asked", 0, 0, 0),
        ("c", 2, "daily cap", 0, 0, 0),
        ("d", 2, "ok", 0, 1, 1),
    ]
    assert list(answer.explained["sources"][0]) == ["source", "query", "outcome", "ms", "hits", "credits"]
    assert answer.explained["credits"] == {"spent": 2, "saved": 0, "left": {"c": 0, "d": 3}}


def test_price_is_what_was_booked() -> None:
    """contract: Explain: the price that the vendor named; nothing for a call that was never sent."""
    dear, unsent = FakeSource("dear", out(page(1), credits=3)), SourceError("unreachable", sent=False)
    answer = ask(
        engine_of(dear, FakeSource("gone", unsent), ledger=FakeLedger({"dear": 9, "gone": 9})), "q", explain=True
    )
    assert answer.explained is not None
    assert [entry["credits"] for entry in answer.explained["sources"]] == [3, 0]
    assert answer.explained["credits"] == {"spent": 3, "saved": 0, "left": {"dear": 6, "gone": 9}}


def test_call_that_was_given_up_has_cost_its_credit(gates: list[Gate]) -> None:
    """contract: Explain: a call that runs past its time is a timeout of that time, and its credit is gone."""
    gates.append(gate := Gate(out(page(1))))
    slow = FakeSource("a", gate, timeout=0.05)
    free = FakeSource("b", gate, timeout=0.05)
    sources = (slow, free, FakeSource("c", lambda: (gate.entered.wait(PATIENCE), out(page(2)))[1]))
    answer = ask(engine_of(*sources, ledger=FakeLedger({"a": 5})), "q", explain=True)
    assert answer.explained is not None
    assert [tuple(entry.values()) for entry in answer.explained["sources"]] == [
        ("a", 1, "timeout", 50, 0, 1),
        ("b", 1, "timeout", 50, 0, 0),
        ("c", 1, "ok", 0, 1, 0),
    ]


def test_times_are_those_of_the_calls_the_wait_and_the_whole() -> None:
    """contract: Explain: milliseconds; each call has its own."""
    clock = FakeClock(0.0)

    def slow() -> SourceOut:
        clock.tick(0.25)
        return out(page(1))

    answer = ask(engine_of(FakeSource("a", slow), clock=clock), "one", "two", explain=True)
    assert answer.explained is not None
    assert [entry["ms"] for entry in answer.explained["sources"]] == [250, 250]
    assert answer.explained["ms"] == {"total": 500, "sources": 500, "merge": 0}
    assert answer.result.explanation is not None
    assert answer.result.explanation.as_dict(asked=False, left={}, total_ms=1)["ms"] == UNASKED


def test_cached_answer_keeps_the_reasons_and_says_what_it_saved() -> None:
    """contract: Explain: sources as they were when asked; nothing spent; what is left is what is left now."""
    ledger = FakeLedger({"a": 5})
    engine = engine_of(FakeSource("a", out(page(1), page(1))), ledger=ledger)
    first = ask(engine, "q", explain=True)
    ledger.credits["a"] = 2
    second = ask(engine, "q", explain=True)
    assert (first.cache, second.cache) == ("miss", "hit")
    assert first.result.results == second.result.results
    one, two = first.explained, second.explained
    assert one is not None
    assert two is not None
    assert (one["sources"], one["dropped"]) == (two["sources"], two["dropped"])
    assert two["credits"] == {"spent": 0, "saved": 1, "left": {"a": 2}}
    assert two["ms"] == {"total": 0, "sources": 0, "merge": 0}
    fast = engine.cached(SearchRequest(("q",), explain=True), "fleet")
    assert fast is not None
    assert fast.explained == two


def test_shared_answer_says_what_it_saved(gates: list[Gate]) -> None:
    """contract: Explain: whoever waited for an equal search spent nothing; the rest is as for the one who asked."""
    gates.append(gate := Gate(out(page(1))))
    engine = engine_of(FakeSource("a", gate), ledger=FakeLedger({"a": 5}))
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(ask, engine, "q", explain=True) for _ in range(2)]
        wait_for(lambda: threads_in(Flight.wait) == 1)
        gate.open()
        asked, shared = sorted((each.result(20) for each in both), key=lambda answer: answer.cached)
    assert (asked.cache, shared.cache) == ("miss", "shared")
    assert asked.result.results == shared.result.results
    one, two = asked.explained, shared.explained
    assert one is not None
    assert two is not None
    assert (one["sources"], one["dropped"]) == (two["sources"], two["dropped"])
    assert [each["credits"] | {"left": None} for each in (one, two)] == [
        {"spent": 1, "saved": 0, "left": None},
        {"spent": 0, "saved": 1, "left": None},
    ]


def test_plain_request_gets_nothing_of_it_and_another_entry() -> None:
    """contract: Explain, Cache: explained and plain answers are cached apart; a plain one has no more keys."""
    cache = FakeCache()
    engine = engine_of(FakeSource("a", out(page(1))), cache=cache)
    ask(engine, "q", explain=True)
    plain = ask(engine, "q")
    assert (plain.cache, plain.explained, plain.result.explanation) == ("miss", None, None)
    assert list(plain.result.hits()[0]) == ["url", "title", "snippet", "source", "score"]
    assert len(cache) == 2


def test_left_is_null_when_the_ledger_cannot_be_read() -> None:
    """contract: Explain: unknown is not 0."""
    ledger = FakeLedger({"a": 5})
    engine = engine_of(FakeSource("a", out(page(1))), ledger=ledger)
    ask(engine, "q", explain=True)
    ledger.is_broken = True
    explained = ask(engine, "q", explain=True).explained
    assert explained is not None
    assert explained["credits"]["left"] == {"a": None}


# --- properties

FAILED = SourceOut(hits=raw_hits(page(9)), found=2, sent=3, warn="x: bad response")
SPELLINGS = ("https://{}.example/{}", "http://{}.example/{}/", "https://{}.EXAMPLE/{}?utm_source=x")
urls = st.builds(
    lambda form, host, path: form.format(host, path),
    st.sampled_from(SPELLINGS),
    st.sampled_from("abc"),
    st.integers(0, 4),
)
scores = st.floats(-1, 2, allow_nan=False)
filters = st.sampled_from(
    [Filter(), Filter(exclude_domains=("a.example",)), Filter(include_domains=("a.example", "b.example"))]
)


@st.composite
def outcomes(draw: st.DrawFn) -> Any:
    """Draw what one source makes of one query: an answer, of which rows were dropped, or a failure."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from([TIMEOUT, SourceOut(asked=False, notes=("x: too long",)), FAILED]))
    hits = draw(st.lists(st.tuples(urls, scores), max_size=8))
    kept = raw_hits(*(raw(url, score=score) for url, score in hits))
    under, unusable = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    return SourceOut(hits=kept, found=len(kept) + under, sent=len(kept) + under + unusable)


@st.composite
def searches(draw: st.DrawFn) -> tuple[list[FakeSource], SearchRequest]:
    """Draw sources and a request."""
    queries = tuple("abcd"[: draw(st.integers(1, 4))])
    sources = [
        FakeSource(
            f"s{n}", out(), by_query={query: draw(outcomes()) for query in queries}, reranked=draw(st.booleans())
        )
        for n in range(draw(st.integers(1, 3)))
    ]
    request = SearchRequest(
        queries, k=draw(st.integers(1, 12)), rerank=draw(st.booleans()), explain=True, filter=draw(filters)
    )
    return sources, request


@moderate
@given(searches())
def test_shares_sum_to_the_score_exactly(search: tuple[list[FakeSource], SearchRequest]) -> None:
    """contract: Explain: for any lists, spellings, filters and failures; with several queries one share of each."""
    sources, request = search
    answer = engine_of(*sources).search(request, "fleet")
    if not isinstance(answer, Answer):
        return
    for hit in answer.result.hits():
        why = hit["why"]
        assert [(entry["query"], entry["source"]) for entry in why] == sorted(
            {(entry["query"], entry["source"]) for entry in why}
        )
        if len(request.queries) > 1:
            by_query = {entry["query"]: (entry["place"], entry["share"]) for entry in why}
            assert all(by_query[entry["query"]] == (entry["place"], entry["share"]) for entry in why)
            assert all(share == 1 / (60 + place) for place, share in by_query.values())
            assert math.fsum(share for _, share in by_query.values()) == hit["score"]
        else:
            assert math.fsum(entry["share"] for entry in why) == hit["score"]


@moderate
@given(searches())
def test_rows_sent_are_the_results_and_what_was_dropped(search: tuple[list[FakeSource], SearchRequest]) -> None:
    """contract: Explain: every row is accounted for, and each count is that of a count by hand."""
    sources, request = search
    answer = engine_of(*sources).search(request, "fleet")
    if not isinstance(answer, Answer):
        return
    assert answer.explained is not None
    outs = [
        out for source in sources for out in source._by_query.values() if isinstance(out, SourceOut) and not out.warn
    ]
    dropped = answer.explained["dropped"]
    hits = answer.result.hits()
    assert sum(out.sent for out in outs) == len(hits) + sum(dropped.values())
    assert all(count >= 0 for count in dropped.values())
    pages = Counter(address for out in outs for address in out.hits.addresses)
    barred = {
        address
        for address in pages
        if address.host in request.filter.exclude_domains
        or (request.filter.include_domains and address.host not in request.filter.include_domains)
    }
    assert dropped["unusable"] == sum(out.sent - out.found for out in outs)
    assert dropped["min_score"] == sum(out.found - len(out.hits) for out in outs)
    assert dropped["repeats"] == sum(count - 1 for count in pages.values())
    assert dropped["domains"] == len(barred)
    assert answer.result.sizes.unique == len(hits) + dropped["beyond_k"]
    assert sum(entry["hits"] for entry in answer.explained["sources"]) == answer.result.sizes.hits


@moderate
@given(searches())
def test_reasons_and_copies_are_those_of_the_lists(search: tuple[list[FakeSource], SearchRequest]) -> None:
    """contract: Explain: an entry for each list that holds the page and no other, with its rank; all spellings."""
    sources, request = search
    answer = engine_of(*sources).search(request, "fleet")
    if not isinstance(answer, Answer):
        return
    for hit in answer.result.hits():
        address = read_url(hit["url"])
        expected, spelt = [], set()
        for number, query in enumerate(request.queries, 1):
            for source in sources:
                listed = source._by_query[query]
                if isinstance(listed, SourceOut) and not listed.warn and address in listed.hits.addresses:
                    distinct = list(dict.fromkeys(listed.hits.addresses))
                    expected.append((number, source.name, distinct.index(address) + 1))
                    spelt |= {each.url for each in listed.hits if each.address == address}
        assert [(entry["query"], entry["source"], entry["rank"]) for entry in hit["why"]] == expected
        assert sorted(hit["copies"]) == sorted(spelt - {hit["url"]})


@moderate
@given(searches())
def test_plain_answer_is_the_explained_one_without_its_explanation(
    search: tuple[list[FakeSource], SearchRequest],
) -> None:
    """contract: Explain: asking why changes nothing else."""
    sources, request = search
    answers = [engine_of(*sources).search(wanted, "fleet") for wanted in (request, replace(request, explain=False))]
    if not all(isinstance(answer, Answer) for answer in answers):
        assert answers[0] == answers[1]
        return
    explained, plain = (answer.result for answer in answers if isinstance(answer, Answer))
    bare = [{name: hit[name] for name in hit if name not in ("why", "copies")} for hit in explained.hits()]
    assert bare == plain.hits()
    assert replace(explained, results=b"", explanation=None) == replace(plain, results=b"")
