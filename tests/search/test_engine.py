"""The engine, with fake sources, clock, ledger and cache (contract: Search answer, Cache, Credits)."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from sift.errors import InvalidSearchError, SourceError
from sift.flight import Flight
from sift.observe import CacheTally
from sift.search.model import Answer, Filter, SearchRequest, SourceOut, Unavailable
from sift.search.schema import load_search
from sift.sources import brave, searxng, tavily
from tests.fakes import (
    NOON,
    PATIENCE,
    FakeCache,
    FakeClock,
    FakeLedger,
    FakeSource,
    Gate,
    ask,
    engine_of,
    in_parallel,
    out,
    page,
    raw,
    summary,
    three,
    unavailable,
    urls,
)
from tests.waiting import threads_in, wait_for

TIMEOUT = SourceError("timeout", counts=True)
MIDNIGHT = 12 * 3600  # seconds from noon


def followers() -> int:
    """Count the threads that wait for a search of another thread."""
    return threads_in(Flight.wait)


# --- one query


def test_sources_all_answer_gives_one_list_in_source_order() -> None:
    """contract: Search answer: three sources, no warning, ties in source order, and what the sources were asked."""
    sources = three()
    answer = ask(engine_of(*sources), "q", k=3, filter=Filter(topic="news"))
    assert urls(answer) == [page("s1"), page("s2"), page("s3")]
    assert [hit["source"] for hit in answer.result.hits()] == ["s1", "s2", "s3"]
    assert summary(answer) == (("s1", "s2", "s3"), (), ())
    assert (answer.cache, answer.cached) == ("miss", False)
    for source in sources:
        (call,) = source.calls
        assert call[:3] == ("q", 3, Filter(topic="news"))


def test_order_of_finishing_changes_nothing(gates: list[Gate]) -> None:
    """contract: Merge: lists are merged in source order, whichever source answers first."""
    gates += [Gate(out(page("shared"), page(n))) for n in range(3)]
    sources = [FakeSource(f"s{n}", gate) for n, gate in enumerate(gates)]
    answers: list[Answer] = []
    asking = threading.Thread(target=lambda: answers.append(ask(engine_of(*sources))))
    asking.start()
    for gate in gates:
        assert gate.entered.wait(PATIENCE)
    for place in (2, 1, 0):
        gates[place].open()
    asking.join(PATIENCE)
    assert urls(answers[0]) == [page("shared"), page(0), page(1), page(2)]
    assert answers[0].result.hits()[0]["source"] == "s0"


def test_same_input_gives_the_same_bytes_twenty_times() -> None:
    """contract: Search answer: the same answers of the vendors give the same bytes."""
    outs = [out(page(1), page(2)), out(page(3), page(2)), out(page(4), page(3))]
    made = {
        ask(engine_of(*(FakeSource(f"s{n}", each) for n, each in enumerate(outs)))).result.results for _ in range(20)
    }
    assert len(made) == 1


def test_sources_of_one_query_are_asked_at_the_same_time(gates: list[Gate]) -> None:
    """contract: Several queries: the sources of a query run in parallel; here each waits until all have been asked."""
    together = threading.Barrier(3)

    def meet() -> SourceOut:
        together.wait(PATIENCE)
        return out(page(1))

    assert summary(ask(engine_of(*three(s1=meet, s2=meet, s3=meet))))[0] == ("s1", "s2", "s3")


def test_no_hits_from_sources_that_worked_is_an_answer() -> None:
    """contract: Search answer: no hits is an answer, and may be cached."""
    cache = FakeCache()
    answer = ask(engine_of(*three(s1=out(), s2=out(), s3=out()), cache=cache))
    assert urls(answer) == []
    assert summary(answer) == (("s1", "s2", "s3"), (), ())
    assert len(cache) == 1


def test_hit_found_by_several_sources_has_the_sum_of_its_shares() -> None:
    """contract: Merge: the sum of 1/(60 + rank), attributed to the first source."""
    hits = ask(engine_of(*three(s1=out(page(1)), s2=out(page(2), page(1)), s3=out(page(1))))).result.hits()
    assert (hits[0]["url"], hits[0]["source"]) == (page(1), "s1")
    assert hits[0]["score"] == pytest.approx(2 / 61 + 1 / 62)


def test_rerank_false_gives_native_scores_in_source_order() -> None:
    """contract: Merge: one source after the other, native scores."""
    sources = three(s1=out(raw(page(1), score=0.1)), s2=out(raw(page(2), score=7.5)), s3=out(raw(page(1), score=0.9)))
    answer = ask(engine_of(*sources), rerank=False)
    assert [(hit["url"], hit["score"]) for hit in answer.result.hits()] == [(page(1), 0.1), (page(2), 7.5)]


def test_source_outside_the_sum_keeps_its_native_scores() -> None:
    """contract: Merge: `SIFT_TAVILY_RERANK=false`: sorted by score, the higher of two for a page in both."""
    native = FakeSource("s3", out(raw(page(1), score=0.4), raw(page(2), score=0.001)), reranked=False)
    engine = engine_of(FakeSource("s1", out(page(2), page(1))), FakeSource("s2", out(page(2))), native)
    hits = ask(engine).result.hits()
    assert [(hit["url"], hit["score"], hit["source"]) for hit in hits] == [
        (page(1), 0.4, "s1"),
        (page(2), pytest.approx(2 / 61), "s1"),
    ]


def test_snippets_are_cut_to_the_length_asked_for() -> None:
    """contract: Search request: `max_snippet` bounds the snippets of an answer."""
    engine = engine_of(*three(s1=out(raw(page(1), "one two three"))))
    assert [ask(engine, max_snippet=n).result.hits()[0]["snippet"] for n in (0, 8)] == ["one two three", "one two…"]


def test_time_of_merging_is_reported_in_milliseconds() -> None:
    """contract: Log: `rerank_ms` is a duration, not a time of day."""
    milliseconds = ask(engine_of(*three())).result.rerank_ms
    assert type(milliseconds) is int
    assert 0 <= milliseconds < 60_000


# --- notes and failures


def test_note_keeps_hits_source_and_cache() -> None:
    """R1: hits with a note are kept, their source is ok, the answer is cached."""
    cache = FakeCache()
    engine = engine_of(*three(s1=out(page(1), notes=("s1: min_score not applied",))), cache=cache)
    answer = ask(engine)
    assert page(1) in urls(answer)
    assert summary(answer) == (("s1", "s2", "s3"), (), ("s1: min_score not applied",))
    again = ask(engine)
    assert (again.cache, again.result.warnings) == ("hit", ("s1: min_score not applied",))


@pytest.mark.parametrize(
    ("failure", "warning"),
    [
        (SourceError("timeout", counts=True), "s1: timeout"),
        (out(page(1), warn="s1: http 500"), "s1: http 500"),
        (KeyError("secret query at https://secret.example/"), "s1: internal error"),
        (TimeoutError("not the engine's own"), "s1: internal error"),
    ],
    ids=["source-error", "warn-returned", "unexpected", "timeout-error"],
)
def test_warn_fails_the_source_keeps_the_others_and_disables_the_cache(failure: Any, warning: str) -> None:
    """R1: a failure discards only that source's hits; the answer is not stored, so the next search asks again."""
    cache = FakeCache()
    sources = three(s1=failure)
    engine = engine_of(*sources, cache=cache)
    answer = ask(engine)
    assert urls(answer) == [page("s2"), page("s3")]
    assert summary(answer) == (("s2", "s3"), ("s1",), (warning,))
    assert len(cache) == 0
    assert ask(engine).cache == "miss"
    assert [len(source.calls) for source in sources] == [2, 2, 2]


