"""Name resolution that a call can abandon: nothing can cancel it, so it runs in threads of its own."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple

from sift.errors import NoThreadError
from sift.wire.threads import Daemons

THREADS = 8
"""Threads per host name; they are not shared, so that a name server that hangs delays no other host."""

_Key = tuple[str, int]


class Address(NamedTuple):
    """One socket address of a host.

    family: `socket.AF_INET` or another. place: the argument of `connect` for that family, IP address first.
    """

    family: int
    place: tuple[Any, ...]


class _Query:
    """A look-up that has not ended. since: when it was asked. waiting: how many calls wait for it."""

    __slots__ = ("future", "since", "waiting")

    def __init__(self, future: Future[Sequence[Any]], since: float) -> None:
        self.future = future
        self.since = since
        self.waiting = 0


class Resolver:
    """Resolve host names. Concurrent calls for the same host and port share one query.

    getaddrinfo: `socket.getaddrinfo`, or a function with its signature.
    patience: seconds after which a query counts as hung; the next call then starts another.
    threads: how many serve all hosts together; None gives each host name its own, and keeps them. A number is for
    names that come from requests: nothing is kept of them, and one that hangs is not asked again meanwhile, so that it
    takes one thread.
    """

    def __init__(
        self,
        getaddrinfo: Callable[..., Sequence[Any]] = socket.getaddrinfo,
        clock: Callable[[], float] = time.monotonic,
        patience: float = 1.0,
        threads: int | None = None,
    ) -> None:
        self._getaddrinfo = getaddrinfo
        self._clock = clock
        self._patience = patience
        self._shared = threads
        self._lock = threading.RLock()  # a query that is given up is forgotten by the thread that gives it up
        self._threads: dict[str, Daemons] = {}
        self._pending: dict[_Key, _Query] = {}

    def addresses(self, host: str, port: int, seconds: float) -> list[Address]:
        """Return the addresses of a host, in order.

        Raises OSError (TimeoutError after `seconds`), NoThreadError and ValueError.
        """
        try:
            found = self._getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except socket.gaierror:  # it is a name
            found = self._answer(host, port, seconds)
        return [Address(family, place) for family, _, _, _, place in found]

    def _answer(self, host: str, port: int, seconds: float) -> Sequence[Any]:
        query = self._join((host, port))
        try:
            return query.future.result(seconds)
        finally:
            with self._lock:
                query.waiting -= 1
                if not query.waiting:
                    query.future.cancel()  # no thread may begin what nobody waits for

    def _join(self, key: _Key) -> _Query:
        """Return the query that is under way, or a new one. Raises NoThreadError."""
        with self._lock:
            now = self._clock()
            query = self._pending.get(key)
            if query is None or query.future.done() or (self._shared is None and now - query.since > self._patience):
                query = self._pending[key] = _Query(self._submit(*key), now)
                query.future.add_done_callback(partial(self._forget, key))
            query.waiting += 1
            return query

    def _submit(self, host: str, port: int) -> Future[Sequence[Any]]:
        name = host if self._shared is None else ""
        if name not in self._threads:
            self._threads[name] = Daemons(self._shared or THREADS, "sift-resolver")
        try:
            return self._threads[name].submit(partial(self._getaddrinfo, host, port, type=socket.SOCK_STREAM))
        except RuntimeError:
            raise NoThreadError from None

    def _forget(self, key: _Key, ended: Future[Sequence[Any]]) -> None:
        with self._lock:
            query = self._pending.get(key)
            if query and query.future is ended:
                del self._pending[key]
