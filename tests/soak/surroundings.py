"""Parts of the soak run in which clients, connections, files and the reader of the log misbehave."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path

from sift.auth.keys import new_key
from tests.faults import test_money as money
from tests.faults import test_vendors as matrix
from tests.faults.behaviours import own_url, silent
from tests.faults.callers import head
from tests.faults.watch import workers
from tests.service import ROOT, Reply, Service
from tests.soak.record import Soak
from tests.vendors import Behaviour, Seen, Vendors, usual
from tests.waiting import wait_until

QUICK = 1.0  # seconds in which a cached answer must come, whatever other clients do
PATIENCE = 10.0
LINGERERS = 40
# What a client sends before it keeps its socket open and reads nothing.
LINGERING = {
    "Connection: close": head("/healthz", method="GET"),
    "refused HTTP/1.0": b"GET /v1/status HTTP/1.0\r\nAuthorization: Bearer x\r\n\r\n",
    "broken HTTP": b"GET\r\n\r\n",
}


def lingering(soak: Soak, place: Path, turn: int) -> None:
    """Have clients, without a proxy in front, that keep their sockets open after the answer; nobody else waits."""
    with Vendors() as vendors, Service(place, matrix.settings(vendors, 5.0)) as service:
        service.search("cached")
        for name, start in LINGERING.items():
            with ExitStack() as stack:
                for _ in range(LINGERERS):
                    client = stack.enter_context(
                        socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE)
                    )
                    client.sendall(start)
                slowest = 0.0
                for _ in range(20):
                    slowest = max(slowest, _seconds(service, "cached"))
                    if slowest > QUICK:
                        break
            soak.tried["clients that lingered"] += LINGERERS
            soak.most["ms, cached beside lingerers"] = max(
                soak.most["ms, cached beside lingerers"], round(1000 * slowest)
            )
            soak.promise(slowest < QUICK, f"a cached answer took {slowest:.1f} s beside lingering clients ({name})")


def dead_connections(soak: Soak, place: Path, turn: int) -> None:
    """Kill all kept connections to the vendors without a sign; the first trial of each vendor must be answered."""
    timeout = 0.5
    with Vendors() as vendors:
        opened: set[object] = set()
        lock, dead = threading.Lock(), threading.Event()

        def behaviour(vendor: str) -> Behaviour:
            answers = usual(vendor)

            def behave(connection: socket.socket, seen: Seen) -> object:
                with lock:
                    is_old = connection in opened
                    if not dead.is_set():
                        opened.add(connection)
                time.sleep(0 if dead.is_set() else 0.1)  # so that the searches of a burst need a connection each
                return silent(connection, seen) if dead.is_set() and is_old else answers(connection, seen)

            return behave

        vendors.behaviour = {name: behaviour(name) for name in vendors.behaviour}
        environ = matrix.settings(vendors, timeout, SIFT_BREAKER_FAILURES="5", SIFT_BREAKER_SECONDS="2")
        with Service(place, environ) as service:
            money.burst(service, f"open {turn}", 16, at_once=8)
            soak.tried["kept connections that died"] += len(opened)
            dead.set()
            failed = 0
            for number in range(40):
                answer = service.post("/v1/search", {"query": f"after {turn} {number}"})
                if answer.status == 200 and answer.json()["warnings"] == []:
                    break
                failed += 1
            soak.most["failures after a silent death"] = max(soak.most["failures after a silent death"], failed)
            soak.promise(failed <= 2, f"{failed} searches failed after the vendors' connections had died")


class _Unread(Service):
    """A service whose log is a small pipe that nobody reads."""

    def start(self) -> Service:
        """Start on a port chosen here, and return once a worker answers."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.command[self.command.index("127.0.0.1:0")] = f"127.0.0.1:{self.port}"
        self._reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        self.process = subprocess.Popen(
            self.command, cwd=ROOT, env=self.environ, stdin=subprocess.DEVNULL, stdout=writing, stderr=writing
        )
        os.close(writing)
        if not wait_until(lambda: _answer(self) is not None, 20):
            self.stop()
            raise RuntimeError("the service did not start")
        return self

    def stop(self, sig: int = signal.SIGKILL, within: float = PATIENCE) -> int:
        """Kill all processes: those that wait for the reader would not stop."""
        assert self.process is not None
        with suppress(OSError):
            for pid in workers(self):
                os.kill(pid, signal.SIGKILL)
        code = super().stop(sig, within)
        os.close(self._reading)
        return code