def test_warnings_are_failures_then_notes_then_skips_each_once() -> None:
    """contract: Search answer: warnings over all queries, without repeats and in first-seen order."""
    sources = [
        FakeSource("s1", out(page(1), notes=("s1: a", "s1: b")), out(page(2), notes=("s1: b", "s1: c"))),
        FakeSource("s2", out(page(3), notes=("s2: n",)), SourceError("http 400")),
        FakeSource("s3", out(page(4))),
    ]
    answer = ask(engine_of(*sources, ledger=FakeLedger({"s3": 0})), "q1", "q2", "q3")
    assert summary(answer)[2] == ("s2: http 400", "s1: a", "s1: b", "s2: n", "s1: c", "s3: daily cap")


def test_failure_that_carries_a_note_shows_both() -> None:
    """contract: Failures: what may have caused a failure stands behind it, also when no source answered."""
    failure = SourceError("redirect refused")
    failure.notes = ("s1: query holds search syntax",)
    warnings = ("s1: redirect refused", "s1: query holds search syntax")
    assert ask(engine_of(*three(s1=failure))).result.warnings == warnings
    assert unavailable(engine_of(FakeSource("s1", failure))).warnings == warnings


def test_source_that_fails_once_is_failed_and_its_other_hits_stay() -> None:
    """contract: Failures: one failure makes a source failed; its hits for other queries are kept."""
    cache = FakeCache()
    sources = three()
    sources[1] = FakeSource("s2", out(page("q1")), RuntimeError("unexpected"), out(page("q3")))
    answer = ask(engine_of(*sources, cache=cache), "q1", "q2", "q3")
    assert summary(answer) == (("s1", "s3"), ("s2",), ("s2: internal error",))
    assert {page("q1"), page("q3")} < set(urls(answer))
    assert sources[1].queries == ["q1", "q2", "q3"]
    assert len(cache) == 0


