"""Visits under way: a claim whose page is being opened, and until when it holds."""

from __future__ import annotations

import threading
from collections.abc import Callable

from sift.batch.model import Claim


class Visit:
    """One claim at work in one thread.

    renewed: when its lease was last asked for, in seconds of the monotonic clock. until: when it ends.
    """

    def __init__(self, claim: Claim, owner: str, began: float, lease: float) -> None:
        self.claim = claim
        self.owner = owner
        self.began = self.renewed = began
        self._lease = lease
        self._is_ended = False

    @property
    def until(self) -> float:
        """When the host may be another's."""
        return self.renewed + self._lease

    def end(self) -> None:
        """Have the thread stop soon, from another one."""
        self._is_ended = True

    def is_ended(self) -> bool:
        """Return whether nobody wants the page any more."""
        return self._is_ended


class Visits:
    """The visits of a process. clock: monotonic seconds."""

    def __init__(self, clock: Callable[[], float], lease: float) -> None:
        self._clock = clock
        self._lease = lease
        self._lock = threading.Lock()
        self._under_way: set[Visit] = set()

    def begin(self, claim: Claim, owner: str, asked: float) -> Visit:
        """Return the visit of a claim that was asked for at this moment."""
        visit = Visit(claim, owner, asked, self._lease)
        with self._lock:
            self._under_way.add(visit)
        return visit

    def over(self, visit: Visit) -> None:
        """Forget a visit whose end was reported."""
        with self._lock:
            self._under_way.discard(visit)

    def all(self) -> list[Visit]:
        """Return those under way."""
        with self._lock:
            return list(self._under_way)
