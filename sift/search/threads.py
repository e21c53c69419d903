"""Threads for the calls of a search: an executor whose jobs begin at once or, on a host out of threads, never."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

Job = Callable[[], None]


class Threads:
    """Run jobs in the threads of an executor.

    most: how many threads may exist. They start with the first jobs, so this can be made before a fork.
    make: makes an executor of that many threads.
    """

    def __init__(self, most: int, make: Callable[[int], Executor] | None = None) -> None:
        self._most = max(1, most)
        self._make = make or (lambda threads: ThreadPoolExecutor(threads, "sift-source"))
        self._executor = self._make(self._most)
        self._lock = threading.Lock()

    def run(self, job: Job, ended: Job) -> bool:
        """Run a job, then `ended`; return False, and run neither, if no thread can be started. Neither may raise."""
        waiting = [job]

        def begin() -> None:
            if (taken := _take(waiting)) is not None:
                taken()
                ended()

        while True:
            executor = self._executor
            try:
                executor.submit(begin)
            except RuntimeError:
                if self._replace(executor):
                    # It keeps the job all the same, for its next free thread; one may have begun it already.
                    return _take(waiting) is None
            else:
                return True

    def _replace(self, failed: Executor) -> bool:
        """Give up an executor that could not start a thread; return False if another job has done so already.

        It would count each job that it kept as one more idle thread, and later jobs would wait for those.
        """
        with self._lock:
            if self._executor is not failed:
                return False
            self._executor = self._make(self._most)
        failed.shutdown(wait=False)  # what its threads are doing goes on
        return True


def _take(waiting: list[Job]) -> Job | None:
    """Return the job to the first who asks."""
    try:
        return waiting.pop()
    except IndexError:
        return None
