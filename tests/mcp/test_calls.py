"""Calls of tools, against a stand-in for the service (contract: MCP)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from sift.client import SiftClient
from sift.mcp.calls import answer
from sift.mcp.tools import BATCH
from tests.cli.batches import ID
from tests.cli.conftest import Service
from tests.mcp.conftest import KEY, Call, at_once

CANARY = "canary-5d1f"
REFUSED: list[tuple[str, int, dict[str, Any], str]] = [
    ("sift_search", 400, {"error": "invalid search", "hint": "k"}, "Change `k`: a whole number from 1 to 50."),
    (
        "sift_search",
        400,
        {"error": "invalid search", "hint": "end_date"},
        "Change `end_date`: a day as YYYY-MM-DD; not before `start_date`, and not with `time_range`.",
    ),
    (
        "sift_search",
        400,
        {"error": "invalid query", "hint": ""},
        "Change `query` or `queries`: one query, or a list of 1 to 4, each of 1 to 1500 characters.",
    ),
    (
        "sift_search",
        400,
        {"error": "invalid json", "hint": ""},
        "Change the arguments: the service cannot read them.",
    ),
    (
        "sift_search",
        401,
        {"error": "unauthorized", "hint": ""},
        "Unauthorized: SIFT_TOKEN of the MCP server must hold a valid key.",
    ),
    (
        "sift_search",
        503,
        {
            "error": "search unavailable",
            "hint": "",
            "sources_failed": ["searxng"],
            "warnings": ["searxng: timeout", f"unknown field ignored: {CANARY}"],
        },
        "No source answered: searxng: timeout; try again in 30 s.",
    ),
    (
        "sift_fetch",
        403,
        {"error": "url not allowed", "hint": "scheme"},
        "Not allowed: the URL must begin with http:// or https://; try another page.",
    ),
    (
        "sift_fetch",
        502,
        {"error": "fetch failed", "hint": "status 404"},
        "The page could not be had: its host answered with status 404; try another page.",
    ),
    (
        "sift_fetch",
        503,
        {"error": "busy", "hint": ""},
        "The service is opening as many pages as it can; try again in 30 s.",
    ),
    (
        "sift_search",
        403,
        {"error": "forbidden", "hint": "origin"},
        "Forbidden: without keys the service answers to localhost, addresses and names without a dot only.",
    ),
    ("sift_fetch", 413, {"error": "request too large", "hint": ""}, "Change the arguments: they are too long."),
    ("sift_fetch", 500, {"error": "internal error", "hint": ""}, "The service answered 500: internal error."),
    (
        "sift_fetch",
        404,
        {"error": "not found", "hint": ""},
        "sift_fetch is switched off in the service, or its SIFT_URL is not the service's address alone.",
    ),
]


@pytest.mark.parametrize(("name", "status", "payload", "sentence"), REFUSED)
def test_refusal_says_what_to_change_and_repeats_nothing(
    call: Call, service: Service, name: str, status: int, payload: dict[str, Any], sentence: str
) -> None:
    """contract: MCP: `isError`, and one sentence."""
    service.answers(payload, status)
    service.headers = {"Retry-After": "30"} if status == 503 else {}
    found = call(name, query=CANARY, address=CANARY, k=99)
    assert (found.text, found.is_error) == (sentence, True)


@pytest.mark.parametrize(
    ("status", "payload", "sentence"),
    [
        (
            400,
            {"error": "invalid batch", "hint": "urls"},
            "Change `urls`: a list of 1 to 100 texts; 25 at most for class restricted; each http or https, and public.",
        ),
        (429, {"error": "rate limited", "hint": "batch"}, "As many batches are under way as may be."),
        (404, {"error": "not found", "hint": ""}, "sift_batch is switched off in the service, "),
    ],
)
def test_refused_batch_says_what_to_change(
    call: Call, service: Service, status: int, payload: dict[str, Any], sentence: str
) -> None:
    """contract: MCP: as the other tools."""
    service.batches.instead = lambda method, path: (status, payload)
    found = call("sift_batch", urls=[f"https://{CANARY}.example/"])
    assert found.is_error
    assert found.text.startswith(sentence)
    assert CANARY not in found.text


def test_call_sends_what_is_meant(call: Call, service: Service) -> None:
    """contract: MCP: lenient here, strict in the service."""
    found = call("sift_search", query="x", k="8", include_domains="a.example")
    assert not found.is_error
    assert found.text.startswith("Note: brave_llm: timeout\n\n1. One\n")
    path, headers, body = service.asked[-1]
    assert (path, body) == ("/v1/search", {"query": "x", "k": 8, "include_domains": ["a.example"]})
    assert headers["Authorization"] == "Bearer sift_key"


def test_service_that_is_not_there_is_said_without_its_address(call: Call) -> None:
    """contract: MCP: `isError`, and what to look at."""
    found = call("sift_search", url="http://127.0.0.1:1", query=CANARY)
    assert (found.text, found.is_error) == (
        "Sift cannot be reached: the connection was refused: nothing listens at that address; "
        "SIFT_URL of the MCP server must be its address.",
        True,
    )


def test_key_that_can_be_none_is_refused_here(call: Call, service: Service) -> None:
    """contract: MCP: no request is made with it."""
    found = call("sift_search", token=f"{CANARY} é", query="x")
    assert (found.text, found.is_error) == ("Unauthorized: SIFT_TOKEN of the MCP server must hold a valid key.", True)
    assert service.asked == []


def test_argument_that_is_no_json_is_refused_here(call: Call, service: Service) -> None:
    """contract: MCP: NaN can be read, and not be sent."""
    assert call("sift_search", query="x", min_score=float("nan")).is_error
    assert service.asked == []


def test_batch_is_submitted_waited_for_and_read(call: Call, service: Service) -> None:
    """contract: MCP: all its pages, in the order of the request, refused ones among them."""
    urls = [f"https://a.example/{number}" for number in range(60)] + ["http://10.0.0.1/"]
    service.batches.pace, service.batches.limit = 20, 25
    service.batches.invalid = {"http://10.0.0.1/": "address"}
    found = call("sift_batch", urls=urls)
    assert not found.is_error
    assert found.text.startswith("60 of 61 pages opened.\n\n1. One\n")
    assert found.text.index("\n60. One\n") < found.text.index("\n61. http://10.0.0.1/\nNot opened: not allowed")
    assert service.batches.submitted == [{"urls": urls}]
    assert not service.batches.cancelled


def test_batch_that_takes_longer_shows_what_is_there(call: Call, service: Service) -> None:
    """contract: MCP: it waits up to a bound, and the rest goes on."""
    service.batches.pace = 1
    urls = [f"https://a.example/{number}" for number in range(9)]
    found = call("sift_batch", urls=urls, ticks=9)
    assert re_opened(found.text) == len(service.batches.asked) - 2
    assert "call sift_batch again with their URLs." in found.text
    assert not service.batches.cancelled


def re_opened(text: str) -> int:
    """Return how many pages a text says were opened."""
    return int(text.partition(" of ")[0])


def test_batch_nobody_waits_for_is_cancelled(service: Service) -> None:
    """contract: MCP: a cancelled call leaves no work behind."""
    given_up: list[Callable[[], object]] = []
    made = 0

    async def ask(work: Any) -> Any:
        nonlocal made
        made += 1
        if made == 2:  # the first wait
            raise asyncio.CancelledError
        return await at_once(work)

    async def cancelled() -> None:
        with pytest.raises(asyncio.CancelledError):
            await answer(
                BATCH,
                {"urls": ["https://a.example/"]},
                lambda: SiftClient(service.url, "k"),
                ask,
                given_up.append,
                key=KEY,
            )

    asyncio.run(cancelled())
    (work,) = given_up
    work()
    assert service.batches.asked[-1] == ("DELETE", f"/v1/batch/{ID}")
