"""The engine, with sources, clock, ledger and cache that a test controls (contract: Search answer, Cache, Credits)."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from sift.errors import InvalidSearchError, SourceError
from sift.observe import CacheTally
from sift.search.engine import Engine
from sift.search.flight import Flight
from sift.search.model import Answer, Filter, SearchRequest, SourceOut, Unavailable
from sift.search.protocols import LedgerError
from sift.search.schema import load_search
from sift.sources import brave, searxng, tavily
from sift.store.cache import MemoryCache
from tests.fakes import (
    DAY,
    NOON,
    PATIENCE,
    FakeCache,
    FakeClock,
    FakeLedger,
    FakeSource,
    Gate,
    ask,
    engine_of,
    find,
    in_parallel,
    out,
    raw,
    urls,
)
from tests.waiting import threads_in, wait_for

TIMEOUT = SourceError("timeout", counts=True)
MIDNIGHT = 12 * 3600  # seconds from noon


def page(number: int | str) -> str:
    """Name a page."""
    return f"https://docs.example/{number}"


def three(**steps: Any) -> list[FakeSource]:
    """Make three sources, each with a hit of its own unless a step is given by its name."""
    return [FakeSource(name, steps.get(name, out(page(name)))) for name in ("s1", "s2", "s3")]


def unavailable(engine: Engine, *queries: str, **fields: Any) -> Unavailable:
    """Search, and return the failure that must come."""
    found = find(engine, *queries, **fields)
    assert isinstance(found, Unavailable), found
    return found


def summary(answer: Answer) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Give who answered, who failed, and all that is said about it."""
    result = answer.result
    return result.sources_ok, result.sources_failed, result.warnings + result.skips


def followers() -> int:
    """Count the threads that wait for another's flight to land."""
    return threads_in(Flight.wait)


@pytest.fixture
def gates() -> Iterator[list[Gate]]:
    """Collect gates, and open them all in the end, so that no pool thread is left waiting."""
    made: list[Gate] = []
    yield made
    for gate in made:
        gate.open()


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


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_order_of_finishing_changes_nothing(order: tuple[int, ...], gates: list[Gate]) -> None:
    """contract: Merge: the merge goes by configured order, whichever source answers first."""
    gates += [Gate(out(page("shared"), page(n))) for n in range(3)]
    sources = [FakeSource(f"s{n}", gate) for n, gate in enumerate(gates)]
    answers: list[Answer] = []
    asking = threading.Thread(target=lambda: answers.append(ask(engine_of(*sources))))
    asking.start()
    for gate in gates:
        assert gate.entered.wait(PATIENCE)
    for place in order:
        gates[place].open()
    asking.join(PATIENCE)
    assert urls(answers[0]) == [page("shared"), page(0), page(1), page(2)]
    assert answers[0].result.hits()[0]["source"] == "s0"


def test_same_input_gives_the_same_bytes_twenty_times() -> None:
    """contract: Merge: same input, same bytes out."""
    outs = [out(page(1), page(2)), out(page(3), page(2)), out(page(4), page(3))]
    made = {
        ask(engine_of(*(FakeSource(f"s{n}", each) for n, each in enumerate(outs)))).result.results for _ in range(20)
    }
    assert len(made) == 1


def test_sources_of_one_query_are_asked_at_the_same_time(gates: list[Gate]) -> None:
    """contract: Several queries: sources run in parallel within one query:
    each waits here until all have been asked.
    """
    together = threading.Barrier(3)

    def meet() -> SourceOut:
        together.wait(PATIENCE)
        return out(page(1))

    assert summary(ask(engine_of(*three(s1=meet, s2=meet, s3=meet))))[0] == ("s1", "s2", "s3")


def test_call_gets_the_deadline_of_its_own_source() -> None:
    """contract: HTTP calls: each call ends within its source's timeout."""
    sources = [FakeSource("s1", out(page(1)), timeout=2.0), FakeSource("s2", out(page(2)), timeout=9.0)]
    ask(engine_of(*sources))
    assert sources[1].calls[0].deadline - sources[0].calls[0].deadline == pytest.approx(7.0)


def test_no_hits_from_sources_that_worked_is_an_answer() -> None:
    """contract: Search answer: zero hits is a 200, and may be cached."""
    cache = FakeCache()
    answer = ask(engine_of(*three(s1=out(), s2=out(), s3=out()), cache=cache))
    assert urls(answer) == []
    assert summary(answer) == (("s1", "s2", "s3"), (), ())
    assert len(cache) == 1


def test_hit_found_by_several_sources_has_the_sum_of_its_shares() -> None:
    """contract: Merge: Σ 1/(60 + rank), and the first source's attribution."""
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


def test_time_of_merging_is_told_in_milliseconds() -> None:
    """contract: Log: `rerank_ms` is a duration and no time of day."""
    milliseconds = ask(engine_of(*three())).result.rerank_ms
    assert type(milliseconds) is int
    assert 0 <= milliseconds < 60_000


# --- notes and failures


def test_note_keeps_hits_source_and_cache() -> None:
    """R1: hits plus a note: hits kept, source in sources_ok, result cached."""
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
        (SourceError("http 429", counts=True), "s1: http 429"),
        (SourceError("bad response"), "s1: bad response"),
        (out(page(1), warn="s1: http 500"), "s1: http 500"),
        (KeyError("secret query at https://secret.example/"), "s1: internal error"),
        (RecursionError(), "s1: internal error"),
        (TimeoutError("not the engine's own"), "s1: internal error"),
    ],
    ids=["timeout", "429", "bad-response", "warn-returned", "unexpected", "recursion", "timeout-error"],
)
def test_warn_fails_the_source_keeps_the_others_and_disables_the_cache(failure: Any, warning: str) -> None:
    """R1: a failure discards that source's hits alone; the answer is not stored, so the next asks again."""
    cache = FakeCache()
    sources = three(s1=failure)
    engine = engine_of(*sources, cache=cache)
    answer = ask(engine)
    assert urls(answer) == [page("s2"), page("s3")]
    assert summary(answer) == (("s2", "s3"), ("s1",), (warning,))
    assert len(cache) == 0
    assert ask(engine).cache == "miss"
    assert [len(source.calls) for source in sources] == [2, 2, 2]


