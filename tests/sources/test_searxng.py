"""SearXNG's request and answer (contract: SearXNG)."""

from __future__ import annotations

from typing import Any

import pytest
import responses

from sift.config import SourceConfig
from sift.errors import SourceError
from sift.search.merge import SourceList, build_hits, merge
from sift.search.model import Filter, Hit, SourceOut
from sift.sources.searxng import Searxng, notes, parameters, parse
from sift.wire.endpoint import Endpoint
from tests.calls import later
from tests.fakes import FakeClock
from tests.sources.filters import FILTERS, QUERY


def row(url: Any = "https://docs.example/a", **fields: Any) -> dict[str, Any]:
    """Return a result as an instance sends it."""
    typed = {
        "url": url,
        "title": "A title",
        "content": "Some content.",
        "engine": "one",
        "engines": ["two", "one"],
        "positions": [1, 3],
        "score": 2.5,
        "category": "general",
        "template": "default.html",
        "parsed_url": ["https", "docs.example", "/a", "", "", ""],
        "publishedDate": None,
        "pubdate": "",
        "thumbnail": "",
    }
    return typed | fields


def body(*rows: Any, unresponsive: Any = (), **more: Any) -> dict[str, Any]:
    """Return an answer as current instances send it."""
    empty: dict[str, Any] = {"answers": [], "corrections": [], "infoboxes": [], "suggestions": []}
    return {"query": "q", "results": list(rows), **empty, "unresponsive_engines": list(unresponsive), **more}


def shown(out: SourceOut) -> list[Hit]:
    """Return the hits as an answer shows them."""
    lists = [SourceList("searxng", out.hits)]
    return list(build_hits(merge(lists, rerank=False), [lists], 50))


# The request


def test_parameters_without_filters_are_query_and_format() -> None:
    """contract: SearXNG: without filters the first page is requested, as JSON."""
    assert parameters("cats and dogs", Filter()) == {"q": "cats and dogs", "format": "json"}


@pytest.mark.parametrize(
    ("domains", "prefix"),
    [
        (("a.example",), "site:a.example "),
        (("gov",), "site:gov "),
        (("a.example", "b.example"), "site:a.example OR site:b.example "),
        (("a.example", "b.example", "c.example"), "site:a.example OR site:b.example OR site:c.example "),
        (tuple("abcd"), "site:a OR site:b OR site:c "),
        (tuple("abcdefghijklmnopqrst"), "site:a OR site:b OR site:c "),
    ],
)
def test_parameters_include_domains_prefix_the_query(domains: tuple[str, ...], prefix: str) -> None:
    """contract: SearXNG: up to three entries, joined by OR, and a note if there are more."""
    chosen = Filter(include_domains=domains)
    assert parameters(QUERY, chosen)["q"] == prefix + QUERY
    extra = ("searxng: extra include_domains dropped",) if len(domains) > 3 else ()
    assert notes(QUERY, chosen) == extra


def test_parameters_prefer_mode_leaves_the_query() -> None:
    """contract: SearXNG: a preference is noted and leaves the query as it is."""
    chosen = Filter(include_domains=tuple("abcd"), include_domains_mode="prefer")
    assert parameters("q", chosen)["q"] == "q"
    assert notes("q", chosen) == ("searxng: include_domains_mode=prefer not applied",)


def test_parameters_exclude_domains_leave_the_query_without_a_note() -> None:
    """contract: SearXNG: excluded domains are left to the post-filter."""
    chosen = Filter(exclude_domains=("pins.example",))
    assert parameters("q", chosen) == parameters("q", Filter())
    assert notes("q", chosen) == ()


def test_parameters_time_range_is_a_parameter() -> None:
    """contract: SearXNG: a time range is sent, and not noted: SearXNG applies it."""
    chosen = Filter(time_range="week")
    assert parameters("q", chosen) == {"q": "q", "format": "json", "time_range": "week"}
    assert notes("q", chosen) == ()