# --- sizes and k


def test_sizes_count_found_unique_and_returned() -> None:
    """contract: Search answer: usable hits before min_score; distinct ones after filters; those returned."""
    sources = three(
        s1=out(page(1), page(2), page(3)),
        s2=out(page(2), "https://other.test/", found=5),
        s3=out(page(9), warn="s3: http 500", found=50),
    )
    answer = ask(engine_of(*sources), k=2, filter=Filter(include_domains=("docs.example",)))
    assert answer.result.sizes._asdict() == {"hits": 8, "unique": 3, "results": 2}
    assert len(urls(answer)) == 2


def test_sizes_of_several_queries_add_hits_and_join_unique_ones() -> None:
    """contract: Search answer: hits of all queries; a page found by two of them is one unique hit."""
    sources = [FakeSource("s1", out(page(1), page(2)), out(page(2), page(3)))]
    assert ask(engine_of(*sources), "q1", "q2").result.sizes == (4, 3, 3)


@pytest.mark.parametrize("k", [2, 50])
def test_k_bounds_the_answer(k: int) -> None:
    """contract: Search request: the k best, or all there are."""
    answer = ask(engine_of(FakeSource("s1", out(*map(page, range(7))))), k=k)
    assert urls(answer) == [page(number) for number in range(7)][:k]


# --- domain filter


def test_restrict_drops_other_hosts_of_every_source() -> None:
    """R3: the filter applies to every source alike, without a note."""
    outs = {name: out(f"https://{name}.other.test/", f"https://{name}.docs.example/") for name in ("s1", "s2", "s3")}
    answer = ask(engine_of(*three(**outs)), filter=Filter(include_domains=("docs.example",)))
    assert urls(answer) == [f"https://{name}.docs.example/" for name in ("s1", "s2", "s3")]
    assert summary(answer) == (("s1", "s2", "s3"), (), ())


def test_restrict_that_no_hit_meets_is_an_empty_answer() -> None:
    """contract: Domain filter: an empty answer, every source ok, no warning, and it may be cached."""
    cache = FakeCache()
    answer = ask(engine_of(*three(), cache=cache), filter=Filter(include_domains=("elsewhere.test",)))
    assert urls(answer) == []
    assert summary(answer) == (("s1", "s2", "s3"), (), ())
    assert answer.result.sizes == (3, 0, 0)
    assert len(cache) == 1


def test_exclude_drops_and_prefer_keeps() -> None:
    """R3: excluded domains are always dropped, a preference drops nothing."""
    outs = {"s1": out("https://a.docs.example/"), "s2": out("https://b.other.test/"), "s3": out("https://x.bad.test./")}
    filters = Filter(include_domains=("docs.example",), include_domains_mode="prefer", exclude_domains=("bad.test",))
    assert urls(ask(engine_of(*three(**outs)), filter=filters)) == ["https://a.docs.example/", "https://b.other.test/"]


