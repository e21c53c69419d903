"""`make contract`: check envelopes, errors and statuses of a service against the contract, with curl.

By default it starts the shipped gunicorn on loopback, with stand-ins for the vendors. With SIFT_URL and SIFT_TOKEN (a
fleet key) set, it checks that service instead and skips the checks that need the stand-ins.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.real.programs import new_key
from tests.service import Service
from tests.vendors import Vendors, for_all, reply

FOREIGN = ["-H", "Origin: http://page.example"]
NO_ENDPOINT = (
    "sift: no such endpoint; there are POST /v2/search and, unless it is switched off, POST /v2/scrape and "
    "/v2/batch/scrape"
)
STATUS = ["version", "since", "workers", "sources", "cache", "demo"]
ENVELOPE = ["queries", "results", "sources_ok", "sources_failed", "warnings", "cached", "sizes"]


class Response(NamedTuple):
    """A response as curl received it: status, headers in lower case, parsed body."""

    status: int
    headers: dict[str, str]
    body: Any


def curl(url: str, *arguments: str) -> Response:
    """Send a request with curl; the response body must be JSON."""
    command = ["curl", "--silent", "--show-error", "--include", "--max-time", "60", "--path-as-is", *arguments, url]
    done = subprocess.run(command, capture_output=True, check=True)
    head, _, body = done.stdout.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"").partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    assert headers["content-type"] == "application/json", headers
    return Response(int(first.split()[1]), headers, json.loads(body))


def equals(status: int, body: Any) -> Callable[[Response], bool]:
    """Return a check for exactly this response."""
    return lambda answer: (answer.status, answer.body) == (status, body)


def error(status: int, text: str, hint: str = "") -> Callable[[Response], bool]:
    """Return a check for an error of v1."""
    return equals(status, {"error": text, "hint": hint})


def v2_error(status: int, text: str, details: str = "") -> Callable[[Response], bool]:
    """Return a check for an error of v2 whose details contain these words."""
    return lambda answer: (
        answer.status == status
        and list(answer.body) == ["success", "error", "details"]
        and answer.body["success"] is False
        and answer.body["error"] == text
        and details in answer.body["details"]
    )


def is_envelope(answer: Response) -> bool:
    """Whether a response is a search answer, with its keys in order and consistent sizes."""
    body = answer.body
    return (
        answer.status == 200
        and list(body) == ENVELOPE
        and all(list(hit)[:5] == ["url", "title", "snippet", "source", "score"] for hit in body["results"])
        and body["sizes"]["results"] == len(body["results"]) <= body["sizes"]["unique"] <= body["sizes"]["hits"]
        and not set(body["sources_ok"]) & set(body["sources_failed"])
    )


def is_v2(answer: Response) -> bool:
    """Whether a response is a search answer of v2."""
    web = answer.body["data"]["web"]
    return (
        answer.status == 200
        and [list(hit) for hit in web] == [["url", "title", "description", "position"]] * len(web)
        and [hit["position"] for hit in web] == list(range(1, len(web) + 1))
    )


def tavily_error(status: int, text: str) -> Callable[[Response], bool]:
    """Return a check for an error of Tavily's door."""
    return equals(status, {"detail": {"error": text}})


Check = tuple[str, str, list[str], Callable[[Response], bool]]  # name, path, curl's arguments, the check


def data(body: Any) -> list[str]:
    """Return curl's arguments for a body: strings verbatim, anything else as JSON."""
    return ["--data-binary", body if isinstance(body, str) else json.dumps(body)]


