"""A breaker: it keeps a dead source from costing every search its timeout (contract §8)."""

from __future__ import annotations

import threading
from collections.abc import Callable

MAX_RETRY_AFTER = 300.0


class Breaker:
    """Skip one source after failures in a row, then let one call try it again.

    failures: how many in a row open it; 0 never does. seconds: how long it stays open.
    """

    def __init__(self, failures: int, seconds: float, clock: Callable[[], float]) -> None:
        self._failures = failures
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._row = 0
        self._opened_until: float | None = None
        self._on_trial = False

    def wait(self) -> float | None:
        """Give the seconds until the source may be asked; None when it may be now."""
        with self._lock:
            return self._wait()

    def admit(self) -> float | None:
        """Take a place for one call that will be reported; None when taken, else the seconds to wait."""
        with self._lock:
            if (wait := self._wait()) is not None:
                return wait
            self._on_trial = self._opened_until is not None
            return None

    def succeeded(self) -> None:
        """Report a call that was answered."""
        with self._lock:
            self._row, self._opened_until, self._on_trial = 0, None, False

    def failed(self, *, counts: bool, retry_after: float | None = None) -> None:
        """Report a failed call. counts: timeout, unreachable, 5xx or 429; others neither count nor reset the row."""
        with self._lock:
            if not self._failures:
                return
            was_trial, self._on_trial = self._on_trial, False
            self._row += counts
            rest = min(retry_after or 0.0, MAX_RETRY_AFTER)
            if was_trial or (counts and self._row >= self._failures):
                rest = max(rest, self._seconds)
            if rest:  # the longer of two rests holds: a late answer must not cut one short
                self._opened_until = max(self._opened_until or 0.0, self._clock() + rest)

    def release(self) -> None:
        """Give back the place of a call that was not made."""
        with self._lock:
            self._on_trial = False

    def _wait(self) -> float | None:
        if self._opened_until is None:
            return None
        left = self._opened_until - self._clock()
        if left > 0:
            return left
        return self._seconds if self._on_trial else None