def test_ranks_are_counted_before_the_domain_filter() -> None:
    """contract: Domain filter: the filter follows the merge, so what it drops changes no score."""
    engine = engine_of(FakeSource("s1", out("https://other.test/", page(1))))
    hits = ask(engine, filter=Filter(include_domains=("docs.example",))).result.hits()
    assert [hit["score"] for hit in hits] == [1 / 62]


def test_positions_across_queries_are_counted_after_the_domain_filter() -> None:
    """contract: Domain filter: the list of each query is filtered before the fusion: the first hit kept has rank 1."""
    source = FakeSource("s1", out("https://other.test/", page(1)), out(page(2)))
    hits = ask(engine_of(source), "q1", "q2", filter=Filter(include_domains=("docs.example",))).result.hits()
    assert [(hit["url"], hit["score"]) for hit in hits] == [(page(1), 1 / 61), (page(2), 1 / 61)]


# --- score threshold


def test_min_score_cuts_one_source_only_and_never_scores_after_the_merge() -> None:
    """R2: Tavily's hit at 0.4 is dropped; the others stay, with a note each; RRF scores of 0.016 are not compared."""
    filters = Filter(min_score=0.5)
    rows = [{"url": page("t1"), "score": 0.4}, {"url": page("t2"), "score": 0.9}]
    engine = engine_of(
        FakeSource(
            "searxng",
            lambda: searxng.parse({"results": [{"url": page("s"), "score": 0.1}]}, searxng.notes("q", filters)),
        ),
        FakeSource(
            "brave_llm", lambda: brave.parse({"grounding": {"generic": [{"url": page("b")}]}}, brave.notes(filters))
        ),
        FakeSource("tavily", lambda: tavily.parse({"results": rows}, filters.min_score, tavily.notes(filters))),
    )
    answer = ask(engine, filter=filters)
    assert set(urls(answer)) == {page("s"), page("b"), page("t2")}
    assert all(hit["score"] == 1 / 61 for hit in answer.result.hits())
    assert summary(answer)[2] == ("searxng: min_score not applied", "brave_llm: min_score not applied")
    assert answer.result.sizes == (4, 3, 3)


# --- several queries


def test_queries_run_one_after_another() -> None:
    """R5: a request never has two calls to one source at a time, and asks in its order."""
    running = threading.Lock()
    overlaps: list[bool] = []

    def step() -> SourceOut:
        overlaps.append(not running.acquire(blocking=False))
        running.release()
        return out(page(1))

    source = FakeSource("s1", step)
    ask(engine_of(source, FakeSource("s2", out(page(2)))), "q1", "q2", "q3", "q4")
    assert source.queries == ["q1", "q2", "q3", "q4"]
    assert not any(overlaps)


def test_second_query_waits_for_all_sources_of_the_first(gates: list[Gate]) -> None:
    """R5: a fast source is not asked the second query while a slow one is still answering the first."""
    gates.append(Gate(out(page(1))))
    slow, fast = FakeSource("s1", gates[0], out(page(2))), FakeSource("s2", out(page(3)))
    asking = threading.Thread(target=lambda: ask(engine_of(slow, fast), "q1", "q2"))
    asking.start()
    assert gates[0].entered.wait(PATIENCE)
    wait_for(lambda: len(fast.calls) == 1)
    assert fast.queries == ["q1"]
    gates[0].open()
    asking.join(PATIENCE)
    assert fast.queries == ["q1", "q2"]


def test_second_query_gets_in_when_the_first_fills_k() -> None:
    """R4: q1 alone has k hits, and the single hit of q2 still appears."""
    source = FakeSource("s1", by_query={"q1": out(*map(page, range(5))), "q2": out("https://other.test/only")})
    assert urls(ask(engine_of(source), "q1", "q2", k=3)) == [page(0), "https://other.test/only", page(1)]


