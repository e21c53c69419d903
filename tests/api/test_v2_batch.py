"""`/v2/batch/scrape` in process; the SDKs themselves are in tests/real/test_firecrawl_batch.py.

contract: Batch scrape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from sift.api.body import MAX_BATCH
from sift.batch.protocols import Jobs
from tests.api.batches import NOON, ONE, TWO, App, AwayJobs
from tests.api.fetching import PAGE
from tests.fakes import in_parallel

PATH = "/v2/batch/scrape"
UNKNOWN = "b_" + "a" * 26


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """An application with batches."""
    made = App(tmp_path)
    yield made
    made.close()


def submitted(app: App, *urls: str, **fields: Any) -> str:
    return app.submitted(*urls, path=PATH, **fields)


def error(error: str, details: str) -> dict[str, Any]:
    return {"success": False, "error": error, "details": details}


def test_batch_is_taken_in_firecrawls_form(app: App) -> None:
    """contract: Batch scrape: the address is the one that the request was sent to."""
    reply = app.post({"urls": [ONE]}, PATH, Host="sift.local:8787")
    assert reply.status_code == 200
    batch = reply.json["id"]
    assert reply.json == {"success": True, "id": batch, "url": f"http://sift.local:8787{PATH}/{batch}"}
    assert app.woken == 1


def test_refused_urls_are_listed(app: App) -> None:
    """contract: Batch scrape: `invalidURLs`, whatever they hold."""
    reply = app.post(b'{"urls": ["http://10.0.0.1/", "https://a.com/", "https://\\ud800/"]}', PATH)
    assert reply.json["invalidURLs"] == ["http://10.0.0.1/", "https://\ud800/"]


def test_public_url_is_set_addresses_are_made_from_it(tmp_path: Path) -> None:
    """contract: Settings: `SIFT_PUBLIC_URL`."""
    with closing(App(tmp_path, public_url="https://sift.example")) as app:
        batch = submitted(app, ONE, TWO)
        assert app.post({"urls": [ONE]}, PATH).json["url"].startswith(f"https://sift.example{PATH}/b_")
        app.open()
        app.open()
        shown = app.get(f"{PATH}/{batch}?limit=1").json
    assert shown["next"] == f"https://sift.example{PATH}/{batch}?skip=1&limit=1"


def test_fields_are_those_of_scrape(app: App) -> None:
    """contract: Batch scrape, Scrape: milliseconds within bounds, formats, and all else ignored."""
    fields = {"maxAge": 60_000, "formats": ["markdown", {"type": "html"}, "summary"], "timeout": 1, "webhook": 5}
    reply = app.post({"urls": [ONE], "maxConcurrency": 3, "ignoreInvalidURLs": True, **fields}, PATH)
    assert reply.json["warning"] == "formats ignored: summary"
    claim = app.open()
    assert (claim.max_age, claim.max_chars, claim.format) == (60, 200_000, "markdown+html")
    data = app.get(f"{PATH}/{reply.json['id']}").json["data"]
    assert data[0]["html"] == "<h1>One</h1>"


def test_pages_are_given_in_scrapes_form(app: App) -> None:
    """contract: Batch scrape: the same data as `/v2/scrape`."""
    batch = submitted(app, ONE, TWO, f"{ONE}#x")
    app.open()
    app.fail("fetch failed", "status 404")
    shown = app.get(f"{PATH}/{batch}").json
    scraped = app.post({"url": ONE}, "/v2/scrape").json["data"]
    assert list(shown) == ["success", "status", "total", "completed", "creditsUsed", "expiresAt", "data"]
    assert shown["data"][0] == scraped
    assert shown["data"][1] == {**scraped, "metadata": {**scraped["metadata"], "sourceURL": f"{ONE}#x"}}
    del shown["data"]
    assert shown == {
        "success": True,
        "status": "completed",
        "total": 3,
        "completed": 2,
        "creditsUsed": 0,
        "expiresAt": "2026-09-30T12:00:00Z",
    }


def test_page_declares_nothing_no_value_is_null(app: App) -> None:
    batch = submitted(app, ONE)
    app.open(title="", lang="", description="", warnings=())
    (data,) = app.get(f"{PATH}/{batch}").json["data"]
    assert data.keys() == {"markdown", "metadata"}
    assert data["metadata"] == {
        "title": "",
        "sourceURL": ONE,
        "url": PAGE.url,
        "statusCode": 200,
        "contentType": "text/html",
    }


def test_long_page_is_cut_and_says_so(app: App) -> None:
    """contract: Batch scrape: a hundred of them are kept, so each is bounded."""
    batch = submitted(app, ONE)
    app.open(content="word " * 50_000, warnings=())
    (data,) = app.get(f"{PATH}/{batch}").json["data"]
    assert data["warning"] == "text cut at 200000 of 250000 characters"
    assert len(data["markdown"]) == 199_999


@pytest.mark.parametrize(
    ("act", "status"),
    [
        (lambda app, batch: None, "scraping"),
        (lambda app, batch: app.open(), "scraping"),
        (lambda app, batch: [app.open(), app.fail("fetch timeout")], "completed"),
        (lambda app, batch: [app.fail("fetch timeout"), app.fail("fetch timeout")], "failed"),
        (lambda app, batch: app.request("DELETE", f"{PATH}/{batch}"), "cancelled"),
    ],
    ids=["queued", "running", "done", "none", "cancelled"],
)
def test_state_is_told_in_firecrawls_words(act: Any, status: str, app: App) -> None:
    """contract: Batch scrape: a batch without a single page has failed."""
    batch = submitted(app, ONE, TWO)
    act(app, batch)
    assert app.get(f"{PATH}/{batch}").json["status"] == status


def test_next_leads_through_all_pages(app: App) -> None:
    """contract: Batch scrape: an answer ends at 2 MiB; there is a next one only if it has something."""
    urls = [f"https://a.com/{number}" for number in range(12)]
    batch = submitted(app, *urls)
    for _ in urls:
        app.open(content="€" * 100_000)
    shown = app.get(f"{PATH}/{batch}").json
    found = [data["metadata"]["sourceURL"] for data in shown["data"]]
    assert len(found) == 6
    while "next" in shown:
        assert shown["next"].startswith(f"http://localhost{PATH}/{batch}?skip={len(found)}")
        shown = app.get(shown["next"].removeprefix("http://localhost")).json
        assert shown["data"]
        found += [data["metadata"]["sourceURL"] for data in shown["data"]]
    assert found == urls


def test_places_that_failed_are_left_out_and_not_counted(app: App) -> None:
    """contract: Batch scrape: `skip` and `limit` choose among the pages that were had."""
    batch = submitted(app, ONE, TWO, "https://a.com/")
    app.fail("fetch failed", "dns")
    app.open()
    app.fail("fetch failed", "dns")
    shown = app.get(f"{PATH}/{batch}?limit=1").json
    assert [data["metadata"]["sourceURL"] for data in shown["data"]] == [TWO]
    assert "next" not in shown
    assert app.get(f"{PATH}/{batch}?skip=1").json["data"] == []


def test_unfinished_batch_has_no_next_without_a_page(app: App) -> None:
    """contract: Batch scrape: clients follow `next` at once, and would turn in a circle."""
    batch = submitted(app, ONE, TWO)
    app.open()
    shown = app.get(f"{PATH}/{batch}").json
    assert (shown["status"], len(shown["data"]), "next" in shown) == ("scraping", 1, False)


def test_errors_have_firecrawls_form(app: App) -> None:
    """contract: Batch scrape: robots refusals stand in both lists."""
    batch = submitted(app, ONE, TWO)
    app.fail("fetch failed", "dns")
    app.fail("robots disallow")
    assert app.get(f"{PATH}/{batch}/errors").json == {
        "errors": [
            {"id": f"{batch}-0", "timestamp": NOON, "url": ONE, "error": "fetch failed: dns"},
            {"id": f"{batch}-1", "timestamp": NOON, "url": TWO, "error": "robots disallow"},
        ],
        "robotsBlocked": [TWO],
    }


def test_cancelled_batch_keeps_what_is_done(app: App) -> None:
    """contract: Batch scrape: a finished one answers alike, and its pages stay."""
    batch = submitted(app, ONE)
    app.open()
    for _ in range(2):
        reply = app.request("DELETE", f"{PATH}/{batch}")
        assert (reply.status_code, reply.json) == (200, {"success": True, "status": "cancelled"})
    assert app.get(f"{PATH}/{batch}").json["status"] == "completed"


URLS_DETAILS = "urls must be a list of 1 to 100 URLs, 25 for class restricted, and one of them must be allowed"


@pytest.mark.parametrize("urls", [None, [], ONE, [5], ["http://10.0.0.1/"], [ONE] * 101])
def test_urls_are_wrong_the_details_say_so(urls: Any, app: App) -> None:
    reply = app.post({"urls": urls}, PATH)
    assert (reply.status_code, reply.json) == (400, error("invalid batch", URLS_DETAILS))


def test_class_restricted_has_fewer_urls(app: App) -> None:
    assert app.post({"urls": [ONE] * 26}, PATH, caller="restricted").status_code == 400
    assert app.post({"urls": [ONE] * 25}, PATH, caller="restricted").status_code == 200


def test_key_and_body_come_again_the_batch_is_the_same(app: App) -> None:
    """contract: Batch scrape: `x-idempotency-key`, as in v1; eight at once make one."""
    replies = in_parallel(8, lambda _: app.post({"urls": [ONE]}, PATH, x_idempotency_key="k"))
    assert Counter((reply.status_code, reply.json["id"]) for reply in replies).most_common()[0][1] == 8
    reply = app.post({"urls": [TWO]}, PATH, x_idempotency_key="k")
    assert (reply.status_code, reply.json["error"]) == (422, "idempotency mismatch")
    reply = app.post({"urls": [TWO]}, PATH, x_idempotency_key="no key")
    assert (reply.status_code, reply.json["error"]) == (400, "invalid batch")
    assert reply.json["details"].startswith("x-idempotency-key must be")


def test_too_many_are_under_way_another_is_refused(app: App) -> None:
    for _ in range(2):
        assert app.post({"urls": [ONE]}, PATH, caller="restricted").status_code == 200
    reply = app.post({"urls": [ONE]}, PATH, caller="restricted")
    assert (reply.status_code, reply.json["error"]) == (429, "rate limited")
    assert int(reply.headers["Retry-After"]) >= 1


def test_store_does_not_answer_every_route_is_busy(tmp_path: Path) -> None:
    app = App(tmp_path, jobs=cast(Jobs, AwayJobs()))
    replies = [app.post({"urls": [ONE]}, PATH), app.request("DELETE", f"{PATH}/{UNKNOWN}")]
    replies += [app.get(f"{PATH}/{UNKNOWN}{below}") for below in ("", "/errors")]
    for reply in replies:
        assert (reply.status_code, reply.json) == (
            503,
            error("busy", "what keeps the batches does not answer"),
        )
        assert reply.headers["Retry-After"] == "1"


def test_unknown_expired_and_foreign_ids_are_alike(app: App) -> None:
    """contract: Batch scrape: 404 in v2's form."""
    foreign = submitted(app, ONE)
    seen = set()
    for batch in (UNKNOWN, foreign, "x"):
        for method, below in (("GET", ""), ("GET", "/errors"), ("DELETE", "")):
            reply = app.request(method, f"{PATH}/{batch}{below}", caller="another")
            seen.add((reply.status_code, reply.data))
    (only,) = seen
    assert only[0] == 404
    assert b'"success": false' in only[1]
    assert b"there is no such batch" in only[1]


