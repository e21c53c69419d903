"""Rules of every source, over HTTP: one suite for all of VENDORS."""

from __future__ import annotations

import importlib
import pkgutil
import threading
from typing import Any

import pytest

import sift.sources
from sift import __version__
from sift.config import Config
from sift.search.model import Filter, SourceOut
from sift.search.protocols import Source
from sift.sources import DECLARED, VENDORS, build_source
from sift.sources.vendor import Vendor
from tests.calls import drip, failure_of, later, outcome_of, timeout_of
from tests.sources.filters import FILTERS, QUERY
from tests.vendors import BODIES, KEYS, NAMES, WIRES, Vendors, hit, reply

FULL = Filter(
    include_domains=("a.example", "b.example", "c.example", "d.example", "gov"),
    exclude_domains=("cn", "pins.example"),
    include_domains_mode="prefer",
    start_date="2026-09-01",
    end_date="2026-09-29",
    topic="finance",
    exact_match=True,
    min_score=0.5,
)
NONE = Filter()
HITS = [hit("https://docs.example/a", score=0.9), hit("https://b.example/", score=0.6)]

pytestmark = pytest.mark.parametrize("name", NAMES)


def source(vendors: Vendors, name: str) -> Source:
    """Return a source whose settings point it at the test's vendors."""
    (settings,) = [
        each for each in Config.from_env(vendors.environ | {"HOME": "/"}, DECLARED).sources if each.name == name
    ]
    return build_source(settings, 4)


def found(vendors: Vendors, name: str, answer: Any, chosen: Filter = NONE) -> SourceOut:
    """Return the outcome of a source for an answer."""
    vendors.behaviour[name] = reply(answer)
    asked = source(vendors, name)
    out = outcome_of(lambda: asked.search(QUERY, 8, chosen, deadline=later()))
    assert isinstance(out, SourceOut), out
    return out


def test_source_is_its_entry_in_the_table(vendors: Vendors, name: str) -> None:
    """A source has one name in table, notes, ledger and settings."""
    made = source(vendors, name)
    assert made.name == name
    assert made.timeout == 8.0
    assert made.reranked is True


def test_hits_come_in_the_vendors_order(vendors: Vendors, name: str) -> None:
    """contract: Search request: without filters there are all hits, no note, and one credit at most."""
    out = found(vendors, name, BODIES[name](HITS))
    assert [each.url for each in out.hits] == ["https://docs.example/a", "https://b.example/"]
    assert (out.found, out.notes, out.warn, out.credits, out.asked) == (2, (), "", 1, True)
    assert len(vendors.seen) == 1


def test_no_hit_comes_is_a_success(vendors: Vendors, name: str) -> None:
    """contract: Search answer: zero hits from a source that worked."""
    out = found(vendors, name, BODIES[name]([]))
    assert (list(out.hits), out.found, out.notes, out.warn) == ([], 0, (), "")


def test_more_rows_come_than_any_vendor_sends_first_thousand_are_read(vendors: Vendors, name: str) -> None:
    """contract: HTTP calls: rows made to be slow to read do not hold up an answer."""
    out = found(vendors, name, BODIES[name]([hit(f"https://h.example/{number}", score=0.9) for number in range(2500)]))
    assert [each.url for each in out.hits] == [f"https://h.example/{number}" for number in range(1000)]


def test_no_row_of_a_thousand_is_usable_and_more_come_bad_response(vendors: Vendors, name: str) -> None:
    """contract: HTTP calls: unread hits do not look like "nothing found"."""
    rows = [hit("ftp://h.example/", score=0.9)] * 1000 + HITS
    vendors.behaviour[name] = reply(BODIES[name](rows))
    asked = source(vendors, name)
    assert failure_of(lambda: asked.search(QUERY, 8, Filter(), deadline=later())).reason == "bad response"


def test_url_is_longer_than_all_may_be_the_others_stay(vendors: Vendors, name: str) -> None:
    """contract: HTTP calls: URLs made to be slow to read do not hold up an answer."""
    long = "https://h.example/" + "\u00e9a" * 65_000
    out = found(vendors, name, BODIES[name]([hit(long, score=0.9), hit(long * 2, score=0.9), *HITS]))
    assert [each.url for each in out.hits] == [long, "https://docs.example/a", "https://b.example/"]


def test_fields_come_that_nobody_knows_nothing_changes(vendors: Vendors, name: str) -> None:
    """contract: HTTP calls: unknown fields are ignored, at every level."""

    def grown(value: Any) -> Any:
        if isinstance(value, dict):
            return {"new": [{"x": None}], **{key: grown(each) for key, each in value.items()}, "newer": 1e308}
        return [grown(each) for each in value] if isinstance(value, list) else value

    usual = BODIES[name](HITS)
    assert seen(found(vendors, name, grown(usual))) == seen(found(vendors, name, usual))


def seen(out: SourceOut) -> tuple[object, ...]:
    """Return everything that the engine reads."""
    hits = [(each.url, each.content) for each in out.hits]
    return hits, out.found, out.notes, out.credits, out.asked


@pytest.mark.parametrize("body", [[], None, {"error": "x"}, {"results": None, "grounding": 1}])
def test_answer_is_no_answer_bad_response(vendors: Vendors, name: str, body: Any) -> None:
    """contract: HTTP calls: a 200 whose body is no object, or lacks its list of results, is `bad response`."""
    vendors.behaviour[name] = reply(body)
    asked = source(vendors, name)
    error = failure_of(lambda: asked.search(QUERY, 8, Filter(), deadline=later()))
    assert (error.reason, error.sent, error.counts) == ("bad response", True, False)


