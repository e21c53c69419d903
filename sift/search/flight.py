"""Single flight: equal searches that arrive while the first is under way share its answer (contract §8)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Run one call a key at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[bytes, Future[T]] = {}

    def run(self, key: bytes, call: Callable[[], T]) -> tuple[T, bool]:
        """Give the value of `call`, and whether another thread made it; its exception is shared alike."""
        with self._lock:
            flight = self._under_way.get(key)
            leads = flight is None
            if flight is None:
                flight = self._under_way[key] = Future()
        if not leads:
            return flight.result(), True
        try:
            flight.set_result(call())
        except BaseException as error:
            flight.set_exception(error)
        finally:
            with self._lock:
                del self._under_way[key]
        return flight.result(), False
