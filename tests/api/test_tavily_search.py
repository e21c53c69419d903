"""`POST /tavily/search` in process; real clients are in tests/real/test_tavily_clients.py (contract: Tavily door)."""

from __future__ import annotations

import json
import uuid
from datetime import date
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given, settings
from hypothesis import strategies as st

from sift.api.doors.tavily.search import is_spent, read
from sift.app import create_app
from sift.errors import InvalidSearchError, SearchUnavailableError, SourceError
from sift.search.fields import FIELDS
from sift.search.model import Filter
from sift.search.schema import load_search
from tests.fakes import FakeLedger, FakeSource, engine_of, out, page, raw, services_of, three

PATH = "/tavily/search"
TODAY = date(2026, 12, 1)
UNKNOWN = "sift: no such endpoint; there are POST /tavily/search and, unless it is switched off, POST /tavily/extract"


def client(*sources: Any, lines: list[bytes] | None = None, **options: Any) -> FlaskClient:
    """Return a client of an application with these sources, three if none is given."""
    notices = options.pop("notices", ())
    services = services_of(engine_of(*(sources or three()), **options), lines=lines, notices=notices)
    return create_app(services=services).test_client()


def searched(app: FlaskClient | None = None, **fields: Any) -> Any:
    """Search and return the answer, which must be a 200."""
    reply = (app or client()).post(PATH, json={"query": "words", **fields})
    assert reply.status_code == 200, reply.json
    return reply.json


def failed(app: FlaskClient, body: Any) -> tuple[int, Any]:
    """Return the status of a refusal and its text; there must be nothing else."""
    reply = app.post(PATH, json=body)
    assert list(reply.json) == ["detail"]
    assert list(reply.json["detail"]) == ["error"]
    return reply.status_code, reply.json["detail"]["error"]


def scores(answer: Any) -> list[float]:
    return [hit["score"] for hit in answer["results"]]


def test_answer_has_tavilys_keys_in_order() -> None:
    """contract: Tavily door: what Sift does not give is null or empty, and there all the same."""
    hit = raw("https://docs.example/1", "Text.", title="Title", published_date="2026-11-30")
    answer = searched(client(FakeSource("s1", out(hit, page(2)))), query="  some words ")
    assert list(answer) == [
        *("query", "follow_up_questions", "answer", "images"),
        *("results", "response_time", "request_id", "warnings"),
    ]
    assert (answer["query"], answer["follow_up_questions"], answer["answer"]) == ("some words", None, None)
    assert (answer["images"], answer["warnings"]) == ([], [])
    assert answer["response_time"] >= 0
    assert str(uuid.UUID(answer["request_id"])) == answer["request_id"]
    first, second = answer["results"]
    assert first == {
        "title": "Title",
        "url": "https://docs.example/1",
        "content": "Text.",
        "score": 1.0,
        "raw_content": None,
        "published_date": "2026-11-30",
    }
    assert "published_date" not in second


def test_score_is_the_share_of_the_best_sum_that_the_answering_sources_allow() -> None:
    """contract: Tavily door: first in all lists is 1; a source that failed cannot have ranked anything."""
    both = [FakeSource("s1", out(page(1), page(2))), FakeSource("s2", out(page(1), page(3)))]
    assert scores(searched(client(*both))) == pytest.approx([1.0, 61 / 62 / 2, 61 / 62 / 2])
    broken = FakeSource("s3", SourceError("timeout"))
    assert scores(searched(client(*both, broken)))[0] == 1.0
    alone = client(FakeSource("s1", out(*map(page, range(20)))), broken)
    assert scores(searched(alone, max_results=20)) == pytest.approx([61 / rank for rank in range(61, 81)])