def test_unexpected_error_is_logged_by_type_and_place_never_by_text(caplog: pytest.LogCaptureFixture) -> None:
    """R9: an exception's text may hold the query or a host; no record of any logger does."""
    secret = "zq-secret.example"
    caplog.set_level(logging.DEBUG)
    propagates, logging.getLogger("sift").propagate = logging.getLogger("sift").propagate, True
    try:
        for caller_class in ("restricted", "fleet"):
            engine = engine_of(*three(s1=ValueError(secret), s2=SourceError(f"http 500 {secret}"[:8])))
            filters = Filter(include_domains=(secret,))
            ask(engine, f"{secret} one", f"{secret} two", f"{secret} three", caller_class=caller_class, filter=filters)
    finally:
        logging.getLogger("sift").propagate = propagates
    # pytest listens to a logger that does not propagate as well, so a record may come twice.
    records = {id(record): record for record in caplog.records}.values()
    assert [record.fields["type"] for record in records] == ["ValueError"] * 6  # type: ignore[attr-defined]
    for record in records:
        assert secret not in repr(vars(record)), record
        assert record.fields["at"].startswith("fakes.py:")  # type: ignore[attr-defined]
        assert record.exc_info is None


def test_warnings_are_failures_then_notes_then_skips_each_once() -> None:
    """contract: Search answer: the order of warnings, unique and in first-seen order, over all queries."""
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
    alone = find(engine_of(FakeSource("s1", failure)))
    assert isinstance(alone, Unavailable)
    assert alone.warnings == warnings


def test_source_that_fails_once_is_failed_and_its_other_hits_stay() -> None:
    """contract: Failures: failed at least once is failed; what it gave for other queries is kept."""
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
    """contract: Search answer: usable hits of all, before min_score; different ones after filters; those returned."""
    sources = three(
        s1=out(page(1), page(2), page(3)),
        s2=out(page(2), "https://other.test/", found=5),
        s3=out(page(9), warn="s3: http 500", found=50),
    )
    answer = ask(engine_of(*sources), k=2, filter=Filter(include_domains=("docs.example",)))
    assert answer.result.sizes._asdict() == {"hits": 8, "unique": 3, "results": 2}
    assert len(urls(answer)) == 2


def test_sizes_of_several_queries_add_hits_and_join_unique_ones() -> None:
    """contract: Search answer: hits of all queries; a page found by two of them is one."""
    sources = [FakeSource("s1", out(page(1), page(2)), out(page(2), page(3)))]
    assert ask(engine_of(*sources), "q1", "q2").result.sizes == (4, 3, 3)


@pytest.mark.parametrize("k", [1, 2, 50])
def test_k_bounds_the_answer(k: int) -> None:
    """contract: Search request: exactly the k best, or all that there are."""
    answer = ask(engine_of(FakeSource("s1", out(*map(page, range(7))))), k=k)
    assert urls(answer) == [page(number) for number in range(7)][:k]


# --- domain filter


def test_restrict_drops_other_hosts_of_every_source() -> None:
    """R3: after the merge, for every source alike, those that filter themselves too; no note."""
    outs = {name: out(f"https://{name}.other.test/", f"https://{name}.docs.example/") for name in ("s1", "s2", "s3")}
    answer = ask(engine_of(*three(**outs)), filter=Filter(include_domains=("docs.example",)))
    assert urls(answer) == [f"https://{name}.docs.example/" for name in ("s1", "s2", "s3")]
    assert summary(answer) == (("s1", "s2", "s3"), (), ())


def test_restrict_that_no_hit_meets_is_an_empty_answer() -> None:
    """contract: Domain filter: 200, nothing, every source ok, no warning, and it may be cached."""
    cache = FakeCache()
    answer = ask(engine_of(*three(), cache=cache), filter=Filter(include_domains=("elsewhere.test",)))
    assert urls(answer) == []
    assert summary(answer) == (("s1", "s2", "s3"), (), ())
    assert answer.result.sizes == (3, 0, 0)
    assert len(cache) == 1


def test_exclude_drops_and_prefer_keeps() -> None:
    """R3: exclude always, prefer never."""
    outs = {"s1": out("https://a.docs.example/"), "s2": out("https://b.other.test/"), "s3": out("https://x.bad.test./")}
    filters = Filter(include_domains=("docs.example",), include_domains_mode="prefer", exclude_domains=("bad.test",))
    assert urls(ask(engine_of(*three(**outs)), filter=filters)) == ["https://a.docs.example/", "https://b.other.test/"]


def test_ranks_are_counted_before_the_domain_filter() -> None:
    """contract: Domain filter: merge first, then the post-filter: a page's score does not depend on what was dropped
    above it.
    """
    engine = engine_of(FakeSource("s1", out("https://other.test/", page(1))))
    hits = ask(engine, filter=Filter(include_domains=("docs.example",))).result.hits()
    assert [hit["score"] for hit in hits] == [1 / 62]


def test_positions_across_queries_are_counted_after_the_domain_filter() -> None:
    """contract: Domain filter: each per-query list is filtered, then fused: the first hit kept has rank 1."""
    source = FakeSource("s1", out("https://other.test/", page(1)), out(page(2)))
    hits = ask(engine_of(source), "q1", "q2", filter=Filter(include_domains=("docs.example",))).result.hits()
    assert [(hit["url"], hit["score"]) for hit in hits] == [(page(1), 1 / 61), (page(2), 1 / 61)]