@pytest.mark.parametrize(
    ("topic", "extra", "said"),
    [
        ("general", {}, ()),
        ("news", {"categories": "news"}, ()),
        ("finance", {}, ("searxng: topic ignored (no finance category)",)),
    ],
)
def test_parameters_topic_is_a_category(topic: str, extra: dict[str, str], said: tuple[str, ...]) -> None:
    """contract: SearXNG: `news` is sent as `categories=news`, `finance` is noted."""
    chosen = Filter(topic=topic)
    assert parameters("q", chosen) == {"q": "q", "format": "json"} | extra
    assert notes("q", chosen) == said


@pytest.mark.parametrize(
    "chosen",
    [
        Filter(start_date="2026-09-01"),
        Filter(end_date="2026-09-29"),
        Filter(start_date="2026-09-01", end_date="2026-09-29"),
    ],
)
def test_parameters_dates_are_left_out_with_one_note(chosen: Filter) -> None:
    """contract: SearXNG: dates are not sent, and noted."""
    assert parameters("q", chosen) == {"q": "q", "format": "json"}
    assert notes("q", chosen) == ("searxng: start_date/end_date not applied",)


def test_parameters_exact_match_sends_the_query_as_it_is() -> None:
    """contract: SearXNG: the agent's quotes stay as they are, without a note."""
    assert parameters(QUERY, Filter(exact_match=True))["q"] == QUERY
    assert notes(QUERY, Filter(exact_match=True)) == ()


def test_parameters_min_score_is_a_note() -> None:
    """R2: `min_score` is Tavily's; SearXNG notes it."""
    assert parameters("q", Filter(min_score=0.5)) == {"q": "q", "format": "json"}
    assert notes("q", Filter(min_score=0.5)) == ("searxng: min_score not applied",)


def test_parameters_any_filter_no_bang_no_other_parameter() -> None:
    """contract: SearXNG: filters change query and parameters only as listed, never by a bang."""
    for chosen in FILTERS:
        built = parameters(QUERY, chosen)
        assert set(built) <= {"q", "format", "time_range", "categories"}
        assert built["q"].endswith(QUERY)
        assert "!" not in built["q"]
        assert built["q"].count('"') == 2
        assert built.get("time_range") == chosen.time_range
        assert built.get("categories") == ("news" if chosen.topic == "news" else None)


def test_notes_any_filter_are_unique_and_exactly_those_due() -> None:
    """contract: Notes: all of SearXNG's notes, for every combination."""
    for chosen in FILTERS:
        due = {
            "searxng: include_domains_mode=prefer not applied": chosen.prefers,
            "searxng: extra include_domains dropped": chosen.restricts and len(chosen.include_domains) > 3,
            "searxng: start_date/end_date not applied": bool(chosen.start_date or chosen.end_date),
            "searxng: topic ignored (no finance category)": chosen.topic == "finance",
            "searxng: min_score not applied": chosen.min_score > 0,
        }
        assert sorted(notes(QUERY, chosen)) == sorted(note for note, is_due in due.items() if is_due)


@pytest.mark.parametrize(
    ("query", "is_syntax"),
    [
        ("!news cats", True),
        ("cats !!g", True),
        (":fr chats", True),
        ("I <3 cats", True),
        ("cats\u3000!g", True),
        ("cats\u00a0:fr", True),
        ('"cats" !g', True),
        ('"a !b" !c "d"', True),
        ('5" pipe !g', True),
        ("wow! great", False),
        ("a:b site:x std::map", False),
        ("x<3", False),
        ("a < 3", False),
        ('"cats !g"', False),
        ('"I <3 cats" and more', False),
    ],
)
def test_notes_query_is_a_command_to_searxng_it_is_said_and_sent_as_it_is(query: str, is_syntax: bool) -> None:
    """contract: Notes: a word outside quotes that starts with `!`, `:` or `<` and a digit is noted, not rewritten."""
    assert notes(query, Filter()) == (("searxng: query holds search syntax",) if is_syntax else ())
    assert parameters(query, Filter())["q"] == query