def test_page_that_several_queries_found_rises() -> None:
    """R4: a page is fused across queries by its canonical key; the first URL and the longest text win."""
    source = FakeSource(
        "s1",
        by_query={
            "q1": out(page(1), raw("http://docs.example/x?utm_source=1", "short")),
            "q2": out(page(2), raw("https://docs.example/x", "a longer text", published_date="2026-09-01")),
        },
    )
    first = ask(engine_of(source), "q1", "q2").result.hits()[0]
    assert (first["url"], first["snippet"], first["published_date"]) == (
        "http://docs.example/x?utm_source=1",
        "a longer text",
        "2026-09-01",
    )
    assert first["score"] == pytest.approx(2 / 62)


def test_several_queries_are_fused_by_position_also_without_rerank() -> None:
    """R4: several queries are fused by rank, with `rerank: false` too."""
    source = FakeSource(
        "s1", by_query={"q1": out(raw(page(1), score=9.0)), "q2": out(raw(page(2), score=0.1), page(1))}
    )
    hits = ask(engine_of(source), "q1", "q2", rerank=False).result.hits()
    assert [(hit["url"], hit["score"]) for hit in hits] == [
        (page(1), pytest.approx(1 / 61 + 1 / 62)),
        (page(2), 1 / 61),
    ]


def test_rate_limited_source_keeps_the_others_and_is_not_waited_for() -> None:
    """contract: Failures: 429 from the second query on fails that source; its first hits and all others stay."""
    cache = FakeCache()
    sources = three()
    sources[1] = FakeSource("s2", out(page("first")), SourceError("http 429", counts=True))
    answer = ask(engine_of(*sources, cache=cache), "q1", "q2", "q3", "q4")
    assert summary(answer) == (("s1", "s3"), ("s2",), ("s2: http 429",))
    assert set(urls(answer)) == {page("s1"), page("first"), page("s3")}
    assert [len(source.calls) for source in sources] == [4, 4, 4]
    assert len(cache) == 0


# --- cap


def test_cap_trips_mid_batch_later_queries_skip_and_nothing_is_cached() -> None:
    """R5: q1 takes the last credit; later queries skip the source, without a failure, and nothing is cached."""
    cache, ledger = FakeCache(), FakeLedger({"s3": 1})
    sources = three()
    engine = engine_of(*sources, cache=cache, ledger=ledger)
    answer = ask(engine, "q1", "q2", "q3")
    assert sources[2].queries == ["q1"]
    assert sources[0].queries == ["q1", "q2", "q3"]
    assert summary(answer) == (("s1", "s2", "s3"), (), ("s3: daily cap",))
    assert page("s3") in urls(answer)
    assert len(cache) == 0


def test_credit_lost_between_key_and_call_is_not_cached() -> None:
    """R5: another request takes the last credit after the key was computed, so nothing is stored under it."""
    cache, ledger = FakeCache(), FakeLedger({"s3": 1}, rival=1)
    sources = three()
    engine = engine_of(*sources, cache=cache, ledger=ledger)
    answer = ask(engine)
    assert sources[2].calls == []
    assert summary(answer) == (("s1", "s2"), (), ("s3: daily cap",))
    assert len(cache) == 0
    assert ask(engine).cache == "miss"  # the next one plans without it, and its answer is stored
    assert ask(engine).cache == "hit"


def test_cap_reached_before_the_search_is_cached_without_that_source() -> None:
    """R5: the key holds the planned sources, so an answer without the capped one may be stored."""
    cache, ledger = FakeCache(), FakeLedger({"s3": 0})
    sources = three()
    engine = engine_of(*sources, cache=cache, ledger=ledger)
    assert summary(ask(engine)) == (("s1", "s2"), (), ("s3: daily cap",))
    again = ask(engine)
    assert again.cache == "hit"
    assert summary(again) == (("s1", "s2"), (), ("s3: daily cap",))
    assert [len(source.calls) for source in sources] == [1, 1, 0]
    ledger.credits["s3"] = 5  # a new day: the answer without the source does not stand in for one with it
    assert summary(ask(engine)) == (("s1", "s2", "s3"), (), ())