# --- vendors' parsers, through the engine


def parsed(**bodies: Any) -> Engine:
    """Make an engine of the three real parsers over bodies given by vendor."""
    parsers: dict[str, Callable[[Any], SourceOut]] = {
        "searxng": searxng.parse,
        "brave_llm": brave.parse,
        "tavily": tavily.parse,
    }
    return engine_of(*(FakeSource(name, partial(parsers[name], body)) for name, body in bodies.items()))


def grounding(*hits: dict[str, Any]) -> dict[str, Any]:
    """Wrap hits as Brave does."""
    return {"grounding": {"generic": list(hits)}}


def test_min_score_cuts_one_source_only_and_never_scores_after_the_merge() -> None:
    """R2: Tavily's hit at 0.4 goes; the others' stay, with a note each; an RRF score of 0.016 is not compared."""
    filters = Filter(min_score=0.5)
    rows = [{"url": page("t1"), "score": 0.4}, {"url": page("t2"), "score": 0.9}]
    engine = engine_of(
        FakeSource(
            "searxng",
            lambda: searxng.parse({"results": [{"url": page("s"), "score": 0.1}]}, searxng.notes("q", filters)),
        ),
        FakeSource(
            "brave_llm", lambda: brave.parse(grounding({"url": page("b"), "snippets": ["x"]}), brave.notes(filters))
        ),
        FakeSource("tavily", lambda: tavily.parse({"results": rows}, filters.min_score, tavily.notes(filters))),
    )
    answer = ask(engine, filter=filters)
    assert set(urls(answer)) == {page("s"), page("b"), page("t2")}
    assert all(hit["score"] == 1 / 61 for hit in answer.result.hits())
    assert summary(answer)[2] == ("searxng: min_score not applied", "brave_llm: min_score not applied")
    assert answer.result.sizes == (4, 3, 3)


BAD_URLS: list[Any] = [
    None,
    "",
    5,
    [],
    {},
    "http://[broken",
    "javascript:alert(1)",
    "data:text/html,x",
    "ftp://f.example/x",
]
BAD_URLS += [
    "JAVASCRIPT://x/%0aalert(1)",
    "//docs.example/x",
    "https://a\\b.example/",
    "https://a b.example/",
    "https://",
]


@pytest.mark.parametrize("bad", BAD_URLS, ids=repr)
def test_hit_with_an_unusable_url_costs_no_other_hit(bad: Any) -> None:
    """contract: HTTP calls: only the bad hit is dropped, from each vendor; source and response survive."""
    engine = parsed(
        searxng={"results": [{"url": bad}, {"url": page("s")}, None, 5]},
        brave_llm=grounding({"url": bad}, {"url": page("b")}),
        tavily={"results": [{"url": bad, "score": 0.9}, {"score": 1}, {"url": page("t")}]},
    )
    answer = ask(engine)
    assert urls(answer) == [page("s"), page("b"), page("t")]
    assert summary(answer) == (("searxng", "brave_llm", "tavily"), (), ())
    assert answer.result.sizes.hits == 3


@pytest.mark.parametrize("date", [None, "", 0, 20260901, {}, [], True, ["2026-09-01"]], ids=repr)
def test_date_that_is_no_text_is_absent(date: Any) -> None:
    """contract: Search answer: no date is invented; the key is missing."""
    engine = parsed(
        searxng={"results": [{"url": page("s"), "publishedDate": date}]},
        tavily={"results": [{"url": page("t"), "published_date": date}]},
    )
    assert all("published_date" not in hit for hit in ask(engine).result.hits())


@pytest.mark.parametrize("date", ["Tue, 01 Sep 2026 08:00:00 GMT", "2026-09-01T08:00:00"])
def test_date_that_is_text_is_passed_on_as_sent(date: str) -> None:
    """contract: Search answer: mapped from either vendor, never re-formatted; Brave's age is no date."""
    engine = parsed(
        searxng={"results": [{"url": page("s"), "publishedDate": date}]},
        brave_llm={**grounding({"url": page("b")}), "sources": {page("b"): {"age": [date]}}},
        tavily={"results": [{"url": page("t"), "published_date": date}]},
    )
    assert [hit.get("published_date") for hit in ask(engine).result.hits()] == [date, None, date]


@pytest.mark.parametrize("rerank", [True, False])
def test_score_of_nan_never_reaches_the_answer(rerank: bool) -> None:
    """contract: Tavily, Search answer: vendors' JSON may hold NaN; a strict parser accepts what Sift says."""
    body = json.loads(
        '{"results": [{"url": "https://docs.example/1", "score": NaN}, {"url": "https://docs.example/2"}]}'
    )
    results = ask(parsed(searxng=body, tavily=body), rerank=rerank).result.results

    def refuse(name: str) -> float:
        raise ValueError(name)

    assert len(json.loads(results, parse_constant=refuse)) == 2
    if not rerank:
        assert [hit["score"] for hit in json.loads(results)] == [0.0, 0.0]


def test_blocked_engines_and_no_hits_is_a_failure_that_is_not_cached() -> None:
    """contract: SearXNG: an empty answer of blocked engines must not look like "nothing found"."""
    cache = FakeCache()
    body = {"results": [], "unresponsive_engines": [["e1", "CAPTCHA"]]}
    engine = engine_of(FakeSource("searxng", lambda: searxng.parse(body)), FakeSource("s2", out(page(1))), cache=cache)
    assert summary(ask(engine)) == (("s2",), ("searxng",), ("searxng: no engine answered",))
    assert len(cache) == 0


