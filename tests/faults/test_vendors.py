"""Vendors that misbehave in every way, on a running service: a fault is bounded, named, and costs no other vendor."""

from __future__ import annotations

import fcntl
import re
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sift.sources import DECLARED
from tests.faults.behaviours import HELD, WORDS, Fault, Stage, cells, faults, own_url, raw, reset, silent, usual
from tests.faults.watch import sockets, threads, worker
from tests.service import Reply, Service
from tests.vendors import BODIES, NAMES, Seen, Vendors, for_all, reply
from tests.waiting import wait_for, wait_until

TIMEOUT = 0.7
LONG_TIMEOUT = 10.0  # for vendors whose timeout is not what a test is about
THREADS = 8
VOCABULARY = re.compile(
    rf"({'|'.join(NAMES)}): (timeout|unreachable|http [0-9]{{3}}|redirect refused|bad response|response too large"
    r"|no engine answered)"
)
FAULTS = faults()
CELLS = cells(FAULTS)
SLOW = [(name, NAMES[-1]) for name, _ in CELLS if FAULTS[name].warning == "timeout"]
LIGHT = [cell for cell in CELLS if FAULTS[cell[0]].warning != "timeout" and not FAULTS[cell[0]].heavy]
HEAVY = [cell for cell in CELLS if FAULTS[cell[0]].heavy]


class Outcome(NamedTuple):
    """The outcome of one fault: the answer under it, its seconds, the answer after it, and the vendor's calls."""

    met: Reply
    seconds: float
    then: Reply
    calls: int


class Run(NamedTuple):
    """The outcomes of all quick faults, and what was measured on the service after each of two rounds of them.

    together: warnings of searches that all had their vendors called at the same moment.
    """

    outcomes: dict[tuple[str, str], Outcome]
    threads: tuple[int, int]
    sockets: tuple[int, int]
    busy: tuple[int, int]
    idle: tuple[int, int]
    trapped: int
    log: bytes
    together: list[list[str]]


def settings(vendors: Vendors, timeout: float = TIMEOUT, **more: str) -> dict[str, str]:
    """Return settings under which each fault shows by itself: no breaker, no cap."""
    return {
        **vendors.environ,
        **for_all("TIMEOUT", str(timeout)),
        **for_all("DAILY_CAP", "100000"),
        "SIFT_BREAKER_FAILURES": "0",
        "SIFT_THREADS": str(THREADS),
        **more,
    }


def timeout_of(vendor: str) -> dict[str, str]:
    """Return the setting that gives one vendor alone a short timeout, so that the others cannot miss theirs."""
    return {each.variable("TIMEOUT"): str(TIMEOUT) for each in DECLARED if each.name == vendor}


def play(service: Service, stage: Stage, name: str, fault: Fault, vendor: str, turn: int) -> Outcome:
    """Search while one vendor shows a fault, and again after it has recovered."""
    query = f"turn {turn} {name} {vendor}"
    stage.plans[query, vendor] = fault.make(vendor)
    started = time.monotonic()
    met = service.post("/v1/search", {"query": query, "k": 50})
    seconds = time.monotonic() - started
    del stage.plans[query, vendor]
    then = service.post("/v1/search", {"query": query, "k": 50})
    return Outcome(met, seconds, then, stage.calls(query, vendor))


