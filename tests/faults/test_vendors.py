"""Vendors that misbehave in every way, on a running service: bounded, said in one word, and nobody else's loss."""

from __future__ import annotations

import fcntl
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sift.sources import DECLARED
from tests.faults.behaviours import WORDS, Fault, Stage, faults, own_url, raw, reset, silent, usual
from tests.faults.watch import sockets, threads, worker
from tests.service import Reply, Service
from tests.vendors import BODIES, NAMES, Vendors, for_all, reply
from tests.waiting import wait_for, wait_until

TIMEOUT = 0.7
LONG_TIMEOUT = 4  # for answers that cost much computing, which a busy machine may not do in less
THREADS = 8
VOCABULARY = re.compile(
    rf"({'|'.join(NAMES)}): (timeout|unreachable|http [0-9]{{3}}|redirect refused|bad response|response too large"
    r"|no engine answered)"
)
FAULTS = faults()
LIGHT = [(name, vendor) for name, fault in FAULTS.items() for vendor in NAMES if not fault.heavy]
HEAVY = [(name, vendor) for name, fault in FAULTS.items() for vendor in NAMES if fault.heavy]


class Outcome(NamedTuple):
    """Hold what one fault of one vendor led to: the answer under it, how long it took, and the answer after it."""

    met: Reply
    seconds: float
    then: Reply
    calls: int


class Run(NamedTuple):
    """Hold the outcome of the whole matrix, and what the service looks like after each of two rounds of it."""

    outcomes: dict[tuple[str, str], Outcome]
    threads: tuple[int, int]
    sockets: tuple[int, int]
    busy: tuple[int, int]
    idle: tuple[int, int]
    trapped: int
    log: bytes
    together: float


def settings(vendors: Vendors, timeout: float = TIMEOUT, **more: str) -> dict[str, str]:
    """Give settings that let each fault show by itself: short timeouts, no breaker, no cap."""
    return {
        **vendors.environ,
        **for_all("TIMEOUT", str(timeout)),
        **for_all("DAILY_CAP", "100000"),
        "SIFT_BREAKER_FAILURES": "0",
        "SIFT_THREADS": str(THREADS),
        **more,
    }


def play(service: Service, stage: Stage, name: str, fault: Fault, vendor: str, turn: int) -> Outcome:
    """Let one vendor show one fault, then recover."""
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
    cells: list[tuple[str, str]],
    turn: int,
    *,
    trap: int = 9,
    at_once: int = THREADS - 2,
) -> dict[tuple[str, str], Outcome]:
    """Play faults side by side, and wait until all their calls have ended."""
    matrix = faults(trap)
    with ThreadPoolExecutor(at_once) as pool:
        played = pool.map(lambda cell: play(service, stage, cell[0], matrix[cell[0]], cell[1], turn), cells)
        outcomes = dict(zip(cells, played, strict=True))
    wait_until(lambda: stage.busy == 0, 5)
    return outcomes


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Play the whole matrix, then a part of it again, then let all vendors be silent at once."""
    seen = []
    with (
        socket.create_server(("127.0.0.1", 0)) as trap,
        Vendors() as vendors,
        Service(tmp_path_factory.mktemp("matrix"), settings(vendors)) as service,
    ):
        stage = Stage(vendors)
        pid, port = worker(service), trap.getsockname()[1]
        outcomes = play_all(service, stage, LIGHT, 1, trap=port)
        seen.append((threads(pid), sockets(pid), stage.busy, vendors.connections))
        play_all(service, stage, LIGHT[::4], 2, trap=port)
        seen.append((threads(pid), sockets(pid), stage.busy, vendors.connections))
        started = time.monotonic()
        vendors.behaviour = dict.fromkeys(NAMES, silent)
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda n: service.post("/v1/search", {"query": f"at once {n}"}), range(THREADS)))
        together = time.monotonic() - started
        columns: Any = list(zip(*seen, strict=True))
        yield Run(outcomes, *columns, accepted(trap), service.log(), together)


@pytest.fixture(scope="module")
def heavy_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], Outcome]]:
    """Play the faults that cost much computing, one after another."""
    with (
        Vendors() as vendors,
        Service(tmp_path_factory.mktemp("heavy"), settings(vendors, LONG_TIMEOUT)) as service,
    ):
        yield play_all(service, Stage(vendors), HEAVY, 1, at_once=1)


def accepted(trap: socket.socket) -> int:
    """Count the connections that wait at a listener."""
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
    """Return Tavily's credits of today, as the status tells them."""
    (used,) = [
        each["credits"]["used"] for each in service.get("/v1/status").json()["sources"] if each["name"] == "tavily"
    ]
    assert used is None or isinstance(used, int)
    return used