def test_whole_answer_is_served_whatever_the_cap_says_now() -> None:
    """contract: Cache: the answer of all enabled sources is looked up first, and holds no skip."""
    ledger = FakeLedger({"s3": 5})
    engine = engine_of(*three(), ledger=ledger)
    ask(engine)
    ledger.credits["s3"] = 0
    again = ask(engine)
    assert again.cache == "hit"
    assert summary(again) == (("s1", "s2", "s3"), (), ())


def test_cache_hit_and_refused_request_cost_nothing() -> None:
    """contract: Credits: neither a cached answer nor a refused request takes a credit."""
    ledger = FakeLedger({"s3": 2})
    engine = engine_of(*three(), ledger=ledger)
    ask(engine)
    assert ledger.credits == {"s3": 1}
    assert ask(engine).cached
    with pytest.raises(InvalidSearchError):
        engine.search(load_search({"query": "q", "time_range": "week", "start_date": "2026-09-01"}), "fleet")
    assert ledger.credits == {"s3": 1}
    assert ledger.reserved == ["s3"]


# --- cache


def test_same_search_again_comes_from_the_cache() -> None:
    """R6: an equal request gets the same answer, marked as cached."""
    sources = three()
    engine = engine_of(*sources)
    filters = Filter(include_domains=("docs.example",))
    first, second = ask(engine, "a  b", filter=filters), ask(engine, "a b", filter=filters)
    assert (first.cached, second.cached) == (False, True)
    assert (first.cache, second.cache) == ("miss", "hit")
    assert first.result == second.result
    assert [len(source.calls) for source in sources] == [1, 1, 1]


def test_filtered_and_unfiltered_search_never_share() -> None:
    """R6: the same query without filters or with another include list is a miss."""
    sources = three()
    engine = engine_of(*sources)
    for filters in (Filter(include_domains=("docs.example",)), Filter(), Filter(include_domains=("other.test",))):
        assert ask(engine, filter=filters).cache == "miss"
    assert len(sources[0].calls) == 3


def test_classes_of_callers_never_share() -> None:
    """R6: what one class has stored is a miss for the other, which gets an entry of its own."""
    cache = FakeCache()
    engine = engine_of(*three(), cache=cache)
    assert [ask(engine, caller_class=cls).cache for cls in ("fleet", "restricted", "fleet", "restricted")] == [
        "miss",
        "miss",
        "hit",
        "hit",
    ]
    assert len(cache) == 2


def test_hour_is_part_of_the_key_and_ends_what_is_kept() -> None:
    """contract: Cache: an answer is kept to the end of the hour in which its search began, whatever hour it ends in."""
    now, cache = FakeClock(NOON + 3000), FakeCache()
    engine = engine_of(FakeSource("s1", out(page(1)), lambda: (now.tick(90), out(page(1)))[1]), now=now, cache=cache)
    assert ask(engine).cache == "miss"
    assert cache.seconds == 600
    now.tick(599)
    assert ask(engine).cache == "hit"
    assert ask(engine, "q2").cache == "miss"  # ends in the next hour
    assert cache.seconds == -89
    assert ask(engine).cache == "miss"


def test_cache_off_says_so_and_asks_each_time() -> None:
    """contract: Log: without a cache every answer is `off`."""
    sources = three()
    engine = engine_of(*sources, caching=False)
    assert [ask(engine).cache for _ in range(2)] == ["off", "off"]
    assert len(sources[0].calls) == 2
    assert unavailable(engine_of(FakeSource("s1", TIMEOUT), caching=False)).cache == "off"


def test_cached_looks_up_only_and_never_asks() -> None:
    """contract: Cache: `cached` returns a stored answer of the caller's class, and never asks a source."""
    sources = three()
    engine = engine_of(*sources)
    request = load_search({"query": "q"})
    assert engine.cached(request, "fleet") is None
    assert sources[0].calls == []
    ask(engine)
    found = engine.cached(request, "fleet")
    assert found is not None
    assert (found.cache, urls(found)) == ("hit", [page("s1"), page("s2"), page("s3")])
    assert engine.cached(request, "restricted") is None


