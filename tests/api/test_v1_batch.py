"""`/v1/batch` in process, over a real store (contract: Batch)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from sift.api.body import MAX_BATCH
from sift.app import create_app
from sift.batch.protocols import Jobs
from tests.api.batches import NOON, ONE, PATH, TWO, App, AwayJobs
from tests.api.fetching import FakeFetcher
from tests.fakes import engine_of, in_parallel, services_of
from tests.store.engines import PostgresEngine

UNKNOWN = "b_" + "a" * 26


@pytest.fixture(params=["sqlite", "postgres"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[App]:
    """An application with batches, on either engine of the store."""
    on_postgres = request.param == "postgres"
    made = App(tmp_path, engine=PostgresEngine(request.getfixturevalue("postgres").room()) if on_postgres else None)
    yield made
    made.close()


# Submitting


def test_batch_is_taken_with_the_keys_in_order(app: App) -> None:
    """contract: Batch: bad URLs are reported, the rest runs, and the workers are told."""
    reply = app.post({"urls": [ONE, "http://127.0.0.1/", f"{ONE}#end", TWO], "ttl": 3600})
    assert reply.status_code == 202
    assert list(reply.json.items()) == [
        ("id", reply.json["id"]),
        ("status", "queued"),
        ("total", 3),
        ("duplicates", 1),
        ("invalid", [{"index": 1, "url": "http://127.0.0.1/", "error": "url not allowed", "hint": "address"}]),
        ("expires_at", "2026-09-29T13:00:00Z"),
    ]
    assert re.fullmatch("b_[a-z2-7]{26}", reply.json["id"])
    assert app.woken == 1


def test_fields_reach_the_worker(app: App) -> None:
    app.submitted(ONE, format="text", max_chars=1000, max_age=0)
    claim = app.claim()
    assert (claim.url, claim.format, claim.max_chars, claim.max_age) == (ONE, "text", 1000, 0)
    assert (claim.caller, claim.cls) == ("fleet", "fleet")


def test_fields_are_left_out_the_defaults_count(app: App) -> None:
    """contract: Batch: 20,000 characters, a copy of an hour, results for a day."""
    reply = app.post({"urls": [ONE], "format": None, "ttl": None})
    assert reply.json["expires_at"] == "2026-09-30T12:00:00Z"
    claim = app.claim()
    assert (claim.format, claim.max_chars, claim.max_age) == ("markdown", 20_000, 3600)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "urls"),
    ({"urls": []}, "urls"),
    ({"urls": ONE}, "urls"),
    ({"urls": [ONE, 5]}, "urls"),
    ({"urls": [ONE, None]}, "urls"),
    ({"urls": [ONE] * 101}, "urls"),
    ({"urls": ["http://10.0.0.1/", "ftp://a.com/"]}, "urls"),
    ({"urls": [ONE], "format": "pdf", "ttl": 1}, "format"),
    ({"urls": [ONE], "max_chars": 999}, "max_chars"),
    ({"urls": [ONE], "max_chars": 200_001}, "max_chars"),
    ({"urls": [ONE], "max_age": -1}, "max_age"),
    ({"urls": [ONE], "ttl": 3599}, "ttl"),
    ({"urls": [ONE], "ttl": 604_801}, "ttl"),
    ({"urls": [ONE], "ttl": 3600.0}, "ttl"),
]


@pytest.mark.parametrize(("body", "hint"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong_field_is_named_and_nothing_is_kept(body: dict[str, Any], hint: str, app: App) -> None:
    """contract: Batch: a member that is no string, and none that may be opened, are `urls`."""
    reply = app.post(body)
    assert (reply.status_code, reply.json) == (400, {"error": "invalid batch", "hint": hint})
    assert app.get(PATH).json == {"batches": []}
    assert app.woken == 0


def test_class_restricted_has_fewer_urls(app: App) -> None:
    """contract: Batch: 25 instead of 100."""
    urls = [f"https://a.com/{number}" for number in range(101)]
    for caller, most in (("restricted", 25), ("fleet", 100)):
        assert app.post({"urls": urls[:most]}, caller=caller).json["total"] == most
        assert app.post({"urls": urls[: most + 1]}, caller=caller).json["hint"] == "urls"


def test_unknown_field_is_a_warning(app: App) -> None:
    """contract: Search request: as there; without one there is no such key."""
    reply = app.post({"urls": [ONE], "maxchars": 5})
    assert reply.json["warnings"] == ["unknown field ignored: maxchars (did you mean max_chars?)"]


def test_refused_url_is_no_text_that_can_be_sent_it_is_reported_all_the_same(app: App) -> None:
    """contract: Batch: half of a surrogate pair is JSON, and no UTF-8."""
    reply = app.post(b'{"urls": ["https://a.com/", "https://\\ud800.com/\\u0000"]}')
    assert reply.status_code == 202
    assert reply.json["invalid"][0]["url"] == "https://\ud800.com/\0"


def test_body_may_have_512_kib_here_and_no_more(app: App) -> None:
    """contract: Batch: and 64 KiB elsewhere."""
    body = json.dumps({"urls": [ONE]}).encode()
    assert app.post(body.ljust(MAX_BATCH)).status_code == 202
    refused = app.post(body.ljust(MAX_BATCH + 1))
    assert (refused.status_code, refused.json) == (413, {"error": "request too large", "hint": ""})
    assert app.post(b'{"query": "x"}'.ljust(MAX_BATCH), "/v1/search").status_code == 413
    assert MAX_BATCH == 512 * 1024


def test_body_is_no_object_it_is_invalid_json(app: App) -> None:
    for body in (b"[]", b"{", b""):
        assert app.post(body).json == {"error": "invalid json", "hint": ""}


# Idempotency


def test_key_and_body_come_again_the_first_answer_comes_again(app: App) -> None:
    """contract: Batch: 200 and `replayed`; white space and the order of keys make no other body."""
    body = {"urls": [ONE, "http://10.0.0.1/"], "ttl": 3600}
    first = app.post(body, Idempotency_Key="k-1")
    app.clock.advance(5)
    for again in (body, dict(reversed(body.items())), json.dumps(body, indent=1).encode()):
        reply = app.post(again, Idempotency_Key="k-1")
        assert (reply.status_code, reply.json) == (200, {**first.json, "replayed": True})
        assert list(reply.json)[-2:] == ["expires_at", "replayed"]
    assert len(app.get(PATH).json["batches"]) == 1


def test_key_comes_with_another_body_it_is_a_mismatch(app: App) -> None:
    """contract: Batch: 422; another caller's key is another key, and so is that of another door."""
    app.post({"urls": [ONE]}, Idempotency_Key="k")
    reply = app.post({"urls": [ONE], "ttl": 3600}, Idempotency_Key="k")
    assert (reply.status_code, reply.json) == (422, {"error": "idempotency mismatch", "hint": ""})
    assert app.post({"urls": [ONE], "ttl": 3600}, Idempotency_Key="k", caller="another").status_code == 202
    scraped = app.post({"urls": [ONE]}, "/v2/batch/scrape", x_idempotency_key="k")
    assert (scraped.status_code, scraped.json["error"]) == (422, "idempotency mismatch")