@pytest.mark.parametrize(("name", "vendor"), LIGHT, ids=[f"{name}-{vendor}" for name, vendor in LIGHT])
def test_fault_costs_its_own_source_alone(run: Run, name: str, vendor: str) -> None:
    """contract: HTTP calls: in time, the others' hits kept, one word, nothing cached, the next one is fine."""
    check(FAULTS[name], vendor, run.outcomes[name, vendor], TIMEOUT)


@pytest.mark.parametrize(("name", "vendor"), HEAVY, ids=[f"{name}-{vendor}" for name, vendor in HEAVY])
def test_heavy_fault_costs_its_own_source_alone(
    heavy_run: dict[tuple[str, str], Outcome], name: str, vendor: str
) -> None:
    """contract: HTTP calls: bombs, megabytes and thousands of hits, held to the same."""
    check(FAULTS[name], vendor, heavy_run[name, vendor], LONG_TIMEOUT)


def check(fault: Fault, vendor: str, outcome: Outcome, timeout: float) -> None:
    """Hold one outcome to the promises."""
    answer, then = envelope(outcome.met), envelope(outcome.then)
    others = [each for each in NAMES if each != vendor]
    assert outcome.seconds <= timeout + 1
    assert {own_url(each) for each in others} <= urls(answer)
    assert {own_url(each) for each in NAMES} <= urls(then)
    assert "https://foreign.example/" not in urls(answer) | urls(then)
    assert WORDS not in outcome.met.body.decode() + outcome.then.body.decode()
    assert (then["sources_ok"], then["sources_failed"]) == ([*NAMES], [])
    if fault.warning is None:
        note = [fault.note] if fault.note and vendor == "searxng" else []
        assert own_url(vendor) in urls(answer)
        assert (answer["sources_ok"], answer["sources_failed"], answer["warnings"]) == ([*NAMES], [], note)
        assert (then["cached"], outcome.calls) == ((True, 1) if fault.cacheable else (False, 2))
    else:
        assert own_url(vendor) not in urls(answer)
        assert (answer["sources_ok"], answer["sources_failed"]) == (others, [vendor])
        assert answer["warnings"] == [f"{vendor}: {fault.warning}"]
        assert VOCABULARY.fullmatch(answer["warnings"][0])
        assert (then["cached"], then["warnings"], outcome.calls) == (False, [], 2)


def test_no_redirect_is_followed(run: Run) -> None:
    """contract: HTTP calls, SearXNG: a server that vendors redirect to gets no connection at all."""
    assert run.trapped == 0


def test_faults_leave_no_thread_and_no_socket_over(run: Run) -> None:
    """contract: HTTP calls: every call has ended, threads are bounded by the settings, sockets are idle ones."""
    most = 1 + THREADS * (1 + len(NAMES)) + 2  # main, requests, the sources' calls, and a few of the server's own
    assert run.busy == (0, 0)
    assert max(run.threads) <= most
    assert max(run.idle) <= THREADS * len(NAMES)
    assert max(run.sockets) <= THREADS * len(NAMES) + 8
    assert run.sockets[1] <= run.sockets[0] + THREADS
    assert run.together <= TIMEOUT + 1.5  # all request and source threads were free: no queue inside


def test_faults_log_nothing_but_one_record_a_search(run: Run) -> None:
    """contract: Log: no traceback, no vendor's word, no internal error; one record a search."""
    assert b"Traceback" not in run.log
    assert WORDS.encode() not in run.log
    assert b"error" not in run.log.lower().replace(b"errorlog", b"")
    assert run.log.count(b'"event": "search"') == 2 * (len(LIGHT) + len(LIGHT[::4])) + THREADS


# --- faults that need a service of their own -----------------------------------------------------------------------


