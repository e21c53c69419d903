"""Name look-ups that a call can give up: nothing can end one, so each has a thread of its own (contract §6)."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

THREADS = 8
"""Threads for the look-ups of one host; each host has its own, so that one that hangs holds no other up."""


class LookUps:
    """Look hosts up. Calls that need the same one at a time share its look-up.

    patience: seconds after which a look-up counts as hung; the next call then starts one anew, which may be answered.
    """

    def __init__(self, patience: float = 1.0) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._under_way: dict[tuple[str, int], tuple[Future[Any], float]] = {}

    def addresses(self, host: str, port: int, seconds: float) -> Any:
        """Give what `socket.getaddrinfo` gives, within `seconds`. Raises OSError."""
        with suppress(socket.gaierror):  # it is a name
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        return self._look_up(host, port).result(seconds)

    def _look_up(self, host: str, port: int) -> Future[Any]:
        with self._lock:
            now = time.monotonic()
            future, since = self._under_way.get((host, port), (None, now))
            if future is None or future.done() or now - since > self._patience:
                if host not in self._threads:
                    self._threads[host] = ThreadPoolExecutor(THREADS, "sift-look-up")
                future = self._threads[host].submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
                self._under_way[host, port] = future, now
            return future
