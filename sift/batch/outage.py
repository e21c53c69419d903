"""A store that does not answer: how long its workers leave it alone, and what the log says."""

from __future__ import annotations

import logging
import threading

FIRST, LONGEST = 0.5, 8.0
"""Seconds of the pause after a failure; it doubles until the store answers."""
_log = logging.getLogger("sift.batch")


class Outage:
    """Whether the store answers, as the threads of a process have last seen it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pause = 0.0

    def failed(self) -> float:
        """Take note of a failure, and return the seconds to wait. The first one is logged."""
        with self._lock:
            is_first, self._pause = not self._pause, min(LONGEST, self._pause * 2 or FIRST)
            if is_first:
                _log.warning("batches_paused", extra={"fields": {"reason": "store"}})
            return self._pause

    def answered(self) -> None:
        """Take note of an answer. The first one after a failure is logged."""
        if self._pause:
            with self._lock:
                if self._pause:
                    self._pause = 0.0
                    _log.info("batches_resumed")