class LateVendors(Vendors):
    """Hold a port that refuses connections until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self._listener.close()
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]

    def __enter__(self) -> LateVendors:
        return self

    def open(self) -> None:
        """Accept from now on."""
        self._listener.listen(256)
        super().__enter__()


URLS = {each.name: each.variable("URL") for each in DECLARED}


@pytest.mark.parametrize("turn", range(len(NAMES)))
def test_refused_and_unresolvable_vendors_are_unreachable(vendors: Vendors, tmp_path: Path, turn: int) -> None:
    """contract: Failures: `unreachable` at once, and used again when the port opens;
    credit never sent is given back.
    """
    refused, unknown, *fine = NAMES[turn:] + NAMES[:turn]
    good = {own_url(name) for name in fine}
    with LateVendors() as closed:
        environ = settings(vendors) | {
            URLS[refused]: closed.environ[URLS[refused]],
            URLS[unknown]: vendors.environ[URLS[unknown]].replace("127.0.0.1", "no-such-host.invalid"),
        }
        with Service(tmp_path, environ) as service:
            started = time.monotonic()
            answer = service.search("words")
            assert time.monotonic() - started <= TIMEOUT + 1
            assert good <= urls(answer)
            assert answer["warnings"][0].partition(": ")[0] in (refused, unknown)
            assert f"{refused}: unreachable" in answer["warnings"]
            assert set(answer["warnings"]) & {f"{unknown}: unreachable", f"{unknown}: timeout"}  # a resolver may hang
            assert answer["sources_failed"] == [name for name in NAMES if name not in fine]
            assert credits_used(service) == (1 if "tavily" in fine else 0)
            closed.open()
            answer = service.search("words")
            assert good | {own_url(refused)} <= urls(answer)
            assert answer["sources_failed"] == [unknown]
            assert answer["cached"] is False
            assert b"no-such-host" not in service.log()


@pytest.mark.parametrize("name", NAMES)
def test_hanging_name_look_up_is_given_up(vendors: Vendors, tmp_path: Path, name: str) -> None:
    """contract: HTTP calls: nothing can end a look-up, so the answer goes without it,
    and others never wait for its threads.
    """
    held = tmp_path / "held"
    (tmp_path / "sitecustomize.py").write_text(
        "import fcntl, socket\n"
        "look_up = socket.getaddrinfo\n"
        "def hang(host, *args, **kwargs):\n"
        "    if host == 'slow.test' and not kwargs.get('flags'):\n"
        f"        with open({str(held)!r}) as held:\n"
        "            fcntl.flock(held, fcntl.LOCK_SH)\n"
        "        host = '127.0.0.1'\n"
        "    return look_up(host, *args, **kwargs)\n"
        "socket.getaddrinfo = hang\n"
    )
    environ = settings(vendors, PYTHONPATH=str(tmp_path), SIFT_BREAKER_FAILURES="3", SIFT_BREAKER_SECONDS="60")
    environ[URLS[name]] = environ[URLS[name]].replace("127.0.0.1", "slow.test")
    others = {own_url(each) for each in NAMES if each != name}
    # The lock goes before the service does: until then no look-up ends.
    with Service(tmp_path, environ) as service, held.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        started = time.monotonic()
        answer = service.search("first")
        assert time.monotonic() - started <= TIMEOUT + 1
        assert answer["warnings"] == [f"{name}: timeout"]
        with ThreadPoolExecutor(THREADS) as pool:
            answers = list(pool.map(lambda n: service.search(f"words {n}"), range(40)))
        assert all(others <= urls(answer) for answer in answers)
        assert answers[-1]["warnings"] == [f"{name}: skipped after repeated failures"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Vendors]]:
    """Run one service for the tests that need nothing special."""
    with Vendors() as vendors, Service(tmp_path_factory.mktemp("shared"), settings(vendors, LONG_TIMEOUT)) as service:
        yield service, vendors


@pytest.fixture
def plain(shared: tuple[Service, Vendors]) -> tuple[Service, Vendors]:
    """Give that service with vendors that behave, and nothing seen yet."""
    shared[1].restore()
    return shared


@pytest.mark.parametrize("end", [raw(), reset()], ids=["closed", "reset"])
def test_closed_keep_alive_socket_is_noticed(
    plain: tuple[Service, Vendors], end: Any, request: pytest.FixtureRequest
) -> None:
    """contract: HTTP calls: a socket the vendor closed between two calls is replaced; no POST is ever sent twice."""
    service, vendors = plain

    def once(vendor: str) -> Any:
        def behave(connection: socket.socket, seen: Any) -> None:
            usual(vendor)(connection, seen)
            end(connection, seen)

        return behave

    vendors.behaviour = {name: once(name) for name in NAMES}
    for number in range(6):
        assert service.search(f"{request.node.name} {number}")["warnings"] == []
        wait_for(lambda: vendors.connections == 0, 5)
    assert [len(vendors.calls(name)) for name in NAMES] == [6] * len(NAMES)


def test_call_that_was_cut_is_not_repeated(plain: tuple[Service, Vendors]) -> None:
    """contract: HTTP calls, Credits: Tavily takes the call and drops the connection: one POST, one credit."""
    service, vendors = plain
    before = credits_used(service)
    vendors.behaviour["tavily"] = raw()
    assert service.search("cut")["warnings"] == ["tavily: unreachable"]
    assert credits_used(service) == before + 1
    assert len(vendors.calls("tavily")) == 1


def test_cookies_of_vendors_are_forgotten(plain: tuple[Service, Vendors]) -> None:
    """contract: HTTP calls: twenty threads, a new cookie each reply, and none ever comes back."""
    service, vendors = plain
    cookies = [("Set-Cookie", "id=1; Path=/"), ("Set-Cookie", "b")]
    vendors.behaviour = {name: reply(BODIES[name]([]), headers=cookies) for name in NAMES}
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: service.search(f"cookies {n}"), range(60)))
    assert all(answer["warnings"] == [] for answer in answers)
    assert not [seen for seen in vendors.seen if "cookie" in seen.headers]


def test_all_sources_failing_is_an_honest_503(plain: tuple[Service, Vendors]) -> None:
    """contract: Unavailable: 503 with each failure, both versions alike, and never kept."""
    service, vendors = plain
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
