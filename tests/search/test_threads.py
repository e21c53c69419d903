"""Threads for the calls of a search: on a host that allows no more of them, a job is refused and never runs."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import pytest

from sift.search.threads import Threads
from tests.fakes import PATIENCE
from tests.waiting import wait_for


class ExhaustedExecutor(Executor):
    """Keep each job and raise, as ThreadPoolExecutor does when it cannot start a thread."""

    def __init__(self, *, begins: bool = False) -> None:
        self.kept: list[Callable[..., Any]] = []
        self._begins = begins

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Keep a job, let a thread that just became free begin it if so wanted, and raise."""
        self.kept.append(fn)
        if self._begins:
            fn()
        raise RuntimeError("can't start new thread")


def test_job_runs_in_another_thread_and_its_end_is_told_after_it() -> None:
    """contract: Operations: the calls of a query run at the same time."""
    events: list[object] = []
    over = threading.Event()
    assert Threads(1).run(
        lambda: events.append(threading.current_thread()), lambda: (events.append("end"), over.set())[1]
    )
    assert over.wait(PATIENCE)
    thread, end = events
    assert thread is not threading.current_thread()
    assert end == "end"


def test_no_thread_can_be_started_job_is_refused_and_never_runs() -> None:
    """contract: Skips: a call for which there is no thread is not made, then or later."""
    executor, ran = ExhaustedExecutor(), list[str]()
    assert not Threads(1, lambda _: executor).run(lambda: ran.append("job"), lambda: ran.append("end"))
    for begin in executor.kept:
        begin()
    assert ran == []


def test_thread_that_became_free_has_begun_the_job_it_is_not_refused() -> None:
    """contract: Skips: what was begun counts as made, although the executor raised."""
    ran = list[str]()
    assert Threads(1, lambda _: ExhaustedExecutor(begins=True)).run(
        lambda: ran.append("job"), lambda: ran.append("end")
    )
    assert ran == ["job", "end"]


def test_host_has_threads_again_the_refused_job_stays_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    """contract: Skips: the same with Python's executor, which does keep what it could not start."""
    threads, ran, over = Threads(1), list[str](), threading.Event()
    with monkeypatch.context() as host:

        def refuse(thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        host.setattr(threading.Thread, "start", refuse)
        assert not threads.run(lambda: ran.append("refused"), lambda: None)
    assert threads.run(lambda: ran.append("run"), over.set)
    assert over.wait(PATIENCE)
    assert ran == ["run"]


def test_host_has_threads_again_jobs_have_a_thread_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """contract: Operations: nothing queues inside, after a time without threads neither."""
    threads, together = Threads(4), threading.Barrier(5)
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        release.wait(PATIENCE)

    def meet() -> None:
        together.wait(PATIENCE)

    assert threads.run(hold, lambda: None)
    assert held.wait(PATIENCE)
    with monkeypatch.context() as host:

        def refuse(thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        host.setattr(threading.Thread, "start", refuse)
        assert [threads.run(lambda: None, lambda: None) for _ in range(8)] == [False] * 8
    release.set()
    for _ in range(4):
        assert threads.run(meet, lambda: None)
    together.wait(PATIENCE)


def test_job_has_ended_nothing_of_it_is_kept() -> None:
    """R9: a job holds a query, which must not stay in memory with an idle thread."""

    class Job:
        def __call__(self) -> None:
            pass

    threads, job = Threads(1), Job()
    gone = weakref.ref(job)
    assert threads.run(job, lambda: None)
    del job
    wait_for(lambda: gone() is None)