@pytest.mark.parametrize("key", ["", "a" * 65, "a b", "schlüssel", "a.b"])
def test_key_is_bad_it_is_named(key: str, app: App) -> None:
    """contract: Batch: 1 to 64 letters, digits, hyphens and underscores."""
    reply = app.post({"urls": [ONE]}, Idempotency_Key=key)
    assert (reply.status_code, reply.json) == (400, {"error": "invalid batch", "hint": "idempotency_key"})
    assert app.post({"urls": [ONE]}, Idempotency_Key="aZ9_-" * 12 + "abcd").status_code == 202


def test_eight_at_once_with_one_key_make_one_batch(app: App) -> None:
    """contract: Batch: one 202, and its answer seven times."""
    replies = in_parallel(8, lambda _: app.post({"urls": [ONE]}, Idempotency_Key="k"))
    assert Counter(reply.status_code for reply in replies) == {202: 1, 200: 7}
    assert len({reply.json["id"] for reply in replies}) == 1
    assert len(app.get(PATH).json["batches"]) == 1


# Limits and failures


@pytest.mark.parametrize(("caller", "most"), [("restricted", 2), ("fleet", 10)])
def test_too_many_are_under_way_another_is_refused(caller: str, most: int, app: App) -> None:
    """contract: Batch: 429 with the hint `batch` and when to come again; one that is through makes room."""
    made = [app.post({"urls": [ONE]}, caller=caller).json["id"] for _ in range(most)]
    reply = app.post({"urls": [ONE]}, caller=caller)
    assert (reply.status_code, reply.json) == (429, {"error": "rate limited", "hint": "batch"})
    assert int(reply.headers["Retry-After"]) >= 1
    app.request("DELETE", f"{PATH}/{made[0]}", caller=caller)
    assert app.post({"urls": [ONE]}, caller=caller).status_code == 202