@pytest.mark.parametrize("native", [7.5, 0.9, 0.0, -3.0])
def test_score_of_a_list_outside_the_sum_stays_between_0_and_1_and_in_order(native: float) -> None:
    """contract: Tavily door: its own score can be anything."""
    outside = FakeSource("s2", out(raw(page(1), score=native)), reranked=False)
    found = scores(searched(client(FakeSource("s1", out(page(2), page(3))), outside)))
    assert found == sorted(found, reverse=True)
    assert all(0 <= score <= 1 for score in found)
    assert scores(searched(client(outside))) == [min(1.0, max(0.0, native))]


@pytest.mark.parametrize(("asked", "count"), [({}, 5), ({"max_results": None}, 5), ({"max_results": 20}, 20)])
def test_number_of_hits_is_max_results(asked: dict[str, Any], count: int) -> None:
    """contract: Tavily door: 5 unless asked."""
    assert len(searched(client(FakeSource("s1", out(*map(page, range(30))))), **asked)["results"]) == count


def test_no_hits_wanted_nobody_is_asked() -> None:
    """contract: Tavily door: `max_results` of 0 costs nothing, and its other fields are checked all the same."""
    lines: list[bytes] = []
    source = FakeSource("s1", out(page(1)))
    app = client(source, lines=lines)
    assert searched(app, max_results=0)["results"] == []
    assert failed(app, {"query": "words", "max_results": 0, "topic": "x"})[0] == 400
    assert (source.calls, lines) == ([], [])


FILTERS = [
    {"include_domains": ["Docs.Example", "a.example"], "include_domains_mode": "prefer"},
    {"exclude_domains": ["b.example"], "include_domains": []},
    {"time_range": "w"},
    {"start_date": "2026-11-01", "end_date": "2026-11-02"},
    {"topic": "finance", "time_range": None},
    {"exact_match": True, "min_score": 0.5},
]


@pytest.mark.parametrize("fields", FILTERS)
def test_filters_are_those_of_v1(fields: dict[str, Any]) -> None:
    """contract: Tavily door: same names, same rules, same record."""
    body = {"query": 'a "phrase"', **fields}
    assert read(body, TODAY).request.filter == load_search(body).filter
    assert read(body, TODAY).warnings == ()


def test_domain_filter_holds_for_every_source() -> None:
    """R3: through this door, too."""
    answer = searched(
        client(FakeSource("s1", out(page(1), "https://other.example/"))), include_domains=["docs.example"]
    )
    assert [hit["url"] for hit in answer["results"]] == [page(1)]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"include_domains": ["*.com"]}, "include_domains"),
        ({"include_domains_mode": "prefer"}, "include_domains_mode"),
        ({"time_range": "day", "start_date": "2026-11-01"}, "time_range"),
        ({"start_date": "2026-11-02", "end_date": "2026-11-01"}, "end_date"),
        ({"topic": "sports"}, "topic"),
        ({"exact_match": True}, "exact_match"),
        ({"max_results": 21}, "max_results"),
        ({"max_results": -1}, "max_results"),
        ({"max_results": "5"}, "max_results"),
        ({"max_results": True}, "max_results"),
        ({"max_results": 5.0}, "max_results"),
        ({"days": 0}, "days"),
        ({"days": "7", "topic": "news"}, "days"),
        ({"days": 36_501, "topic": "news"}, "days"),
        ({"max_results": 21, "topic": "sports"}, "topic"),
    ],
)
def test_wrong_field_is_a_400_that_names_it(fields: dict[str, Any], field: str) -> None:
    """contract: Tavily door: by the name that the client uses."""
    source = FakeSource("s1", out(page(1)))
    assert failed(client(source), {"query": "words", **fields}) == (400, f"invalid search: {field}")
    assert source.calls == []


@pytest.mark.parametrize(("topic", "day"), [("news", "2026-11-28"), ("general", None), ("finance", None)])
def test_days_count_back_from_today_for_news_only(topic: str, day: str | None) -> None:
    """contract: Tavily door: Tavily has them for news; elsewhere the warning says that they do nothing."""
    reading = read({"query": "words", "topic": topic, "days": 3}, TODAY)
    assert reading.request.filter.start_date == day
    assert reading.warnings == (() if day else ("days ignored",))