@pytest.mark.parametrize(("query", "details"), [("skip=-1", "skip must be"), ("limit=0", "limit must be")])
def test_bad_parameter_is_named(query: str, details: str, app: App) -> None:
    reply = app.get(f"{PATH}/{submitted(app, ONE)}?{query}")
    assert (reply.status_code, reply.json["error"]) == (400, "invalid batch")
    assert reply.json["details"].startswith(details)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *(("GET", "", 405), ("PUT", "", 405), ("OPTIONS", "", 405), ("HEAD", "/ID", 200)),
        *(("POST", "/ID", 405), ("GET", "/", 404), ("GET", "/ID/", 404), ("GET", "/ID/x", 404)),
    ],
)
def test_methods_and_paths_are_as_elsewhere(method: str, path: str, status: int, app: App) -> None:
    """contract: Errors, Firecrawl door: in v2's form."""
    reply = app.request(method, PATH + path.replace("ID", submitted(app, ONE)))
    assert reply.status_code == status
    if status != 200:
        assert reply.json.keys() == {"success", "error", "details"}


def test_body_may_have_512_kib(app: App) -> None:
    """contract: Batch scrape: as in v1."""
    body = b'{"urls": ["https://a.com/"]}'
    assert app.post(body.ljust(MAX_BATCH), PATH).status_code == 200
    reply = app.post(body.ljust(MAX_BATCH + 1), PATH)
    assert (reply.status_code, reply.json) == (413, error("request too large", ""))
    assert app.post(b'{"url": "https://a.com/"}'.ljust(MAX_BATCH), "/v2/scrape").status_code == 413


def test_batch_is_the_same_through_both_doors(app: App) -> None:
    """contract: Batch scrape: one store; what one door took the other shows."""
    batch = submitted(app, ONE, formats=["html"])
    app.open()
    item = app.get(f"/v1/batch/{batch}/results").json["items"][0]
    assert (item["result"]["format"], item["result"]["content"]) == ("markdown", "# One\n\nTwo.")
    assert app.get(f"/v1/batch/{batch}").json["ok"] == 1


def test_nothing_of_a_url_reaches_the_log(app: App) -> None:
    """contract: Log."""
    batch = submitted(app, ONE, TWO)
    app.open()
    app.fail("fetch failed", "dns")
    for below in ("", "/errors", "?skip=canary"):
        app.get(f"{PATH}/{batch}{below}")
    app.post({"urls": ["canary"]}, PATH, x_idempotency_key="canary key")
    assert not [line for line in app.lines if b"canary" in line]
