"""Threads that end with the process, whatever they are doing."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any

Job = tuple["Future[Any]", Callable[[], Any]]


class Daemons:
    """Run jobs in up to `most` threads, started as they are needed.

    An executor's threads are waited for at the end of the interpreter, so a job that cannot be cancelled would hold up
    a stop.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._lock = threading.Lock()
        self._started = 0
        self._idle = threading.Semaphore(0)
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        weakref.finalize(self, self._jobs.put, None)

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        """Run a job in the next free thread, and return its outcome to be. Raises RuntimeError if no thread starts."""
        future: Future[Any] = Future()
        self._jobs.put((future, work))
        try:
            self._start_if_needed()
        except RuntimeError:
            future.cancel()
            raise
        return future

    def _start_if_needed(self) -> None:
        with self._lock:
            if self._started < self._most and not self._idle.acquire(blocking=False):
                threading.Thread(target=_work, args=(self._jobs, self._idle), name=self._name, daemon=True).start()
                self._started += 1


def _work(jobs: SimpleQueue[Job | None], idle: threading.Semaphore) -> None:
    """Do jobs until there is a None, which is left for the other threads."""
    while True:
        try:
            job = jobs.get_nowait()
        except Empty:
            idle.release()
            job = jobs.get()
        if job is None:
            jobs.put(None)
            return
        _do(*job)
        del job  # it may hold a name


def _do(future: Future[Any], work: Callable[[], Any]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            found = work()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(found)