def play_all(
    service: Service,
    stage: Stage,
    played: Sequence[tuple[str, str]],
    turn: int,
    *,
    trap: int = 9,
    at_once: int = THREADS - 2,
) -> dict[tuple[str, str], Outcome]:
    """Play faults side by side, and wait until all their calls have ended."""
    matrix = faults(trap)
    with ThreadPoolExecutor(at_once) as pool:
        outcomes = pool.map(lambda cell: play(service, stage, cell[0], matrix[cell[0]], cell[1], turn), played)
        found = dict(zip(played, outcomes, strict=True))
    wait_until(lambda: stage.busy == 0, 5)
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Play all quick faults, a part of them again, the heavy ones one by one, and then call all vendors at once."""
    seen = []
    with (
        socket.create_server(("127.0.0.1", 0)) as trap,
        Vendors() as vendors,
        Service(tmp_path_factory.mktemp("matrix"), settings(vendors, LONG_TIMEOUT)) as service,
    ):
        stage = Stage(vendors)
        pid, port = worker(service), trap.getsockname()[1]
        outcomes = play_all(service, stage, LIGHT, 1, trap=port)
        seen.append((threads(pid), sockets(pid), stage.busy, vendors.connections))
        play_all(service, stage, LIGHT[::4], 2, trap=port)
        seen.append((threads(pid), sockets(pid), stage.busy, vendors.connections))
        outcomes |= play_all(service, stage, HEAVY, 1, at_once=1)
        meeting = threading.Barrier(THREADS * len(NAMES), timeout=8)

        def meet(connection: socket.socket, seen: Seen) -> object:
            meeting.wait()
            return usual(seen.vendor)(connection, seen)

        vendors.behaviour = dict.fromkeys(NAMES, meet)
        with ThreadPoolExecutor(THREADS) as pool:
            together = [each["warnings"] for each in pool.map(lambda n: service.search(f"{n}"), range(THREADS))]
        columns: Any = list(zip(*seen, strict=True))
        yield Run(outcomes, *columns, accepted(trap), service.log(), together)


@pytest.fixture(scope="module")
def slow_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], Outcome]]:
    """Play the faults that only a timeout ends, at a vendor whose timeout is short."""
    with Vendors() as vendors:
        environ = settings(vendors, LONG_TIMEOUT) | timeout_of(NAMES[-1])
        with Service(tmp_path_factory.mktemp("slow"), environ) as service:
            yield play_all(service, Stage(vendors), SLOW, 1)


def accepted(trap: socket.socket) -> int:
    """Count the connections that wait to be accepted."""
    trap.setblocking(False)
    count = 0
    with suppress(BlockingIOError):
        while True:
            trap.accept()[0].close()
            count += 1
    return count


def envelope(answer: Reply) -> dict[str, Any]:
    assert answer.status == 200, answer
    parsed: dict[str, Any] = answer.json()
    return parsed


def urls(answer: dict[str, Any]) -> set[str]:
    return {hit["url"] for hit in answer["results"]}


def credits_used(service: Service) -> int | None:
    """Return today's credits of Tavily, according to the status."""
    (used,) = [
        each["credits"]["used"] for each in service.get("/v1/status").json()["sources"] if each["name"] == "tavily"
    ]
    assert used is None or isinstance(used, int)
    return used


def named(played: Sequence[tuple[str, str]]) -> Any:
    return pytest.mark.parametrize(("name", "vendor"), played, ids=[" - ".join(cell) for cell in played])


@named(LIGHT + HEAVY)
def test_fault_costs_its_own_source_alone(run: Run, name: str, vendor: str) -> None:
    """contract: HTTP calls: the others' hits are kept, one word says why, nothing is cached, the next is fine."""
    check(FAULTS[name], vendor, run.outcomes[name, vendor], LONG_TIMEOUT)


@named(SLOW)
def test_slow_fault_costs_its_own_source_alone(
    slow_run: dict[tuple[str, str], Outcome], name: str, vendor: str
) -> None:
    """contract: HTTP calls: the same for a vendor that never ends; the answer comes while the vendor still holds on."""
    check(FAULTS[name], vendor, slow_run[name, vendor], HELD)


def check(fault: Fault, vendor: str, outcome: Outcome, within: float) -> None:
    """Assert everything that is promised of one outcome; within: seconds that the answer may take."""
    answer, then = envelope(outcome.met), envelope(outcome.then)
    others = [each for each in NAMES if each != vendor]
    assert outcome.seconds < within
    assert {own_url(each) for each in others} <= urls(answer)
    assert {own_url(each) for each in NAMES} <= urls(then)
    assert "https://foreign.example/" not in urls(answer) | urls(then)
    assert WORDS not in outcome.met.body.decode() + outcome.then.body.decode()
    assert (then["sources_ok"], then["sources_failed"]) == ([*NAMES], [])
    if fault.warning is None:
        assert own_url(vendor) in urls(answer)
        assert (answer["sources_ok"], answer["sources_failed"]) == ([*NAMES], [])
        assert answer["warnings"] == ([fault.note] if fault.note else [])
        assert (then["cached"], outcome.calls) == ((True, 1) if fault.cacheable else (False, 2))
    else:
        assert own_url(vendor) not in urls(answer)
        assert (answer["sources_ok"], answer["sources_failed"]) == (others, [vendor])
        assert answer["warnings"] == [f"{vendor}: {fault.warning}"]
        assert VOCABULARY.fullmatch(answer["warnings"][0])
        assert (then["cached"], then["warnings"], outcome.calls) == (False, [], 2)


def test_no_redirect_is_followed(run: Run) -> None:
    """contract: HTTP calls, SearXNG: the target of a redirect gets no connection."""
    assert run.trapped == 0


def test_faults_leave_no_threads_and_sockets_behind(run: Run) -> None:
    """contract: HTTP calls: every call has ended, threads are bounded by the settings, sockets are idle."""
    most = 1 + THREADS * (1 + len(NAMES)) + 2  # main, requests, calls, and some of gunicorn's own
    assert run.busy == (0, 0)
    assert max(run.threads) <= most
    assert max(run.idle) <= THREADS * len(NAMES)
    assert max(run.sockets) <= THREADS * len(NAMES) + 8
    assert run.sockets[1] <= run.sockets[0] + THREADS