@pytest.mark.parametrize("body", [b"", b"<html>sign in</html>", b"\xff\xfe", b"[" * 99_999])
def test_answer_is_no_json_bad_response(vendors: Vendors, name: str, body: bytes) -> None:
    """contract: HTTP calls: a 200 that is not JSON is `bad response`."""
    vendors.behaviour[name] = reply(body)
    asked = source(vendors, name)
    assert failure_of(lambda: asked.search(QUERY, 8, Filter(), deadline=later())).reason == "bad response"


@pytest.mark.parametrize("status", [401, 429, 500])
def test_status_is_an_error_failure_names_it(vendors: Vendors, name: str, status: int) -> None:
    """contract: Failures: `http <status>`, and nothing of the vendor's body."""
    for body in (BODIES[name](HITS), b"<h1>no</h1>", {"detail": [{"msg": QUERY}]}, {"errors": [{"detail": QUERY}]}):
        vendors.behaviour[name] = reply(body, status)
        asked = source(vendors, name)
        error = failure_of(lambda asked=asked: asked.search(QUERY, 8, Filter(), deadline=later()))
        assert (error.reason, str(error), error.sent) == (f"http {status}", f"http {status}", True)
        assert error.counts == (status in (429, 500))


def test_vendor_redirects_it_is_refused(vendors: Vendors, name: str) -> None:
    """contract: HTTP calls: no source follows a redirect."""
    vendors.behaviour[name] = reply(b"", 302, [("Location", f"http://127.0.0.1:{vendors.port}/{name}/other")])
    asked = source(vendors, name)
    assert failure_of(lambda: asked.search(QUERY, 8, Filter(), deadline=later())).reason == "redirect refused"
    assert len(vendors.seen) == 1


def test_vendor_is_slow_call_ends_at_the_deadline(vendors: Vendors, release: threading.Event, name: str) -> None:
    """contract: HTTP calls: every source passes its deadline on."""
    vendors.behaviour[name] = drip(release, b"HTTP/1.1 200 OK\r\nX: ", b"x")
    asked = source(vendors, name)
    error = timeout_of(lambda deadline: asked.search(QUERY, 8, Filter(), deadline=deadline))
    assert (error.reason, error.sent, error.counts) == ("timeout", True, True)


def test_filter_is_full_notes_carry_the_sources_name(vendors: Vendors, name: str) -> None:
    """contract: Notes: notes name their source, are unique, and cost no hit."""
    out = found(vendors, name, BODIES[name](HITS), FULL)
    assert out.notes
    assert len(set(out.notes)) == len(out.notes)
    assert all(note.startswith(f"{name}: ") for note in out.notes)
    assert len(out.hits) == 2


def test_filter_is_any_it_is_taken(vendors: Vendors, name: str) -> None:
    """contract: Search request: no combination of filters breaks a source."""
    vendors.behaviour[name] = reply(BODIES[name](HITS))
    asked = source(vendors, name)
    outs = outcome_of(lambda: [asked.search(QUERY, 8, chosen, deadline=later()) for chosen in FILTERS[::41]])
    assert {len(out.hits) for out in outs} == {2}
    assert all(note.startswith(f"{name}: ") for out in outs for note in out.notes)


def test_key_is_sent_to_the_vendor_alone(vendors: Vendors, name: str) -> None:
    """A key is sent in one header of its own vendor's call, and in no URL or body."""
    found(vendors, name, BODIES[name](HITS))
    (seen,) = vendors.seen
    sent = [value for value in seen.headers.values() if "test-key" in value]
    assert [value.rpartition(" ")[2] for value in sent] == ([KEYS[name]] if name in KEYS else [])
    assert "test-key" not in seen.target
    assert b"test-key" not in seen.body


def test_headers_are_exactly_these(vendors: Vendors, name: str) -> None:
    """contract: HTTP calls: every vendor gets the same headers, besides its own."""
    found(vendors, name, BODIES[name](HITS))
    (seen,) = vendors.seen
    own = {"brave_llm": {"x-subscription-token"}, "tavily": {"authorization", "content-type", "content-length"}}
    assert set(seen.headers) - own.get(name, set()) == {
        "host",
        "user-agent",
        "accept",
        "accept-language",
        "accept-encoding",
    }
    assert [seen.headers[header] for header in ("user-agent", "accept", "accept-language")] == [
        f"sift/{__version__}",
        "application/json, text/html;q=0.5",
        "en",
    ]


def test_module_looks_like_a_vendor_it_is_in_the_table(name: str) -> None:
    """A new vendor is a file and a line in VENDORS, with an entry in tests/vendors.py."""
    modules = [
        module.name.rpartition(".")[2]
        for module in pkgutil.iter_modules(sift.sources.__path__, "sift.sources.")
        if any(isinstance(each, Vendor) for each in vars(importlib.import_module(module.name)).values())
    ]
    assert sorted(modules) == sorted(VENDORS)
    assert list(WIRES) == [vendor.settings.name for vendor in VENDORS.values()]
    assert name in WIRES


def test_order_of_the_table_is_that_of_answers(name: str) -> None:
    """contract: Search answer: source order is `searxng`, `brave_llm`, `tavily`; newer vendors do not change it."""
    first = ["searxng", "brave_llm", "tavily"]
    assert [each for each in NAMES if each in first] == first
    assert name in NAMES
