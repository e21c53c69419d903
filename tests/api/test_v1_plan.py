"""`POST /v1/plan` (contract: Plan)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sift.app import create_app
from tests.fakes import FakeLedger, FakeSource, engine_of, out, page, services_of
from tests.service import Service
from tests.vendors import NAMES, Vendors


def client(lines: list[bytes] | None = None) -> Any:
    """Return a client of a service with a free source and a paid one."""
    engine = engine_of(FakeSource("a", out(page(1))), FakeSource("b", out(page(1))), ledger=FakeLedger({"b": 2}))
    services = services_of(engine, lines=lines, notices=("a notice",))
    return create_app(services=services).test_client()


def test_plan_has_its_keys_in_order_and_leaves_no_record() -> None:
    """contract: Plan, Log: the form; nothing is asked and nothing is logged."""
    lines: list[bytes] = []
    response = client(lines).post("/v1/plan", json={"queries": ["q", " r"], "querry": 1})
    assert response.status_code == 200
    assert list(response.get_json().items()) == [
        ("queries", ["q", "r"]),
        ("cached", False),
        (
            "sources",
            [
                {"source": "a", "asked": True, "calls": 2, "credits": 0, "filters": {}, "notes": []},
                {"source": "b", "asked": True, "calls": 2, "credits": 2, "filters": {}, "notes": []},
            ],
        ),
        ("credits", {"most": 2, "left": {"b": 2}}),
        ("worst_case_seconds", 40),
        ("warnings", ["unknown field ignored: querry (did you mean query?)", "a notice"]),
    ]
    assert lines == []


def test_plan_of_a_cached_search_costs_nothing() -> None:
    """contract: Plan: 0 when it is cached."""
    service = client()
    service.post("/v1/search", json={"query": "q"})
    plan = service.post("/v1/plan", json={"query": "q"}).get_json()
    assert (plan["cached"], plan["credits"], plan["worst_case_seconds"]) == (True, {"most": 0, "left": {"b": 1}}, 0)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("[]", {"error": "invalid json", "hint": ""}),
        ('{"query": ""}', {"error": "invalid query", "hint": ""}),
        ('{"query": "q", "k": 0}', {"error": "invalid search", "hint": "k"}),
    ],
)
def test_plan_is_validated_as_a_search_is(body: str, error: dict[str, str]) -> None:
    """contract: Plan: the same errors."""
    response = client().post("/v1/plan", data=body)
    assert (response.status_code, response.get_json()) == (400, error)


def test_plan_on_a_real_service_calls_nobody(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Plan: no vendor sees anything, no credit is gone, and the search then does what it said."""
    body = {"queries": ["word " * 60, "b"], "topic": "finance", "exclude_domains": ["gov"]}
    with Service(tmp_path, vendors.environ) as service:
        plan = service.post("/v1/plan", body).json()
        assert vendors.seen == []
        answer = service.search(None, **body)
        again = service.post("/v1/plan", body).json()
    assert [(each["source"], each["calls"]) for each in plan["sources"]] == [(name, 2) for name in NAMES]
    assert [each["calls"] for each in plan["sources"]] == [len(vendors.calls(name)) for name in NAMES]
    assert sorted(note for each in plan["sources"] for note in each["notes"]) == sorted(answer["warnings"])
    assert plan["credits"] == {"most": 2, "left": {"tavily": 30}}
    assert (again["cached"], again["credits"]) == (True, {"most": 0, "left": {"tavily": 28}})


def test_plan_of_the_demo_says_so(tmp_path: Path) -> None:
    """contract: Plan, Demo: the demo's sources can be planned too."""
    with Service(tmp_path, {"SIFT_DEMO": "on"}) as service:
        plan = service.post("/v1/plan", {"query": "q", "time_range": "day"}).json()
    assert plan["credits"] == {"most": 0, "left": {}}
    assert plan["warnings"] == ["demo sources: set SIFT_SEARXNG_URL to search the web"]
    assert plan["sources"][1]["filters"] == {"time_range": "not applied"}
