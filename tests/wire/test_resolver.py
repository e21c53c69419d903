"""Name resolution that a call can abandon."""

from __future__ import annotations

import socket
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sift.errors import NoThreadError
from sift.wire.resolver import Address, Resolver
from tests.fakes import PATIENCE, FakeClock
from tests.waiting import wait_for

FOUND = [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("192.0.2.1", 443))]
ADDRESSES = [Address(socket.AF_INET, ("192.0.2.1", 443))]


class FakeDNS:
    """Stand in for `getaddrinfo`.

    lost: names whose queries hang until `end` is set. asked: all names, in order. hanging: released by each query that
    hangs.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.lost: set[str] = set()
        self.end = threading.Event()
        self.hanging = threading.Semaphore(0)

    def __call__(self, host: str, port: int, *, type: int, flags: int = 0) -> Any:
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "a name")
        self.asked.append(host)
        if host in self.lost:
            self.hanging.release()
            assert self.end.wait(PATIENCE)
        return FOUND


class CountingClock(FakeClock):
    """Count how often the time was read."""

    reads = 0

    def __call__(self) -> float:
        self.reads += 1
        return super().__call__()


@pytest.fixture
def dns() -> Iterator[FakeDNS]:
    """Yield a stand-in for the system's resolver."""
    stand_in = FakeDNS()
    yield stand_in
    stand_in.end.set()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_host_is_an_address_no_thread_is_used(host: str) -> None:
    """contract: HTTP calls: an address needs no query."""
    asked_in: list[threading.Thread] = []

    def getaddrinfo(*args: Any, **kwargs: Any) -> Any:
        asked_in.append(threading.current_thread())
        return socket.getaddrinfo(*args, **kwargs)

    assert Resolver(getaddrinfo).addresses(host, 80, PATIENCE)[0].place[:2] == (host, 80)
    assert asked_in == [threading.current_thread()]


def test_many_calls_need_a_name_they_share_one_query(dns: FakeDNS) -> None:
    """contract: HTTP calls: calls that need the same name at the same time share one query and its answer."""
    clock = CountingClock()
    resolver = Resolver(dns, clock)
    dns.lost = {"many.example"}
    with ThreadPoolExecutor(32) as pool:
        calls = [pool.submit(resolver.addresses, "many.example", 443, PATIENCE) for _ in range(32)]
        wait_for(lambda: clock.reads == 32)
        with pytest.raises(TimeoutError):
            resolver.addresses("many.example", 443, 0)  # the lock has passed from all others to this one
        dns.end.set()
        assert [call.result(PATIENCE) for call in calls] == [ADDRESSES] * 32
    assert dns.asked == ["many.example"]


def test_query_has_ended_next_call_asks_again(dns: FakeDNS) -> None:
    """contract: HTTP calls: answers are not cached, since addresses change."""
    resolver = Resolver(dns)
    for _ in range(2):
        assert resolver.addresses("h.example", 443, PATIENCE) == ADDRESSES
    assert dns.asked == ["h.example"] * 2


def test_query_hangs_calls_end_in_time_and_a_later_one_asks_again(dns: FakeDNS) -> None:
    """contract: HTTP calls: a lost answer costs the calls of a second, not all until the system gives up."""
    clock = FakeClock()
    resolver = Resolver(dns, clock, patience=1.0)
    dns.lost = {"h.example"}
    for _ in range(2):
        with pytest.raises(TimeoutError):
            resolver.addresses("h.example", 443, 0.001)
    assert dns.hanging.acquire(timeout=PATIENCE)
    assert dns.asked == ["h.example"]
    dns.lost = set()
    clock.tick(1.1)
    assert resolver.addresses("h.example", 443, PATIENCE) == ADDRESSES


def test_all_queries_of_a_host_hang_others_are_answered(dns: FakeDNS) -> None:
    """contract: HTTP calls: a name server that hangs takes up the threads of its own hosts only."""
    clock = FakeClock()
    resolver = Resolver(dns, clock)
    dns.lost = {"lost.example"}
    for _ in range(20):
        clock.tick(2)
        with pytest.raises(TimeoutError):
            resolver.addresses("lost.example", 443, 0.001)
    assert resolver.addresses("h.example", 443, PATIENCE) == ADDRESSES


