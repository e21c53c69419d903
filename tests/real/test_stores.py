"""Services whose credits are in a real PostgreSQL, and what becomes of searches without it (contract: Store)."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.faults.test_money import CAPPED, UNAVAILABLE, burst, settings
from tests.postgres import Server
from tests.service import Service
from tests.vendors import Vendors
from tests.waiting import wait_for


def stored(vendors: Vendors, place: str, cap: int, **more: str) -> dict[str, str]:
    """Return the settings of a service with its store at a URI."""
    return settings(
        vendors, 5.0, SIFT_TAVILY_DAILY_CAP=f"{cap}", SIFT_STORE_URL=place, SIFT_STORE_TIMEOUT="5", SIFT_CACHE_TTL="0"
    ) | dict(more)


def test_two_services_on_one_store_spend_exactly_the_cap(vendors: Vendors, tmp_path: Path, postgres: Server) -> None:
    """contract: Store: two hosts, one budget; neither makes a file of its own, and the log has nothing of a search."""
    environ = stored(vendors, postgres.room(), 25)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with (
        Service(tmp_path / "a", environ) as one,
        Service(tmp_path / "b", environ) as other,
        ThreadPoolExecutor(2) as pool,
    ):
        bursts = pool.map(lambda service: burst(service, "words", 40, 16), (one, other))
        answers = [answer for each in bursts for answer in each]
        assert len(vendors.calls("tavily")) == 25
        assert sum(CAPPED in answer["warnings"] for answer in answers if answer) == 55
        for service in (one, other):
            (status,) = [each for each in service.get("/v1/status").json()["sources"] if each["name"] == "tavily"]
            assert status["credits"]["used"] == 25
            assert not [*service.state_dir.glob("*.sqlite3*")]
    assert "words" not in postgres.log


def test_store_hangs_and_dies_searches_are_answered_and_name_the_skip(
    vendors: Vendors, tmp_path: Path, postgres: Server
) -> None:
    """contract: Store: SIGSTOP, kill -9, and back: no search is lost, none is paid for uncounted, no file counts."""
    environ = stored(vendors, postgres.room(), 100, SIFT_STORE_TIMEOUT="0.5")
    with Service(tmp_path, environ) as service:
        wait_for(lambda: UNAVAILABLE not in service.search("warm")["warnings"])
        before = len(vendors.calls("tavily"))
        postgres.stop()
        try:
            began = time.monotonic()
            hung = burst(service, "hung", 16, 16)
            assert time.monotonic() - began <= 5.0 + 1.0  # the source's own timeout, as docs/faults.md has it
        finally:
            postgres.go_on()
            postgres.kill()
        dead = burst(service, "dead", 8, 8)
        for answer in hung + dead:
            assert answer is not None
            assert UNAVAILABLE in answer["warnings"]
            assert "searxng" in answer["sources_ok"]
        assert len(vendors.calls("tavily")) == before
        postgres.start()
        wait_for(lambda: "tavily" in service.search("back")["sources_ok"])
        assert not [*service.state_dir.glob("*.sqlite3*")]
        assert [record["event"] for record in service.records("store_down") + service.records("store_up")] == [
            "store_down",
            "store_up",
        ]


def test_store_is_away_at_the_start_the_service_starts_and_says_so(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Store: a database that is down takes down nothing but the paid source."""
    with Service(tmp_path, stored(vendors, "postgresql://sift:secret@127.0.0.1:9/sift", 5)) as service:
        assert UNAVAILABLE in service.search("words")["warnings"]
        assert len(service.records("store_unreachable")) == 1
        assert b"secret" not in service.log()


@pytest.mark.parametrize("scheme", ["redis", "mysql"])
def test_store_is_no_store_the_start_is_refused_with_one_line(vendors: Vendors, tmp_path: Path, scheme: str) -> None:
    """contract: Settings: the line names the variable and not its value."""
    refused = Service(tmp_path, stored(vendors, f"{scheme}://user:secret@h/0", 5))
    with pytest.raises(RuntimeError, match="start_refused"):
        refused.start()
    assert b"SIFT_STORE_URL" in refused.log()
    assert b"secret" not in refused.log()


def test_server_forgets_credits_the_start_is_refused(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Store: fsync=off."""
    with Server(fsync="off") as forgetful:
        refused = Service(tmp_path, stored(vendors, forgetful.url(), 5))
        with pytest.raises(RuntimeError, match="fsync"):
            refused.start()
