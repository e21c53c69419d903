"""Name look-ups that a call can give up (contract §6)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from sift.sources.lookups import LookUps
from tests.fakes import PATIENCE
from tests.waiting import threads_in, wait_for

FOUND = [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("192.0.2.1", 443))]


class Resolver:
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
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    """Answer look-ups in the system's place."""
    stand_in = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", stand_in)
    yield stand_in
    stand_in.end.set()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_address_is_a_number_no_thread_is_asked(host: str) -> None:
    """contract §6: a number needs no look-up."""
    look_ups = LookUps()
    assert look_ups.addresses(host, 80, PATIENCE)[0][4][:2] == (host, 80)
    assert not look_ups._threads


def test_many_need_a_name_at_once_they_share_one_look_up(resolver: Resolver) -> None:
    """contract §6: 32 first calls wait for one look-up, and not for each other's."""
    look_ups = LookUps(patience=PATIENCE)
    resolver.lost = {"many.example"}
    with ThreadPoolExecutor(32) as pool:
        calls = [pool.submit(look_ups.addresses, "many.example", 443, PATIENCE) for _ in range(32)]
        wait_for(lambda: threads_in(Future.result) == 32)
        resolver.end.set()
        assert [call.result(PATIENCE) for call in calls] == [FOUND] * 32
    assert resolver.asked == ["many.example"]


def test_look_up_has_ended_the_next_asks_again(resolver: Resolver) -> None:
    """contract §6: an answer is not kept: addresses change."""
    look_ups = LookUps()
    for _ in range(2):
        assert look_ups.addresses("h.example", 443, PATIENCE) == FOUND
    assert resolver.asked == ["h.example"] * 2


def test_look_up_hangs_call_ends_in_time_and_a_later_one_asks_again(resolver: Resolver) -> None:
    """contract §6: an answer that is lost costs the calls of a moment, and not all until the resolver gives up."""
    look_ups = LookUps(patience=0.0)
    resolver.lost = {"h.example"}
    with pytest.raises(TimeoutError):
        look_ups.addresses("h.example", 443, 0.05)
    resolver.lost = set()
    assert look_ups.addresses("h.example", 443, PATIENCE) == FOUND


def test_every_look_up_of_a_host_hangs_others_are_answered(resolver: Resolver) -> None:
    """contract §6: a host whose name server is away takes its own threads and no others."""
    look_ups = LookUps(patience=0.0)
    resolver.lost = {"lost.example"}
    for _ in range(20):
        with pytest.raises(TimeoutError):
            look_ups.addresses("lost.example", 443, 0.001)
    assert look_ups.addresses("h.example", 443, PATIENCE) == FOUND


def test_name_is_unknown_each_who_shares_hears_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """contract §6: a failure is shared alike, and the next call asks again."""

    def refuse(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    look_ups = LookUps()
    for _ in range(2):
        with pytest.raises(socket.gaierror):
            look_ups.addresses("h.example", 443, PATIENCE)