def test_every_thread_has_a_search_all_vendors_are_called_at_once(run: Run) -> None:
    """contract: HTTP calls: after all those faults every request has a thread for each of its calls."""
    assert run.together == [[]] * THREADS


def test_faults_log_nothing_but_one_record_a_search(run: Run) -> None:
    """contract: Log: no traceback, no words of a vendor, no internal error; one record per search."""
    assert b"Traceback" not in run.log
    assert WORDS.encode() not in run.log
    assert b"error" not in run.log.lower().replace(b"errorlog", b"")
    assert run.log.count(b'"event": "search"') == 2 * len(LIGHT + LIGHT[::4] + HEAVY) + THREADS


# --- faults that need a service of their own -----------------------------------------------------------------------


class LateVendors(Vendors):
    """Vendors on a port that refuses connections until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self._listener.close()
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]

    def __enter__(self) -> LateVendors:
        return self

    def open(self) -> None:
        """Accept connections from now on."""
        self._listener.listen(256)
        super().__enter__()


URLS = {each.name: each.variable("URL") for each in DECLARED}


@pytest.mark.parametrize("refused", ["tavily", "brave_llm"])
def test_refused_and_unresolvable_vendors_are_unreachable(vendors: Vendors, tmp_path: Path, refused: str) -> None:
    """contract: Failures: `unreachable` at once, used again when the port opens, and no credit for an unsent call."""
    unknown = "searxng" if refused == "tavily" else "tavily"
    fine = [name for name in NAMES if name not in (refused, unknown)]
    good = {own_url(name) for name in fine}
    with LateVendors() as closed:
        environ = settings(vendors, LONG_TIMEOUT) | timeout_of(unknown)
        environ |= {
            URLS[refused]: closed.environ[URLS[refused]],
            URLS[unknown]: vendors.environ[URLS[unknown]].replace("127.0.0.1", "no-such-host.invalid"),
        }
        with Service(tmp_path, environ) as service:
            answer = service.search("words")
            assert good <= urls(answer)
            assert answer["warnings"][0].partition(": ")[0] in (refused, unknown)
            assert f"{refused}: unreachable" in answer["warnings"]
            assert set(answer["warnings"]) & {f"{unknown}: unreachable", f"{unknown}: timeout"}  # the resolver may hang
            assert answer["sources_failed"] == [name for name in NAMES if name not in fine]
            assert credits_used(service) == (1 if "tavily" in fine else 0)
            closed.open()
            answer = service.search("words")
            assert good | {own_url(refused)} <= urls(answer)
            assert answer["sources_failed"] == [unknown]
            assert answer["cached"] is False
            assert b"no-such-host" not in service.log()


def test_hanging_name_resolution_is_abandoned(vendors: Vendors, tmp_path: Path) -> None:
    """contract: HTTP calls: a query cannot be cancelled, so it is left alone, and holds up nobody else."""
    name, held = "tavily", tmp_path / "held"
    (tmp_path / "sitecustomize.py").write_text(
        "import fcntl, socket\n"
        "resolve = socket.getaddrinfo\n"
        "def hang(host, *args, **kwargs):\n"
        "    if host == 'slow.test' and not kwargs.get('flags'):\n"
        f"        with open({str(held)!r}) as held:\n"
        "            fcntl.flock(held, fcntl.LOCK_SH)\n"
        "        host = '127.0.0.1'\n"
        "    return resolve(host, *args, **kwargs)\n"
        "socket.getaddrinfo = hang\n"
    )
    breaker = {"SIFT_BREAKER_FAILURES": "3", "SIFT_BREAKER_SECONDS": "60"}
    environ = settings(vendors, LONG_TIMEOUT, PYTHONPATH=str(tmp_path), **breaker) | timeout_of(name)
    environ[URLS[name]] = environ[URLS[name]].replace("127.0.0.1", "slow.test")
    others = {own_url(each) for each in NAMES if each != name}
    # No query ends before the lock is released, which happens before the service stops.
    with Service(tmp_path, environ) as service, held.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert service.search("first")["warnings"] == [f"{name}: timeout"]
        with ThreadPoolExecutor(THREADS) as pool:
            answers = list(pool.map(lambda n: service.search(f"words {n}"), range(40)))
        assert all(others <= urls(answer) for answer in answers)
        assert answers[-1]["warnings"] == [f"{name}: skipped after repeated failures"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Vendors]]:
    """Yield a service for the tests that need nothing special, and its vendors."""
    with Vendors() as vendors, Service(tmp_path_factory.mktemp("shared"), settings(vendors, LONG_TIMEOUT)) as service:
        yield service, vendors


@pytest.fixture
def normal(shared: tuple[Service, Vendors]) -> tuple[Service, Vendors]:
    """Return that service with vendors that behave, and nothing recorded yet."""
    shared[1].restore()
    return shared


@pytest.mark.parametrize("end", [raw(), reset()], ids=["closed", "reset"])
def test_closed_keep_alive_socket_is_noticed(
    normal: tuple[Service, Vendors], end: Any, request: pytest.FixtureRequest
) -> None:
    """contract: HTTP calls: a connection closed by the vendor between calls is replaced, and no POST is sent twice."""
    service, vendors = normal

    def once(vendor: str) -> Any:
        def behave(connection: socket.socket, seen: Any) -> None:
            usual(vendor)(connection, seen)
            end(connection, seen)

        return behave

    vendors.behaviour = {name: once(name) for name in NAMES}
    for number in range(3):
        assert service.search(f"{request.node.name} {number}")["warnings"] == []
        wait_for(lambda: vendors.connections == 0, 5)
    assert [len(vendors.calls(name)) for name in NAMES] == [3] * len(NAMES)


def test_idle_connections_died_unnoticed_first_trial_succeeds(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Breaker, HTTP calls: connections die together, and cost one call, however many there are."""
    idle = 64
    # The timeout is long for this vendor too: it must not pass while so many searches meet there.
    environ = settings(vendors, LONG_TIMEOUT, SIFT_BREAKER_FAILURES="1", SIFT_BREAKER_SECONDS="1")
    environ["SIFT_THREADS"] = str(idle)
    together, old = threading.Barrier(idle, timeout=8), list[socket.socket]()

    def answer(connection: socket.socket, seen: Seen) -> object:
        old.append(connection)
        together.wait()
        return usual("tavily")(connection, seen)

    def ignore_old(connection: socket.socket, seen: Seen) -> object:
        return (silent if connection in old else usual("tavily"))(connection, seen)

    with Service(tmp_path, environ) as service, ThreadPoolExecutor(idle) as pool:
        vendors.behaviour["tavily"] = answer
        opened = list(pool.map(lambda number: service.search(f"open {number}")["warnings"], range(idle)))
        assert opened == [[]] * idle
        assert len(set(old)) == idle
        vendors.behaviour["tavily"] = ignore_old
        assert service.search("dead")["warnings"] == ["tavily: timeout"]
        number = iter(range(10**6))
        wait_for(lambda: service.search(f"trial {next(number)}")["warnings"] == [], 8)
        assert len(vendors.calls("tavily")) == idle + 2