def test_tally_counts_the_share_of_answers_without_a_vendor() -> None:
    """contract: Operations: the hit rate counts hits and shared answers, and leaves failures out."""
    tally = CacheTally()
    engine = engine_of(*three(), observer=tally)
    assert tally.hit_rate() == 0.0
    for query in ("a", "a", "b"):
        ask(engine, query)
    assert tally.hit_rate() == 0.3333
    assert engine.cached(SearchRequest(("a",)), "fleet")
    assert tally.hit_rate() == 0.5
    unavailable(engine_of(FakeSource("s1", TIMEOUT), observer=tally))
    assert tally.hit_rate() == 0.5


# --- single flight


@pytest.mark.parametrize("caching", [True, False])
def test_fifty_equal_searches_at_once_cost_one_call_a_source(caching: bool, gates: list[Gate]) -> None:
    """contract: Shared searches: one search asks and 49 share its answer, with and without a cache."""
    gates.append(Gate(out(page(1))))
    sources = [FakeSource("s1", gates[0]), FakeSource("s2", out(page(2)))]
    ledger = FakeLedger({"s2": 3})
    engine = engine_of(*sources, ledger=ledger, caching=caching)

    def search(index: int) -> Answer:
        if index == 0:
            wait_for(lambda: followers() == 49)
            gates[0].open()
            index = -1
        return ask(engine, "some words" if index % 2 else "some  words")

    # Thread 0 only opens the gate, once all the others wait.
    results = in_parallel(51, search)
    results, late = results[1:], results[0]
    assert {answer.result for answer in results} == {results[0].result}
    assert sorted(answer.cache for answer in results) == ["miss" if caching else "off"] + ["shared"] * 49
    assert sum(answer.cached for answer in results) == 49
    assert late.cache == ("hit" if caching else "off") or late.cache == "shared"
    assert len(sources[1].calls) == (1 if caching or late.cache == "shared" else 2)


def test_fifty_equal_searches_that_fail_share_the_failure(gates: list[Gate]) -> None:
    """contract: Shared searches: a failure is shared too; the next search tries afresh."""
    gates.append(Gate(SourceError("http 500", counts=True)))
    source = FakeSource("s1", gates[0], out(page(1)))
    engine = engine_of(source)

    def search(index: int) -> Unavailable | None:
        if index == 0:
            wait_for(lambda: followers() == 49)
            gates[0].open()
            return None
        return unavailable(engine)

    failures = in_parallel(51, search)[1:]
    assert sorted(failure.cache for failure in failures) == ["miss"] + ["shared"] * 49
    assert {failure.warnings for failure in failures} == {("s1: http 500",)}
    assert len(source.calls) == 1
    assert urls(ask(engine)) == [page(1)]


def test_different_searches_at_once_do_not_wait_for_each_other(gates: list[Gate]) -> None:
    """contract: Shared searches: only searches with the same key share; class and filter are part of it."""
    gates.append(Gate(out(page(1))))
    source = FakeSource("s1", gates[0], out(page(2)))
    engine = engine_of(source)
    first = threading.Thread(target=lambda: ask(engine, "a"))
    first.start()
    assert gates[0].entered.wait(PATIENCE)
    assert ask(engine, "b").cache == "miss"
    assert ask(engine, "a", caller_class="restricted").cache == "miss"
    assert ask(engine, "a", filter=Filter(topic="news")).cache == "miss"
    gates[0].open()
    first.join(PATIENCE)


def test_burst_of_different_searches_never_passes_the_cap() -> None:
    """contract: Credits: 40 searches at once and 5 credits are 5 calls; every other search says why."""
    ledger = FakeLedger({"s2": 5})
    sources = [FakeSource("s1", out(page(1))), FakeSource("s2", out(page(2)))]
    engine = engine_of(*sources, ledger=ledger, threads=40)
    answers = in_parallel(40, lambda number: ask(engine, f"q{number}"))
    assert len(sources[1].calls) == 5
    assert sum(answer.result.skips == ("s2: daily cap",) for answer in answers) == 35
    assert ledger.credits == {"s2": 0}


# --- no source left