@pytest.mark.parametrize("fields", [{"time_range": "week"}, {"start_date": "2026-11-01"}, {"end_date": "2026-11-01"}])
def test_days_beside_another_date_filter_are_ignored(fields: dict[str, Any]) -> None:
    """contract: Tavily door: clients send `days` of their own accord; what was asked for wins."""
    reading = read({"query": "words", "topic": "news", "days": 3, **fields}, TODAY)
    assert reading.request.filter == Filter(topic="news", **fields)
    assert reading.warnings == ("days ignored",)


def test_fields_that_ask_for_nothing_leave_no_warning() -> None:
    """contract: Tavily door: clients send their defaults with every search."""
    idle = {"search_depth": "basic", "chunks_per_source": 3, "include_published_date": True, "max_results": 5}
    off = dict.fromkeys(("include_answer", "include_images", "auto_parameters"), False)
    absent = {"include_raw_content": None, "country": "", "language": None, "include_domains": []}
    assert read({"query": "words", "api_key": "any", **idle, **off, **absent}, TODAY).warnings == ()


def test_fields_that_ask_for_what_sift_has_not_are_named() -> None:
    """contract: Tavily door: known ones first, then unknown ones as v1 names them."""
    known = {"search_depth": "advanced", "include_answer": "basic", "include_raw_content": True, "country": "austria"}
    assert read({"query": "words", "querry": "x", "k": 3, **known}, TODAY).warnings == (
        "search_depth ignored",
        "include_answer ignored",
        "include_raw_content ignored",
        "country ignored",
        "unknown field ignored: querry (did you mean query?)",
        "unknown field ignored: k",
    )


def test_warnings_of_sources_come_before_those_on_the_request() -> None:
    """contract: Tavily door: failures and notes are there as in v1."""
    sources = [FakeSource("s1", out(page(1), notes=("s1: note",))), FakeSource("s2", SourceError("timeout"))]
    answer = searched(client(*sources, notices=("demo",)), country="austria")
    assert answer["warnings"] == ["s2: timeout", "s1: note", "country ignored", "demo"]


def test_all_sources_failed_503_that_says_why() -> None:
    """contract: Unavailable: never an empty success."""
    status, text = failed(client(FakeSource("s1", SourceError("timeout"))), {"query": "words", "country": "austria"})
    assert (status, text) == (503, "search unavailable: s1: timeout; country ignored")


def test_only_source_is_at_its_cap_432() -> None:
    """contract: Tavily door: a budget that is used up is Tavily's status for it, with the time of the next."""
    app = client(FakeSource("s1", out(page(1))), ledger=FakeLedger({"s1": 0}))
    reply = app.post(PATH, json={"query": "words", "country": "austria"})
    assert (reply.status_code, int(reply.headers["Retry-After"]) > 0) == (432, True)
    assert reply.json == {"detail": {"error": "search unavailable: s1: daily cap; country ignored"}}


@pytest.mark.parametrize(
    ("warnings", "failed", "own", "spent"),
    [
        (("s1: daily cap",), (), 0, True),
        (("s1: daily cap", "s2: monthly quota", "demo"), (), 1, True),
        (("s1: daily cap unavailable",), (), 0, False),
        (("s1: daily cap", "s2: skipped after repeated failures"), (), 0, False),
        (("s2: timeout", "s1: daily cap"), ("s2",), 0, False),
        (("demo",), (), 1, False),
    ],
)
def test_budget_is_spent_only_when_nothing_else_is_wrong(
    warnings: tuple[str, ...], failed: tuple[str, ...], own: int, spent: bool
) -> None:
    """contract: Tavily door: whatever else is wrong may be over in a moment."""
    assert is_spent(SearchUnavailableError(warnings, failed), own) is spent


