"""Bodies that are no request: every one is answered in JSON, and costs nothing (contract: Search request)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from sift.api.body import MAX_BODY, MAX_DEPTH, parse_object
from sift.app import create_app
from sift.auth.caller import Caller
from sift.errors import InvalidJsonError
from tests.fakes import FakeLedger, FakeSource, engine_of, out, services_of

SOURCE = out("https://docs.example/1")


@pytest.fixture
def source() -> FakeSource:
    """Be the one source."""
    return FakeSource("tavily", SOURCE)


@pytest.fixture
def ledger() -> FakeLedger:
    """Have one credit left, and so one to lose."""
    return FakeLedger({"tavily": 1})


@pytest.fixture
def lines() -> list[bytes]:
    """Collect the log."""
    return []


@pytest.fixture
def client(source: FakeSource, ledger: FakeLedger, lines: list[bytes]) -> FlaskClient:
    """Talk to an application of one source, without a server."""
    return create_app(services=services_of(engine_of(source, ledger=ledger), lines=lines)).test_client()


def post(client: FlaskClient, body: bytes, path: str = "/v1/search", **headers: str) -> TestResponse:
    """Post bytes as they are."""
    return client.post(path, data=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def deep(levels: int) -> bytes:
    """Nest lists in an unknown field of a legal request; the object itself is one level."""
    return b'{"query": "a", "x": ' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


NO_OBJECT: Mapping[str, bytes] = {
    "list": b"[1]",
    "list-of-object": b'[{"query": "a"}]',
    "string": b'"x"',
    "number": b"5",
    "boolean": b"true",
    "null": b"null",
    "empty": b"",
    "blank": b"  \n",
    "no-json": b"query=a",
    "cut": b'{"query": "a"',
    "two-objects": b'{"query": "a"}{}',
    "trailing-comma": b'{"query": "a",}',
    "single-quotes": b"{'query': 'a'}",
    "comment": b'{"query": "a"} // x',
    "control-character": b'{"query": "a\nb"}',
    "deep-lists": b"[" * 60_000,
    "deep-objects": b'{"a":' * 12_000,
    "deep-and-closed": b"[" * 30_000 + b"]" * 30_000,
    "too-deep-by-one": deep(MAX_DEPTH + 1),
    "deep-after-brackets-in-a-string": b'{"query": "' + b"]" * 200 + b'", "x": ' + b"[" * 100 + b"]" * 100 + b"}",
    "deep-after-an-escaped-quote": b'{"query": "\\"", "x": ' + b"[" * 100 + b"]" * 100 + b"}",
    "nan": b'{"query": "a", "min_score": NaN}',
    "infinity": b'{"query": "a", "min_score": Infinity}',
    "minus-infinity": b'{"query": "a", "x": [-Infinity]}',
    "integer-of-thousands-of-digits": b'{"query": "a", "k": ' + b"9" * 5000 + b"}",
    "latin-1": '{"query": "é"}'.encode("latin-1"),
    "utf-16": '{"query": "a"}'.encode("utf-16"),
    "overlong-utf-8": b'{"query": "\xc0\xaf"}',
    "surrogate-as-utf-8": b'{"query": "\xed\xa0\x80"}',
    "two-byte-order-marks": b"\xef\xbb\xbf" * 2 + b'{"query": "a"}',
}


@pytest.mark.parametrize("body", NO_OBJECT.values(), ids=NO_OBJECT)
def test_body_that_is_no_object_is_refused_in_json(client: FlaskClient, source: FakeSource, body: bytes) -> None:
    """contract: Search request: 400 in the version's own form, and no vendor hears of it."""
    answer = post(client, body)
    assert (answer.status_code, answer.json) == (400, {"error": "invalid json", "hint": ""})
    assert answer.mimetype == "application/json"
    answer = post(client, body, "/v2/search")
    assert answer.status_code == 400
    assert answer.json is not None
    assert list(answer.json) == ["success", "error", "details"]
    assert answer.json["success"] is False
    assert source.calls == []


@pytest.mark.parametrize("body", [b"[" * 100_000, b"{" * 3_000_000], ids=["lists", "objects"])
def test_body_that_is_too_large_is_refused_in_json(client: FlaskClient, body: bytes) -> None:
    """contract: Search request: over 64 KiB the size alone decides; nothing of it is parsed."""
    answer = post(client, body)
    assert (answer.status_code, answer.json) == (413, {"error": "request too large", "hint": ""})
    with pytest.raises(InvalidJsonError):
        parse_object(body)


