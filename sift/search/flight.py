"""Single flight: equal searches that arrive while the first is under way share its answer (contract §8)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Flight(Generic[T]):
    """Hold what one call came to; its gate is closed until then."""

    value: T
    error: BaseException | None = None

    def __init__(self) -> None:
        self.gate = threading.Lock()
        self.gate.acquire()

    def wait(self) -> T:
        """Wait for the outcome.

        One lets the next one through: 50 that wake at once fight for the interpreter, and their median answer comes a
        twentieth later.
        """
        with self.gate:
            return self.outcome()

    def outcome(self) -> T:
        """Give the value, or raise what the call raised."""
        if self.error is not None:
            raise self.error
        return self.value


class SingleFlight(Generic[T]):
    """Run one call a key at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[bytes, Flight[T]] = {}

    def run(self, key: bytes, call: Callable[[], T]) -> tuple[T, bool]:
        """Give the value of `call`, and whether another thread made it; its exception is shared alike."""
        with self._lock:
            flight = self._under_way.get(key)
            leads = flight is None
            if flight is None:
                flight = self._under_way[key] = Flight()
        if not leads:
            return flight.wait(), True
        try:
            flight.value = call()
        except BaseException as error:
            flight.error = error
        finally:
            with self._lock:
                del self._under_way[key]
            flight.gate.release()
        return flight.outcome(), False