def test_store_does_not_answer_every_route_is_busy(tmp_path: Path) -> None:
    """contract: Batch: 503, never an empty answer."""
    app = App(tmp_path, jobs=cast(Jobs, AwayJobs()))
    replies = [app.post({"urls": [ONE]}), app.get(PATH), app.request("DELETE", f"{PATH}/{UNKNOWN}")]
    replies += [app.get(f"{PATH}/{UNKNOWN}{below}") for below in ("", "?wait=1", "/results", "/errors")]
    replies += [app.request("DELETE", f"{PATH}/{UNKNOWN}?purge=1")]
    for reply in replies:
        assert (reply.status_code, reply.json) == (503, {"error": "busy", "hint": ""})
        assert reply.headers["Retry-After"] == "1"
    assert app.woken == 0


def below(batch: str) -> list[tuple[str, str]]:
    """Return every request that names a batch."""
    path = f"{PATH}/{batch}"
    reads = [("GET", f"{path}{more}") for more in ("", "?wait=5", "/results", "/errors")]
    return [*reads, ("DELETE", path), ("DELETE", f"{path}?purge=1")]


def test_unknown_expired_and_foreign_ids_are_alike(app: App) -> None:
    """contract: Batch: 404, byte for byte; batches belong to the caller's name."""
    foreign = app.submitted(ONE)
    expired = app.post({"urls": [ONE], "ttl": 3600}, caller="another").json["id"]
    app.clock.advance(3600)
    seen = set()
    for batch in (UNKNOWN, foreign, expired, "x", "b_" + "A" * 26, "b_%00"):
        for method, path in below(batch):
            reply = app.request(method, path, caller="another")
            seen.add((reply.status_code, reply.data))
    assert seen == {(404, b'{"error": "not found", "hint": ""}')}
    assert app.get(f"{PATH}/{foreign}").status_code == 200


@pytest.mark.parametrize(
    ("path", "name"),
    [
        *(("?wait=21", "wait"), ("?wait=-1", "wait"), ("?wait=", "wait"), ("?wait=1.5", "wait"), ("?wait=x", "wait")),
        *(("/results?offset=-1", "offset"), ("/results?offset=x", "offset"), ("/results?offset=9999999", "offset")),
        *(("/results?limit=0", "limit"), ("/results?limit=51", "limit"), ("/results?only=done", "only")),
        ("/results?limit=٥", "limit"),
    ],
)
def test_bad_parameter_is_named(path: str, name: str, app: App) -> None:
    """contract: Batch: 400 with the parameter as the hint."""
    batch = app.submitted(ONE)
    reply = app.get(f"{PATH}/{batch}{path}")
    assert (reply.status_code, reply.json) == (400, {"error": "invalid batch", "hint": name})
    assert app.request("DELETE", f"{PATH}/{batch}?purge=yes").json["hint"] == "purge"
    assert app.get(f"{PATH}/{batch}").json["status"] == "queued"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *(("PUT", "", 405), ("DELETE", "", 405), ("OPTIONS", "", 405), ("HEAD", "", 200)),
        *(("POST", "/ID", 405), ("OPTIONS", "/ID", 405), ("HEAD", "/ID", 200), ("HEAD", "/ID/results", 200)),
        *(("POST", "/ID/results", 405), ("GET", "/", 404), ("GET", "/ID/", 404), ("GET", "/ID/x", 404)),
    ],
)
def test_methods_and_paths_are_as_elsewhere(method: str, path: str, status: int, app: App) -> None:
    """contract: Errors."""
    reply = app.request(method, PATH + path.replace("ID", app.submitted(ONE)))
    assert reply.status_code == status
    assert reply.headers["Content-Type"] == "application/json"
    if status == 405:
        assert reply.json == {"error": "method not allowed", "hint": ""}


def test_no_key_no_batch(app: App) -> None:
    assert app.post({"urls": [ONE]}, caller="nobody").status_code == 401


def test_batches_are_off_the_routes_are_gone() -> None:
    """contract: Settings: `SIFT_FETCH=off` takes them away."""
    for fetcher in (None, FakeFetcher()):
        client = create_app(services=services_of(engine_of(), fetcher=fetcher)).test_client()
        assert client.post(PATH, json={"urls": [ONE]}).status_code == 404
        assert client.post("/v2/batch/scrape", json={"urls": [ONE]}).status_code == 404


# Reading