@pytest.mark.parametrize(
    ("method", "path", "status", "error"),
    [
        ("POST", "/tavily/crawl", 404, UNKNOWN),
        ("GET", "/tavily/usage", 404, UNKNOWN),
        ("POST", "/tavily/", 404, UNKNOWN),
        ("POST", "/tavily/search/", 404, UNKNOWN),
        ("POST", "/tavily/extract", 404, UNKNOWN),
        ("GET", "/tavily/search", 405, "method not allowed"),
        ("OPTIONS", "/tavily/search", 405, "method not allowed"),
    ],
)
def test_unknown_path_and_method_are_told_in_tavilys_form(method: str, path: str, status: int, error: str) -> None:
    """contract: Tavily door: there is no page to open in this application, so no extract either."""
    reply = client().open(path, method=method, data=b"{}")
    assert (reply.status_code, reply.json) == (status, {"detail": {"error": error}})
    assert reply.headers.get("Allow") == ("POST" if status == 405 else None)


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (b"[1]", 400, "invalid json: body must be an object"),
        (b"", 400, "invalid json: body must be an object"),
        (b'{"query": NaN}', 400, "invalid json: body must be an object"),
        (b'{"x": "' + b"y" * 70_000 + b'"}', 413, "request too large"),
        (b"{}", 400, "invalid query: query must be a non-empty string of at most 1500 characters"),
        (b'{"query": ""}', 400, "invalid query: query must be a non-empty string of at most 1500 characters"),
        (b'{"queries": ["a"]}', 400, "invalid query: query must be a non-empty string of at most 1500 characters"),
    ],
)
def test_body_is_refused_as_in_v1(body: bytes, status: int, error: str) -> None:
    """contract: Tavily door: the statuses are v1's."""
    reply = client().post(PATH, data=body)
    assert (reply.status_code, reply.json) == (status, {"detail": {"error": error}})


def test_web_page_of_another_origin_is_refused_in_tavilys_form() -> None:
    """contract: Origins: before anything of the request is read."""
    reply = client().post(PATH, json={"query": "words"}, headers={"Origin": "https://evil.example"})
    assert (reply.status_code, reply.json) == (403, {"detail": {"error": "forbidden: origin"}})


def test_search_leaves_the_record_of_any_search() -> None:
    """contract: Log: one record, and nothing of the request in it."""
    lines: list[bytes] = []
    app = client(lines=lines)
    searched(app, query="canary words", topic="news", include_domains=["docs.example"], api_key="canary-key")
    searched(app, query="canary words", topic="news", include_domains=["docs.example"])
    records = [json.loads(line) for line in lines]
    assert [(record["event"], record["cache"], record["q_len"]) for record in records] == [
        ("search", "miss", 12),
        ("search", "hit", 12),
    ]
    assert records[0]["filters"] == "domains,topic"
    assert b"canary" not in b"".join(lines)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["news", "day", "2026-11-01", "a.example", "prefer", '"a" b']),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
OTHERS = ("max_results", "days", "api_key", "search_depth", "country")
NAMES = st.sampled_from([*(field.name for field in FIELDS), *OTHERS])
APP = client()


@settings(max_examples=300)
@given(st.dictionaries(NAMES | st.text(max_size=8), VALUES, max_size=8), st.booleans())
def test_any_json_has_a_documented_status(body: dict[str, Any], has_query: bool) -> None:
    """contract: Tavily door: 200 or 400 with a form of their own, whatever the body holds; never a 500."""
    if has_query:
        body["query"] = '"a" query'
    reply = APP.post(PATH, data=json.dumps(body).encode())
    assert reply.status_code in (200, 400)
    if reply.status_code == 200:
        assert all(0 <= hit["score"] <= 1 for hit in reply.json["results"])  # type: ignore[index]
    else:
        assert list(reply.json["detail"]) == ["error"]  # type: ignore[index]


def test_wrong_field_is_not_repeated() -> None:
    """contract: Search request: an error holds nothing of the request but a field's name."""
    with pytest.raises(InvalidSearchError) as caught:
        read({"query": "words", "days": "canary"}, TODAY)
    assert str(caught.value) == "days"