def test_body_of_64_kib_is_read_and_one_byte_more_is_not(client: FlaskClient) -> None:
    """contract: Search request: the limit is on the body, white space included."""
    body = b'{"query": "a"}'
    assert post(client, body.ljust(MAX_BODY)).status_code == 200
    assert post(client, body.ljust(MAX_BODY + 1)).status_code == 413


def test_body_nested_as_deep_as_allowed_is_read(client: FlaskClient, ledger: FakeLedger) -> None:
    """contract: Search request: 100 levels; brackets inside strings are none."""
    ledger.credits["tavily"] = 3
    assert post(client, deep(MAX_DEPTH)).status_code == 200
    assert post(client, json.dumps({"query": "[{" * 300}).encode()).status_code == 200
    assert post(client, json.dumps({"query": '\\"[' * 300}).encode()).status_code == 200


def test_body_of_open_strings_is_read_in_linear_steps() -> None:
    """contract: Search request: a string that never ends is looked at once, not once for each quote in it;
    quadratic this takes minutes.
    """
    for body in (b"[" * 101 + b'"' + b'\\"' * 1_000_000, b"[" * 101 + b'"\\' * 1_000_000):
        with pytest.raises(InvalidJsonError):
            parse_object(body)


def test_body_with_a_byte_order_mark_is_read(client: FlaskClient, source: FakeSource) -> None:
    """contract: Search request: a UTF-8 BOM is tolerated."""
    assert post(client, b"\xef\xbb\xbf" + b'{"query": "a"}').status_code == 200
    assert source.queries == ["a"]


def test_body_with_duplicate_keys_the_last_counts(client: FlaskClient, source: FakeSource) -> None:
    """contract: Search request: everywhere alike."""
    assert post(client, b'{"query": "a", "query": "b"}').status_code == 200
    assert post(client, b'{"query": "c", "query": "d"}', "/v2/search").status_code == 503  # the credit is spent
    assert source.queries == ["b"]


@pytest.mark.parametrize("path", ["/v1/search", "/v2/search"])
@pytest.mark.parametrize(
    "kind",
    [
        None,
        "text/plain",
        "application/json; charset=utf-8",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "x",
    ],
)
def test_body_is_read_whatever_its_content_type_says(client: FlaskClient, path: str, kind: str | None) -> None:
    """contract: Search request: one rule for v1 and v2: `curl -d` works."""
    headers = {"Content_Type": kind} if kind else {}
    assert post(client, b'{"query": "a"}', path, **headers).status_code == 200


@pytest.mark.parametrize("path", ["/v1/search", "/v2/search"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_method_that_is_not_post_is_405_in_json(client: FlaskClient, path: str, method: str) -> None:
    """contract: Search request: JSON again, in the version's own form."""
    answer = client.open(path, method=method)
    assert answer.status_code == 405
    assert answer.json is not None
    assert list(answer.json) == (["error", "hint"] if path.startswith("/v1") else ["success", "error", "details"])


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"query": "a\ud800"}, "invalid query", ""),
    ({"query": ""}, "invalid query", ""),
    ({"query": "a", "queries": ["b"]}, "invalid query", ""),
    ({"query": "q", "include_domains": ["\ud800.example"]}, "invalid search", "include_domains"),
    ({"query": "q", "include_domains": ["secret.example OR b"]}, "invalid search", "include_domains"),
    ({"query": "q", "start_date": "secret.example"}, "invalid search", "start_date"),
    ({"query": "q", "time_range": "week", "start_date": "2026-09-01"}, "invalid search", "time_range"),
    ({"query": "q", "k": 10**30}, "invalid search", "k"),
    ({"query": "q", "min_score": 10**400}, "invalid search", "min_score"),
    ({"query": "q", "k": -1}, "invalid search", "k"),
    ({"query": "q", "k": 0}, "invalid search", "k"),
    ({"query": "q", "k": 10**6}, "invalid search", "k"),
    ({"query": "secret.example", "exact_match": True}, "invalid search", "exact_match"),
]