def test_vendor_bodies_carry_the_filters_that_are_set() -> None:
    """contract: Tavily: both lists go into Tavily's body; Brave's query is unchanged and it gets nothing else."""
    filters = Filter(include_domains=("docs.example", "gov"), exclude_domains=("bad.test", "edu"))
    body = tavily.request_body("q", filters)
    assert body["include_domains"] == ["docs.example"]
    assert body["exclude_domains"] == ["bad.test"]
    assert body["include_domains_mode"] == "restrict"
    assert tavily.notes(filters) == ("tavily: include_domains without a dot not sent",)
    assert brave.notes(filters) == ()
    bare = tavily.request_body("q", Filter())
    assert not bare.keys() & {"include_domains", "exclude_domains", "include_domains_mode"}
    assert "include_domains" not in tavily.request_body("q", Filter(include_domains=("gov",)))  # would be a 400


def test_vendor_body_is_basic_whatever_the_filters() -> None:
    """contract: Tavily: every combination of filters: the fixed fields always, a filter's field only when it is set."""
    times: list[dict[str, Any]] = [
        {},
        {"time_range": "week"},
        {"start_date": "2026-09-01"},
        {"end_date": "2026-09-02"},
        {"start_date": "2026-09-01", "end_date": "2026-09-02"},
    ]
    domains: list[dict[str, Any]] = [
        {},
        {"include_domains": ("a.example",)},
        {"include_domains": ("a.example",), "include_domains_mode": "prefer"},
        {"exclude_domains": ("a.example",)},
    ]
    fixed = {
        "query": '"x y"',
        "search_depth": "basic",
        "auto_parameters": False,
        "include_answer": False,
        "include_raw_content": False,
        "include_images": False,
        "max_results": 20,
    }
    for period in times:
        for domain in domains:
            for topic in ("general", "news", "finance"):
                for exact in (False, True):
                    for score in (0.0, 0.5):
                        filters = Filter(topic=topic, exact_match=exact, min_score=score, **period, **domain)
                        body = tavily.request_body('"x y"', filters)
                        expected = {
                            **fixed,
                            **period,
                            **{name: list(v) for name, v in domain.items() if isinstance(v, tuple)},
                        }
                        if "include_domains" in domain:
                            expected["include_domains_mode"] = filters.include_domains_mode
                        if topic != "general":
                            expected["topic"] = topic
                        if exact:
                            expected["exact_match"] = True
                        if period or topic == "news":
                            expected["include_published_date"] = True
                        assert body == expected


# --- several queries


def test_queries_run_one_after_another() -> None:
    """R5: never two calls of one request to the same source at a time, and in the order asked."""
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
    """R5: a fast source is not asked the second query while a slow one still answers the first."""
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
    """R4: q1 returns k or more hits, and q2's single distinct top hit still appears."""
    source = FakeSource("s1", by_query={"q1": out(*map(page, range(5))), "q2": out("https://other.test/only")})
    assert urls(ask(engine_of(source), "q1", "q2", k=3)) == [page(0), "https://other.test/only", page(1)]


def test_page_that_several_queries_found_rises() -> None:
    """R4: the canonical key is fused across queries; url and text come from the first and the longest."""
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
    """R4: also with `rerank: false`."""
    source = FakeSource(
        "s1", by_query={"q1": out(raw(page(1), score=9.0)), "q2": out(raw(page(2), score=0.1), page(1))}
    )
    hits = ask(engine_of(source), "q1", "q2", rerank=False).result.hits()
    assert [(hit["url"], hit["score"]) for hit in hits] == [
        (page(1), pytest.approx(1 / 61 + 1 / 62)),
        (page(2), 1 / 61),
    ]


def test_rate_limited_source_keeps_the_others_and_is_not_waited_for() -> None:
    """contract: Several queries: 429 from the second query on: a failure of that source;
    its first hits and all others stay; no cache.
    """
    cache = FakeCache()
    sources = three()
    sources[1] = FakeSource("s2", out(page("first")), SourceError("http 429", counts=True))
    answer = ask(engine_of(*sources, cache=cache), "q1", "q2", "q3", "q4")
    assert summary(answer) == (("s1", "s3"), ("s2",), ("s2: http 429",))
    assert set(urls(answer)) == {page("s1"), page("first"), page("s3")}
    assert [len(source.calls) for source in sources] == [4, 4, 4]
    assert len(cache) == 0


def test_retry_after_mid_batch_skips_the_source_for_the_rest() -> None:
    """contract: Breaker: a 429 that says when to come back is heeded at once, within the batch too; not cached."""
    cache = FakeCache()
    limited = FakeSource("s1", SourceError("http 429", counts=True, retry_after=60.0))
    answer = ask(engine_of(limited, FakeSource("s2", out(page(1))), cache=cache), "q1", "q2", "q3")
    assert limited.queries == ["q1"]
    assert summary(answer) == (("s2",), ("s1",), ("s1: http 429", "s1: skipped after repeated failures"))
    assert len(cache) == 0


# --- timeouts


def test_source_that_hangs_is_a_timeout_and_the_others_answer(gates: list[Gate]) -> None:
    """contract: HTTP calls: the engine waits no longer than the deadline, whatever a source in the pool does."""
    gates.append(Gate(out(page("late"))))
    sources = [FakeSource("s1", gates[0], timeout=0.05), FakeSource("s2", out(page(2)))]
    answer = ask(engine_of(*sources))
    assert summary(answer) == (("s2",), ("s1",), ("s1: timeout",))
    assert urls(answer) == [page(2)]


def test_late_answer_is_dropped_but_its_credits_are_booked(gates: list[Gate]) -> None:
    """contract: Credits: nobody sees the late hits; the call stays paid; nothing more is asked after the answer."""
    gates.append(Gate(out(page("late"), credits=2)))
    ledger, cache = FakeLedger({"s1": 9}), FakeCache()
    hanging, other = FakeSource("s1", gates[0], out(page(1)), timeout=0.05), FakeSource("s2", out(page(2)))
    engine = engine_of(hanging, other, ledger=ledger, cache=cache)
    answer = ask(engine, "q1", "q2")
    before = answer.result
    assert (hanging.queries, other.queries) == (["q1", "q2"], ["q1", "q2"])
    gates[0].open()
    wait_for(lambda: len(ledger.settled) == 2)
    assert sorted(ledger.settled) == [("s1", DAY, 1), ("s1", DAY, 2)]
    assert ledger.credits == {"s1": 6}
    assert (hanging.queries, other.queries) == (["q1", "q2"], ["q1", "q2"])
    assert answer.result == before
    assert page("late") not in urls(answer)
    assert len(cache) == 0


