"""`POST /tavily/extract` in process (contract: Tavily door)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sift.api.doors.tavily.extract import MAX_TEXT, read
from sift.errors import InvalidFetchError
from sift.fetch.model import Failed
from tests.api.fetching import PAGE, App, page

PATH = "/tavily/extract"
URLS = [f"https://canary-host.com/{number}" for number in range(20)]


def extracted(app: App | None = None, urls: Any = URLS[0], **fields: Any) -> Any:
    """Extract and return the answer, which must be a 200."""
    reply = (app or App()).post(PATH, {"urls": urls, **fields})
    assert reply.status_code == 200, reply.json
    return reply.json


def test_page_is_answered_in_tavilys_form() -> None:
    """contract: Tavily door: the URL is the client's own, which finds its page by it."""
    answer = extracted()
    assert list(answer) == ["results", "failed_results", "response_time", "request_id", "warnings"]
    assert answer["results"] == [{"url": URLS[0], "raw_content": "# One\n\nTwo.", "images": []}]
    assert (answer["failed_results"], answer["warnings"]) == ([], ["page cut at 5 MiB"])


@pytest.mark.parametrize("urls", [URLS[0], URLS[:1], URLS, [URLS[3], URLS[0], URLS[3]]])
def test_urls_are_a_string_or_a_list_each_is_opened_once_and_in_order(urls: Any) -> None:
    """contract: Tavily door: from 1 to 20, the answer in the order of the request."""
    app = App()
    wanted = [urls] if isinstance(urls, str) else list(dict.fromkeys(urls))
    assert [each["url"] for each in extracted(app, urls)["results"]] == wanted
    assert sorted(request.url for request, _, _ in app.fetcher.asked) == sorted(wanted)
    assert {(caller, cls) for _, caller, cls in app.fetcher.asked} == {("one", "restricted")}


def test_page_that_cannot_be_had_is_a_failed_result_with_its_reason() -> None:
    """contract: Tavily door: the others are answered all the same."""
    app = App()
    app.fetcher.by_url = {
        URLS[1]: Failed("url not allowed", "address"),
        URLS[2]: Failed("robots disallow"),
        URLS[4]: Failed("fetch failed", "unreachable"),
    }
    answer = extracted(app, URLS[:6])
    assert [each["url"] for each in answer["results"]] == [URLS[0], URLS[3], URLS[5]]
    assert answer["failed_results"] == [
        {"url": URLS[1], "error": "url not allowed: address"},
        {"url": URLS[2], "error": "robots disallow"},
        {"url": URLS[4], "error": "fetch failed: unreachable"},
    ]


def test_no_place_for_any_page_429() -> None:
    """contract: Tavily door: the client should come back in a moment."""
    reply = App(Failed("busy")).post(PATH, {"urls": URLS[:3]})
    assert (reply.status_code, reply.headers["Retry-After"]) == (429, "1")
    assert reply.json == {"detail": {"error": "busy: too many pages are being opened"}}


def test_no_page_can_be_had_200_with_a_reason_each() -> None:
    """contract: Tavily door: only the want of places is a matter of time."""
    app = App(Failed("fetch timeout"))
    app.fetcher.by_url = {URLS[1]: Failed("busy")}
    app.fetcher.each = 1
    answer = extracted(app, URLS[:2])
    assert answer["results"] == []
    assert [each["error"] for each in answer["failed_results"]] == ["fetch timeout", "busy"]


def test_long_text_is_cut_and_a_warning_says_so() -> None:
    """contract: Tavily door: twenty whole pages could be hundreds of megabytes."""
    answer = extracted(App(page(content="word " * MAX_TEXT, warnings=())))
    assert MAX_TEXT - 5 <= len(answer["results"][0]["raw_content"]) <= MAX_TEXT
    assert answer["warnings"] == [f"raw_content cut at {MAX_TEXT} characters"]