@responses.activate
@pytest.mark.parametrize("base", ["http://searx.example", "http://searx.example/", "https://searx.example:8080/sub//"])
def test_search_whole_request_is_one_get_below_the_base(base: str) -> None:
    """contract: SearXNG: requests go to `<base URL>/search`."""
    matcher = responses.matchers.query_param_matcher(
        {"q": f"site:a.example {QUERY}", "format": "json", "time_range": "month", "categories": "news"}
    )
    responses.get(base.rstrip("/") + "/search", json=body(row()), match=[matcher])
    source = Searxng.from_config(SourceConfig("searxng", base, timeout=3.0), 1)
    chosen = Filter(include_domains=("a.example",), time_range="month", topic="news", exact_match=True, min_score=0.9)
    out = source.search(QUERY, 8, chosen, deadline=later())
    assert (source.timeout, source.reranked, out.asked, out.warn) == (3.0, True, True, "")
    assert len(out.hits) == out.found == 1
    assert out.notes == ("searxng: min_score not applied",)


@responses.activate
def test_search_hits_are_dated_outside_the_filter_they_are_counted_and_kept() -> None:
    """R1: SearXNG's own dates say that the filter was not kept; its hits stay, and a note counts them."""
    responses.get(
        "http://searx.example/search",
        json=body(
            row("https://a.example/", publishedDate="2019-01-01T00:00:00"),
            row("https://b.example/", publishedDate="1 hour ago", pubdate="2019-01-01 00:00:00"),
            row("https://c.example/", publishedDate="2026-09-29T00:00:00"),
            row("https://d.example/"),
            row(None, publishedDate="2019-01-01T00:00:00"),
            unresponsive=[["one", "timeout"]],
        ),
    )
    endpoint = Endpoint("http://searx.example/search", {}, connections=1)
    source = Searxng(endpoint, 3.0, now=FakeClock())
    out = source.search("q", 8, Filter(time_range="week"), deadline=later())
    silent = "searxng: 1 engine unresponsive"
    assert out.notes == (silent, "searxng: 2 hits dated outside time_range")
    assert (len(out.hits), out.warn) == (4, "")
    assert source.search("q", 8, Filter(), deadline=later()).notes == (silent,)
    dated = source.search("q", 8, Filter(end_date="2026-09-20"), deadline=later())
    noted = "searxng: start_date/end_date not applied"
    assert dated.notes == (noted, silent, "searxng: 1 hit dated outside start_date/end_date")


@responses.activate
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"status": 302, "headers": {"Location": "https://other.example/"}}, "redirect refused"),
        ({"status": 400}, "http 400"),
        ({"json": body(unresponsive=[["one", "timeout"]])}, "no engine answered"),
    ],
)
def test_search_query_is_a_command_and_fails_the_failure_carries_the_note(answer: Any, reason: str) -> None:
    """contract: Failures: asking again does not help against a command, so the note says what to change."""
    responses.get("http://searx.example/search", **answer)
    source = Searxng.from_config(SourceConfig("searxng", "http://searx.example"), 1)
    for query, noted in (("!!g words", ("searxng: query holds search syntax",)), ("words", ())):
        with pytest.raises(SourceError) as raised:
            source.search(query, 8, Filter(min_score=0.5), deadline=later())
        assert (raised.value.reason, raised.value.notes) == (reason, noted)


# The answer


def test_parse_rows_of_both_families_order_is_the_lists() -> None:
    """contract: SearXNG: typed and legacy rows; the rank is the place, not the score."""
    legacy = {"url": "https://b.example/", "title": "B", "content": "Legacy.", "score": 7.05}
    out = parse(body(row(), legacy, row("https://c.example/", score=0.3), number_of_results=0))
    assert [hit.url for hit in out.hits] == ["https://docs.example/a", "https://b.example/", "https://c.example/"]
    assert [hit.content.score for hit in out.hits] == [2.5, 7.05, 0.3]
    assert [(hit.title, hit.snippet) for hit in shown(out)][:2] == [("A title", "Some content."), ("B", "Legacy.")]