def test_call_that_never_got_a_thread_costs_nothing(gates: list[Gate]) -> None:
    """contract: Credits: a credit is taken when the call starts; one that never does takes none and breaks nothing."""
    gates.append(Gate(out(page(1))))
    ledger = FakeLedger({"s1": 9})
    source, other = FakeSource("s1", gates[0], timeout=0.05), FakeSource("s2", out(page(2)))
    engine = engine_of(source, other, ledger=ledger, threads=1, breaker_failures=3)
    # The pool has a thread for each source. The last one does without, so the first one's calls can take both.
    assert [ask(engine, query).result.warnings for query in ("q1", "q2", "q3")] == [("s1: timeout",)] * 3
    assert source.queries == ["q1", "q2"]
    assert ledger.reserved == ["s1", "s1"]
    gates[0].open()
    wait_for(lambda: len(ledger.settled) == 2)
    assert urls(ask(engine, "q4")) == [page(1), page(2)]  # two timeouts counted, so the breaker is still closed


def test_late_failure_counts_once_for_the_breaker(gates: list[Gate]) -> None:
    """contract: Breaker: the breaker hears of a timeout when it happens, and not again when the call at last ends."""
    gates.append(Gate(SourceError("timeout", counts=True)))
    ledger = FakeLedger({"s1": 9})
    source = FakeSource("s1", gates[0], TIMEOUT, TIMEOUT, timeout=0.05)
    engine = engine_of(source, FakeSource("s2", out(page(2))), ledger=ledger, breaker_failures=3)
    ask(engine, "q1")
    gates[0].open()
    wait_for(lambda: len(ledger.settled) == 1)
    source.timeout = PATIENCE
    assert ask(engine, "q2").result.warnings == ("s1: timeout",)
    assert ask(engine, "q3").result.warnings == ("s1: timeout",)
    assert ask(engine, "q4").result.skips == ("s1: skipped after repeated failures",)
    assert source.queries == ["q1", "q2", "q3"]


def test_late_success_does_not_close_the_breaker(gates: list[Gate]) -> None:
    """contract: Breaker: a call that nobody waited for is a failure, even where it answers in the end."""
    gates.append(Gate(out(page(1))))
    ledger = FakeLedger({"s1": 9})
    hanging, other = FakeSource("s1", gates[0], timeout=0.05), FakeSource("s2", out(page(2)))
    engine = engine_of(hanging, other, ledger=ledger, breaker_failures=1)
    ask(engine, "q1")
    gates[0].open()
    wait_for(lambda: len(ledger.settled) == 1)
    assert ask(engine, "q2").result.skips == ("s1: skipped after repeated failures",)


# --- cap


def test_cap_trips_mid_batch_later_queries_skip_and_nothing_is_cached() -> None:
    """R5: the last credit goes to q1; later queries skip the source with the cap's warning: no failure, no cache."""
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
    """R5: another request takes the last credit after the key was made: the sets differ, so nothing is stored."""
    cache, ledger = FakeCache(), FakeLedger({"s3": 1}, rival=1)
    sources = three()
    engine = engine_of(*sources, cache=cache, ledger=ledger)
    answer = ask(engine)
    assert sources[2].calls == []
    assert summary(answer) == (("s1", "s2"), (), ("s3: daily cap",))
    assert len(cache) == 0
    assert ask(engine).cache == "miss"  # the next one knows of the cap, and its answer is stored
    assert ask(engine).cache == "hit"


def test_cap_reached_before_the_search_is_cached_without_that_source() -> None:
    """R5: the key holds the sources planned, so an answer without the capped one may be stored."""
    cache, ledger = FakeCache(), FakeLedger({"s3": 0})
    sources = three()
    engine = engine_of(*sources, cache=cache, ledger=ledger)
    assert summary(ask(engine)) == (("s1", "s2"), (), ("s3: daily cap",))
    again = ask(engine)
    assert again.cache == "hit"
    assert summary(again) == (("s1", "s2"), (), ("s3: daily cap",))
    assert [len(source.calls) for source in sources] == [1, 1, 0]
    ledger.credits["s3"] = 5  # a new day: the answer without the source is not given for one with it
    assert summary(ask(engine)) == (("s1", "s2", "s3"), (), ())


def test_whole_answer_is_served_whatever_the_cap_says_now() -> None:
    """contract: Cache: looked up first under all enabled sources; a stored warning of the cap is never part of it."""
    ledger = FakeLedger({"s3": 5})
    engine = engine_of(*three(), ledger=ledger)
    ask(engine)
    ledger.credits["s3"] = 0
    again = ask(engine)
    assert again.cache == "hit"
    assert summary(again) == (("s1", "s2", "s3"), (), ())


def test_cache_hit_and_refused_request_cost_nothing() -> None:
    """contract: Credits: at cap minus one the counter does not move for a hit or a validation error."""
    ledger = FakeLedger({"s3": 2})
    engine = engine_of(*three(), ledger=ledger)
    ask(engine)
    assert ledger.credits == {"s3": 1}
    assert ask(engine).cached
    with pytest.raises(InvalidSearchError):
        engine.search(load_search({"query": "q", "time_range": "week", "start_date": "2026-09-01"}), "fleet")
    assert ledger.credits == {"s3": 1}
    assert ledger.reserved == ["s3"]


