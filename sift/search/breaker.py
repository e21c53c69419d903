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
from typing import Literal, NamedTuple

MAX_RETRY_AFTER = 300.0
"""The longest rest in seconds that a vendor's `Retry-After` can ask for."""

State = Literal["closed", "open", "half-open"]


class Permit(NamedTuple):
    """The admission of one call.

    epoch: counts the breaker's changes of state, up to the one in which the call was admitted.
    """

    epoch: int
    is_trial: bool = False


class Breaker:
    """Skip one source after failures in a row, then let a single call try it again.

    failures: how many in a row open it; 0 disables it. seconds: how long it then stays open.
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
        self._epoch = 0
        self._row = 0  # counted failures since the last answer
        self._rests_until = 0.0  # meaningful unless closed

    def wait(self) -> float | None:
        """Return the seconds until the source may be asked; None if it may be asked now."""
        with self._lock:
            return self._wait()

    def admit(self) -> Permit | float:
        """Admit one call, whose end must then be reported, or return the seconds to wait."""
        with self._lock:
            if (wait := self._wait()) is not None:
                return wait
            if self._state == "closed":
                return Permit(self._epoch)
            self._become("half-open")
            return Permit(self._epoch, is_trial=True)

    def succeeded(self, permit: Permit) -> None:
        """Record that a call was answered."""
        with self._lock:
            if permit.epoch == self._epoch:
                self._row = 0
                self._become("closed")

    def failed(
        self, permit: Permit, *, counts: bool, blames_query: bool = False, retry_after: float | None = None
    ) -> None:
        """Record that a call failed.

        counts: whether the failure counts. blames_query: whether the query may have caused it.
        retry_after: seconds for which the vendor asked to be left alone.
        """
        with self._lock:
            if not self._failures:
                return
            rest = min(retry_after or 0.0, MAX_RETRY_AFTER)
            if permit.epoch == self._epoch:
                rest = max(rest, self._judge(permit, counts, blames_query))
            if rest:
                until = self._clock() + rest
                self._rests_until = until if self._state == "closed" else max(self._rests_until, until)
                self._become("open")

    def withdrawn(self, permit: Permit) -> None:
        """Record that a call was not made after all; without effect once its end was recorded."""
        with self._lock:
            if permit.is_trial and permit.epoch == self._epoch:
                self._become("open")

    def _judge(self, permit: Permit, counts: bool, blames_query: bool) -> float:
        """Return the seconds of rest that a failure of the current state leads to."""
        if permit.is_trial:
            if blames_query:
                self._become("open")  # its rest is over, so the next call is the trial
                return 0.0
            return self._seconds
        if counts and (self._row or not blames_query):
            self._row += 1
        return self._seconds if self._row >= self._failures else 0.0

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
            self._epoch += 1
            self._changed(state)
