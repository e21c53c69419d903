"""`GET /v1/usage` (contract: Usage)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sift.app import create_app
from sift.auth.caller import Caller
from sift.search.model import SourceOut
from tests.fakes import FakeSource, engine_of, in_parallel, services_of
from tests.service import Service
from tests.vendors import NAMES, Vendors, reply


def client(days: list[Mapping[str, object]] | None, asked: list[int] | None = None) -> Any:
    """Return a client of a service with such a usage, for two callers."""
    callers = {"F": Caller("f", "fleet"), "R": Caller("r", "restricted")}
    services = services_of(engine_of(FakeSource("a", SourceOut())), callers=callers)

    def usage(count: int) -> list[Mapping[str, object]] | None:
        if asked is not None:
            asked.append(count)
        return days

    return create_app(services=replace(services, usage=usage)).test_client()


def get(service: Any, query: str = "", caller: str = "F") -> tuple[int, Any]:
    """Return status and answer."""
    response = service.get(f"/v1/usage{query}", headers={"Authorization": caller})
    return response.status_code, response.get_json()


def test_usage_is_for_the_fleet() -> None:
    """contract: Callers, Errors: the class of the key."""
    assert get(client([]), caller="R") == (403, {"error": "forbidden", "hint": "class"})
    assert get(client([{"day": "x", "sources": []}])) == (200, {"days": [{"day": "x", "sources": []}]})


@pytest.mark.parametrize("days", ["0", "91", "-1", "1.5", "x", "", "01", "١", "1 ", "100"])
def test_usage_of_another_number_of_days_is_refused(days: str) -> None:
    """contract: Usage: 1 to 90, in ASCII digits."""
    assert get(client([]), f"?days={days}") == (400, {"error": "invalid usage", "hint": "days"})


def test_usage_takes_the_days_asked_for() -> None:
    """contract: Usage: 30 unless said otherwise."""
    asked: list[int] = []
    service = client([], asked)
    for query in ("", "?days=1", "?days=90"):
        assert get(service, query)[0] == 200
    assert asked == [30, 1, 90]


def test_usage_that_cannot_be_read_is_a_503() -> None:
    """contract: Usage, Errors: not "nothing was used"."""
    assert get(client(None)) == (503, {"error": "usage unavailable", "hint": ""})


def test_usage_equals_the_calls_that_vendors_counted(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Usage: two workers under load, with repeats, a cap, a dear call and a failing vendor."""
    vendors.behaviour["brave_llm"] = reply({}, status=403)
    settings = vendors.environ | {"WEB_CONCURRENCY": "2", "SIFT_TAVILY_DAILY_CAP": "12"}

    def search(number: int) -> None:
        for again in range(4):
            body = json.dumps({"queries": [f"q{number % 7}", f"q{again}"]}).encode()
            assert service.request("POST", "/v1/search", body).status == 200

    with Service(tmp_path, settings) as service:
        assert [each for each in in_parallel(16, search) if each] == []
        assert service.get("/v1/usage").status == 200
        seen = {name: len(vendors.calls(name)) for name in NAMES}
    with Service(tmp_path, settings) as service:  # the workers have booked all when they stopped
        days = service.get("/v1/usage?days=2").json()["days"]
    used: dict[str, dict[str, int]] = {}
    for day in days:  # the test may run over midnight
        for each in day["sources"]:
            for kind in each.keys() - {"source"}:
                used.setdefault(each["source"], {}).setdefault(kind, 0)
                used[each["source"]][kind] += each[kind]
    assert {name: used[name]["calls"] for name in NAMES} == seen
    assert used["tavily"]["credits"] == seen["tavily"] == 12
    assert used["searxng"]["credits"] == 0
    assert used["tavily"]["refused_by_cap"] > 0
    file = (service.state_dir / "ledger.sqlite3").read_bytes()
    assert b"q1" not in file


def test_demo_counts_nothing(tmp_path: Path) -> None:
    """contract: Usage, Demo."""
    with Service(tmp_path, {"SIFT_DEMO": "on"}) as service:
        service.search("generator")
        assert service.get("/v1/usage").json() == {"days": []}
        assert not (service.state_dir / "ledger.sqlite3").exists()
