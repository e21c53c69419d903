"""The host Sift runs on: proxies, .netrc, time zone and preloading change no vendor call and no budget."""

from __future__ import annotations

import socket
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.faults.behaviours import usual
from tests.faults.test_vendors import accepted, settings
from tests.service import Service
from tests.vendors import KEYS, NAMES, Seen, Vendors

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Vendors, socket.socket]]:
    """A service on a host with a proxy that would notice, a .netrc, and a clock 14 hours ahead."""
    place = tmp_path_factory.mktemp("elsewhere")
    netrc = place / ".netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else\ndefault login someone password else\n")
    netrc.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as trap, Vendors() as vendors:
        proxies = dict.fromkeys(PROXIES, f"http://127.0.0.1:{trap.getsockname()[1]}")
        environ = {"TZ": "Pacific/Kiritimati", "NETRC": str(netrc), "SIFT_LOG_LEVEL": "debug", "SIFT_THREADS": "32"}
        with Service(place, settings(vendors, 5.0, **proxies) | environ) as service:
            yield service, vendors, trap


def test_proxies_and_netrc_of_the_host_are_not_used(elsewhere: tuple[Service, Vendors, socket.socket]) -> None:
    """contract: HTTP calls: calls go directly to the configured address, with Sift's own credentials."""
    service, vendors, trap = elsewhere
    assert service.search("words")["warnings"] == []
    assert accepted(trap) == 0
    assert vendors.calls("tavily")[0].headers["authorization"] == f"Bearer {KEYS['tavily']}"
    assert vendors.calls("brave_llm")[0].headers["x-subscription-token"] == KEYS["brave_llm"]
    assert "authorization" not in vendors.calls("searxng")[0].headers


def test_day_of_the_cap_is_the_utc_day(elsewhere: tuple[Service, Vendors, socket.socket]) -> None:
    """contract: Credits: credits are booked on the UTC day, whatever the host's time zone."""
    service, _, _ = elsewhere
    before = datetime.now(UTC)
    service.search("a day")
    with closing(sqlite3.connect(service.state_dir / "ledger.sqlite3")) as db:
        days = {day for (day,) in db.execute("SELECT day FROM spent")}
    assert days <= {before.strftime("%Y-%m-%d"), datetime.now(UTC).strftime("%Y-%m-%d")}


def test_many_parallel_searches_fit_into_the_pools(elsewhere: tuple[Service, Vendors, socket.socket]) -> None:
    """contract: HTTP calls: 32 searches at once overflow no connection pool; debug lines would say so."""
    service, _, _ = elsewhere
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda n: service.search(f"words {n}"), range(96)))
    assert all(answer["warnings"] == [] for answer in answers)
    assert b"pool" not in service.log().lower()


def test_queries_of_a_request_reach_a_vendor_one_after_another(
    elsewhere: tuple[Service, Vendors, socket.socket],
) -> None:
    """contract: Several queries: no vendor ever has two calls of one request at the same time."""
    service, vendors, _ = elsewhere
    now, most, lock = Counter[str](), Counter[str](), threading.Lock()

    def behave(connection: Any, seen: Seen) -> object:
        with lock:
            now[seen.vendor] += 1
            most[seen.vendor] = max(most[seen.vendor], now[seen.vendor])
        connection.settimeout(0.05)
        try:
            connection.recv(1)  # nothing arrives: a short wait
        except TimeoutError:
            connection.settimeout(None)
        with lock:
            now[seen.vendor] -= 1
        return usual(seen.vendor)(connection, seen)

    vendors.behaviour = dict.fromkeys(NAMES, behave)
    answer = service.search(queries=[f"query {n}" for n in range(4)])
    vendors.restore()
    assert answer["warnings"] == []
    assert most == dict.fromkeys(NAMES, 1)
