"""The client of one JSON endpoint: requests, statuses, and independence of the environment."""

from __future__ import annotations

import math
import socket
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
import responses
from requests.adapters import HTTPAdapter

from sift.wire.endpoint import Endpoint
from tests.calls import SECRET, failure_of, hold, later, outcome_of
from tests.fakes import FakeClock
from tests.vendors import Seen, Vendors, reply
from tests.wire.clients import GOOD, answer, endpoint, failure, get, post


def test_get_headers_are_exactly_these(vendors: Vendors) -> None:
    """contract: HTTP calls: the given headers, the host, the readable encodings, and no others."""
    vendors.behaviour["tavily"] = reply(GOOD)
    client = endpoint(vendors.port, {"X-Subscription-Token": "key"})
    outcome_of(lambda: client.get_json({"q": "x"}, deadline=later()))
    assert vendors.seen[0].headers == {
        "host": f"127.0.0.1:{vendors.port}",
        "accept-encoding": "gzip, identity",
        "x-subscription-token": "key",
    }


def test_post_headers_are_exactly_these(vendors: Vendors) -> None:
    """contract: HTTP calls: a POST adds the type and the length of its body."""
    vendors.behaviour["tavily"] = reply(GOOD)
    client = endpoint(vendors.port, {"Authorization": "Bearer key"})
    outcome_of(lambda: client.post_json({"query": "ü"}, deadline=later()))
    (seen,) = vendors.seen
    assert seen.method == "POST"
    assert seen.target == "/tavily/search"
    assert seen.json() == {"query": "ü"}
    assert seen.headers == {
        "host": f"127.0.0.1:{vendors.port}",
        "accept-encoding": "gzip, identity",
        "authorization": "Bearer key",
        "content-type": "application/json",
        "content-length": str(len(seen.body)),
    }


@pytest.mark.parametrize(
    "text",
    ["a b", "a&b=c#d?e", "100% + 1", '"quoted phrase" \\ /', "日本 ü 🙂", "a\tb\nc\x7f", "%20 %zz", "x" * 1500],
)
def test_get_query_has_special_characters_vendor_reads_the_same(vendors: Vendors, text: str) -> None:
    """contract: HTTP calls: no query changes the meaning of the URL."""
    vendors.behaviour["tavily"] = reply(GOOD)
    client = endpoint(vendors.port)
    outcome_of(lambda: client.get_json({"q": text, "format": "json"}, deadline=later()))
    assert vendors.seen[0].parameters == {"q": text, "format": "json"}


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://127.0.0.1:{port}/tavily/a%2Fb", "/tavily/a%2Fb?q=x"),
        ("http://127.0.0.1:{port}/tavily/search?safe=1", "/tavily/search?safe=1&q=x"),
        ("HTTP://127.0.0.1:{port}/tavily/search", "/tavily/search?q=x"),
        ("http://127.0.0.1:{port}", "/?q=x"),
        ("http://127.0.0.1:{port}?safe=1", "/?safe=1&q=x"),
    ],
)
def test_get_url_has_an_unusual_form_target_is_correct(vendors: Vendors, url: str, target: str) -> None:
    """contract: Settings: the operator may spell the endpoint URL in any valid way."""
    vendors.behaviour["tavily"] = vendors.behaviour[""] = reply(GOOD)
    client = Endpoint(url.format(port=vendors.port), {}, connections=1)
    assert outcome_of(lambda: client.get_json({"q": "x"}, deadline=later())) == GOOD
    assert vendors.seen[0].target == target


def test_clock_is_injected_deadlines_refer_to_it(vendors: Vendors) -> None:
    """contract: HTTP calls: deadlines are times of the caller's clock."""
    vendors.behaviour["tavily"] = reply(GOOD)
    url = f"http://127.0.0.1:{vendors.port}/tavily/search"
    client = Endpoint(url, {}, connections=1, clock=FakeClock(100.0))
    assert outcome_of(lambda: post(client, 110.0)) == GOOD
    error = failure_of(lambda: post(client, 100.0))
    assert (error.reason, error.sent) == ("timeout", False)
    assert len(vendors.seen) == 1


