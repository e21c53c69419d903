"""Name look-ups that a call can give up: nothing can end one, so each has a thread of its own."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from sift.errors import NoThreadError

THREADS = 8
"""Threads for the look-ups of one host; each host has its own, so that one that hangs holds no other up."""


class Address(NamedTuple):
    """Where a host can be reached.

    family: `socket.AF_INET` or another. place: what a socket of that family connects to; its first item is the IP
    address as text.
    """

    family: int
    place: tuple[Any, ...]


class Resolver:
    """Look-ups of hosts. Calls that need the same one at a time share its look-up.

    look_up: `socket.getaddrinfo`, or what stands in for it.
    patience: seconds after which a look-up counts as hung; the next call then starts one anew, which may be answered.
    """

    def __init__(
        self,
        look_up: Callable[..., Sequence[Any]] = socket.getaddrinfo,
        clock: Callable[[], float] = time.monotonic,
        patience: float = 1.0,
    ) -> None:
        self._ask = look_up
        self._clock = clock
        self._patience = patience
        self._lock = threading.Lock()
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._under_way: dict[tuple[str, int], tuple[Future[Sequence[Any]], float]] = {}

    def addresses(self, host: str, port: int, seconds: float) -> list[Address]:
        """Return the addresses of a host, within `seconds`, in the order to try.

        Raises OSError, ValueError, NoThreadError.
        """
        try:
            found = self._ask(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except socket.gaierror:  # it is a name
            found = self._look_up(host, port).result(seconds)
        return [Address(family, place) for family, _, _, _, place in found]

    def _look_up(self, host: str, port: int) -> Future[Sequence[Any]]:
        with self._lock:
            now = self._clock()
            future, since = self._under_way.get((host, port), (None, now))
            if future is None or future.done() or now - since > self._patience:
                if host not in self._threads:
                    self._threads[host] = ThreadPoolExecutor(THREADS, "sift-look-up")
                try:
                    future = self._threads[host].submit(self._ask, host, port, type=socket.SOCK_STREAM)
                except RuntimeError:
                    raise NoThreadError from None
                self._under_way[host, port] = future, now
            return future
