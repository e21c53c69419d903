"""The health of sources, as calls are reported to it and as a running engine reports them."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sift.errors import SourceError
from sift.health import RECENT, SourceHealth
from sift.observe import NullObserver, Observers
from sift.search.calls import Calls
from sift.search.engine import Engine
from sift.search.model import Skip, SourceOut
from tests.fakes import FakeClock, FakeLedger, FakeSource, engine_of, find, out

PAGE = "https://docs.example/1"
DOWN = SourceError("unreachable", sent=False, counts=True)


class Noon:
    """A UTC clock that a test sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 9, 29, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def ended(health: SourceHealth, *outcomes: str, source: str = "a") -> None:
    """Report calls of a source."""
    for outcome in outcomes:
        health.call_ended(source, outcome, 0.1, 0)


def state(health: SourceHealth) -> dict[str, Any]:
    """Return what the status says of a source's last calls."""
    return {name: value for name, value in health.status("a", None).items() if name in ("state", "last_failure")}


def events(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, dict[str, Any]]]:
    """Return level, event and fields of each record."""
    return [(each.levelname, each.getMessage(), each.__dict__["fields"]) for each in caplog.records]


def test_first_failure_and_first_answer_after_it_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """contract: Log: `source_down` once, with its word, and `source_up` with the number of failures; by source."""
    caplog.set_level(logging.DEBUG)
    health = SourceHealth()
    ended(health, "ok", "ok", "http 403", "timeout", "timeout")
    ended(health, "ok", source="b")
    ended(health, "ok", "ok", "unreachable", "ok")
    assert events(caplog) == [
        ("WARNING", "source_down", {"source": "a", "reason": "http 403"}),
        ("INFO", "source_up", {"source": "a", "failures": 3}),
        ("WARNING", "source_down", {"source": "a", "reason": "unreachable"}),
        ("INFO", "source_up", {"source": "a", "failures": 1}),
    ]


def test_reason_why_a_vendor_is_unreachable_is_logged_with_it(caplog: pytest.LogCaptureFixture) -> None:
    """contract: Log: an untrusted certificate is told from a vendor that is away."""
    failure = SourceError("unreachable", sent=False, counts=True, detail="certificate")
    find(engine_of(FakeSource("s1", failure), observer=SourceHealth()))
    fields = {"source": "s1", "reason": "unreachable", "detail": "certificate"}
    assert events(caplog) == [("WARNING", "source_down", fields)]


def test_source_that_never_answered_is_down_from_its_first_failure(caplog: pytest.LogCaptureFixture) -> None:
    """contract: Log: a source that is misconfigured from the start is named, too."""
    ended(SourceHealth(), "http 403", "http 403")
    assert events(caplog) == [("WARNING", "source_down", {"source": "a", "reason": "http 403"})]


def test_status_has_the_state_and_the_last_failure() -> None:
    """contract: Operations: the last failure stays after the source has recovered."""
    clock = Noon()
    health = SourceHealth(clock)
    assert state(health) == {"state": "idle"}
    ended(health, "ok")
    assert state(health) == {"state": "ok"}
    ended(health, "http 500")
    clock.now += timedelta(minutes=1)
    ended(health, "timeout")
    failure = {"reason": "timeout", "at": "2026-09-29T12:01:00Z"}
    assert state(health) == {"state": "failing", "last_failure": failure}
    ended(health, "ok")
    assert state(health) == {"state": "ok", "last_failure": failure}


def test_status_has_the_calls_and_their_times() -> None:
    """contract: Operations: calls and failures since the start; the times are those of calls that were made."""
    health = SourceHealth()
    numbers = {"calls": 0, "failures": 0, "p50_ms": None, "p95_ms": None}
    assert health.status("a", None) == {"state": "idle", **numbers}
    for number in range(1, 101):
        health.call_ended("a", "timeout" if number > 90 else "ok", number / 1000, 0)
    health.call_ended("b", "ok", 0.0104, 0)
    found = health.status("a", None)
    assert {name: found[name] for name in numbers} == {"calls": 100, "failures": 10, "p50_ms": 50.0, "p95_ms": 95.0}
    assert health.status("b", None) == {"state": "ok", "calls": 1, "failures": 0, "p50_ms": 10.4, "p95_ms": 10.4}


def test_status_has_the_times_of_the_last_calls_alone() -> None:
    """contract: Operations: what a source did long ago says nothing of it now, and takes no memory."""
    health = SourceHealth()
    for seconds in [9.0] * 1000 + [0.1] * RECENT:
        health.call_ended("a", "ok", seconds, 0)
    found = health.status("a", None)
    assert (found["calls"], found["p50_ms"], found["p95_ms"]) == (1000 + RECENT, 100.0, 100.0)


def test_source_that_is_skipped_is_capped_or_resting() -> None:
    """contract: Operations: that a source cannot be asked now says more than how its last call ended."""
    health = SourceHealth()
    ended(health, "ok")
    states = {
        reason: health.status("a", Skip(reason))["state"]
        for reason in ("daily cap", "daily cap unavailable", "skipped after repeated failures")
    }
    assert list(states.values()) == ["capped", "capped", "resting"]


def test_engine_reports_to_several_observers(caplog: pytest.LogCaptureFixture) -> None:
    """Observer: each of them hears of every event; the state of a source follows its breaker and its cap."""
    caplog.set_level(logging.INFO)
    clock, health, heard = FakeClock(0.0), SourceHealth(Noon()), []

    class Listener(NullObserver):
        def call_ended(self, source: str, outcome: str, seconds: float, credits: int, detail: str = "") -> None:
            heard.append((source, outcome))

        def call_skipped(self, source: str, reason: str) -> None:
            heard.append((source, reason))

        def search_ended(self, caller_class: str, cache: str, seconds: float, *, answered: bool) -> None:
            heard.append((caller_class, cache, answered))

        def breaker_changed(self, source: str, state: str) -> None:
            heard.append((source, state))

    observers = Observers(health, Listener())
    sources = [FakeSource("a", DOWN, out(PAGE)), FakeSource("b", out(PAGE)), FakeSource("c", SourceOut())]
    calls = Calls(sources, FakeLedger({"b": 1}), threads=8, breaker_failures=1, observer=observers, clock=clock)
    engine = Engine(calls, None, observer=observers, clock=clock)

    def states() -> list[str]:
        return [health.status(name, calls.skip(name))["state"] for name in "abc"]

    assert states() == ["idle"] * 3
    find(engine)
    assert states() == ["resting", "capped", "ok"]
    clock.tick(30.0)
    assert states() == ["failing", "capped", "ok"]
    find(engine)
    assert states() == ["ok", "capped", "ok"]
    assert [name for _, name, _ in events(caplog)] == ["source_down", "source_up"]
    assert {("a", "unreachable"), ("a", "open"), ("b", "daily cap"), ("fleet", "off", True)} <= set(heard)
