"""Threads for the calls of a search: started when they are needed, and kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

Job = Callable[[], None]


def start_thread(job: Job, name: str = "sift-source") -> None:
    """Run a job in a new thread. Raises RuntimeError if the host allows no more of them."""
    # As daemons they do not keep a worker from ending; a call that is still running then has missed its deadline.
    threading.Thread(target=job, name=name, daemon=True).start()


class Threads:
    """Run jobs at once, each in a thread of its own, or not at all.

    No queue, unlike an executor: what cannot begin now would begin after its time, and an executor that fails to start
    a thread keeps the job for later although it raises.

    most: how many threads may exist. start: starts one, or raises RuntimeError.
    """

    def __init__(self, most: int, start: Callable[[Job], None] = start_thread) -> None:
        self._most = most
        self._start = start
        self._lock = threading.Lock()
        self._count = 0
        self._idle: list[SimpleQueue[tuple[Job, Job]]] = []  # the inbox of each thread that waits, the latest last

    def run(self, job: Job, ended: Job) -> bool:
        """Run a job, then `ended`; return False, and run neither, if there is no thread for it. Neither may raise."""
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
            if inbox is None:
                if self._count >= self._most:
                    return False
                self._count += 1
        if inbox is not None:
            inbox.put((job, ended))
            return True
        inbox = SimpleQueue()
        inbox.put((job, ended))
        try:
            self._start(lambda: self._work(inbox))
        except RuntimeError:
            with self._lock:
                self._count -= 1
            return False
        return True

    def _work(self, inbox: SimpleQueue[tuple[Job, Job]]) -> None:
        while True:
            job, ended = inbox.get()
            job()
            with self._lock:
                self._idle.append(inbox)
            ended()  # not before: who hears of it may have the next job, and finds this thread free
            del job, ended  # an idle thread must not keep a query in memory
