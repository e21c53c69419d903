"""The circuit breaker: a dead source must not cost every search its timeout (contract: Breaker).

Three states, closed, open and half-open, and five ways in which an admitted call ends:

- answered: ends the row of failures; the trial's answer closes the breaker.
- failed in a way that counts, as a vendor that is down or overloaded does: the row grows, and at its limit the breaker
  opens; the trial's failure opens it again.
- failed the same way, but the query may be to blame: as above only once another query's failure has begun the row;
  as the trial it decides nothing.
- failed otherwise, as a vendor that works and refuses does: nothing; the trial's failure opens the breaker again.
- withdrawn, because it was not made: nothing; the next call is the trial.

A call is heard in the state that admitted it, and only there: what began before the last change of state says nothing
about the vendor now. `Retry-After` is the exception, as it is about the time to come.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal

MAX_RETRY_AFTER = 300.0
"""The longest rest in seconds that a vendor's `Retry-After` can ask for."""

State = Literal["closed", "open", "half-open"]


class Breaker:
    """Skip one source after consecutive failures, then let a single call try it again.

    failures: how many in a row open it; 0 disables it. seconds: how long it stays open.
    changed: called with each new state, under the breaker's lock so that changes are reported in order.
    """

    def __init__(
        self,
        failures: int,
        seconds: float,
        clock: Callable[[], float],
        changed: Callable[[State], None] = lambda state: None,
    ) -> None:
        self._failures = failures
        self._seconds = seconds
        self._clock = clock
        self._changed = changed
        self._lock = threading.Lock()
        self._state: State = "closed"
        self._row = 0  # failures since the last success
        self._rests_until = 0.0  # meaningful unless closed

    def wait(self) -> float | None:
        """Return the seconds until the source may be asked; None if it may be asked now."""
        with self._lock:
            return self._wait()

    def admit(self) -> float | None:
        """Admit one call, whose end must then be reported; return None if admitted, else the seconds to wait."""
        with self._lock:
            if (wait := self._wait()) is not None:
                return wait
            if self._state == "open":
                self._become("half-open")
            return None

    def succeeded(self) -> None:
        """Record a call that was answered."""
        with self._lock:
            self._row = 0
            self._become("closed")

    def failed(self, *, counts: bool, retry_after: float | None = None) -> None:
        """Record a failed call.

        counts: timeout, unreachable, 5xx or 429; other failures neither extend nor end a row.
        """
        with self._lock:
            if not self._failures:
                return
            was_half_open = self._state == "half-open"
            self._row += counts
            rest = min(retry_after or 0.0, MAX_RETRY_AFTER)
            if was_half_open or (counts and self._row >= self._failures):
                rest = max(rest, self._seconds)
            if rest:
                until = self._clock() + rest
                # The longer of two rests holds: a late answer must not cut one short.
                self._rests_until = until if self._state == "closed" else max(self._rests_until, until)
                self._become("open")

    def release(self) -> None:
        """Withdraw a call that was admitted and not made."""
        with self._lock:
            if self._state == "half-open":
                self._become("open")

    def _wait(self) -> float | None:
        if self._state == "closed":
            return None
        left = self._rests_until - self._clock()
        if left > 0:
            return left
        return self._seconds if self._state == "half-open" else None

    def _become(self, state: State) -> None:
        if state != self._state:
            self._state = state
            self._changed(state)
