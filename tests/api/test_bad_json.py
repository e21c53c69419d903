"""Bodies that are not valid requests: answered in JSON, at no cost (contract: Search request)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
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
    """Return the only source."""
    return FakeSource("tavily", SOURCE)


@pytest.fixture
def ledger() -> FakeLedger:
    """Return a ledger with one credit left."""
    return FakeLedger({"tavily": 1})


@pytest.fixture
def lines() -> list[bytes]:
    """Collect the log."""
    return []


@pytest.fixture
def client(source: FakeSource, ledger: FakeLedger, lines: list[bytes]) -> FlaskClient:
    """Return a client of an application with one source, without a server."""
    return create_app(services=services_of(engine_of(source, ledger=ledger), lines=lines)).test_client()


def post(client: FlaskClient, body: bytes, path: str = "/v1/search", **headers: str) -> TestResponse:
    """Post bytes verbatim."""
    return client.post(path, data=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def deep(levels: int) -> bytes:
    """Return a valid request that nests so many levels, by lists in an unknown field."""
    return b'{"query": "a", "x": ' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


NOT_AN_OBJECT: Mapping[str, bytes] = {
    "list": b"[1]",
    "string": b'"x"',
    "null": b"null",
    "empty": b"",
    "not-json": b"query=a",
    "truncated": b'{"query": "a"',
    "two-objects": b'{"query": "a"}{}',
    "control-character": b'{"query": "a\nb"}',
    "deep-objects": b'{"a":' * 12_000,
    "too-deep-by-one": deep(MAX_DEPTH + 1),
    "deep-after-brackets-in-a-string": b'{"query": "' + b"]" * 200 + b'", "x": ' + b"[" * 100 + b"]" * 100 + b"}",
    "deep-after-an-escaped-quote": b'{"query": "\\"", "x": ' + b"[" * 100 + b"]" * 100 + b"}",
    "nan": b'{"query": "a", "min_score": NaN}',
    "minus-infinity": b'{"query": "a", "x": [-Infinity]}',
    "integer-of-thousands-of-digits": b'{"query": "a", "k": ' + b"9" * 5000 + b"}",
    "latin-1": '{"query": "é"}'.encode("latin-1"),
    "utf-16": '{"query": "a"}'.encode("utf-16"),
    "surrogate-as-utf-8": b'{"query": "\xed\xa0\x80"}',
    "two-byte-order-marks": b"\xef\xbb\xbf" * 2 + b'{"query": "a"}',
}


@pytest.mark.parametrize("body", NOT_AN_OBJECT.values(), ids=NOT_AN_OBJECT)
def test_body_that_is_not_an_object_is_refused_in_json(client: FlaskClient, source: FakeSource, body: bytes) -> None:
    """contract: Search request: 400 in the version's own format, and no vendor is called."""
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
    """contract: Search request: over 64 KiB is 413, whatever the content."""
    answer = post(client, body)
    assert (answer.status_code, answer.json) == (413, {"error": "request too large", "hint": ""})
    with pytest.raises(InvalidJsonError):
        parse_object(body)


def test_body_of_64_kib_is_read_and_one_byte_more_is_not(client: FlaskClient) -> None:
    """contract: Search request: the limit counts the whole body, white space included."""
    body = b'{"query": "a"}'
    assert post(client, body.ljust(MAX_BODY)).status_code == 200
    assert post(client, body.ljust(MAX_BODY + 1)).status_code == 413


def test_body_nested_as_deep_as_allowed_is_read(client: FlaskClient, ledger: FakeLedger) -> None:
    """contract: Search request: 100 levels are allowed; brackets inside strings do not count."""
    ledger.credits["tavily"] = 3
    assert post(client, deep(MAX_DEPTH)).status_code == 200
    assert post(client, json.dumps({"query": "[{" * 300}).encode()).status_code == 200
    assert post(client, json.dumps({"query": '\\"[' * 300}).encode()).status_code == 200


def test_body_of_unterminated_strings_is_read_in_linear_time() -> None:
    """contract: Search request: an unterminated string is scanned once, not once per quote in it."""
    for body in (b"[" * 101 + b'"' + b'\\"' * 1_000_000, b"[" * 101 + b'"\\' * 1_000_000):
        with pytest.raises(InvalidJsonError):
            parse_object(body)


def test_body_with_a_byte_order_mark_is_read(client: FlaskClient, source: FakeSource) -> None:
    """contract: Search request: a UTF-8 BOM is tolerated."""
    assert post(client, b"\xef\xbb\xbf" + b'{"query": "a"}').status_code == 200
    assert source.queries == ["a"]