def test_all_sources_fail_is_unavailable_with_all_failures() -> None:
    """contract: Unavailable: it names every failure, and no wait: the sources may answer the next search."""
    failure = unavailable(engine_of(*three(s1=TIMEOUT, s2=SourceError("http 500"), s3=RuntimeError())), "q1", "q2")
    assert failure.warnings == ("s1: timeout", "s2: http 500", "s3: internal error")
    assert failure.sources_failed == ("s1", "s2", "s3")
    assert (failure.retry_after, failure.cache) == (None, "miss")


def test_source_that_answers_one_query_of_several_makes_an_answer() -> None:
    """contract: Unavailable: only when every source failed in every query."""
    answer = ask(engine_of(FakeSource("s1", TIMEOUT, out(page(1)))), "q1", "q2")
    assert summary(answer) == ((), ("s1",), ("s1: timeout",))
    assert urls(answer) == [page(1)]


def test_cap_as_the_only_reason_says_when_to_come_back() -> None:
    """contract: Unavailable: the wait for the cap ends at midnight UTC, in whole seconds."""
    failure = unavailable(engine_of(FakeSource("s1", out()), ledger=FakeLedger({"s1": 0}), now=FakeClock(NOON + 0.25)))
    assert failure.warnings == ("s1: daily cap",)
    assert (failure.sources_failed, failure.retry_after) == ((), MIDNIGHT)


def test_cap_lost_to_a_rival_says_when_to_come_back_too() -> None:
    """contract: Unavailable: the same when the cap shows at the call and not in the plan."""
    failure = unavailable(engine_of(FakeSource("s1", out()), ledger=FakeLedger({"s1": 1}, rival=1)))
    assert (failure.warnings, failure.retry_after) == (("s1: daily cap",), MIDNIGHT)


def test_cap_and_a_failure_say_no_time() -> None:
    """contract: Unavailable: no wait is named when a source failed."""
    failure = unavailable(engine_of(FakeSource("s1", TIMEOUT), FakeSource("s2", out()), ledger=FakeLedger({"s2": 0})))
    assert failure.warnings == ("s1: timeout", "s2: daily cap")
    assert (failure.sources_failed, failure.retry_after) == (("s1",), None)


def test_cap_and_an_open_breaker_say_the_shorter_wait() -> None:
    """contract: Unavailable: of several waits the shortest is named."""
    clock = FakeClock(0.0)
    engine = engine_of(
        FakeSource("s1", TIMEOUT),
        FakeSource("s2", out()),
        ledger=FakeLedger({"s2": 0}),
        clock=clock,
        breaker_failures=1,
        breaker_seconds=30.0,
    )
    unavailable(engine, "q1")
    clock.tick(9.5)
    failure = unavailable(engine, "q2")
    assert failure.warnings == ("s1: skipped after repeated failures", "s2: daily cap")
    assert (failure.sources_failed, failure.retry_after) == ((), 21)


def test_query_too_long_for_the_only_source_is_unavailable_without_a_time() -> None:
    """contract: Unavailable: a source that declines the query is in neither list, and waiting would not help."""
    note = "s1: query too long, not asked"
    failure = unavailable(engine_of(FakeSource("s1", out(notes=(note,), asked=False))))
    assert failure.warnings == (note,)
    assert (failure.sources_failed, failure.retry_after) == ((), None)


def test_query_too_long_for_one_source_leaves_it_out_of_both_lists() -> None:
    """contract: Notes: the others answer, the note is there, and the answer may be stored."""
    cache = FakeCache()
    note = "s1: query too long, not asked"
    engine = engine_of(*three(s1=out(notes=(note,), asked=False)), cache=cache)
    assert summary(ask(engine)) == (("s2", "s3"), (), (note,))
    assert ask(engine).cache == "hit"


def test_source_not_asked_in_one_query_only_is_ok() -> None:
    """contract: Search answer: a source that was asked at least once and never failed is ok."""
    source = FakeSource("s1", by_query={"long": out(notes=("s1: n",), asked=False), "short": out(page(1))})
    assert summary(ask(engine_of(source), "long", "short")) == (("s1",), (), ("s1: n",))