BOOKINGS = [
    pytest.param(out(page(1), credits=1), 1, id="answered"),
    pytest.param(out(page(1), credits=3), 3, id="answered-for-three"),
    pytest.param(SourceError("http 500", counts=True), 1, id="failed-after-it-was-sent"),
    pytest.param(SourceError("unreachable", sent=False, counts=True), 0, id="never-sent"),
    pytest.param(RuntimeError("unexpected"), 1, id="unexpected"),
    pytest.param(out(notes=("s1: query too long, not asked",), asked=False), 0, id="chose-not-to-be-asked"),
]


@pytest.mark.parametrize(("step", "cost"), BOOKINGS)
def test_credit_is_settled_to_what_the_call_cost(step: Any, cost: int) -> None:
    """contract: Credits: one credit is reserved before the call; only a call that was never sent gives it back."""
    ledger = FakeLedger({"s1": 10})
    ask(engine_of(FakeSource("s1", step), FakeSource("s2", out(page(2))), ledger=ledger))
    assert ledger.reserved == ["s1"]
    assert ledger.settled == [("s1", DAY, cost)]


def test_ledger_that_cannot_be_read_skips_the_source_and_never_calls_it() -> None:
    """contract: Credits: never unmetered; the answer without it is not stored."""
    cache = FakeCache()
    source = FakeSource("s1", out(page(1)))
    ledger = FakeLedger({"s1": 9}, is_broken=True)
    answer = ask(engine_of(source, FakeSource("s2", out(page(2))), cache=cache, ledger=ledger))
    assert summary(answer) == (("s2",), (), ("s1: daily cap unavailable",))
    failure = unavailable(engine_of(source, cache=cache, ledger=ledger))
    assert failure.warnings == ("s1: daily cap unavailable",)
    assert (failure.sources_failed, failure.retry_after) == ((), None)
    assert source.calls == []
    assert len(cache) == 0


def test_busy_ledger_does_not_keep_the_other_sources_from_being_asked() -> None:
    """contract: Credits: waiting for the ledger counts into that source's time,
    and holds no other source up (decision 6).
    """
    gate = Gate(out(page(1)))
    gate.open()

    class BusyLedger(FakeLedger):
        def reserve(self, name: str, *, deadline: float) -> str | None:
            if name == "s2" and not gate.entered.wait(PATIENCE):
                raise LedgerError
            return super().reserve(name, deadline=deadline)

    ledger = BusyLedger({"s2": 10})
    answer = ask(engine_of(FakeSource("s1", gate), FakeSource("s2", out(page(2))), ledger=ledger))
    assert summary(answer) == (("s1", "s2"), (), ())
    assert ledger.settled == [("s2", DAY, 1)]


def test_call_whose_time_went_by_in_the_ledger_is_never_sent() -> None:
    """contract: Credits: waiting for the ledger counts into the source's timeout; the credit goes back."""

    clock = FakeClock(0.0)

    class SlowLedger(FakeLedger):
        def reserve(self, name: str, *, deadline: float) -> str | None:
            clock.tick(deadline - clock())
            return super().reserve(name, deadline=deadline)

    ledger = SlowLedger({"s1": 10})
    source = FakeSource("s1", out(page(1)))
    failure = unavailable(engine_of(source, ledger=ledger, clock=clock))
    assert failure.warnings == ("s1: timeout",)
    assert source.calls == []
    assert ledger.settled == [("s1", DAY, 0)]


# --- cache


def test_same_search_again_comes_from_the_cache() -> None:
    """R6: same filters hit; the first answer says it is fresh, the second that it is not; both are equal."""
    sources = three()
    engine = engine_of(*sources)
    filters = Filter(include_domains=("docs.example",))
    first, second = ask(engine, "a  b", filter=filters), ask(engine, "a b", filter=filters)
    assert (first.cached, second.cached) == (False, True)
    assert (first.cache, second.cache) == ("miss", "hit")
    assert first.result == second.result
    assert [len(source.calls) for source in sources] == [1, 1, 1]


def test_answer_changed_by_its_receiver_stays_as_it_was_in_the_cache() -> None:
    """contract: Cache: what is handed out is a copy; the stored one cannot be reached."""
    engine = engine_of(*three())
    taken = ask(engine).result.hits()
    taken[0]["title"] = "changed"
    taken.clear()
    assert [hit["title"] for hit in ask(engine).result.hits()] == ["Title"] * 3


def test_filtered_and_unfiltered_search_never_share() -> None:
    """R6: the same query without filters is a miss, and so is another include list."""
    sources = three()
    engine = engine_of(*sources)
    for filters in (Filter(include_domains=("docs.example",)), Filter(), Filter(include_domains=("other.test",))):
        assert ask(engine, filter=filters).cache == "miss"
    assert len(sources[0].calls) == 3


def test_classes_of_callers_never_share() -> None:
    """R6: fleet fills, restricted asks: a miss, and an entry of its own."""
    cache = FakeCache()
    engine = engine_of(*three(), cache=cache)
    assert [ask(engine, caller_class=cls).cache for cls in ("fleet", "restricted", "fleet", "restricted")] == [
        "miss",
        "miss",
        "hit",
        "hit",
    ]
    assert len(cache) == 2


def test_hour_is_part_of_the_key_and_read_once() -> None:
    """contract: Cache: the next hour asks anew; a search that runs over the hour is stored under the one it began
    in.
    """
    now = FakeClock(NOON + 3599)

    def over_the_hour() -> SourceOut:
        now.tick(1)
        return out(page(1))

    engine = engine_of(FakeSource("s1", over_the_hour), now=now)
    assert ask(engine).cache == "miss"  # began before 13:00, ended at 13:00
    assert ask(engine).cache == "miss"  # 13:00 has no entry
    now.now = NOON + 3599
    assert ask(engine).cache == "hit"


