"""Threads for the calls of a search: an executor whose jobs begin at once or, on a host out of threads, never."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

Job = Callable[[], None]


class Threads:
    """Run jobs in the threads of an executor.

    most: how many threads may exist. They start with the first jobs, so this can be made before a fork.
    """

    def __init__(self, most: int, executor: Executor | None = None) -> None:
        self._executor = executor or ThreadPoolExecutor(max(1, most), "sift-source")

    def run(self, job: Job, ended: Job) -> bool:
        """Run a job, then `ended`; return False, and run neither, if no thread can be started. Neither may raise."""
        waiting = [job]

        def begin() -> None:
            if (taken := _take(waiting)) is not None:
                taken()
                ended()

        try:
            self._executor.submit(begin)
        except RuntimeError:
            # The executor keeps the job all the same, for the next thread that is free; one may have begun it already.
            return _take(waiting) is None
        return True


def _take(waiting: list[Job]) -> Job | None:
    """Return the job to the first who asks."""
    try:
        return waiting.pop()
    except IndexError:
        return None