@pytest.mark.parametrize("variable", ["HOME", "NETRC"])
def test_netrc_has_an_entry_for_the_vendor_own_key_is_sent(
    vendors: Vendors, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    """contract: HTTP calls: a .netrc file neither replaces Sift's key nor adds one."""
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login other password other\ndefault login other password other\n")
    monkeypatch.setenv(variable, str(tmp_path if variable == "HOME" else netrc))
    vendors.behaviour["tavily"] = reply(GOOD)
    keyed, bare = endpoint(vendors.port, {"Authorization": "Bearer own"}), endpoint(vendors.port)
    outcome_of(lambda: (post(keyed, later()), post(bare, later())))
    assert [seen.headers.get("authorization") for seen in vendors.seen] == ["Bearer own", None]


def test_proxy_variables_are_set_call_bypasses_them(vendors: Vendors, monkeypatch: pytest.MonkeyPatch) -> None:
    """contract: HTTP calls: proxies of the environment are ignored."""
    with socket.create_server(("127.0.0.1", 0)) as spy:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{spy.getsockname()[1]}")
        assert answer(vendors, reply(GOOD)) == GOOD
        spy.setblocking(False)
        with pytest.raises(BlockingIOError):
            spy.accept()
    assert vendors.seen[0].target == "/tavily/search"


def test_vendor_sets_cookies_none_is_returned(vendors: Vendors) -> None:
    """contract: HTTP calls: no cookie of one call is sent by another, of whatever thread."""
    numbers = iter(range(1000))

    def behave(connection: socket.socket, seen: Seen) -> object:
        return reply(GOOD, headers=[("Set-Cookie", f"session={next(numbers)}; Path=/")])(connection, seen)

    vendors.behaviour["tavily"] = behave
    client = endpoint(vendors.port, connections=20)
    outcomes: list[Any] = []
    threads = [
        threading.Thread(target=lambda: outcomes.append([post(client, later()) for _ in range(5)])) for _ in "x" * 20
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert outcomes == [[GOOD] * 5] * 20
    assert len(vendors.seen) == 100
    assert not [seen for seen in vendors.seen if "cookie" in seen.headers]


@pytest.mark.parametrize("status", [300, 304, 399])
def test_vendor_redirects_target_is_not_contacted(vendors: Vendors, release: threading.Event, status: int) -> None:
    """contract: HTTP calls: a 3xx is a failure; nothing is sent to its location, and its body is not read."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        place = f"http://127.0.0.1:{other.getsockname()[1]}/?q={SECRET}"
        head = f"HTTP/1.1 {status} Moved\r\nLocation: {place}\r\nContent-Length: 1000000\r\n\r\n"
        error = failure(vendors, hold(release, head.encode()))
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.accept()
    assert (error.reason, error.sent, error.counts) == ("redirect refused", True, False)
    assert len(vendors.seen) == 1


def test_vendor_redirects_to_itself_it_is_asked_once(vendors: Vendors) -> None:
    """contract: HTTP calls: not even a redirect to the same host is followed (SearXNG sends bots to `/`)."""
    error = failure(vendors, reply(b"", 302, [("Location", "/")]))
    assert error.reason == "redirect refused"
    assert len(vendors.seen) == 1


@pytest.mark.parametrize(
    ("status", "counts"),
    [
        *[(status, False) for status in (201, 204, 299, 400, 404, 428, 430, 499)],
        *[(status, True) for status in (429, 500, 503, 999)],
    ],
)
def test_status_is_not_200_failure_names_only_the_status(
    vendors: Vendors, release: threading.Event, status: int, counts: bool
) -> None:
    """contract: HTTP calls: the status is checked before the body; 5xx and 429 count for the breaker, 4xx do not."""
    head = f"HTTP/1.1 {status} {SECRET}\r\nContent-Length: 1000000\r\n\r\n"
    error = failure(vendors, hold(release, head.encode() + b'{"detail": '))
    assert (error.reason, error.sent, error.counts) == (f"http {status}", True, counts)


@pytest.mark.parametrize(
    ("header", "low", "high"),
    [
        ("12", 12, 12),
        (" 7 ", 7, 7),
        ("0", None, None),
        ("-5", None, None),
        ("soon", None, None),
        ("\u00b2", None, None),
        ("99999999999999999999999999", 86_400, math.inf),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None, None),
        (format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True), 80_000, 86_400),
        (format_datetime(datetime.now(UTC) + timedelta(days=1)).replace("+0000", ""), 80_000, 86_400),
        ("Wed, 21 Oct 2026 07:28:00 +99999999999999999999", None, None),
    ],
)
def test_retry_after_is_sent_valid_values_are_parsed(
    vendors: Vendors, header: str, low: float | None, high: float | None
) -> None:
    """contract: HTTP calls: Retry-After in seconds or as a date; other values are ignored, and never raise."""
    error = failure(vendors, reply({}, 429, [("Retry-After", header)]))
    assert error.reason == "http 429"
    if low is None or high is None:
        assert error.retry_after is None
    else:
        assert error.retry_after is not None
        assert low <= error.retry_after <= high


@pytest.mark.parametrize(("status", "retry_after"), [(429, 60.0), (503, 60.0), (500, None)])
def test_retry_after_is_read_for_these_statuses_only(vendors: Vendors, status: int, retry_after: float | None) -> None:
    """contract: Breaker: Retry-After opens the breaker with a 429 or 503 only."""
    assert failure(vendors, reply({}, status, [("Retry-After", "60")])).retry_after == retry_after


def test_requests_sends_a_request_it_uses_only_urlopen_of_a_pool() -> None:
    """The interface that requests expects of a pool is undocumented; this test finds a release that expects more."""
    handed: dict[str, Any] = {}

    class Adapter(HTTPAdapter):
        def get_connection_with_tls_context(self, request: Any, *args: Any, **kwargs: Any) -> Any:
            handed["request"] = request
            return SimpleNamespace(urlopen=lambda **arguments: handed.update(arguments))

        def cert_verify(self, *args: Any, **kwargs: Any) -> None:
            pass

        def request_url(self, request: Any, proxies: Any) -> str:
            return "/path"

        def build_response(self, req: Any, resp: Any) -> Any:
            return req

    request: Any = requests.PreparedRequest()
    request.method, request.url, request.headers, request.body = "POST", "http://v.example/path", {"A": "b"}, b"x"
    assert Adapter().send(request, stream=True) is request
    assert handed["request"] is request
    assert [handed[name] for name in ("method", "url", "headers", "body")] == ["POST", "/path", {"A": "b"}, b"x"]


@responses.activate
def test_responses_library_is_active_it_answers_the_call() -> None:
    """Calls bypass the Session of requests, yet `responses` intercepts them, on which the vendor tests rely."""
    responses.get(
        "https://vendor.example/search",
        json={"a": 1},
        match=[
            responses.matchers.query_param_matcher({"q": SECRET}),
            responses.matchers.header_matcher({"X-Key": "k"}),
        ],
    )
    responses.post(
        "https://vendor.example/search",
        json={"b": 2},
        match=[responses.matchers.json_params_matcher({"query": SECRET})],
    )
    client = Endpoint("https://vendor.example/search", {"X-Key": "k"}, connections=1)
    assert (get(client, later()), post(client, later())) == ({"a": 1}, {"b": 2})


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ({"status": 403}, "http 403"),
        ({"status": 302, "headers": {"Location": "https://other.example/"}}, "redirect refused"),
        ({"body": "<html>"}, "bad response"),
        ({"body": "{}", "headers": {"Content-Encoding": "br"}}, "bad response"),
        ({"body": requests.ConnectionError(SECRET)}, "unreachable"),
        ({"body": requests.ReadTimeout(SECRET)}, "timeout"),
        ({"body": requests.ConnectTimeout(SECRET)}, "timeout"),
    ],
)
@responses.activate
def test_responses_library_fails_reason_is_as_on_the_wire(response: dict[str, Any], reason: str) -> None:
    """contract: Failures: the closed vocabulary."""
    responses.get("https://vendor.example/search", **response)
    client = Endpoint("https://vendor.example/search", {}, connections=1)
    assert failure_of(lambda: get(client, later())).reason == reason