def test_dropped_call_is_not_repeated(normal: tuple[Service, Vendors]) -> None:
    """contract: HTTP calls, Credits: Tavily drops the connection after the request: one POST, one credit."""
    service, vendors = normal
    before = credits_used(service)
    vendors.behaviour["tavily"] = raw()
    assert service.search("cut")["warnings"] == ["tavily: unreachable"]
    assert credits_used(service) == before + 1
    assert len(vendors.calls("tavily")) == 1


def test_cookies_of_vendors_are_forgotten(normal: tuple[Service, Vendors]) -> None:
    """contract: HTTP calls: twenty threads, a new cookie in each answer, and none is ever sent back."""
    service, vendors = normal
    cookies = [("Set-Cookie", "id=1; Path=/"), ("Set-Cookie", "b")]
    vendors.behaviour = {name: reply(BODIES[name]([]), headers=cookies) for name in NAMES}
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: service.search(f"cookies {n}"), range(60)))
    assert all(answer["warnings"] == [] for answer in answers)
    assert not [seen for seen in vendors.seen if "cookie" in seen.headers]


def test_all_sources_failing_is_a_503_that_names_each(normal: tuple[Service, Vendors]) -> None:
    """contract: Unavailable: 503 with every failure, in both versions, never cached."""
    service, vendors = normal
    vendors.behaviour = dict.fromkeys(NAMES, reply(b"<html>", 403))
    one, two = service.post("/v1/search", {"query": "all"}), service.post("/v2/search", {"query": "all"})
    warnings = [f"{name}: http 403" for name in NAMES]
    assert (one.status, two.status) == (503, 503)
    assert one.json() == {
        "error": "search unavailable",
        "hint": "",
        "warnings": warnings,
        "sources_failed": [*NAMES],
    }
    assert two.json() == {"success": False, "error": "search unavailable", "details": "; ".join(warnings)}
    vendors.restore()
    assert service.search("all")["cached"] is False