@pytest.mark.parametrize(("fields", "error", "hint"), REFUSED)
def test_request_that_is_refused_names_the_field_and_costs_nothing(
    client: FlaskClient, source: FakeSource, ledger: FakeLedger, fields: dict[str, Any], error: str, hint: str
) -> None:
    """contract: Errors: error and hint only, nothing echoed, no vendor asked, no credit taken."""
    answer = post(client, json.dumps(fields).encode())
    assert (answer.status_code, answer.json) == (400, {"error": error, "hint": hint})
    assert source.calls == []
    assert (ledger.credits, ledger.reserved) == ({"tavily": 1}, [])


@pytest.mark.parametrize("limit", [0, -1, 101, True, 2.0, "5", 10**30, []], ids=repr)
def test_v2_limit_out_of_range_is_refused(client: FlaskClient, source: FakeSource, limit: Any) -> None:
    """contract: Search request: never all, never unbounded."""
    answer = post(client, json.dumps({"query": "q", "limit": limit}).encode(), "/v2/search")
    assert answer.status_code == 400
    assert answer.json is not None
    assert "limit" in answer.json["details"]
    assert source.calls == []


def test_unknown_and_digest_warnings_belong_to_the_request(client: FlaskClient) -> None:
    """contract: Cache: never stored: the second request, answered from the cache, has its own warnings only."""
    first = post(client, b'{"query": "q", "digest": true, "caller_class": "fleet"}').json
    second = post(client, b'{"query": "q", "topics": "news"}').json
    assert first is not None
    assert second is not None
    assert first["warnings"] == ["digest ignored", "unknown field ignored: caller_class"]
    assert second["warnings"] == ["unknown field ignored: topics (did you mean topic?)"]
    assert (first["cached"], second["cached"]) == (False, True)
    assert first["results"] == second["results"]


def test_class_of_a_caller_comes_from_the_key_alone(source: FakeSource, lines: list[bytes]) -> None:
    """contract: Callers: neither a header nor a body field makes a restricted caller fleet, in key or log."""
    callers = {"Bearer r": Caller("reader", "restricted"), "Bearer f": Caller("fleet-one", "fleet")}
    services = services_of(engine_of(source), callers=callers, lines=lines)
    client = create_app(services=services).test_client()
    body = b'{"query": "q", "caller_class": "fleet"}'
    fleet = post(client, body, Authorization="Bearer f")
    restricted = post(client, body, Authorization="Bearer r", X_Caller_Class="fleet")
    again = post(client, body, Authorization="Bearer r")
    cached = [answer.json and answer.json["cached"] for answer in (fleet, restricted, again)]
    assert cached == [False, False, True]
    records = [json.loads(line) for line in lines]
    assert [list(record)[3:] for record in records] == [
        ["caller", "q_len", "sources", "n", "cache", "n_queries", "filters", "rerank_ms"],
        ["caller", "q_len", "sources", "n", "cache"],
        ["caller", "q_len", "sources", "n", "cache"],
    ]
    assert [record["caller"] for record in records] == ["fleet-one", "reader", "reader"]


def test_no_log_record_holds_a_host_or_a_query(lines: list[bytes]) -> None:
    """R9: restricted and fleet, a filter and three queries, a source that fails with all of it in its text."""
    callers = {"Bearer r": Caller("reader", "restricted"), "Bearer f": Caller("fleet-one", "fleet")}
    failing = FakeSource("searxng", ValueError("https://secret.example/?q=zebra"))
    engine = engine_of(failing, FakeSource("tavily", SOURCE), FakeSource("brave_llm", ValueError("zebra")))
    client = create_app(services=services_of(engine, callers=callers, lines=lines)).test_client()
    fields = {"queries": ["zebra one", "zebra two", "zebra"], "include_domains": ["secret.example"], "topic": "news"}
    for token in callers:
        assert post(client, json.dumps(fields).encode(), Authorization=token).status_code == 200
        assert (
            post(client, json.dumps({**fields, "start_date": "zebra"}).encode(), Authorization=token).status_code == 400
        )
    assert not any(word in line for line in lines for word in (b"zebra", b"secret", b"news", b"docs.example"))
    searches = [record for record in map(json.loads, lines) if record["event"] == "search"]
    assert [(record["q_len"], record.get("n_queries"), record.get("filters")) for record in searches] == [
        (23, None, None),
        (23, 3, "domains,topic"),
    ]
