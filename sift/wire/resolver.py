"""Name resolution that a call can abandon: nothing can cancel it, so it runs in threads of its own."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from sift.errors import NoThreadError

THREADS = 8
"""Threads per host name; they are not shared, so that a name server that hangs delays no other host."""


class Address(NamedTuple):
    """One socket address of a host.

    family: `socket.AF_INET` or another. place: the argument of `connect` for that family, IP address first.
    """

    family: int
    place: tuple[Any, ...]


class Resolver:
    """Resolve host names. Concurrent calls for the same host and port share one query.

    getaddrinfo: `socket.getaddrinfo`, or a function with its signature.
    patience: seconds after which a query counts as hung; the next call then starts another.
    """

    def __init__(
        self,
        getaddrinfo: Callable[..., Sequence[Any]] = socket.getaddrinfo,
        clock: Callable[[], float] = time.monotonic,
        patience: float = 1.0,
    ) -> None:
        self._getaddrinfo = getaddrinfo
        self._clock = clock
        self._patience = patience
        self._lock = threading.Lock()
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._pending: dict[tuple[str, int], tuple[Future[Sequence[Any]], float]] = {}

    def addresses(self, host: str, port: int, seconds: float) -> list[Address]:
        """Return the addresses of a host, in order.

        Raises OSError (TimeoutError after `seconds`), NoThreadError and ValueError.
        """
        try:
            found = self._getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except socket.gaierror:  # it is a name
            found = self._query(host, port).result(seconds)
        return [Address(family, place) for family, _, _, _, place in found]

    def _query(self, host: str, port: int) -> Future[Sequence[Any]]:
        with self._lock:
            now = self._clock()
            future, since = self._pending.get((host, port), (None, now))
            if future is None or future.done() or now - since > self._patience:
                if host not in self._threads:
                    self._threads[host] = ThreadPoolExecutor(THREADS, "sift-resolver")
                try:
                    future = self._threads[host].submit(self._getaddrinfo, host, port, type=socket.SOCK_STREAM)
                except RuntimeError:
                    raise NoThreadError from None
                self._pending[host, port] = future, now
            return future
