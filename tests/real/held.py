"""Vendors that hold a request until a test lets it go: time is what the test says, not what passes."""

from __future__ import annotations

import socket
import threading

from tests.vendors import Behaviour, Seen, usual


class Hold:
    """Hold each request that comes in until `release`, then answer it as usual.

    arrived: a semaphore that counts the requests that came.
    """

    def __init__(self) -> None:
        self.release = threading.Event()
        self.arrived = threading.Semaphore(0)

    def behaviour(self, vendor: str) -> Behaviour:
        """Make the behaviour for one vendor."""

        def behave(connection: socket.socket, seen: Seen) -> object:
            self.arrived.release()
            if not self.release.wait(30):
                return False
            return usual(vendor)(connection, seen)

        return behave

    def wait(self, requests: int = 1) -> None:
        """Wait until so many requests have come in."""
        for _ in range(requests):
            assert self.arrived.acquire(timeout=20), "the request did not come in"
