"""The host Sift runs on: proxies, .netrc, time zone and preloading change no vendor call and no budget."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.faults.behaviours import usual
from tests.faults.test_vendors import accepted, settings
from tests.faults.watch import sockets, worker, workers
from tests.service import Service
from tests.vendors import KEYS, NAMES, Seen, Vendors
from tests.waiting import wait_for

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


def few_files(service: Service, limit: int, hard: bool = True) -> Service:
    """Start a service under a limit of open files, which it may raise unless it is a hard one."""
    service.command = ["bash", "-c", f'ulimit -{"" if hard else "S"}n {limit}; exec "$@"', "bash", *service.command]
    return service


@contextmanager
def kept(service: Service, count: int) -> Iterator[list[bytes]]:
    """Ask for /healthz on each of many connections, and keep them all."""
    with ExitStack() as stack:
        statuses = []
        for _ in range(count):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", service.port), 30))
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: sift\r\n\r\n")
            try:
                statuses.append(connection.recv(4096)[:15])
            except ConnectionResetError:
                statuses.append(b"")
        yield statuses


def test_more_connections_than_files_the_worker_lives_and_all_are_answered(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: connections that are kept are as few as the limit of open files wants; nothing dies."""
    environ = settings(vendors, 5.0, SIFT_THREADS="8")
    with few_files(Service(tmp_path, environ), 128) as service:
        before = worker(service)
        with kept(service, 200) as statuses:
            assert set(statuses) == {b"HTTP/1.1 200 OK"}
            assert service.search("words")["warnings"] == []
        assert worker(service) == before
    assert b"few_open_files" not in service.log()


def test_files_run_out_connections_are_closed_and_the_worker_lives(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: also when gunicorn is told to accept more than there are files for."""
    environ = settings(vendors, 5.0, SIFT_THREADS="2")
    with few_files(Service(tmp_path, environ, ["--worker-connections", "1000"]), 64) as service:
        before = worker(service)
        with kept(service, 100) as statuses:
            assert b"" in statuses  # closed before it said anything
        wait_for(lambda: sockets(before) < 20)
        assert service.search("words")["warnings"] == []
        assert worker(service) == before


def test_soft_limit_of_files_is_raised_to_what_is_needed(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: a low soft limit under a high hard one costs nothing."""
    with few_files(Service(tmp_path, settings(vendors, 5.0)), 64, hard=False) as service:
        (line,) = [line for line in limits(worker(service)) if line.startswith("Max open files")]
        assert int(line.split()[3]) > 1000
    assert b"few_open_files" not in service.log()


def limits(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/limits").read_text().splitlines()


def test_very_few_files_fewer_threads_and_a_line_that_says_so(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: 48 files are enough for two threads, and three sources each."""
    with few_files(Service(tmp_path, settings(vendors, 5.0)), 48) as service, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: service.search(f"words {n}"), range(24)))
    assert all(answer["warnings"] == [] for answer in answers)
    (record,) = service.records("few_open_files")
    assert (record["limit"], record["threads"]) == (48, 2)


def test_too_few_files_the_start_is_refused_by_name(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: one line names the limit."""
    with pytest.raises(RuntimeError) as refusal:
        few_files(Service(tmp_path, settings(vendors, 5.0)), 30).start()
    record = json.loads(str(refusal.value))
    assert record["event"] == "start_refused"
    assert "limit of open files is 30" in record["message"]


def open_files(pid: int) -> Iterator[Path]:
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            yield entry.readlink()


IN_A_SANDBOX = shutil.which("unshare") and subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0


@pytest.mark.skipif(not IN_A_SANDBOX, reason="no mount namespace can be made here")
@pytest.mark.parametrize("mount", ["-o ro", "-o nr_inodes=1"], ids=["read-only", "full"])
def test_shared_memory_cannot_be_written_the_state_directory_takes_its_place(
    mount: str, vendors: Vendors, tmp_path: Path
) -> None:
    """contract: Operations: a worker needs a file for its heartbeat, and Sift writes nowhere else."""
    service = Service(tmp_path, settings(vendors, 5.0))
    shell = f'mount -t tmpfs {mount} none /dev/shm && exec "$@"'
    service.command = ["unshare", "-m", "bash", "-c", shell, "bash", *service.command]
    with service:
        assert service.search("words")["warnings"] == []
        files = list(open_files(worker(service)))
    assert any(file.parent == service.state_dir and file.name.startswith("wgunicorn") for file in files)


@pytest.mark.parametrize(("text", "count"), [("", 1), (" 2 ", 2), ("auto", len(os.sched_getaffinity(0)))])
def test_number_of_workers_is_blank_or_auto_there_are_some(
    text: str, count: int, vendors: Vendors, tmp_path: Path
) -> None:
    """contract: Operations: a blank variable counts as unset; `auto` is a worker for each CPU."""
    service = Service(tmp_path, settings(vendors, 5.0, WEB_CONCURRENCY=text))
    service.command = [sys.executable, "-m", "sift.server", "-b", "127.0.0.1:0"]
    with service:
        wait_for(lambda: len(workers(service)) == count)
        assert service.search("words")["warnings"] == []


@pytest.mark.parametrize("text", ["0", "abc", "-1", "1.5", "1000"])
def test_number_of_workers_is_none_the_start_is_refused_by_name(text: str, vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: one line names the variable, in place of a traceback, or of a service without workers."""
    service = Service(tmp_path, settings(vendors, 5.0, WEB_CONCURRENCY=text))
    service.command = [sys.executable, "-m", "sift.server", "-b", "127.0.0.1:0"]
    with pytest.raises(RuntimeError) as refusal:
        service.start()
    record = json.loads(str(refusal.value))
    assert record["event"] == "start_refused"
    assert record["message"].startswith("WEB_CONCURRENCY must be ")


def test_no_worker_is_asked_for_gunicorn_itself_refuses(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: gunicorn alone would listen and answer nobody."""
    with pytest.raises(RuntimeError, match="WEB_CONCURRENCY"):
        Service(tmp_path, settings(vendors, 5.0), ["--workers", "0"]).start()