def test_name_does_not_exist_each_call_learns_it() -> None:
    """contract: HTTP calls: failures are not cached either."""

    def refuse(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    resolver = Resolver(refuse)
    for _ in range(2):
        with pytest.raises(socket.gaierror):
            resolver.addresses("h.example", 443, PATIENCE)


def test_no_thread_can_be_started_the_call_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """contract: Skips: a host out of threads is told from a name that does not exist."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(NoThreadError):
        Resolver(FakeDNS()).addresses("host.invalid", 80, 1.0)


class Name(str):
    """A host name whose end can be noticed."""

    __slots__ = ("__weakref__",)


def test_shared_names_have_been_looked_up_nothing_of_them_is_kept(dns: FakeDNS) -> None:
    """contract: Guard: what a name from a request leaves behind ends with its look-up."""
    resolver = Resolver(dns, threads=2)
    names = [Name(f"h{number}.example") for number in range(20)]
    known = [weakref.ref(name) for name in names]
    before = set(threading.enumerate())
    while names:
        assert resolver.addresses(names.pop(), 443, PATIENCE) == ADDRESSES
    started = set(threading.enumerate()) - before
    dns.asked.clear()
    wait_for(lambda: not [name for name in known if name()])
    assert 1 <= len(started) <= 2


def test_shared_name_is_given_up_nothing_of_it_is_kept_once_it_ends(dns: FakeDNS) -> None:
    """contract: Guard: also when nobody waited for its end."""
    resolver = Resolver(dns, threads=1)
    name = Name("lost.example")
    known = weakref.ref(name)
    dns.lost = {"lost.example"}
    with pytest.raises(TimeoutError):
        resolver.addresses(name, 443, 1)  # time enough for the query to begin
    del name
    assert dns.hanging.acquire(timeout=PATIENCE)
    assert known()
    dns.asked.clear()
    dns.end.set()
    wait_for(lambda: not known())


def test_shared_threads_all_hang_queries_that_nobody_waits_for_are_not_made(dns: FakeDNS) -> None:
    """contract: Guard: a slow name service is not asked for what has been given up."""
    resolver = Resolver(dns, threads=2)
    dns.lost = {"lost1.example", "lost2.example"}
    with ThreadPoolExecutor(2) as pool:
        for name in ("lost1.example", "lost2.example"):
            pool.submit(resolver.addresses, name, 443, PATIENCE)
            assert dns.hanging.acquire(timeout=PATIENCE)
        for number in range(5):
            with pytest.raises(TimeoutError):
                resolver.addresses(f"late{number}.example", 443, 0.001)
        assert dns.asked == ["lost1.example", "lost2.example"]
        dns.end.set()
    assert resolver.addresses("last.example", 443, PATIENCE) == ADDRESSES
    assert dns.asked == ["lost1.example", "lost2.example", "last.example"]


def test_shared_query_is_given_up_by_one_of_two_the_other_has_its_answer(dns: FakeDNS) -> None:
    """contract: Guard: a query that waits for a thread is dropped with its last caller, not with its first."""
    clock = CountingClock()
    resolver = Resolver(dns, clock, threads=1)
    dns.lost = {"lost.example"}
    with pytest.raises(TimeoutError):
        resolver.addresses("lost.example", 443, 0.001)
    assert dns.hanging.acquire(timeout=PATIENCE)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(resolver.addresses, "h.example", 443, PATIENCE)
        wait_for(lambda: clock.reads == 2)
        with pytest.raises(TimeoutError):
            resolver.addresses("h.example", 443, 0.001)
        dns.end.set()
        assert call.result(PATIENCE) == ADDRESSES
    assert dns.asked == ["lost.example", "h.example"]


def test_shared_name_hangs_it_takes_one_thread_and_others_are_answered(dns: FakeDNS) -> None:
    """contract: Guard: one that hangs takes one thread, however many ask for it."""
    clock = FakeClock()
    resolver = Resolver(dns, clock, threads=2)
    dns.lost = {"lost.example"}
    for _ in range(20):
        clock.tick(2)
        with pytest.raises(TimeoutError):
            resolver.addresses("lost.example", 443, 0.001)
    assert resolver.addresses("h.example", 443, PATIENCE) == ADDRESSES
    assert dns.asked == ["lost.example", "h.example"]


def test_shared_name_is_asked_again_once_it_has_ended(dns: FakeDNS) -> None:
    """contract: Guard: each connection has a look-up of its own; answers are not cached."""
    resolver = Resolver(dns, threads=1)
    for _ in range(3):
        assert resolver.addresses("h.example", 443, PATIENCE) == ADDRESSES
    assert dns.asked == ["h.example"] * 3


def test_shared_thread_could_not_be_started_next_call_is_made(monkeypatch: pytest.MonkeyPatch, dns: FakeDNS) -> None:
    """contract: Skips: no later call waits for a thread that never began."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    resolver = Resolver(dns, threads=1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(NoThreadError):
            resolver.addresses("first.example", 443, PATIENCE)
    assert resolver.addresses("second.example", 443, PATIENCE) == ADDRESSES
    assert dns.asked == ["second.example"]