def test_warnings_are_named_once_those_on_the_request_last() -> None:
    """contract: Tavily door: as for a search."""
    answer = extracted(None, URLS[:3], extract_depth="advanced", include_images=True, formats="x")
    assert answer["warnings"] == [
        "page cut at 5 MiB",
        "extract_depth ignored",
        "include_images ignored",
        "unknown field ignored: formats (did you mean format?)",
    ]


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(None, 9), (20, 18), (1, 0.9), (0.2, 0.9), (60, 27), (-5, 0.9), (10**400, 27)],
)
def test_time_of_all_pages_is_nine_tenths_of_what_the_client_gives(given: Any, seconds: float) -> None:
    """contract: Tavily door: brought to within 1 to 30 s; the client must not give up first."""
    assert read({"urls": "x", "timeout": given}).seconds == pytest.approx(seconds)


def test_no_page_gets_more_time_than_is_left() -> None:
    """contract: Tavily door: the time is that of all pages together."""
    app = App()
    extracted(app, URLS[:5], timeout=10)
    assert all(0 < request.timeout <= 9 for request, _, _ in app.fetcher.asked)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "urls"),
        ({"urls": []}, "urls"),
        ({"urls": ""}, "urls"),
        ({"urls": [*URLS, "https://canary-host.com/20"]}, "urls"),
        ({"urls": [URLS[0], 5]}, "urls"),
        ({"urls": ["\ud800"]}, "urls"),
        ({"urls": {"a": "b"}}, "urls"),
        ({"urls": URLS[0], "format": "html"}, "format"),
        ({"urls": URLS[0], "timeout": "5"}, "timeout"),
        ({"urls": URLS[0], "timeout": True}, "timeout"),
    ],
)
def test_wrong_field_is_a_400_that_names_it(body: dict[str, Any], field: str) -> None:
    """contract: Tavily door: nothing is opened."""
    app = App()
    reply = app.post(PATH, body)
    assert (reply.status_code, reply.json) == (400, {"detail": {"error": f"invalid fetch: {field}"}})
    assert app.fetcher.asked == []


@pytest.mark.parametrize(
    ("given", "format"), [({}, "markdown"), ({"format": None}, "markdown"), ({"format": "text"}, "text")]
)
def test_format_is_that_of_v1(given: dict[str, Any], format: str) -> None:
    """contract: Tavily door: markdown unless asked."""
    app = App()
    extracted(app, **given)
    assert app.fetcher.asked[0][0].format == format


def test_each_page_leaves_one_record_without_its_url() -> None:
    """contract: Log: a fetch is a fetch, whatever asked for it."""
    app = App()
    app.fetcher.by_url = {URLS[1]: Failed("url not allowed", "address")}
    extracted(app, URLS[:3], api_key="canary-key", query="canary-query")
    assert sorted(record["state"] for record in app.records) == ["ok", "ok", "url not allowed"]
    assert b"canary" not in b"".join(app.lines)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=22) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=25,
)
NAMES = st.sampled_from(["urls", "format", "timeout", "extract_depth", "query", "api_key"])
APP = App(PAGE)


@settings(max_examples=200)
@given(st.dictionaries(NAMES | st.text(max_size=8), VALUES, max_size=6), st.lists(st.text(min_size=1), max_size=3))
def test_any_json_has_a_documented_status(body: dict[str, Any], urls: list[str]) -> None:
    """contract: Tavily door: 200 or 400, whatever the body holds; never a 500."""
    if urls:
        body["urls"] = urls
    reply = APP.post(PATH, json.dumps(body).encode())
    assert reply.status_code in (200, 400)
    assert next(iter(reply.json)) == ("results" if reply.status_code == 200 else "detail")


def test_wrong_field_is_not_repeated() -> None:
    """contract: Fetch: an error holds nothing of the request but a field's name."""
    with pytest.raises(InvalidFetchError) as caught:
        read({"urls": ["canary"] * 21})
    assert str(caught.value) == "urls"