def test_status_tells_the_numbers_with_the_keys_in_order(app: App) -> None:
    """contract: Batch: ok + failed + pending = total; a finished one says when."""
    batch = app.submitted(ONE, TWO, f"{ONE}#x")
    shown = app.get(f"{PATH}/{batch}").json
    assert list(shown) == ["id", "status", "total", "ok", "failed", "pending", "created_at", "expires_at"]
    assert list(shown.values()) == [batch, "queued", 3, 0, 0, 3, NOON, "2026-09-30T12:00:00Z"]
    app.open()
    assert app.get(f"{PATH}/{batch}").json["status"] == "running"
    app.clock.advance(60)
    app.fail("fetch failed", "dns")
    shown = app.get(f"{PATH}/{batch}").json
    assert list(shown)[6:] == ["created_at", "finished_at", "expires_at"]
    assert (shown["status"], shown["ok"], shown["failed"], shown["pending"]) == ("done", 2, 1, 0)
    assert shown["finished_at"] == "2026-09-29T12:01:00Z"


def test_results_are_in_the_order_of_the_request_each_with_its_own_url(app: App) -> None:
    """contract: Batch: a page is the answer of a fetch; an unfinished batch answers, too."""
    batch = app.submitted(ONE, TWO, f"{ONE}#x", max_chars=1000)
    assert app.open(content="a" * 600 + "\n\n" + "b" * 600).url == ONE
    found = app.get(f"{PATH}/{batch}/results").json
    assert list(found) == ["id", "status", "items"]
    first, second, third = found["items"]
    assert list(first) == ["index", "url", "state", "attempts", "result"]
    assert (first["index"], first["url"], first["state"], first["attempts"]) == (0, ONE, "ok", 1)
    assert second == {"index": 1, "url": TWO, "state": "queued", "attempts": 0}
    assert (third["index"], third["url"], third["result"]["url"]) == (2, f"{ONE}#x", f"{ONE}#x")
    assert list(first["result"]) == [
        *("url", "final_url", "status", "content_type", "title", "lang", "format", "content", "chars", "start"),
        *("next_start", "extractor", "cached", "fetched_at", "sizes", "warnings"),
    ]
    assert (first["result"]["content"], first["result"]["next_start"]) == ("a" * 600, 602)
    assert {**third["result"], "url": ONE} == first["result"]


def test_results_of_one_kind_alone_are_counted_among_themselves(app: App) -> None:
    """contract: Batch: `only`, `offset`, `limit` and `next_offset`."""
    batch = app.submitted(*(f"https://a.com/{number}" for number in range(6)))
    for number in range(6):
        app.fail("robots disallow") if number % 3 == 1 else app.open()

    def indices(query: str) -> tuple[list[int], int | None]:
        found = app.get(f"{PATH}/{batch}/results?{query}").json
        return [item["index"] for item in found["items"]], found.get("next_offset")

    assert indices("") == ([0, 1, 2, 3, 4, 5], None)
    assert indices("only=") == ([0, 1, 2, 3, 4, 5], None)
    assert indices("only=failed") == ([1, 4], None)
    assert indices("only=ok&limit=3") == ([0, 2, 3], 3)
    assert indices("only=ok&limit=3&offset=3") == ([5], None)
    assert indices("offset=6") == ([], None)
    failed = app.get(f"{PATH}/{batch}/results?only=failed").json["items"][0]
    assert list(failed) == ["index", "url", "state", "attempts", "error", "hint"]
    assert (failed["error"], failed["hint"]) == ("robots disallow", "")


def test_results_are_twenty_at_a_time_unless_told_otherwise(app: App) -> None:
    batch = app.submitted(*(f"https://a.com/{number}" for number in range(30)))
    found = app.get(f"{PATH}/{batch}/results").json
    assert (len(found["items"]), found["next_offset"]) == (20, 20)


def test_results_end_at_2_mib(app: App) -> None:
    """contract: Batch: a page of results stays small enough to read; the next one goes on."""
    batch = app.submitted(*(f"https://a.com/{number}" for number in range(5)), max_chars=200_000)
    for _ in range(5):
        app.open(content="ü" * 150_000 + "€" * 150_000)  # 450,000 bytes after the cut
    first = app.get(f"{PATH}/{batch}/results")
    assert (len(first.json["items"]), first.json["next_offset"]) == (4, 4)
    assert len(first.data) < 2 * 1024 * 1024
    rest = app.get(f"{PATH}/{batch}/results?offset=4").json
    assert [item["index"] for item in rest["items"]] == [4]
    assert "next_offset" not in rest


