"""How many files a worker may open, and what follows: its threads and connections (contract: Operations)."""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import NamedTuple

from sift.errors import ConfigError

BASE = 32
"""Files that a worker has open whatever it does: standard streams, listeners, pipes, ledger, name look-ups."""
CONNECTIONS = 1000
"""Connections that a worker accepts where files allow, and at least four for each thread."""


class Capacity(NamedTuple):
    """What a worker may use. connections: those of clients, idle ones included."""

    threads: int
    connections: int


def fit(threads: int, calls: int, limit: int) -> Capacity:
    """Return the capacity of a worker within a limit of open files.

    threads: those wanted. calls: files that a request needs for its calls. Raises ConfigError when not even one
    thread fits.
    """
    room = limit - BASE
    # A thread needs a client, gunicorn's selector for it, its calls, and two connections that wait meanwhile.
    fitting = min(threads, room // (calls + 4))
    if fitting < 1:
        least = BASE + calls + 4
        raise ConfigError(f"the limit of open files is {limit} and must be at least {least} (ulimit -n, LimitNOFILE)")
    # gunicorn's connections are those that count; an eighth as many may linger behind them.
    return Capacity(fitting, min(_wanted(threads), (room - fitting * (calls + 1)) * 8 // 9))


def lingering(connections: int) -> int:
    """Return how many connections may linger beside those that a worker accepts."""
    return max(1, connections // 8)


def raise_limit(threads: int, calls: int, others: int = 0) -> int:
    """Raise the limit of open files to what is needed, as far as the system lets us; return the one that holds.

    others: files that are open beside those of requests.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = BASE + others + threads * (calls + 1) + _wanted(threads) * 9 // 8 + 1
    if soft != resource.RLIM_INFINITY and soft < needed:
        most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with suppress(OSError, ValueError):  # a sandbox forbids it
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    return needed if soft == resource.RLIM_INFINITY else soft


def _wanted(threads: int) -> int:
    return max(CONNECTIONS, 4 * threads)
