"""`POST /v2/scrape` in process; the SDKs themselves are in tests/real/test_firecrawl.py (contract: Scrape)."""

from __future__ import annotations

from typing import Any

import pytest

from sift.fetch.model import Failed
from tests.api.fetching import PAGE, URL, App, page

PATH = "/v2/scrape"


def scraped(app: App | None = None, **fields: Any) -> Any:
    """Scrape the page and return its data."""
    reply = (app or App()).post(PATH, {"url": URL, **fields})
    assert (reply.status_code, reply.json["success"]) == (200, True)
    return reply.json["data"]


def test_page_is_answered_in_firecrawls_form() -> None:
    assert scraped(App(page(warnings=()))) == {
        "markdown": "# One\n\nTwo.",
        "metadata": {
            "title": "One",
            "description": "All of it.",
            "language": "en",
            "sourceURL": URL,
            "url": PAGE.url,
            "statusCode": 200,
            "contentType": "text/html",
        },
    }


def test_page_declares_nothing_no_value_is_null() -> None:
    """contract: Scrape: the SDK's models refuse null."""
    found = scraped(App(page(title="", lang="", description="")))["metadata"]
    assert found.keys() == {"title", "sourceURL", "url", "statusCode", "contentType"}
    assert all(isinstance(value, str | int) for value in found.values())


@pytest.mark.parametrize("formats", [["markdown", "html"], [{"type": "html"}], ["html", 5, None]])
def test_html_is_given_when_asked_for(formats: list[Any]) -> None:
    app = App()
    assert scraped(app, formats=formats)["html"] == "<h1>One</h1>"
    assert app.fetcher.asked[0][0].html is True


def test_html_is_left_out_when_the_extractor_gives_none_or_nobody_asked() -> None:
    assert "html" not in scraped(App(page(html="")), formats=["html"])
    assert "html" not in scraped()


def test_formats_that_sift_does_not_have_are_named_in_the_warning() -> None:
    """contract: Scrape: markdown is always given."""
    found = scraped(formats=["summary", {"type": "json", "schema": {}}, "markdown", "summary"])
    assert found["warning"] == "page cut at 5 MiB; formats ignored: summary, json"
    assert found["markdown"]


@pytest.mark.parametrize(
    ("fields", "max_age", "timeout"),
    [
        ({}, 3600, 15),
        ({"timeout": 5000, "maxAge": 60_000}, 60, 5),
        ({"timeout": 15, "maxAge": 10**12}, 86_400, 1),
        ({"timeout": 10**9, "maxAge": -1}, 0, 30),
        ({"timeout": 10**400, "maxAge": -(10**400)}, 0, 30),
        ({"timeout": "x", "maxAge": True}, 3600, 15),
        ({"timeout": None, "onlyMainContent": False, "waitFor": 3000, "proxy": "auto"}, 3600, 15),
    ],
)
def test_times_are_milliseconds_within_bounds_and_all_else_is_ignored(
    fields: dict[str, Any], max_age: float, timeout: float
) -> None:
    app = App()
    scraped(app, **fields)
    request = app.fetcher.asked[0][0]
    assert (request.max_age, request.timeout) == (max_age, timeout)


@pytest.mark.parametrize("body", [{}, {"url": ""}, {"url": 5}, {"url": None}])
def test_url_is_missing_the_details_say_so(body: dict[str, Any]) -> None:
    reply = App().post(PATH, body)
    assert reply.status_code == 400
    assert reply.json == {"success": False, "error": "invalid fetch", "details": "url must be a string"}


@pytest.mark.parametrize(
    ("failed", "status", "details"),
    [
        (Failed("url not allowed", "port"), 400, "port"),
        (Failed("robots disallow"), 400, "the site's robots.txt does not allow this page to programs"),
        (Failed("unsupported content type"), 415, "the page is neither HTML nor text, JSON, XML or PDF"),
        (Failed("fetch failed", "status 404"), 500, "status 404"),
        (Failed("fetch timeout"), 504, "the page did not come in time"),
        (Failed("busy"), 503, "too many pages are being opened"),
    ],
)
def test_failure_is_never_one_that_the_sdk_repeats_or_misreads(failed: Failed, status: int, details: str) -> None:
    """contract: Scrape: 502 would be sent three times, 403 reads as a site that is not supported."""
    reply = App(failed).post(PATH, {"url": URL})
    assert reply.status_code == status
    assert reply.json == {"success": False, "error": failed.state, "details": details}
