"""The health of each source: what its calls came to, for the status, and when that changes, for the log."""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sift.observe import NullObserver
from sift.search.model import Skip

_log = logging.getLogger("sift.health")
RECENT = 256
"""Calls of a source whose durations are known."""
_CAPS = ("daily cap", "monthly quota")  # how the reason of a skip for want of credits begins


class _Failure(NamedTuple):
    """A failed call: its word, and its end in ISO 8601 with `Z`."""

    reason: str
    at: str


class _Health(NamedTuple):
    """The calls of a source: those that failed since the last answer, and the last one that ever did."""

    failures: int
    last_failure: _Failure | None


class _Tally:
    """The calls of a source since the start: all, those that failed, and the seconds of the last ones."""

    __slots__ = ("calls", "failures", "seconds")

    def __init__(self) -> None:
        self.calls = self.failures = 0
        self.seconds: deque[float] = deque(maxlen=RECENT)


class SourceHealth(NullObserver):
    """Follows the calls of all sources. Logs the first failure after an answer, and the first answer after a failure.

    now: the current UTC time.
    """

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._called: dict[str, _Health] = {}
        self._tallies: dict[str, _Tally] = {}

    def call_ended(self, source: str, outcome: str, seconds: float, credits: int, detail: str = "") -> None:
        """Take note of a call."""
        with self._lock:  # the records are written in it, so that they are in the order of the calls
            tally = self._tallies.setdefault(source, _Tally())
            tally.calls += 1
            tally.failures += outcome != "ok"
            tally.seconds.append(seconds)
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
        """Return state, the last failure if there was one, and the numbers of a source (contract: Operations).

        skip: why the source cannot be asked now, if so.
        """
        health = self._called.get(source)
        status: dict[str, Any] = {"state": _state(health, skip)}
        if health and health.last_failure:
            status["last_failure"] = health.last_failure._asdict()
        with self._lock:
            tally = self._tallies.get(source) or _Tally()
            calls, failures, seconds = tally.calls, tally.failures, sorted(tally.seconds)
        return status | {
            "calls": calls,
            "failures": failures,
            "p50_ms": _quantile_ms(seconds, 0.5),
            "p95_ms": _quantile_ms(seconds, 0.95),
        }


def _quantile_ms(ordered: Sequence[float], part: float) -> float | None:
    """Return a quantile of durations in milliseconds, one that was measured; None without any."""
    return round(ordered[math.ceil(part * len(ordered)) - 1] * 1000, 1) if ordered else None


def _state(health: _Health | None, skip: Skip | None) -> str:
    if skip:
        return "capped" if skip.reason.startswith(_CAPS) else "resting"
    if health is None:
        return "idle"
    return "failing" if health.failures else "ok"