def test_errors_tell_what_failed_and_when(app: App) -> None:
    """contract: Batch: robots refusals stand in both lists."""
    batch = app.submitted(ONE, TWO, "https://a.com/")
    app.fail("fetch failed", "status 404")
    app.fail("robots disallow")
    assert app.get(f"{PATH}/{batch}/errors").json == {
        "errors": [
            {"index": 0, "url": ONE, "error": "fetch failed", "hint": "status 404", "at": NOON},
            {"index": 1, "url": TWO, "error": "robots disallow", "hint": "", "at": NOON},
        ],
        "robots_disallowed": [TWO],
    }


def test_list_has_the_callers_own_without_a_url(app: App) -> None:
    """contract: Batch: ids, counts, times; the newest first."""
    first = app.submitted(ONE)
    app.clock.advance(1)
    second = app.submitted(TWO)
    app.post({"urls": [ONE]}, caller="another")
    reply = app.get(PATH)
    assert [each["id"] for each in reply.json["batches"]] == [second, first]
    assert reply.json["batches"][0] == app.get(f"{PATH}/{second}").json
    assert b"canary" not in reply.data


# Ending


def test_cancelled_batch_keeps_what_is_done(app: App) -> None:
    """contract: Batch: idempotent; what runs is ended."""
    batch = app.submitted(ONE, TWO, "https://a.com/")
    app.open()
    running = app.claim()
    for _ in range(2):
        reply = app.request("DELETE", f"{PATH}/{batch}")
        assert (reply.status_code, reply.json) == (200, {"id": batch, "status": "cancelled"})
    assert not app.jobs.renew("worker", running.host)
    items = app.get(f"{PATH}/{batch}/results").json["items"]
    assert [item["state"] for item in items] == ["ok", "cancelled", "cancelled"]
    assert "error" not in items[1]
    assert app.get(f"{PATH}/{batch}").json["status"] == "cancelled"


def test_finished_batch_is_cancelled_its_results_stay(app: App) -> None:
    """contract: Batch: the answer is the same, the batch stays done."""
    batch = app.submitted(ONE)
    app.open()
    assert app.request("DELETE", f"{PATH}/{batch}").json == {"id": batch, "status": "cancelled"}
    assert app.get(f"{PATH}/{batch}").json["status"] == "done"
    assert app.get(f"{PATH}/{batch}/results").json["items"][0]["state"] == "ok"


def test_purged_batch_is_gone_at_once(app: App) -> None:
    """contract: Batch: with its URLs and texts; `purge=0` purges nothing."""
    batch = app.submitted(ONE)
    app.open()
    assert app.request("DELETE", f"{PATH}/{batch}?purge=0").status_code == 200
    assert app.get(f"{PATH}/{batch}/results").status_code == 200
    assert app.request("DELETE", f"{PATH}/{batch}?purge=1").json == {"id": batch, "status": "cancelled"}
    assert [app.request(method, path).status_code for method, path in below(batch)] == [404] * 6


def test_wait_ends_with_the_batch(app: App) -> None:
    """contract: Batch: it returns the last numbers."""
    batch = app.submitted(ONE)

    def ask(number: int) -> Any:
        if number == 0:
            return app.get(f"{PATH}/{batch}?wait=20")
        return app.open()

    reply, _ = in_parallel(2, ask)
    assert reply.json["status"] == "done"


def test_wait_for_a_batch_that_is_purged_meanwhile_is_a_404(app: App) -> None:
    batch = app.submitted(ONE)

    def ask(number: int) -> Any:
        return app.get(f"{PATH}/{batch}?wait=20") if number == 0 else app.request("DELETE", f"{PATH}/{batch}?purge=1")

    assert in_parallel(2, ask)[0].status_code == 404


def test_process_is_to_end_waits_end(tmp_path: Path) -> None:
    """contract: Batch: a stop holds nobody up."""
    with closing(App(tmp_path)) as app:
        app.app.extensions["sift"].stopping.is_set = True
        batch = app.submitted(ONE)
        assert app.get(f"{PATH}/{batch}?wait=20").json["status"] == "queued"


def test_nothing_of_a_url_reaches_the_log(app: App) -> None:
    """contract: Log: the log knows no URL, whatever becomes of a batch."""
    batch = app.submitted(ONE, TWO, "https://canary-three.com:81/")
    app.open()
    app.fail("fetch failed", "dns")
    for method, path in below(batch):
        app.request(method, path)
    app.post({"urls": ["canary"]})
    app.post({"urls": [ONE], "format": "canary"}, Idempotency_Key="canary key")
    assert not [line for line in app.lines if b"canary" in line]
