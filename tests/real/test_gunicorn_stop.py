"""Stopping and reloading gunicorn, with the shipped settings, under load."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.faults.watch import worker, workers
from tests.real.held import Hold
from tests.real.programs import bearer, listens, new_key, run_sift
from tests.service import ROOT, Service
from tests.vendors import NAMES, Vendors
from tests.waiting import wait_for


@pytest.fixture
def hold(vendors: Vendors) -> Iterator[Hold]:
    """Make Tavily hold its answer until the test releases it."""
    held = Hold()
    vendors.behaviour["tavily"] = held.behaviour("tavily")
    yield held
    held.release.set()


def assert_clean(service: Service) -> None:
    """Check that no worker had to be killed and nothing failed."""
    log = service.log()
    assert b"Shutting down: Master" in log
    assert b"SIGKILL" not in log
    assert b"Traceback" not in log


@pytest.mark.parametrize("count", ["1", "2"])
def test_sigterm_while_a_search_runs_it_is_answered(count: str, hold: Hold, vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: the service answers the requests it has accepted, and exits with 0."""
    with Service(tmp_path, vendors.environ | {"WEB_CONCURRENCY": count}) as service, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(service.search, "slow")
        hold.wait()
        assert service.process is not None
        service.process.send_signal(signal.SIGTERM)
        wait_for(lambda: b"Handling signal: term" in service.log())
        hold.release.set()
        assert answer.result()["sources_ok"] == [*NAMES]
        assert service.process.wait(20) == 0
    assert_clean(service)


def test_reload_while_a_search_runs_it_is_answered_and_so_are_new_ones(
    hold: Hold, vendors: Vendors, tmp_path: Path
) -> None:
    """contract: Operations: SIGHUP replaces the workers without losing a request."""
    with Service(tmp_path, vendors.environ) as service, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(service.search, "slow")
        hold.wait()
        assert service.process is not None
        service.process.send_signal(signal.SIGHUP)
        wait_for(lambda: service.log().count(b"Booting worker") == 2)
        vendors.restore()  # for new requests; the first search is still held
        news = [service.search(f"new {number}") for number in range(5)]
        assert not answer.done()
        hold.release.set()
        assert answer.result()["sources_ok"] == [*NAMES]
        assert all(new["sources_failed"] == [] and new["results"] for new in news)
        assert service.stop() == 0
    assert_clean(service)


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM], ids=lambda sig: sig.name)
def test_idle_service_ends_with_zero_and_leaves_nobody_behind(
    sig: signal.Signals, vendors: Vendors, tmp_path: Path
) -> None:
    """contract: Operations: Ctrl-C and SIGTERM are clean ends, even with connections still open."""
    with Service(tmp_path, vendors.environ) as service:
        service.search("anything")
        assert service.stop(sig) == 0
        assert not listens(service.port)
    wait_for(lambda: vendors.connections == 0)  # closed as the worker exits
    assert_clean(service)


def test_ctrl_c_is_the_masters_alone(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: a terminal sends SIGINT to all processes; a worker that handles it too can deadlock."""
    with Service(tmp_path, vendors.environ) as service:
        assert service.process is not None
        master = service.process.pid
        (worker,) = Path(f"/proc/{master}/task/{master}/children").read_text().split()
        (ignored,) = re.findall(r"^SigIgn:\s+(\w+)$", Path(f"/proc/{worker}/status").read_text(), re.MULTILINE)
        assert int(ignored, 16) & 1 << (signal.SIGINT - 1)


QUIT = """
import signal, sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from sift.server.worker import Worker
worker = Worker.__new__(Worker)
worker.cfg = SimpleNamespace(worker_int=lambda worker: None)
worker.tpool = ThreadPoolExecutor(1)
signal.signal(signal.SIGQUIT, worker.handle_quit)
with worker.tpool._shutdown_lock:  # as the main thread does while it submits a request
    signal.raise_signal(signal.SIGQUIT)
sys.exit("went on")
"""


def test_quick_stop_while_a_request_is_handed_out_ends_at_once(tmp_path: Path) -> None:
    """contract: Operations: a worker never waits for a lock that its own main thread holds."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "SIFT_AUTH": "off", "SIFT_DEMO": "on"}
    done = subprocess.run(
        [sys.executable, "-c", QUIT], cwd=ROOT, env=environ, capture_output=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def widen(keys: Path) -> None:
    keys.chmod(0o644)


def cut(keys: Path) -> None:
    keys.write_bytes(keys.read_bytes()[:40])


def remove(keys: Path) -> None:
    keys.unlink()


def disable(keys: Path) -> None:
    keys.write_text(keys.read_text().replace('"created"', '"disabled": true,\n    "created"'))


@pytest.mark.parametrize("event", ["reload", "loss"])
@pytest.mark.parametrize("spoil", [widen, cut, remove, disable])
def test_key_file_is_spoilt_new_workers_start_all_the_same(
    spoil: Callable[[Path], None], event: str, vendors: Vendors, tmp_path: Path
) -> None:
    """contract: Callers: only the first start is refused over a key file; later workers take the keys last read."""
    caller = bearer(new_key(tmp_path / "state", "someone", "fleet"))
    environ = vendors.environ | {"SIFT_AUTH": "keys", "WEB_CONCURRENCY": "3"}
    with Service(tmp_path, environ) as service:
        wait_for(lambda: len(workers(service)) == 3)
        before = set(workers(service))
        spoil(tmp_path / "state" / "keys.json")
        assert service.process is not None
        if event == "reload":
            service.process.send_signal(signal.SIGHUP)
            wait_for(lambda: len(set(workers(service)) - before) == 3)
        else:
            os.kill(min(before), signal.SIGKILL)
            wait_for(lambda: len(set(workers(service)) - before) == 1)
        wait_for(lambda: len(workers(service)) == 3 and not (event == "reload" and before & set(workers(service))))
        wait_for(lambda: service.log().count(b"Booting worker") == (6 if event == "reload" else 4))
        statuses = [service.post("/v1/search", {"query": "anything"}, caller).status for _ in range(12)]
        assert statuses == [401 if spoil is disable else 200] * 12
        assert service.stop() == 0
    assert b"start_refused" not in service.log()
    assert b"failed to boot" not in service.log()


def reload(service: Service) -> None:
    """Let another worker take the place of the only one."""
    before = worker(service)
    assert service.process is not None
    service.process.send_signal(signal.SIGHUP)
    wait_for(lambda: len(workers(service)) == 1 and worker(service) != before)


def test_key_file_is_spoilt_after_a_revocation_new_workers_know_of_it(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Callers: the master reads the keys before each start of a worker, so a revoked one does not return."""
    state = tmp_path / "state"
    revoked, valid = (bearer(new_key(state, name, "fleet")) for name in ("revoked", "valid"))
    with Service(tmp_path, vendors.environ | {"SIFT_AUTH": "keys", "WEB_CONCURRENCY": "1"}) as service:
        assert service.post("/v1/search", {"query": "anything"}, revoked).status == 200
        done = run_sift("key", "revoke", "revoked", environ={"SIFT_STATE_DIR": str(state)}, home=tmp_path)
        assert done.returncode == 0, done.stderr
        reload(service)
        widen(state / "keys.json")
        reload(service)
        statuses = [service.post("/v1/search", {"query": "anything"}, caller).status for caller in (revoked, valid)]
    assert statuses == [401, 200]
