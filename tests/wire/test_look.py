"""One look at an address (contract: Doctor, HTTP calls)."""

from __future__ import annotations

import socket
import threading

import pytest

from sift.wire.look import Seen, is_here, look
from tests.calls import SECRET, drip, failure_of, later, soon
from tests.vendors import Vendors, reply

LOOPBACK = "127.0.0.1"  # a name, as no shown error may hold the address


def seen(vendors: Vendors, deadline: float | None = None) -> Seen:
    url = f"http://{LOOPBACK}:{vendors.port}/searxng/search?format=json"
    return look(url, {"X-Key": SECRET}, deadline=deadline or later())


@pytest.mark.parametrize("status", [200, 302, 400, 403, 422, 500])
def test_answer_counts_whatever_its_status(vendors: Vendors, status: int) -> None:
    """contract: Doctor: what is wrong is told by the refusal; no redirect is followed."""
    answer = reply({"a": 1}, status, [("Content-Type", "Application/JSON; charset=x"), ("Location", "http://x/")])
    vendors.behaviour["searxng"] = answer
    found = seen(vendors)
    assert (found.status, found.media_type, found.json()) == (status, "application/json", {"a": 1})
    assert [each.target for each in vendors.seen] == ["/searxng/search?format=json"]
    assert vendors.seen[0].headers["x-key"] == SECRET


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'"x"', b"\xff"])
def test_body_that_is_no_object_is_an_empty_one(vendors: Vendors, body: bytes) -> None:
    """contract: Doctor: whatever answers."""
    vendors.behaviour["searxng"] = reply(body)
    assert seen(vendors).json() == {}


def test_page_is_recognised(vendors: Vendors) -> None:
    """contract: Doctor: HTML is what a wrong path answers with."""
    vendors.behaviour["searxng"] = reply(b"<html>", headers=[("Content-Type", "text/html; charset=utf-8")])
    assert seen(vendors).is_html


def test_answer_that_drips_ends_at_the_deadline(vendors: Vendors, release: threading.Event) -> None:
    """contract: HTTP calls: one deadline for the whole call."""
    vendors.behaviour["searxng"] = drip(release, b"HTTP/1.1 200 OK\r\n\r\n", b" ")
    assert failure_of(lambda: seen(vendors, deadline=soon())).reason == "timeout"


def test_nothing_there_is_unreachable_without_the_url() -> None:
    """contract: Doctor: no error holds the URL."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        url = f"http://{LOOPBACK}:{listener.getsockname()[1]}/{SECRET}"
    error = failure_of(lambda: look(url, {}, deadline=later()))
    assert (error.reason, error.detail) == ("unreachable", "refused")


def test_own_addresses_are_here() -> None:
    """contract: Doctor: a source may be named by an address of this host."""
    assert is_here(LOOPBACK)
    assert not is_here("192.0.2.1")
