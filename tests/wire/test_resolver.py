"""Name look-ups that a call can give up."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from sift.errors import NoThreadError
from sift.wire.resolver import Address, Resolver
from tests.fakes import PATIENCE, FakeClock
from tests.waiting import threads_in, wait_for

FOUND = [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("192.0.2.1", 443))]
ADDRESSES = [Address(socket.AF_INET, ("192.0.2.1", 443))]


class Names:
    """Stand in for `getaddrinfo`: names of `lost` get no answer before the test ends it; `asked` holds all names."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.lost: set[str] = set()
        self.end = threading.Event()

    def __call__(self, host: str, port: int, *, type: int, flags: int = 0) -> Any:
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "a name")
        self.asked.append(host)
        if host in self.lost:
            assert self.end.wait(PATIENCE)
        return FOUND


@pytest.fixture
def names() -> Iterator[Names]:
    """Return what answers look-ups in the system's place."""
    stand_in = Names()
    yield stand_in
    stand_in.end.set()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_address_is_a_number_no_thread_is_asked(host: str) -> None:
    """contract: HTTP calls: a number needs no look-up."""
    asked_in: list[threading.Thread] = []

    def look_up(*args: Any, **kwargs: Any) -> Any:
        asked_in.append(threading.current_thread())
        return socket.getaddrinfo(*args, **kwargs)

    assert Resolver(look_up).addresses(host, 80, PATIENCE)[0].place[:2] == (host, 80)
    assert asked_in == [threading.current_thread()]


def test_many_need_a_name_at_once_they_share_one_look_up(names: Names) -> None:
    """contract: HTTP calls: 32 first calls wait for one look-up, and not for each other's."""
    resolver = Resolver(names, FakeClock())
    names.lost = {"many.example"}
    with ThreadPoolExecutor(32) as pool:
        calls = [pool.submit(resolver.addresses, "many.example", 443, PATIENCE) for _ in range(32)]
        wait_for(lambda: threads_in(Future.result) == 32)
        names.end.set()
        assert [call.result(PATIENCE) for call in calls] == [ADDRESSES] * 32
    assert names.asked == ["many.example"]


def test_look_up_has_ended_the_next_asks_again(names: Names) -> None:
    """contract: HTTP calls: an answer is not kept: addresses change."""
    resolver = Resolver(names)
    for _ in range(2):
        assert resolver.addresses("h.example", 443, PATIENCE) == ADDRESSES
    assert names.asked == ["h.example"] * 2


def test_look_up_hangs_call_ends_in_time_and_a_later_one_asks_again(names: Names) -> None:
    """contract: HTTP calls: an answer that is lost costs the calls of a moment, not all until the system gives up."""
    clock = FakeClock()
    resolver = Resolver(names, clock, patience=1.0)
    names.lost = {"h.example"}
    for _ in range(2):
        with pytest.raises(TimeoutError):
            resolver.addresses("h.example", 443, 0.02)
    assert names.asked == ["h.example"]
    names.lost = set()
    clock.tick(1.1)
    assert resolver.addresses("h.example", 443, PATIENCE) == ADDRESSES


def test_every_look_up_of_a_host_hangs_others_are_answered(names: Names) -> None:
    """contract: HTTP calls: a host whose name server is away takes its own threads and no others."""
    clock = FakeClock()
    resolver = Resolver(names, clock)
    names.lost = {"lost.example"}
    for _ in range(20):
        clock.tick(2)
        with pytest.raises(TimeoutError):
            resolver.addresses("lost.example", 443, 0.001)
    assert resolver.addresses("h.example", 443, PATIENCE) == ADDRESSES


def test_name_is_unknown_each_call_hears_it() -> None:
    """contract: HTTP calls: a failure is no more kept than an answer."""

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
        Resolver(Names()).addresses("host.invalid", 80, 1.0)