def stalled_log(soak: Soak, place: Path, turn: int) -> None:
    """Let nobody read the log; searches are answered all the same."""
    with Vendors() as vendors, _Unread(place, matrix.settings(vendors, 5.0)) as service:
        for number in range(300):
            soak.tried["answers with a log nobody reads"] += 1
            answer = _answer(service, "/v1/search", b'{"query": "log %d"}' % (number % 8))
            if answer is None or answer.status != 200:
                soak.promise(False, f"search {number} hung on a log that nobody reads")
                return
        soak.promise(_answer(service) is not None, "the health check hung on a log that nobody reads")


def unusable_keys(soak: Soak, place: Path, turn: int) -> None:
    """Make the key file unusable, then reload, then kill a worker; good keys go on working, and nothing ends."""
    with Vendors() as vendors:
        keys = place / "state" / "keys.json"
        token = new_key(keys, "bot", "fleet", None, datetime.now(UTC))
        auth = {"Authorization": f"Bearer {token}"}
        good = keys.read_bytes()
        environ = matrix.settings(vendors, 5.0, SIFT_AUTH="keys", WEB_CONCURRENCY="3")
        with Service(place, environ) as service:
            for name, content, mode, wanted in (
                ("wide", good, 0o644, 200),
                ("half-written", good[:40], 0o600, 200),
                ("empty", b"[]", 0o600, 401),  # a valid file without a key, which lets nobody in
            ):
                keys.write_bytes(content)
                keys.chmod(mode)
                soak.tried["reloads with an unusable key file"] += 1
                if not _reloaded(service):
                    soak.promise(False, f"a reload with a key file that is {name} ended the service")
                    return
                os.kill(workers(service)[0], signal.SIGKILL)
                replaced = wait_until(lambda: len(workers(service)) == 3, 10)
                soak.promise(replaced, f"a worker was not replaced while the key file was {name}")
                seen = {_status(service, auth) for _ in range(20)}
                soak.promise(seen == {wanted}, f"statuses {seen} while the key file was {name}")
                keys.write_bytes(good)
                keys.chmod(0o600)
                back = wait_until(lambda: all(_status(service, auth) == 200 for _ in range(10)), 10)
                soak.promise(back, f"a repaired key file was not followed after it was {name}")


def _reloaded(service: Service) -> bool:
    """Reload; return whether there are new workers, and only new ones, in time."""
    assert service.process is not None
    old = set(workers(service))
    service.process.send_signal(signal.SIGHUP)

    def is_over() -> bool:
        assert service.process is not None
        ended = service.process.poll() is not None
        return ended or (bool(workers(service)) and not old & set(workers(service)))

    return wait_until(is_over, 30) and service.process.poll() is None


def deleted_ledger(soak: Soak, place: Path, turn: int) -> None:
    """Delete the ledger's files under two workers, some at first, then all with a reload; the cap holds."""
    cap = 20
    with Vendors() as vendors:
        environ = money.settings(vendors, 5.0, SIFT_TAVILY_DAILY_CAP=str(cap), SIFT_THREADS="16")
        with Service(place, environ, money.WORKERS) as service:
            money.burst(service, f"before {turn}", 12)
            for path in service.state_dir.glob("ledger.sqlite3-*"):
                path.unlink()
            money.burst(service, f"between {turn}", 30)
            for path in service.state_dir.glob("ledger.sqlite3*"):
                path.unlink()
            soak.promise(_reloaded(service), "a reload without the ledger's files did not end")
            answers = money.burst(service, f"after {turn}", 40)
            calls = len(vendors.calls("tavily"))
            soak.tried["ledgers deleted"] += 1
            soak.promise(calls <= cap, f"{calls} paid calls with a cap of {cap} and a deleted ledger")
            lost = sum(answer is None or own_url("searxng") not in matrix.urls(answer) for answer in answers)
            soak.promise(lost == 0, f"{lost} answers without the other sources' hits, and a deleted ledger")


def _seconds(service: Service, query: str) -> float:
    """Search; return how long it took, or PATIENCE when no answer came."""
    began = time.monotonic()
    answer = _answer(service, "/v1/search", b'{"query": "%b"}' % query.encode())
    return time.monotonic() - began if answer is not None and answer.status == 200 else PATIENCE


def _status(service: Service, headers: dict[str, str]) -> int:
    try:
        return service.get("/v1/status", headers).status
    except (OSError, HTTPException):
        return 0


def _answer(service: Service, path: str = "/healthz", body: bytes | None = None) -> Reply | None:
    with suppress(OSError, HTTPException):
        return service.request("POST" if body else "GET", path, body, timeout=PATIENCE)
    return None