def checks(key: list[str]) -> Iterator[Check]:
    """Yield the checks that apply to every service."""

    def v1(name: str, body: Any, holds: Callable[[Response], bool]) -> Check:
        return name, "/v1/search", [*key, *data(body)], holds

    def v2(name: str, body: Any, holds: Callable[[Response], bool]) -> Check:
        return name, "/v2/search", [*key, *data(body)], holds

    yield "health is open", "/healthz", [], equals(200, {"status": "ok"})
    yield "readiness is open", "/readyz", [], equals(200, {"status": "ready"})
    yield (
        "status is for fleet keys",
        "/v1/status",
        key,
        lambda answer: answer.status == 200 and list(answer.body) == STATUS,
    )
    yield (
        "the API describes itself",
        "/openapi.json",
        key,
        lambda answer: answer.status == 200 and answer.body["openapi"].startswith("3.1."),
    )
    yield v1("one query", {"query": "context manager"}, is_envelope)
    yield v1("curl -d without a content type", '{"query": "context manager"}', is_envelope)
    yield v1(
        "the same again comes from the cache",
        {"query": "context  manager"},
        lambda answer: is_envelope(answer) and answer.body["cached"] and answer.body["queries"] == ["context  manager"],
    )
    yield v1("several queries", {"queries": ["generator", "iterator"], "k": 3}, is_envelope)
    yield v1(
        "an unknown field is named",
        {"query": "x", "include_domain": ["a.example"]},
        lambda answer: (
            "unknown field ignored: include_domain (did you mean include_domains?)" in answer.body["warnings"]
        ),
    )
    yield v1(
        "digest is ignored, and says so",
        {"query": "x", "digest": True},
        lambda answer: "digest ignored" in answer.body["warnings"],
    )
    for body in ("", "[]", "null", "nonsense", '{"query": NaN}', "[" * 200, '{"query": "x"'):
        yield v1(f"not a JSON object: {body[:16]}", body, error(400, "invalid json"))
    for query in ({}, {"query": ""}, {"query": " "}, {"query": 5}, {"query": "a", "queries": ["b"]}, {"queries": "a"}):
        yield v1(f"bad query: {json.dumps(query)}", query, error(400, "invalid query"))
    yield v1("a query too long", {"query": "x" * 1501}, error(400, "invalid query"))
    yield v1("too many queries", {"queries": list("abcde")}, error(400, "invalid query"))
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("include_domains", {"include_domains": ["a.com OR b.com"]}),
        ("exclude_domains", {"exclude_domains": ["https://a.example"]}),
        ("include_domains_mode", {"include_domains_mode": "prefer"}),
        ("time_range", {"time_range": "decade"}),
        ("time_range", {"time_range": "week", "end_date": "2026-09-01"}),
        ("start_date", {"start_date": "2026-9-1"}),
        ("end_date", {"start_date": "2026-09-02", "end_date": "2026-09-01"}),
        ("topic", {"topic": "sport"}),
        ("min_score", {"min_score": 1.5}),
        ("exact_match", {"exact_match": True}),
        ("k", {"k": 0}),
        ("k", {"k": "8"}),
        ("rerank", {"rerank": 1}),
        ("digest", {"digest": "true"}),
        ("explain", {"explain": 1}),
    ]
    for field, filters in wrong:
        yield v1(f"bad {json.dumps(filters)}", {"query": "x", **filters}, error(400, "invalid search", field))
    yield v1("a body too large", {"query": "x", "pad": "x" * 70_000}, error(413, "request too large"))
    yield "another origin", "/v1/search", [*key, *data({"query": "x"}), *FOREIGN], error(403, "forbidden", "origin")
    yield (
        "v2: another origin",
        "/v2/search",
        [*key, *data({"query": "x"}), *FOREIGN],
        v2_error(400, "forbidden", "origin"),
    )
    yield "wrong method", "/v1/search", [*key, "-X", "GET"], error(405, "method not allowed")
    yield "no automatic OPTIONS", "/v1/search", [*key, "-X", "OPTIONS"], error(405, "method not allowed")
    for path in ("/nowhere", "/v1", "/v1/search/", "//v1/search", "/v1//search", "/static/x"):
        yield f"unknown path {path}", path, [*key, *data({"query": "x"})], error(404, "not found")
    yield v2("v2", {"query": "context manager", "limit": 3, "origin": "sdk"}, is_v2)
    yield v2("v2 ignores other fields", {"query": "context manager", "topic": 5, "timeout": 1}, is_v2)
    yield v2("v2: bad query", {"query": ""}, v2_error(400, "invalid query", "query"))
    for limit in (0, 101, "5"):
        yield v2(f"v2: limit {limit!r}", {"query": "x", "limit": limit}, v2_error(400, "invalid search", "limit"))
    yield v2("v2: no JSON", "nonsense", v2_error(400, "invalid json"))
    for name, body, holds in (
        (
            "a search",
            {"query": "x", "max_results": 1},
            lambda answer: answer.status == 200 and "results" in answer.body,
        ),
        ("bad field", {"query": "x", "max_results": 21}, tavily_error(400, "invalid search: max_results")),
        ("no JSON", "nonsense", tavily_error(400, "invalid json: body must be an object")),
    ):
        yield f"tavily: {name}", "/tavily/search", [*key, *data(body)], holds
    yield "v2: unknown path", "/v2/crawl", [*key, *data({"url": "x"})], v2_error(404, NO_ENDPOINT)