def test_body_with_duplicate_keys_the_last_counts(client: FlaskClient, source: FakeSource) -> None:
    """contract: Search request: the last duplicate wins, in both versions."""
    assert post(client, b'{"query": "a", "query": "b"}').status_code == 200
    assert post(client, b'{"query": "c", "query": "d"}', "/v2/search").status_code == 503  # the credit is spent
    assert source.queries == ["b"]


@pytest.mark.parametrize("path", ["/v1/search", "/v2/search"])
@pytest.mark.parametrize("kind", [None, "application/x-www-form-urlencoded", "multipart/form-data"])
def test_body_is_read_whatever_its_content_type_says(client: FlaskClient, path: str, kind: str | None) -> None:
    """contract: Search request: the content type does not matter, so `curl -d` works."""
    headers = {"Content_Type": kind} if kind else {}
    assert post(client, b'{"query": "a"}', path, **headers).status_code == 200


@pytest.mark.parametrize("path", ["/v1/search", "/v2/search"])
@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_method_that_is_not_post_is_405_in_json(client: FlaskClient, path: str, method: str) -> None:
    """contract: Errors: 405 in JSON, in the version's own format."""
    answer = client.open(path, method=method)
    assert answer.status_code == 405
    assert answer.json is not None
    assert list(answer.json) == (["error", "hint"] if path.startswith("/v1") else ["success", "error", "details"])


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"query": "a\ud800"}, "invalid query", ""),
    ({"query": "a", "queries": ["b"]}, "invalid query", ""),
    ({"query": "q", "include_domains": ["secret.example OR b"]}, "invalid search", "include_domains"),
    ({"query": "q", "start_date": "secret.example"}, "invalid search", "start_date"),
    ({"query": "q", "k": 10**30}, "invalid search", "k"),
    ({"query": "q", "min_score": 10**400}, "invalid search", "min_score"),
    ({"query": "secret.example", "exact_match": True}, "invalid search", "exact_match"),
]


@pytest.mark.parametrize(("fields", "error", "hint"), REFUSED)
def test_request_that_is_refused_names_the_field_and_costs_nothing(
    client: FlaskClient, source: FakeSource, ledger: FakeLedger, fields: dict[str, Any], error: str, hint: str
) -> None:
    """contract: Errors: error and hint only; nothing is echoed, no vendor called, no credit taken."""
    answer = post(client, json.dumps(fields).encode())
    assert (answer.status_code, answer.json) == (400, {"error": error, "hint": hint})
    assert source.calls == []
    assert (ledger.credits, ledger.reserved) == ({"tavily": 1}, [])


@pytest.mark.parametrize("limit", [0, 101, True, 2.0, "5"], ids=repr)
def test_v2_limit_out_of_range_is_refused(client: FlaskClient, source: FakeSource, limit: Any) -> None:
    """contract: Firecrawl door: `limit` is an integer from 1 to 100; anything else is named in the details."""
    answer = post(client, json.dumps({"query": "q", "limit": limit}).encode(), "/v2/search")
    assert answer.status_code == 400
    assert answer.json is not None
    assert "limit" in answer.json["details"]
    assert source.calls == []


def test_unknown_and_digest_warnings_belong_to_the_request(client: FlaskClient) -> None:
    """contract: Cache: they are never stored; the second request, a cached one, has only its own."""
    first = post(client, b'{"query": "q", "digest": true, "caller_class": "fleet"}').json
    second = post(client, b'{"query": "q", "topics": "news"}').json
    assert first is not None
    assert second is not None
    assert first["warnings"] == ["digest ignored", "unknown field ignored: caller_class"]
    assert second["warnings"] == ["unknown field ignored: topics (did you mean topic?)"]
    assert (first["cached"], second["cached"]) == (False, True)
    assert first["results"] == second["results"]


def test_fault_of_the_service_is_answered_in_json(lines: list[bytes]) -> None:
    """contract: Errors: also where cached searches are answered, ahead of Flask."""

    def identify(header: str | None) -> Caller:
        raise RuntimeError("zebra")

    services = replace(services_of(engine_of(), lines=lines), identify=identify)
    response = post(create_app(services=services).test_client(), b'{"query": "a"}')
    assert (response.status_code, response.get_json()) == (500, {"error": "internal error", "hint": ""})
    assert [json.loads(line)["type"] for line in lines] == ["RuntimeError"]


def test_no_log_record_holds_a_host_or_a_query(lines: list[bytes]) -> None:
    """R9: both classes, filters, three queries, and sources whose exceptions quote them."""
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
