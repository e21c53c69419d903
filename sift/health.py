"""The health of each source: what its last call came to, for the status, and when that changes, for the log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sift.observe import NullObserver
from sift.search.model import Skip

_log = logging.getLogger("sift.health")
_CAPS = ("daily cap", "monthly quota")  # how the reason of a skip for want of credits begins


class _Failure(NamedTuple):
    """A failed call: its word, and its end in ISO 8601 with `Z`."""

    reason: str
    at: str


class _Health(NamedTuple):
    """The calls of a source: those that failed since the last answer, and the last one that ever did."""

    failures: int
    last_failure: _Failure | None


class SourceHealth(NullObserver):
    """Follows the calls of all sources. Logs the first failure after an answer, and the first answer after a failure.

    now: the current UTC time.
    """

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._called: dict[str, _Health] = {}

    def call_ended(self, source: str, outcome: str, seconds: float, credits: int, detail: str = "") -> None:
        """Take note of a call."""
        with self._lock:  # the records are written in it, so that they are in the order of the calls
            failures, last = self._called.get(source, (0, None))
            if outcome == "ok":
                self._called[source] = _Health(0, last)
                if failures:
                    _log.info("source_up", extra={"fields": {"source": source, "failures": failures}})
                return
            at = self._now().isoformat(timespec="seconds").replace("+00:00", "Z")
            self._called[source] = _Health(failures + 1, _Failure(outcome, at))
            if not failures:
                known = {"detail": detail} if detail else {}
                _log.warning("source_down", extra={"fields": {"source": source, "reason": outcome, **known}})

    def status(self, source: str, skip: Skip | None) -> dict[str, Any]:
        """Return `state` and, once a call has failed, `last_failure` of a source (contract: Operations).

        skip: why the source cannot be asked now, if so.
        """
        health = self._called.get(source)
        status: dict[str, Any] = {"state": _state(health, skip)}
        if health and health.last_failure:
            status["last_failure"] = health.last_failure._asdict()
        return status


def _state(health: _Health | None, skip: Skip | None) -> str:
    if skip:
        return "capped" if skip.reason.startswith(_CAPS) else "resting"
    if health is None:
        return "idle"
    return "failing" if health.failures else "ok"
