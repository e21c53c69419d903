"""Noticing that there may be batches, at next to no cost: what works on them is loaded then."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol


class Workers(Protocol):
    """What works on batches, once started, as `Crew` does."""

    def start(self) -> None: ...

    def wake(self) -> None: ...

    def stop(self) -> None: ...

    def join(self, seconds: float) -> None: ...


class Watch:
    """Starts the workers of a process when there may be batches.

    It has no thread of its own: whoever serves calls `look` about once a second. Before the first look nothing can
    start, so that an application that nobody serves starts no thread.
    may_hold_batches: must be as cheap as looking for a file. make: returns the workers.
    """

    def __init__(self, may_hold_batches: Callable[[], bool], make: Callable[[], Workers]) -> None:
        self._may_hold_batches = may_hold_batches
        self._make = make
        self._lock = threading.Lock()
        self._workers: Workers | None = None
        self._is_open = False

    def look(self) -> None:
        """Start the workers if there may be something to do for them. Never raises for want of threads."""
        self._is_open = True
        if self._workers is None and self._may_hold_batches():
            self._start()

    def wake(self) -> None:
        """Have the workers look for work at once: something was submitted by this process."""
        if self._workers is None and self._is_open:
            self._start()
        if self._workers is not None:
            self._workers.wake()

    def stop(self) -> None:
        """Have the workers end and give back what is under way; return at once. Nothing starts after that."""
        self._is_open = False
        if self._workers is not None:
            self._workers.stop()

    def close(self, seconds: float = 5.0) -> None:
        """Stop, and wait so long at most."""
        self.stop()
        if self._workers is not None:
            self._workers.join(seconds)

    def _start(self) -> None:
        with self._lock:
            if self._workers is None and self._is_open:
                workers = self._make()
                try:
                    workers.start()
                except RuntimeError:  # the host lets us start no more threads; the next look tries again
                    return
                self._workers = workers
