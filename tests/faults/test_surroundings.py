"""The host Sift runs on: proxies, .netrc, time zones, preloading. None of it reaches a vendor call or a budget."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.faults.behaviours import usual
from tests.faults.test_vendors import accepted, settings
from tests.service import ROOT, Service
from tests.vendors import KEYS, NAMES, Seen, Vendors

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Vendors, socket.socket]]:
    """Run a service on a host with a spying proxy, a .netrc, and a clock 14 hours ahead."""
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
    """contract: HTTP calls: calls go straight to the configured address, with Sift's own credentials."""
    service, vendors, trap = elsewhere
    assert service.search("words")["warnings"] == []
    assert accepted(trap) == 0
    assert vendors.calls("tavily")[0].headers["authorization"] == f"Bearer {KEYS['tavily']}"
    assert vendors.calls("brave_llm")[0].headers["x-subscription-token"] == KEYS["brave_llm"]
    assert "authorization" not in vendors.calls("searxng")[0].headers


def test_day_of_the_cap_is_the_utc_day(elsewhere: tuple[Service, Vendors, socket.socket]) -> None:
    """contract: Credits: whatever the host's zone, credits are booked on the UTC day."""
    service, _, _ = elsewhere
    before = datetime.now(UTC)
    service.search("a day")
    with closing(sqlite3.connect(service.state_dir / "ledger.sqlite3")) as db:
        days = {day for (day,) in db.execute("SELECT day FROM spent")}
    assert days <= {before.strftime("%Y-%m-%d"), datetime.now(UTC).strftime("%Y-%m-%d")}


def test_many_parallel_searches_fit_into_the_pools(elsewhere: tuple[Service, Vendors, socket.socket]) -> None:
    """contract: HTTP calls: 32 at once, and no word about full connection pools, at debug level too."""
    service, _, _ = elsewhere
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda n: service.search(f"words {n}"), range(96)))
    assert all(answer["warnings"] == [] for answer in answers)
    assert b"pool" not in service.log().lower()


def test_queries_of_a_request_reach_a_vendor_one_after_another(
    elsewhere: tuple[Service, Vendors, socket.socket],
) -> None:
    """contract: Several queries: never two calls of one request at a vendor at the same time."""
    service, vendors, _ = elsewhere
    now, most, lock = Counter[str](), Counter[str](), threading.Lock()

    def behave(connection: Any, seen: Seen) -> object:
        with lock:
            now[seen.vendor] += 1
            most[seen.vendor] = max(most[seen.vendor], now[seen.vendor])
        connection.settimeout(0.05)
        try:
            connection.recv(1)  # nothing comes: a short wait
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


def test_preloaded_workers_search(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: with --preload the threads, pools and the ledger's connection are each worker's own."""
    with Service(tmp_path, settings(vendors, 5.0), ["--preload", "--workers", "2"]) as service:
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda n: service.search(f"words {n}"), range(24)))
        assert all(answer["warnings"] == [] for answer in answers)


def test_import_starts_nothing_and_the_worst_case_fits(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: importing wsgi leaves one thread and no socket;
    gunicorn waits longer than four queries of 10 s.
    """
    script = (
        "import json, os, threading, wsgi, sift.gunicorn_conf as conf\n"
        "links = [os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd') if fd not in '012' "
        "and os.path.exists(f'/proc/self/fd/{fd}')]\n"
        "sockets = [link for link in links if link.startswith('socket')]\n"
        "print(json.dumps([threading.active_count(), len(sockets), conf.timeout, conf.graceful_timeout]))\n"
    )
    environ = Service(tmp_path, vendors.environ).environ
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    active, sockets, timeout, graceful = json.loads(done.stdout)
    assert (active, sockets) == (1, 0)
    assert min(timeout, graceful) > 4 * 10 + 4
    assert not (tmp_path / "state").exists()