def locked_checks() -> Iterator[Check]:
    """Yield the checks of requests without a key, for a service that needs one."""

    def refused(answer: Response) -> bool:
        return (
            error(401, "unauthorized")(answer) and answer.headers.get("www-authenticate") == 'Bearer realm="sift"'
        ) or any(form(401, "sift: missing or invalid API key")(answer) for form in (v2_error, tavily_error))

    for path in ("/v1/search", "/v2/search", "/tavily/search", "/v1/status", "/nowhere"):
        yield f"no key, {path}", path, data({"query": "x"}), refused
    yield "a wrong key", "/v1/search", ["-H", f"Authorization: Bearer sift_abcdefgh_{'A' * 43}"], refused


def vendor_checks(key: list[str], vendors: Vendors) -> Iterator[Check]:
    """Yield the checks that need the stand-ins, setting them up before each."""
    ask = [*key, *data({"query": "one fails"})]
    vendors.behaviour["tavily"] = reply(b"", 500)
    yield (
        "one source fails: 200, and it is named",
        "/v1/search",
        ask,
        lambda answer: (
            is_envelope(answer)
            and answer.body["warnings"] == ["tavily: http 500"]
            and answer.body["sources_failed"] == ["tavily"]
        ),
    )
    yield (
        "the same on v2",
        "/v2/search",
        ask,
        lambda answer: is_v2(answer) and answer.body["warning"] == "tavily: http 500",
    )
    for name in vendors.behaviour:
        vendors.behaviour[name] = reply(b"", 302, [("Location", "http://127.0.0.1:1/")])
    failed = [f"{name}: redirect refused" for name in vendors.behaviour]
    yield (
        "all fail: 503",
        "/v1/search",
        [*key, *data({"query": "all fail"})],
        equals(
            503,
            {"error": "search unavailable", "hint": "", "warnings": failed, "sources_failed": list(vendors.behaviour)},
        ),
    )
    yield (
        "the same on v2",
        "/v2/search",
        [*key, *data({"query": "all fail"})],
        v2_error(503, "search unavailable", "; ".join(failed)),
    )


def run(url: str, some: Iterator[Check]) -> int:
    """Run checks, print a line for each, and return the number of failures."""
    failures = 0
    for name, path, arguments, holds in some:
        answer = curl(url + path, *arguments)
        good = holds(answer)
        failures += not good
        print(f"{'ok  ' if good else 'FAIL'} {name}" + ("" if good else f": {answer.status} {answer.body}"), flush=True)
    return failures


@contextmanager
def own_service() -> Iterator[tuple[Service, Vendors, list[str]]]:
    """Run the shipped gunicorn with a key and stand-ins for the vendors."""
    with tempfile.TemporaryDirectory() as directory, Vendors() as vendors:
        path = Path(directory)
        token = new_key(path / "state", "contract", "fleet")
        with Service(path, vendors.environ | {"SIFT_AUTH": "keys", **for_all("DAILY_CAP", "1000")}) as service:
            yield service, vendors, ["-H", f"Authorization: Bearer {token}"]


def main() -> int:
    """Run all checks that apply; return the exit code."""
    if url := os.environ.get("SIFT_URL", "").rstrip("/"):
        token = os.environ.get("SIFT_TOKEN", "")
        failures = run(url, checks(["-H", f"Authorization: Bearer {token}"] if token else []))
        failures += run(url, locked_checks()) if token else 0
    else:
        with own_service() as (service, vendors, key):
            failures = run(service.url, checks(key))
            failures += run(service.url, locked_checks())
            failures += run(service.url, vendor_checks(key, vendors))
    print(f"{failures} failed" if failures else "all hold")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
