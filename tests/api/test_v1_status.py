"""`GET /v1/status`: version, sources with their state and credits, and cache."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sift import __version__
from sift.api.services import Credits
from sift.app import build_services, create_app
from sift.config import Config, SourceConfig
from sift.search.model import SourceOut
from tests.fakes import FakeSource, engine_of, services_of
from tests.service import Service
from tests.vendors import NAMES, Vendors, reply

MIDNIGHT = "2026-09-30T00:00:00Z"


def status(capped: Mapping[str, Credits], *, demo: bool = False) -> Any:
    """Return the status of a service with the sources a, b and c, of which some are capped."""
    services = services_of(engine_of(*(FakeSource(name, SourceOut()) for name in "abc")))
    app = create_app(services=replace(services, credits=lambda: capped, demo=demo))
    return app.test_client().get("/v1/status").get_json()


def test_status_names_version_start_sources_cache_and_demo_in_order() -> None:
    """A source without a cap has no credits."""
    assert list(status({}).items()) == [
        ("version", __version__),
        ("since", "2026-09-29T12:00:00Z"),
        ("workers", 1),
        ("sources", [{"name": "a"}, {"name": "b"}, {"name": "c"}]),
        ("cache", {"entries": 0, "hit_rate": 0.0}),
        ("demo", False),
    ]
    assert status({}, demo=True)["demo"] is True


def test_status_several_sources_are_capped_each_has_its_credits() -> None:
    """Every capped source is listed, not only the first; `used` is null when the ledger cannot be read."""
    capped = {"c": Credits(3, 30, MIDNIGHT), "a": Credits(None, 5, MIDNIGHT)}
    assert status(capped)["sources"] == [
        {"name": "a", "credits": {"used": None, "limit": 5, "resets_at": MIDNIGHT}},
        {"name": "b"},
        {"name": "c", "credits": {"used": 3, "limit": 30, "resets_at": MIDNIGHT}},
    ]


def test_status_tells_the_state_of_each_source_before_its_credits() -> None:
    """contract: Operations: which source works, and what the last failure was."""
    states: dict[str, dict[str, object]] = {
        "a": {"state": "failing", "last_failure": {"reason": "http 403", "at": "2026-09-29T11:59:00Z"}},
        "b": {"state": "ok"},
        "c": {"state": "idle"},
    }
    capped = {"a": Credits(3, 30, MIDNIGHT)}
    services = services_of(engine_of(*(FakeSource(name, SourceOut()) for name in "abc")))
    services = replace(services, credits=lambda: capped, source_status=states.__getitem__)
    first, *others = create_app(services=services).test_client().get("/v1/status").get_json()["sources"]
    assert list(first) == ["name", "state", "last_failure", "credits"]
    assert others == [{"name": "b", "state": "ok"}, {"name": "c", "state": "idle"}]


def test_source_that_refuses_is_in_the_log_and_the_status_until_it_answers(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Log, Operations: a source that is down is told from one that finds nothing, and no query says so."""
    first, *others = NAMES
    vendors.behaviour[first] = reply(b"", 403)

    def sources() -> list[Any]:
        listed: list[Any] = running.get("/v1/status").json()["sources"]
        return listed

    with Service(tmp_path, vendors.environ) as running:
        assert [each["state"] for each in sources()] == ["idle"] * len(NAMES)
        running.search("zebra one")
        running.search("zebra two")
        assert [each["state"] for each in sources()] == ["failing"] + ["ok"] * len(others)
        assert sources()[0]["last_failure"]["reason"] == "http 403"
        vendors.restore()
        running.search("zebra three")
        assert {each["state"] for each in sources()} == {"ok"}
        (down,), (up,) = running.records("source_down"), running.records("source_up")
        assert b"zebra" not in running.log()
    assert {name: down[name] for name in down if name != "ts"} == {
        "level": "warning", "event": "source_down", "source": first, "reason": "http 403",
    }  # fmt: skip
    assert {name: up[name] for name in up if name != "ts"} == {
        "level": "info", "event": "source_up", "source": first, "failures": 2,
    }  # fmt: skip


def config(state_dir: Path) -> Config:
    """Return the settings of a service with two capped sources."""
    sources = (
        SourceConfig("searxng", "http://127.0.0.1:1"),
        SourceConfig("brave_llm", "http://127.0.0.1:1/", "k", daily_cap=5),
        SourceConfig("tavily", "http://127.0.0.1:1/", "k", daily_cap=0),
    )
    return Config(sources, state_dir, state_dir / "keys.json", auth=False)


def test_credits_are_those_of_every_source_with_a_cap(tmp_path: Path) -> None:
    """A cap of 0 is a cap; the ledger decides when the day ends."""
    services = build_services(config(tmp_path / "state"))
    found = services.credits()
    services.close()
    assert {name: each[:2] for name, each in found.items()} == {"brave_llm": (0, 5), "tavily": (0, 0)}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT00:00:00Z", each.resets_at) for each in found.values())


def test_credits_ledger_cannot_be_read_used_is_unknown(tmp_path: Path) -> None:
    """The limit and the end of the day are still known."""
    (tmp_path / "state").write_text("no directory")
    found = build_services(config(tmp_path / "state")).credits()
    assert {name: each[:2] for name, each in found.items()} == {"brave_llm": (None, 5), "tavily": (None, 0)}
