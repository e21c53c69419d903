"""Threads for the calls of a search: a job runs at once, or never."""

from __future__ import annotations

import threading
import weakref

from sift.search.threads import Job, Threads
from tests.fakes import PATIENCE
from tests.waiting import wait_for


class Starter:
    """Start real threads, as long as the host allows it."""

    def __init__(self) -> None:
        self.started: list[threading.Thread] = []
        self.is_refusing = False

    def __call__(self, job: Job) -> None:
        if self.is_refusing:
            raise RuntimeError("can't start new thread")
        self.started.append(threading.Thread(target=job, daemon=True))
        self.started[-1].start()


class Held:
    """A job that lasts until the test ends it."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.thread: threading.Thread | None = None
        self._over = threading.Event()

    def __call__(self) -> None:
        self.thread = threading.current_thread()
        self.began.set()
        assert self._over.wait(PATIENCE)

    def end(self) -> None:
        self._over.set()


def nothing() -> None:
    """Hear of the end of a job."""


def running(pool: Threads) -> Held:
    """Run a job, and wait until it has begun."""
    job = Held()
    assert pool.run(job, nothing)
    assert job.began.wait(PATIENCE)
    return job


def test_jobs_at_the_same_time_have_a_thread_each_and_later_ones_reuse_them() -> None:
    """contract: Operations: nothing queues inside, and an idle thread is used before another is started."""
    start = Starter()
    pool = Threads(8, start)
    first, second = running(pool), running(pool)
    assert first.thread is not second.thread
    first.end()
    wait_for(lambda: len(pool._idle) == 1)
    third = running(pool)
    assert third.thread is first.thread
    assert len(start.started) == 2
    second.end()
    third.end()


def test_job_has_ended_its_thread_is_free_for_the_next_one() -> None:
    """contract: Operations: a request that goes on at once, or the next one, never finds too few threads."""
    pool, outcomes = Threads(1, Starter()), list[bool]()
    last = Held()
    last.end()
    assert pool.run(nothing, lambda: outcomes.append(pool.run(last, nothing)))
    assert last.began.wait(PATIENCE)
    assert outcomes == [True]


def test_all_threads_are_busy_job_is_refused_and_never_runs() -> None:
    """contract: Skips: a job that cannot begin now is refused; it does not wait for a thread."""
    pool = Threads(1, Starter())
    busy, refused = running(pool), Held()
    assert not pool.run(refused, nothing)
    busy.end()
    wait_for(lambda: len(pool._idle) == 1)
    running(pool).end()
    assert not refused.began.is_set()


def test_thread_cannot_be_started_job_is_refused_and_never_runs() -> None:
    """contract: Skips: a host out of threads costs the job that needed one, and nothing once it has some again."""
    start = Starter()
    pool = Threads(2, start)
    start.is_refusing = True
    refused = [Held() for _ in range(5)]
    assert [pool.run(job, nothing) for job in refused] == [False] * 5
    start.is_refusing = False
    jobs = [running(pool), running(pool)]  # what failed to start does not count as a thread
    for job in jobs:
        job.end()
    wait_for(lambda: len(pool._idle) == 2)
    assert not any(job.began.is_set() for job in refused)


def test_thread_is_idle_it_keeps_nothing_of_its_last_job() -> None:
    """R9: a job holds a query, which must not stay in memory with an idle thread."""
    pool = Threads(1, Starter())
    job = running(pool)
    job.end()
    wait_for(lambda: len(pool._idle) == 1)
    gone = weakref.ref(job)
    del job
    wait_for(lambda: gone() is None)
