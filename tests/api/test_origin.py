"""Requests that a browser sends for a web page: refused when the page is not Sift's own (contract: Origins)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from sift.api.origin import is_local
from sift.app import build_services, create_app
from sift.auth.caller import Caller
from sift.config import Config, SourceConfig
from tests.fakes import FakeSource, engine_of, out, services_of

FORBIDDEN = {"error": "forbidden", "hint": "origin"}


@pytest.fixture
def source() -> FakeSource:
    """Return the only source."""
    return FakeSource("tavily", out("https://docs.example/1"))


def client_of(source: FakeSource, *, checks_host: bool = True, **options: Any) -> FlaskClient:
    """Return a client of an application with one source, without a server."""
    services = replace(services_of(engine_of(source), **options), checks_host=checks_host)
    return create_app(services=services).test_client()


def post(client: FlaskClient, path: str = "/v1/search", **headers: str) -> TestResponse:
    """Send a search to 127.0.0.1:8787."""
    sent = {"Host": "127.0.0.1:8787"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post(path, data=b'{"query": "q"}', headers=sent)


FOREIGN = {
    "cross site": {"Sec_Fetch_Site": "cross-site"},
    "same site": {"Sec_Fetch_Site": "same-site"},
    "other host": {"Origin": "http://evil.example"},
    "other port": {"Origin": "http://127.0.0.1:8000"},
    "default port": {"Origin": "http://127.0.0.1"},
    "name of the same address": {"Origin": "http://localhost:8787"},
    "hidden": {"Origin": "null"},
    "empty": {"Origin": ""},
    "host as user name": {"Origin": "http://127.0.0.1:8787@evil.example"},
    "extension": {"Origin": "chrome-extension://127.0.0.1:8787"},
    "port of many digits": {"Origin": "http://127.0.0.1:" + "9" * 5000},
    "two": {"Origin": "http://127.0.0.1:8787, http://evil.example"},
    "own and same site": {"Origin": "http://127.0.0.1:8787", "Sec_Fetch_Site": "same-site"},
    "foreign and same origin": {"Origin": "http://evil.example", "Sec_Fetch_Site": "same-origin"},
}


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
def test_request_of_another_origin_is_refused_and_costs_nothing(source: FakeSource, headers: dict[str, str]) -> None:
    """contract: Origins: 403 in v1, with a key or without; v2 answers 400, in its own form."""
    callers = {"Bearer r": Caller("reader", "restricted")}
    for options, auth in (({}, {}), ({"callers": callers, "checks_host": False}, {"Authorization": "Bearer r"})):
        client = client_of(source, **options)
        for path in ("/v1/search", "/v1/nowhere"):
            answer = post(client, path, **headers, **auth)
            assert (answer.status_code, answer.json) == (403, FORBIDDEN)
        answer = post(client, "/v2/search", **headers, **auth)
        assert answer.status_code == 400
        assert answer.json is not None
        assert list(answer.json) == ["success", "error", "details"]
        assert (answer.json["success"], answer.json["error"]) == (False, "forbidden")
        assert answer.json["details"].startswith("origin: ")
    assert source.calls == []


OWN = {
    "program": {},
    "typed address": {"Sec_Fetch_Site": "none"},
    "own page": {"Sec_Fetch_Site": "same-origin", "Origin": "http://127.0.0.1:8787"},
    "own page in an old browser": {"Origin": "http://127.0.0.1:8787"},
    "behind a proxy with TLS": {"Origin": "https://sift", "Host": "sift"},
    "other case": {"Origin": "HTTP://SIFT:80", "Host": "sift"},
    "IPv6": {"Origin": "http://[::1]:8787", "Host": "[::1]:8787"},
}


@pytest.mark.parametrize("headers", OWN.values(), ids=OWN)
def test_request_of_a_program_or_an_own_page_is_answered(source: FakeSource, headers: dict[str, str]) -> None:
    """contract: Origins: programs send neither header, and Sift's own pages name its own host and port."""
    client = client_of(source)
    assert post(client, **headers).status_code == 200
    assert post(client, "/v2/search", **headers).status_code == 200


def test_cached_answer_is_refused_like_any_other(source: FakeSource) -> None:
    """contract: Origins: an answer that is at hand goes to no other origin, and leaves no record."""
    lines: list[bytes] = []
    client = client_of(source, lines=lines)
    assert post(client).status_code == 200
    cached = post(client).json
    assert cached is not None
    assert cached["cached"] is True
    for headers in ({"Sec_Fetch_Site": "cross-site"}, {"Origin": "null"}, {"Host": "evil.example"}):
        assert post(client, **headers).json == FORBIDDEN
    assert len(lines) == 2


def test_health_stays_open(source: FakeSource) -> None:
    """contract: Origins: a monitor may ask from anywhere, by any name."""
    headers = {"Sec-Fetch-Site": "cross-site", "Origin": "null", "Host": "sift.example"}
    assert client_of(source).get("/healthz", headers=headers).status_code == 200


LOCAL = ["127.0.0.1", "127.0.0.1:8787", "[::1]:8787", "10.0.0.7", "127.1", "localhost:8787", "LOCALHOST", "sift", ""]
ELSEWHERE = ["evil.example", "evil.example:8787", "localhost.evil.example", "sift.", "127.0.0.1.evil.example"]
BROKEN = ["evil.example, localhost", "a:b:c", ":8787", "[evil.example]", "[::1", "localhost:" + "9" * 5000]


@pytest.mark.parametrize(
    ("host", "local"), [*((each, True) for each in LOCAL), *((e, False) for e in ELSEWHERE + BROKEN)]
)
def test_host_that_dns_can_point_here_is_refused_without_keys(source: FakeSource, host: str, local: bool) -> None:
    """contract: Origins: with SIFT_AUTH=off a site cannot rebind its name to this service and read answers."""
    assert is_local(host) is local
    if host and host not in BROKEN:
        assert post(client_of(source), Host=host).status_code == (200 if local else 403)


def test_host_does_not_matter_with_keys(source: FakeSource) -> None:
    """contract: Origins: a rebound name has no key, and a service with keys may have any name."""
    assert post(client_of(source, checks_host=False), Host="sift.example").status_code == 200


def test_host_is_checked_when_authentication_is_off(tmp_path: Any) -> None:
    """contract: Origins: the setting decides."""
    config = Config((SourceConfig("searxng", "http://127.0.0.1:1"),), tmp_path, tmp_path / "keys.json", auth=False)
    assert build_services(config).checks_host is True
