"""Single flight: equal work under way at the same time is done once (contract: Shared searches, Fetch)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Flight(Generic[T]):
    """One call under way; the gate is locked until it has an outcome."""

    value: T
    error: BaseException | None = None

    def __init__(self) -> None:
        self.gate = threading.Lock()
        self.gate.acquire()

    def wait(self, seconds: float | None = None) -> T:
        """Wait for the outcome and return it. Raises TimeoutError after `seconds`, and what the call raised.

        Waiters pass the gate one by one: waking all at once, they would contend for the interpreter.
        """
        if not self.gate.acquire(timeout=-1 if seconds is None else max(0.0, seconds)):
            raise TimeoutError
        self.gate.release()
        return self.outcome()

    def outcome(self) -> T:
        """Return the value, or raise what the call raised."""
        if self.error is not None:
            raise self.error
        return self.value


class SingleFlight(Generic[T]):
    """Run at most one call per key at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[bytes, Flight[T]] = {}

    def run(self, key: bytes, call: Callable[[], T], seconds: float | None = None) -> tuple[T, bool]:
        """Return the value of `call` and whether another thread made it; its exception is raised in every thread.

        seconds: how long to wait for another thread, None for ever. Raises TimeoutError after that.
        """
        with self._lock:
            flight = self._under_way.get(key)
            leads = flight is None
            if flight is None:
                flight = self._under_way[key] = Flight()
        if not leads:
            return flight.wait(seconds), True
        try:
            flight.value = call()
        except BaseException as error:
            flight.error = error
        finally:
            with self._lock:
                del self._under_way[key]
            flight.gate.release()
        return flight.outcome(), False
