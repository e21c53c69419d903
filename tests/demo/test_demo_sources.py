"""What holds for every stand-in: one suite for all vendors that have one."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sift.demo
from sift.app import build_services
from sift.config import Config
from sift.demo.standin import StandIn
from sift.search.model import Answer, Filter, SearchRequest
from sift.sources import DECLARED, VENDORS
from tests.vendors import STAND_INS, for_all

if TYPE_CHECKING:
    from conftest import Client


def stand_in(vendor: str) -> StandIn:
    found = importlib.import_module(f"sift.demo.{vendor}").STAND_IN
    assert isinstance(found, StandIn)
    return found


@pytest.mark.parametrize("vendor", STAND_INS)
def test_source_asks_its_stand_in_hits_come_and_no_failure(demo: Client, vendor: str) -> None:
    """The whole path is real: the vendor's own client, request and parser."""
    out = demo.ask(vendor, "context manager")
    assert out.hits
    assert (out.warn, out.asked) == ("", True)
    assert all(hit.url.startswith("http") for hit in out.hits)


@pytest.mark.parametrize("vendor", STAND_INS)
@pytest.mark.parametrize("text", ['"', "'; --", "site:", "!g :de <3", "\x00", "中文", "w " * 300, "x" * 1500])
def test_query_is_odd_it_is_answered(demo: Client, vendor: str, text: str) -> None:
    """What a caller may send never breaks a stand-in."""
    assert demo.ask(vendor, text).warn == ""


@pytest.mark.parametrize("vendor", STAND_INS)
def test_filter_is_set_it_is_taken_or_noted(demo: Client, vendor: str) -> None:
    """A stand-in takes what its vendor is sent, whatever the filters."""
    chosen = Filter(include_domains=("python.org",), exclude_domains=("pypi.org",), topic="news", time_range="month")
    name = VENDORS[vendor].settings.name
    assert all(note.startswith(f"{name}: ") for note in demo.ask(vendor, "context manager", chosen).notes)


@pytest.mark.parametrize("vendor", STAND_INS)
def test_method_is_another_it_is_refused(demo: Client, vendor: str) -> None:
    """One path and one method for each stand-in."""
    method, path, _ = stand_in(vendor)
    assert demo.send("POST" if method == "GET" else "GET", path)[0].status == 405
    assert demo.send(method, f"{path}/")[0].status == 404


def test_paths_no_two_are_the_same() -> None:
    """One server speaks for all, and tells them apart by their paths."""
    paths = [stand_in(vendor).path for vendor in STAND_INS]
    assert len(set(paths)) == len(paths)
    assert all(stand_in(vendor).path.endswith(VENDORS[vendor].settings.appends) for vendor in STAND_INS)


def demo_sources(tmp_path: Path) -> tuple[str, ...]:
    """Return the sources of a service whose demo is on."""
    environ = {"SIFT_DEMO": "on", "SIFT_AUTH": "off", "SIFT_STATE_DIR": str(tmp_path)}
    services = build_services(Config.from_env(environ, DECLARED))
    assert services.demo
    assert services.credits() == {}
    return tuple(services.engine.names)


def test_demo_is_on_its_sources_are_the_vendors_with_a_stand_in(tmp_path: Path) -> None:
    """In the order of answers, whatever is set."""
    assert demo_sources(tmp_path) == tuple(VENDORS[vendor].settings.name for vendor in STAND_INS)


def test_demo_is_searched_often_no_cap_stops_it(tmp_path: Path) -> None:
    """contract: Demo: no credit is counted, and nothing is written."""
    environ = {"SIFT_DEMO": "on", "SIFT_AUTH": "off", "SIFT_STATE_DIR": str(tmp_path / "state")} | for_all(
        "DAILY_CAP", "0"
    )
    services = build_services(Config.from_env(environ, DECLARED))
    found = services.engine.search(SearchRequest(("context manager",)), "fleet")
    assert isinstance(found, Answer)
    assert found.result.warnings == ()
    assert found.result.sources_ok == tuple(services.engine.names)
    assert not (tmp_path / "state").exists()


def test_vendor_has_no_stand_in_it_is_no_demo_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo never asks a real vendor: one that nobody stands in for is left out, with its cap."""
    monkeypatch.setitem(sys.modules, "sift.demo.tavily", None)  # as if the file were not there
    assert not sift.demo.has("tavily")
    assert demo_sources(tmp_path) == tuple(VENDORS[each].settings.name for each in STAND_INS if each != "tavily")