def test_cache_off_says_so_and_asks_each_time() -> None:
    """contract: Log: `SIFT_CACHE_TTL=0` is "off"."""
    sources = three()
    engine = engine_of(*sources, caching=False)
    assert [ask(engine).cache for _ in range(2)] == ["off", "off"]
    assert len(sources[0].calls) == 2
    assert unavailable(engine_of(FakeSource("s1", TIMEOUT), caching=False)).cache == "off"


def test_cache_of_many_threads_raises_nothing_and_still_works() -> None:
    """contract: Cache: gets and puts with expiry from 8 threads, then from one."""
    clock = FakeClock(0.0)
    cache = MemoryCache(4, 1.0, clock)
    result = ask(engine_of(*three())).result

    def hammer(thread: int) -> None:
        for turn in range(2000):
            cache.put(bytes([turn % 7]), result)
            assert cache.get(bytes([(turn + thread) % 7])) in (None, result)
            clock.tick(0.3)
            len(cache)

    assert in_parallel(8, hammer) == [None] * 8
    cache.put(b"k", result)
    assert cache.get(b"k") == result
    assert len(cache) <= 4
    clock.tick(1.0)
    assert cache.get(b"k") is None


def test_cache_through_the_engine_expires() -> None:
    """contract: Cache: an answer is kept for its time and no longer."""
    clock = FakeClock(0.0)
    engine = engine_of(*three(), cache=MemoryCache(10, 60.0, clock))
    assert ask(engine).cache == "miss"
    clock.tick(59)
    assert ask(engine).cache == "hit"
    clock.tick(1)
    assert ask(engine).cache == "miss"


def test_cached_looks_up_only_and_never_asks() -> None:
    """contract: Cache: a whole answer that is at hand, for its own class; otherwise nothing happens."""
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
    """Operations: the hit rate of this worker counts hits and shared answers, and no failures."""
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
    """contract: Shared searches: one leads, 49 share, with and without a cache; all get the same answer."""
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

    # One more thread than searches share: the first only opens the gate once the others all wait.
    results = in_parallel(51, search)
    results, late = results[1:], results[0]
    assert {answer.result for answer in results} == {results[0].result}
    assert sorted(answer.cache for answer in results) == ["miss" if caching else "off"] + ["shared"] * 49
    assert sum(answer.cached for answer in results) == 49
    assert late.cache == ("hit" if caching else "off") or late.cache == "shared"
    assert len(sources[1].calls) == (1 if caching or late.cache == "shared" else 2)


def test_fifty_equal_searches_that_fail_share_the_failure(gates: list[Gate]) -> None:
    """contract: Shared searches: they also share a failed answer and never stampede; the next one tries anew."""
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
    """contract: Shared searches: single flight is per key; class and filter are part of it."""
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
    """R5: 40 at once and 5 credits: 5 calls, and each search without one says why."""
    ledger = FakeLedger({"s2": 5})
    sources = [FakeSource("s1", out(page(1))), FakeSource("s2", out(page(2)))]
    engine = engine_of(*sources, ledger=ledger, threads=40)
    answers = in_parallel(40, lambda number: ask(engine, f"q{number}"))
    assert len(sources[1].calls) == 5
    assert sum(answer.result.skips == ("s2: daily cap",) for answer in answers) == 35
    assert ledger.credits == {"s2": 0}


# --- no source left


def test_all_sources_fail_is_unavailable_with_all_failures() -> None:
    """contract: Unavailable: 503 with the warnings and the failed ones; without Retry-After:
    they may answer the next one.
    """
    failure = unavailable(engine_of(*three(s1=TIMEOUT, s2=SourceError("http 500"), s3=RuntimeError())), "q1", "q2")
    assert failure.warnings == ("s1: timeout", "s2: http 500", "s3: internal error")
    assert failure.sources_failed == ("s1", "s2", "s3")
    assert (failure.retry_after, failure.cache) == (None, "miss")


def test_source_that_answers_one_query_of_several_makes_an_answer() -> None:
    """contract: Unavailable: 503 only when all that were asked failed in every query."""
    answer = ask(engine_of(FakeSource("s1", TIMEOUT, out(page(1)))), "q1", "q2")
    assert summary(answer) == ((), ("s1",), ("s1: timeout",))
    assert urls(answer) == [page(1)]


def test_cap_as_the_only_reason_says_when_to_come_back() -> None:
    """contract: Unavailable: Retry-After is the time to UTC midnight, in whole seconds."""
    failure = unavailable(engine_of(FakeSource("s1", out()), ledger=FakeLedger({"s1": 0}), now=FakeClock(NOON + 0.25)))
    assert failure.warnings == ("s1: daily cap",)
    assert (failure.sources_failed, failure.retry_after) == ((), MIDNIGHT)


def test_cap_lost_to_a_rival_says_when_to_come_back_too() -> None:
    """R5: the same when the cap is met at the call and not at the plan."""
    failure = unavailable(engine_of(FakeSource("s1", out()), ledger=FakeLedger({"s1": 1}, rival=1)))
    assert (failure.warnings, failure.retry_after) == (("s1: daily cap",), MIDNIGHT)


def test_cap_and_a_failure_say_no_time() -> None:
    """contract: Unavailable: Retry-After only when waiting is all there is to do."""
    failure = unavailable(engine_of(FakeSource("s1", TIMEOUT), FakeSource("s2", out()), ledger=FakeLedger({"s2": 0})))
    assert failure.warnings == ("s1: timeout", "s2: daily cap")
    assert (failure.sources_failed, failure.retry_after) == (("s1",), None)


def test_cap_and_an_open_breaker_say_the_shorter_wait() -> None:
    """contract: Unavailable: with several reasons Retry-After is the shortest wait."""
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
    """contract: Unavailable: not asked, so in neither list; waiting would not help."""
    note = "s1: query too long, not asked"
    failure = unavailable(engine_of(FakeSource("s1", out(notes=(note,), asked=False))))
    assert failure.warnings == (note,)
    assert (failure.sources_failed, failure.retry_after) == ((), None)


