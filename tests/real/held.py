"""Vendors that hold a request until a test releases it, so that no test depends on timing."""

from __future__ import annotations

import socket
import threading

from tests.vendors import Behaviour, Seen, usual


class Hold:
    """A behaviour that holds each request until `release` is set, then answers as usual.

    arrived: a semaphore that counts the requests received.
    """

    def __init__(self) -> None:
        self.release = threading.Event()
        self.arrived = threading.Semaphore(0)

    def behaviour(self, vendor: str) -> Behaviour:
        """Return the behaviour for one vendor."""

        def behave(connection: socket.socket, seen: Seen) -> object:
            self.arrived.release()
            if not self.release.wait(30):
                return False
            return usual(vendor)(connection, seen)

        return behave

    def wait(self, requests: int = 1) -> None:
        """Wait until this many further requests have arrived."""
        for _ in range(requests):
            assert self.arrived.acquire(timeout=20), "the request did not arrive"