def test_parse_only_the_field_in_use_is_there_it_is_enough() -> None:
    """contract: HTTP calls: every field but `results` and `url` is optional."""
    out = parse({"results": [{"url": "https://a.example/"}], "new_field": {"x": [1]}})
    assert [(hit.title, hit.snippet, hit.score, hit.published_date) for hit in shown(out)] == [
        ("a.example", "", 0.0, "")
    ]


@pytest.mark.parametrize(
    "url",
    [
        None,
        ["https://a.example/"],
        "magnet:?xt=urn:btih:00",
        "http://[broken",
        "https://a.example/\ud800",
    ],
)
def test_parse_row_has_no_usable_url_it_alone_is_dropped(url: Any) -> None:
    """contract: HTTP calls: a row without a usable URL costs no other row."""
    out = parse(body(row(url), row("https://good.example/")))
    assert [hit.url for hit in out.hits] == ["https://good.example/"]
    assert out.found == 1


@pytest.mark.parametrize("junk", [None, "text", [row()]])
def test_parse_row_is_no_object_it_alone_is_dropped(junk: Any) -> None:
    """contract: HTTP calls: a bad row costs no other row."""
    assert [hit.url for hit in parse(body(junk, row(), junk)).hits] == ["https://docs.example/a"]


@pytest.mark.parametrize("value", [None, 0, False, ["x"]])
def test_parse_text_is_of_a_wrong_type_it_is_absent(value: Any) -> None:
    """contract: HTTP calls: a wrong type counts as absent; the title falls back to the host."""
    out = parse(body(row(title=value, content=value, score=value, publishedDate=value, engines=value)))
    assert [(hit.title, hit.snippet, hit.published_date) for hit in shown(out)] == [("docs.example", "", "")]


@pytest.mark.parametrize("score", [None, "3", True, float("nan"), 10**400, -1.5, 0])
def test_parse_score_is_odd_it_is_a_finite_number(score: Any) -> None:
    """contract: HTTP calls: a hit's score is a finite number."""
    (hit,) = parse(body(row(score=score))).hits
    assert hit.content.score == (score if score in (-1.5, 0) and score is not None else 0.0)
    assert isinstance(hit.content.score, float)


PUBDATE = "2026-11-30 16:34:52+0000"


@pytest.mark.parametrize(
    ("published", "pubdate", "date"),
    [
        ("2026-09-28T07:30:00", "2026-09-28 07:30:00", "2026-09-28T07:30:00"),
        ("2026-09-28T06:05:11+00:00", None, "2026-09-28T06:05:11+00:00"),
        ("2 hour(s), 5 minute(s) ago", PUBDATE, PUBDATE),
        ("Dec 31, 2018", "2019-01-01 00:00:00+0200", "2019-01-01 00:00:00+0200"),
        ("Dec 31, 2018", "", "Dec 31, 2018"),
        ("2 hour(s), 5 minute(s) ago", "", ""),
        ("vor 3 Tagen", "yesterday", ""),
        (None, PUBDATE, PUBDATE),
        (None, "", ""),
        ("", None, ""),
    ],
)
def test_parse_date_is_the_exact_one_of_two(published: Any, pubdate: Any, date: str) -> None:
    """contract: SearXNG: `pubdate` where `publishedDate` is not ISO; as sent, and a relative date is none."""
    dated = row(publishedDate=published, pubdate=pubdate)
    assert [hit.published_date for hit in shown(parse(body(dated)))] == [date]


def test_parse_date_is_missing_none_is_invented() -> None:
    """contract: Search answer: without either field there is no date."""
    undated = row()
    del undated["publishedDate"], undated["pubdate"]
    assert [hit.published_date for hit in shown(parse(body(undated)))] == [""]


