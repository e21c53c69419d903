"""`POST /v1/fetch` in process (contract: Fetch)."""

from __future__ import annotations

import pytest

from sift.app import create_app
from sift.fetch.fetcher import DEMO_WARNING
from sift.fetch.model import Failed, FetchRequest
from tests.api.fetching import PAGE, URL, App, page
from tests.fakes import engine_of, services_of

PATH = "/v1/fetch"


def test_page_is_answered_with_the_keys_in_order() -> None:
    """contract: Fetch: what the page does not declare is left out."""
    reply = App().post(PATH, {"url": URL})
    assert reply.status_code == 200
    assert list(reply.json.items()) == [
        ("url", URL),
        ("final_url", PAGE.url),
        ("status", 200),
        ("content_type", "text/html"),
        ("title", "One"),
        ("lang", "en"),
        ("format", "markdown"),
        ("content", "# One\n\nTwo."),
        ("chars", 11),
        ("start", 0),
        ("extractor", "trafilatura"),
        ("cached", False),
        ("fetched_at", "2026-12-01T08:30:00Z"),
        ("sizes", {"wire": 10, "body": 20, "content": 11}),
        ("warnings", ["page cut at 5 MiB"]),
    ]


def test_page_declares_author_and_date_they_stand_between_title_and_language() -> None:
    keys = list(App(page(author="A", published_date="2026-11-30")).post(PATH, {"url": URL}).json)
    assert keys[4:8] == ["title", "author", "published_date", "lang"]


def test_more_is_left_the_answer_says_where_to_read_on() -> None:
    app = App(page(content="a" * 600 + "\n\n" + "b" * 600))
    first = app.post(PATH, {"url": URL, "max_chars": 1000}).json
    assert (first["content"], first["chars"], first["next_start"]) == ("a" * 600, 1202, 602)
    second = app.post(PATH, {"url": URL, "max_chars": 1000, "start": first["next_start"]}).json
    assert (second["content"], second["start"]) == ("b" * 600, 602)
    assert "next_start" not in second


def test_fields_reach_the_fetcher_with_the_caller() -> None:
    app = App()
    fields = {"format": "text", "max_chars": 1000, "start": 5, "max_age": 0, "timeout": 2.5}
    assert app.post(PATH, {"url": URL, **fields}).json["format"] == "text"
    assert app.fetcher.asked == [(FetchRequest(URL, **fields), "one", "restricted")]  # type: ignore[arg-type]


def test_unknown_field_is_a_warning_that_names_the_one_probably_meant() -> None:
    """contract: Search request: as there."""
    found = App().post(PATH, {"url": URL, "maxchars": 5, "waitFor": 1}).json["warnings"]
    assert found == [
        "page cut at 5 MiB",
        "unknown field ignored: maxchars (did you mean max_chars?)",
        "unknown field ignored: waitFor",
    ]


def test_page_from_the_cache_says_so() -> None:
    assert App(cache="hit").post(PATH, {"url": URL}).json["cached"] is True
    assert App(cache="shared").post(PATH, {"url": URL}).json["cached"] is False


def test_wrong_field_is_named_and_leaves_no_record() -> None:
    """contract: Fetch: a bad field leaves none."""
    app = App()
    for body, hint in (({}, "url"), ({"url": 5}, "url"), ({"url": URL, "start": -1}, "start")):
        reply = app.post(PATH, body)
        assert (reply.status_code, reply.json) == (400, {"error": "invalid fetch", "hint": hint})
    assert app.records == []
    assert app.post(PATH, b"[]").json == {"error": "invalid json", "hint": ""}


@pytest.mark.parametrize(
    ("failed", "status"),
    [
        (Failed("url not allowed", "port"), 403),
        (Failed("robots disallow"), 403),
        (Failed("unsupported content type"), 415),
        (Failed("fetch failed", "status 404"), 502),
        (Failed("fetch failed", "unreachable"), 502),
        (Failed("fetch timeout"), 504),
        (Failed("busy"), 503),
    ],
)
def test_failure_has_its_status_and_leaves_a_record(failed: Failed, status: int) -> None:
    """contract: Fetch, Log: the record has the state, and nothing of the URL."""
    app = App(failed)
    reply = app.post(PATH, {"url": URL})
    assert (reply.status_code, reply.json) == (status, {"error": failed.state, "hint": failed.hint})
    assert reply.headers.get("Retry-After") == ("1" if status == 503 else None)
    (record,) = app.records
    assert record["state"] == failed.state
    assert b"canary" not in b"".join(app.lines)


def test_record_of_a_page_has_the_listed_fields_and_no_others() -> None:
    """contract: Log."""
    app = App()
    app.post(PATH, {"url": URL})
    (record,) = app.records
    record.pop("ts")
    assert record == {
        "level": "info",
        "event": "fetch",
        "caller": "one",
        "state": "ok",
        "ms": 250,
        "bytes": 10,
        "hops": 1,
        "cache": "miss",
    }


def test_fetching_is_off_the_routes_are_gone() -> None:
    """contract: Settings: `SIFT_FETCH=off` takes them away."""
    client = create_app(services=services_of(engine_of())).test_client()
    for path in (PATH, "/v2/scrape"):
        assert client.post(path, json={"url": URL}).status_code == 404


def test_no_key_no_page() -> None:
    app = App()
    assert app.client.post(PATH, json={"url": URL}).status_code == 401
    assert app.fetcher.asked == []


def test_demo_page_says_what_it_is() -> None:
    assert DEMO_WARNING in App(page(warnings=(DEMO_WARNING,))).post(PATH, {"url": URL}).json["warnings"]