def test_query_too_long_for_one_source_leaves_it_out_of_both_lists() -> None:
    """contract: Notes: the others answer, the note is said, and the answer may be stored."""
    cache = FakeCache()
    note = "s1: query too long, not asked"
    engine = engine_of(*three(s1=out(notes=(note,), asked=False)), cache=cache)
    assert summary(ask(engine)) == (("s2", "s3"), (), (note,))
    assert ask(engine).cache == "hit"


def test_source_not_asked_in_one_query_only_is_ok() -> None:
    """contract: Search answer: asked, and never failed."""
    source = FakeSource("s1", by_query={"long": out(notes=("s1: n",), asked=False), "short": out(page(1))})
    assert summary(ask(engine_of(source), "long", "short")) == (("s1",), (), ("s1: n",))


# --- breaker


def test_source_that_keeps_failing_is_skipped_then_tried_once() -> None:
    """contract: Breaker: skipped is neither ok nor failed, and cached without it; the trial brings it back."""
    clock, cache = FakeClock(0.0), FakeCache()
    flaky = FakeSource("s1", *[TIMEOUT] * 5, out(page("back")))
    engine = engine_of(flaky, FakeSource("s2", out(page(2))), cache=cache, clock=clock)
    for number in range(5):
        assert summary(ask(engine, f"q{number}"))[1] == ("s1",)
    assert len(cache) == 0
    skipped = ask(engine, "q")
    assert summary(skipped) == (("s2",), (), ("s1: skipped after repeated failures",))
    assert len(flaky.calls) == 5
    assert ask(engine, "q").cache == "hit"
    clock.tick(30)
    back = ask(engine, "q")  # the answer without the source hides nothing of it
    assert back.cache == "miss"
    assert summary(back) == (("s1", "s2"), (), ())
    assert page("back") in urls(back)


@pytest.mark.parametrize("failure", [SourceError("http 404"), SourceError("bad response"), RuntimeError("unexpected")])
def test_failure_that_does_not_count_never_opens_the_breaker(failure: Exception) -> None:
    """contract: Breaker: 4xx, redirects and bad bodies neither count nor reset."""
    source = FakeSource("s1", failure)
    engine = engine_of(source, breaker_failures=2)
    for number in range(5):
        unavailable(engine, f"q{number}")
    assert len(source.calls) == 5


def test_source_not_asked_does_not_reset_the_breaker() -> None:
    """contract: Breaker: choosing not to be asked says nothing about the vendor."""
    source = FakeSource("s1", TIMEOUT, out(asked=False, notes=("s1: n",)), TIMEOUT)
    engine = engine_of(source, breaker_failures=2)
    for number in range(3):
        unavailable(engine, f"q{number}")
    assert unavailable(engine, "q").warnings == ("s1: skipped after repeated failures",)


@pytest.mark.parametrize("reason", ["not-asked", "cap", "ledger"])
def test_trial_that_is_not_made_leaves_the_next_one_the_place(reason: str) -> None:
    """contract: Breaker: a trial lost to the cap, the ledger or the query's length does not shut the source out for
    ever.
    """
    clock = FakeClock(0.0)
    not_asked = out(notes=("s1: n",), asked=False)
    source = FakeSource("s1", TIMEOUT, *([not_asked] if reason == "not-asked" else []), out(page(1)))
    ledger = FakeLedger({"s1": 9})
    engine = engine_of(source, FakeSource("s2", out(page(2))), ledger=ledger, clock=clock, breaker_failures=1)
    ask(engine, "q0")
    clock.tick(30)
    if reason == "cap":
        ledger.rival = 9
    ledger.is_broken = reason == "ledger"
    ask(engine, "q1")
    ledger.rival, ledger.is_broken, ledger.credits["s1"] = 0, False, 9
    assert summary(ask(engine, "q2")) == (("s1", "s2"), (), ())


def test_only_source_resting_says_when_to_come_back() -> None:
    """contract: Breaker: no source left: 503 with Retry-After."""
    engine = engine_of(FakeSource("s1", SourceError("http 503", counts=True, retry_after=12.5)))
    assert unavailable(engine, "q1").retry_after is None
    assert unavailable(engine, "q2").retry_after == 13


class SlowToStart(FakeSource):
    """Hold the pool's thread before the call is admitted, while there is a gate."""

    gate: Gate | None = None

    @property
    def name(self) -> str:
        if self.gate and threading.current_thread().name.startswith("sift-source"):
            self.gate()
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name


def test_call_admitted_after_its_timeout_does_not_keep_the_trial_for_ever(gates: list[Gate]) -> None:
    """contract: Breaker: on a loaded host a thread may get going when nobody waits any more;
    the source must come back.
    """
    clock, ledger = FakeClock(0.0), FakeLedger({"s1": 9})
    source = SlowToStart("s1", SourceError("http 429", counts=True, retry_after=7.0), out(page(1)))
    engine = engine_of(source, FakeSource("s2", out(page(2))), ledger=ledger, clock=clock)
    ask(engine, "q1")
    clock.tick(7)
    gates.append(Gate(out()))
    source.gate, source.timeout = gates[0], 0.05
    assert summary(ask(engine, "q2"))[2] == ("s1: timeout",)
    gates[0].open()
    wait_for(
        lambda: all(not thread.name.startswith("sift-source") or is_idle(thread) for thread in threading.enumerate())
    )
    source.gate, source.timeout = None, PATIENCE
    assert summary(ask(engine, "q3")) == (("s1", "s2"), (), ())


def is_idle(thread: threading.Thread) -> bool:
    """Tell whether a pool thread waits for work."""
    frame = sys._current_frames().get(thread.ident or 0)
    return frame is None or frame.f_code.co_name == "_worker"