def test_parse_date_holds_unfit_characters_they_are_removed() -> None:
    """contract: Texts: of a date nothing but unfit characters is lost."""
    (hit,) = shown(parse(body(row(publishedDate="\x1b2026-\ud80009-\u202e01"))))
    assert hit.published_date == "2026-09-01"


def test_parse_markup_and_entities_become_plain_text() -> None:
    """contract: Texts: texts are plain, the URL stays byte for byte."""
    out = parse(
        body(
            row(
                "https://ref.example/c?x=1&amp;y=2",
                title="  C &lt;string.h&gt;\n notes ",
                content="Use <b>strlen</b> &amp; friends,\u202e 1 < 2.\t<a href='x'>more</a>",
            )
        )
    )
    (hit,) = shown(out)
    assert hit.url == "https://ref.example/c?x=1&amp;y=2"
    assert hit.title == "C <string.h> notes"
    assert hit.snippet == "Use strlen & friends, 1 < 2. more"


def test_parse_host_is_unicode_url_is_shown_as_sent() -> None:
    """contract: Domain filter: SearXNG decodes hosts that begin with xn--; the filter sees one host."""
    unicode, punycode = parse(body(row("https://b\u00fccher.example/p"), row("https://xn--bcher-kva.example/q"))).hits
    assert unicode.url == "https://b\u00fccher.example/p"
    assert unicode.address.host == punycode.address.host == "xn--bcher-kva.example"


@pytest.mark.parametrize(
    ("unresponsive", "said"),
    [
        ([], ()),
        ([["one", "timeout"]], ("searxng: 1 engine unresponsive",)),
        ([["one", "timeout"], ["two", "CAPTCHA"]], ("searxng: 2 engines unresponsive",)),
    ],
)
def test_parse_engines_were_silent_hits_came_it_is_a_note(unresponsive: Any, said: tuple[str, ...]) -> None:
    """R1: silent engines are noted after the other notes; hits are kept."""
    out = parse(body(row(), unresponsive=unresponsive), ("searxng: min_score not applied",))
    assert out.notes == ("searxng: min_score not applied", *said)
    assert (len(out.hits), out.warn) == (1, "")


@pytest.mark.parametrize("rows", [[], [row(None)], ["junk"]])
def test_parse_engines_were_silent_no_usable_hit_is_a_failure(rows: list[Any]) -> None:
    """contract: SearXNG: blocked engines must not look like "nothing found"."""
    with pytest.raises(SourceError) as raised:
        parse(body(*rows, unresponsive=[["one", "CAPTCHA"]]))
    assert (raised.value.reason, raised.value.counts, raised.value.sent) == ("no engine answered", False, True)


@pytest.mark.parametrize("unresponsive", [None, "one", {"one": "x"}])
def test_parse_list_of_silent_engines_is_of_a_wrong_type_it_is_absent(unresponsive: Any) -> None:
    """contract: HTTP calls: a wrong type counts as absent."""
    out = parse(body() | {"unresponsive_engines": unresponsive})
    assert (list(out.hits), out.notes) == ([], ())


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"answers": [{"answer": "42", "url": None}]},
        {"answers": ["42"], "suggestions": ["q"], "infoboxes": [{"urls": []}]},
    ],
)
def test_parse_nothing_was_found_is_a_success(more: dict[str, Any]) -> None:
    """contract: Search answer: no hits from an instance that worked are no failure."""
    out = parse(body(**more))
    assert (list(out.hits), out.found, out.warn, out.asked) == ([], 0, "", True)


@pytest.mark.parametrize("answer", [{"results": {}}, {"error": "x"}])
def test_parse_result_list_is_missing_bad_response(answer: Any) -> None:
    """contract: HTTP calls: a 200 without its list of results is `bad response`."""
    with pytest.raises(SourceError, match=r"^bad response$"):
        parse(answer)
