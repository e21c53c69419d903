"""Parts of the soak run in which batches go on while their workers and their store are stopped and killed.

They need an internet of their own (tests/world/), since pages have hosts that somebody must be polite to.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tests.faults import test_money as money
from tests.faults import test_vendors as matrix
from tests.faults.behaviours import own_url
from tests.faults.watch import workers
from tests.postgres import Server, missing
from tests.real.programs import SIFT, bearer
from tests.service import Reply, Service
from tests.soak.record import Soak
from tests.vendors import Vendors
from tests.waiting import wait_until
from tests.world.namespace import UnavailableError
from tests.world.service import Inside
from tests.world.steps import answer, article, pause
from tests.world.world import World

HOSTS = 12
SEARCHERS = 4
CAP = 400
TIMEOUT = 5.0
LEASE = 20.0
DRAIN = 150.0  # seconds in which whatever was accepted must have ended: leases, retries, a server that starts
FINAL = ("ok", "failed", "cancelled")
Fault = Callable[[], object]


class Batches:
    """Clients of one service: they submit batches, read them again and again, and remember what they were told."""

    def __init__(self, soak: Soak, sift: Inside, hosts: Sequence[str], name: str) -> None:
        self.over = threading.Event()
        self.accepted: dict[str, list[str]] = {}
        self._soak = soak
        self._sift = sift
        self._hosts = hosts
        self._name = name
        self._auth = bearer(sift.tokens["fleet"])
        self._told: dict[tuple[str, int], str] = {}

    def submit(self) -> None:
        """Submit batches, each until it is known to be accepted."""
        number = 0
        while not self.over.is_set():
            number += 1
            urls = [f"http://{host}/canary/{number}" for host in self._hosts]
            body = json.dumps({"urls": urls, "max_age": 0}).encode()
            headers = {"Content-Type": "application/json", "Idempotency-Key": f"{self._name}-{number}", **self._auth}
            while not self.over.wait(0.2):
                reply = self._ask("POST", "/v1/batch", body, headers)
                if reply is None or reply.status in (429, 503):  # 429: as many are under way as may be
                    self._soak.tried["submissions that failed at first"] += reply is None or reply.status == 503
                    continue
                self._soak.promise(reply.status in (200, 202), f"status {reply.status} for a batch")
                self.accepted[reply.json()["id"]] = urls
                break

    def read(self) -> None:
        """Read all batches again and again."""
        while not self.over.wait(0.1):
            for batch in [*self.accepted]:
                self.items(batch)

    def items(self, batch: str) -> list[dict[str, Any]] | None:
        """Return the places of a batch, None when there is no answer; none may have changed once it has ended."""
        reply = self._ask("GET", f"/v1/batch/{batch}/results?limit=50", None, self._auth)
        if reply is None or reply.status == 503:
            return None
        self._soak.promise(reply.status == 200, f"status {reply.status} for the results of a batch")
        items: list[dict[str, Any]] = reply.json().get("items", [])
        for item in items:
            place, told = (batch, item["index"]), json.dumps(item, sort_keys=True)
            if item["state"] in FINAL or place in self._told:
                same = self._told.setdefault(place, told) == told
                self._soak.promise(same, "a page that was answered once was answered otherwise")
        return items

    def settle(self) -> None:
        """Wait for the end of whatever was accepted, and check that nothing is lost."""

        def has_ended(batch: str) -> bool:
            return all(item["state"] in FINAL for item in self.items(batch) or [{"state": ""}])

        for batch, urls in self.accepted.items():
            wait_until(lambda batch=batch: has_ended(batch), max(1.0, self._end - time.monotonic()))
            items = self.items(batch) or []
            there = [item["url"] for item in items if item["state"] in ("ok", "failed")]
            self._soak.tried["pages of batches"] += len(urls)
            self._soak.tried["pages opened again"] += sum(item["attempts"] > 1 for item in items)
            self._soak.tried["pages lost"] += len({*urls} - {*there})
            self._soak.promise(there == urls, f"{len({*urls} - {*there})} pages of a batch have no final state")
            gone = f"http://{self._hosts[0]}/"
            wrong = sum((item["state"] == "ok") == item["url"].startswith(gone) for item in items)
            self._soak.promise(not wrong, f"{wrong} pages did not come to what their site answers")

    @contextmanager
    def running(self) -> Iterator[None]:
        """Submit and read while the block runs; then settle."""
        with ThreadPoolExecutor(2) as pool:
            clients = [pool.submit(each) for each in (self.submit, self.read)]
            try:
                yield
            finally:
                self.over.set()
            for client in clients:
                client.result()
        self._end = time.monotonic() + DRAIN
        self.settle()

    def _ask(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Reply | None:
        with suppress(OSError, HTTPException):
            return self._sift.request(method, path, body, headers)
        return None


class Crew:
    """Processes of `sift worker`, which are replaced when they are killed."""

    def __init__(self, world: World, path: Path, environ: Mapping[str, str], count: int) -> None:
        self.log = path / "worker.log"
        self._world = world
        self._environ = dict(environ)
        self._processes = [self._start() for _ in range(count)]

    def kill(self) -> None:
        """Kill the oldest; another one takes its place."""
        oldest = self._processes.pop(0)
        oldest.kill()
        oldest.wait()
        self._processes.append(self._start())

    def halt(self) -> None:
        """Stop the oldest, which is at work, for longer than its lease."""
        time.sleep(3)
        self._processes[0].send_signal(signal.SIGSTOP)
        time.sleep(LEASE + 2)
        self._processes[0].send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End all."""
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)
        for process in self._processes:
            process.wait(30)

    def _start(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return self._world.inside.popen([SIFT, "worker"], env=self._environ, stdout=log, stderr=log)


def batches_on_files(soak: Soak, place: Path, turn: int) -> None:
    """Kill workers, of the service and others, again and again, and let one sleep past its lease."""
    with _world() as world, ExitStack() as stack:
        if world is None:
            return
        sift, crew = _start(stack, world, place, {})
        batches = Batches(soak, sift, _hosts(world), f"files-{turn}")
        with batches.running():
            _play(soak, [crew.kill, lambda: _kill_worker(sift)], 20, turn)
            crew.halt()
        _look_at_logs(soak, sift, crew)


def batches_on_postgres(soak: Soak, place: Path, turn: int) -> None:
    """Stop, kill and restart PostgreSQL, and kill workers, while batches and searches of two hosts go on."""
    if why := missing():
        print(f"skipped: {why}", flush=True)
        return
    with _world() as world, ExitStack() as stack:
        if world is None:
            return
        sockets = stack.enter_context(tempfile.TemporaryDirectory(prefix="sift-pg-"))
        Path(sockets).chmod(0o777)  # the server is another user's
        server = stack.enter_context(Server(unix_socket_directories=sockets))
        vendors = stack.enter_context(Vendors())
        more = {"SIFT_STORE_URL": server.url(), "SIFT_STORE_TIMEOUT": "0.5", "SIFT_BATCH_WORKERS": "0"}
        environ = money.settings(vendors, TIMEOUT, SIFT_TAVILY_DAILY_CAP=f"{CAP}", SIFT_CACHE_TTL="0", **more)
        (place / "other").mkdir()
        searching = stack.enter_context(Service(place / "other", environ))
        uri = f"postgresql://sift@/sift?host={sockets}&port={server.port}"
        sift, crew = _start(stack, world, place, {"SIFT_STORE_URL": uri, "SIFT_STORE_TIMEOUT": "0.5"})

        def stop() -> None:
            server.stop()
            time.sleep(2)
            server.go_on()

        def kill() -> None:
            server.kill()
            time.sleep(1)
            server.start()

        batches = Batches(soak, sift, _hosts(world), f"postgres-{turn}")
        with batches.running(), _searches(soak, searching, turn):
            _play(soak, [stop, kill, crew.kill, stop, lambda: _kill_worker(sift)], 30, turn)
            crew.halt()
        _spend_the_rest(soak, searching, vendors)
        _look_at_logs(soak, sift, crew)
        soak.promise(b"canary" not in server.log.encode(), "a URL is in PostgreSQL's log")


@contextmanager
def _world() -> Iterator[World | None]:
    with ExitStack() as stack:
        try:
            world = stack.enter_context(World())
        except UnavailableError as error:
            print(f"skipped: {error}", flush=True)
            yield None
            return
        world.begin()
        yield world


def _hosts(world: World) -> list[str]:
    """Return the names of hosts: the first has no page, some are slow."""
    gone = world.host(pages={"*": answer("", status=404)})
    return [gone, *(world.host(pages={"*": [*pause(0.3 * (n % 3)), *article()]}) for n in range(HOSTS - 1))]


def _start(stack: ExitStack, world: World, place: Path, environ: Mapping[str, str]) -> tuple[Inside, Crew]:
    sift = stack.enter_context(Inside(world, place, {"WEB_CONCURRENCY": "2", "SIFT_BATCH_WORKERS": "4", **environ}))
    crew = Crew(world, place, sift.environ, 2)
    stack.callback(crew.close)
    return sift, crew


def _kill_worker(sift: Inside) -> None:
    with suppress(ProcessLookupError):
        for pid in workers(sift)[:1]:
            os.kill(pid, signal.SIGKILL)


def _play(soak: Soak, faults: Sequence[Fault], seconds: float, turn: int) -> None:
    """Do one of the faults after another, in an order of the turn's own, until the time is up."""
    choice, end = random.Random(turn), time.monotonic() + seconds
    while time.monotonic() < end:
        for fault in choice.sample(faults, len(faults)):
            time.sleep(choice.uniform(0.3, 1.5))
            fault()
            soak.tried["faults of workers and stores"] += 1


@contextmanager
def _searches(soak: Soak, service: Service, turn: int) -> Iterator[None]:
    """Search all the time; each is answered in time, with the hits of the sources that cost nothing."""
    over = threading.Event()

    def ask(client: int) -> None:
        number = 0
        while not over.wait(0.1):
            number += 1
            began = time.monotonic()
            found = matrix.urls(service.search(f"client {client} words {number} {turn}"))
            took = time.monotonic() - began
            soak.tried["searches beside outages"] += 1
            soak.most["ms, a search beside outages"] = max(soak.most["ms, a search beside outages"], round(1000 * took))
            soak.promise(own_url("searxng") in found, "a search without the hits of a healthy source")
            soak.promise(took <= TIMEOUT + 1.5, f"a search took {took:.1f} s while the store was away")

    with ThreadPoolExecutor(SEARCHERS) as pool:
        clients = [pool.submit(ask, number) for number in range(SEARCHERS)]
        try:
            yield
        finally:
            over.set()
        for client in clients:
            client.result()


def _spend_the_rest(soak: Soak, service: Service, vendors: Vendors) -> None:
    """Search until the cap: what was granted over all outages is no more than it, and all of it was counted."""
    wait_until(lambda: money.UNAVAILABLE not in service.search("back")["warnings"])
    money.burst(service, "last", CAP, 16)
    (status,) = [each for each in service.get("/v1/status").json()["sources"] if each["name"] == "tavily"]
    calls, used = len(vendors.calls("tavily")), status["credits"]["used"]
    soak.tried["paid calls beside outages"] += calls
    soak.promise(calls <= used == CAP, f"{calls} paid calls, {used} credits counted, with a cap of {CAP}")


def _look_at_logs(soak: Soak, sift: Inside, crew: Crew) -> None:
    log = sift.log() + crew.log.read_bytes()
    soak.promise(b"Traceback" not in log, "a traceback was logged")
    soak.promise(b"internal_error" not in log, "a batch met an internal error")
    soak.promise(b"canary" not in log, "a URL was logged")
