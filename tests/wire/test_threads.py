"""Threads that end with the process."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from sift.wire.threads import Daemons
from tests.fakes import PATIENCE
from tests.waiting import wait_for


def alive(name: str) -> int:
    """Count the threads of a name."""
    return sum(thread.name == name for thread in threading.enumerate())


def test_jobs_come_to_their_values_and_errors() -> None:
    daemons = Daemons(2, "t-values")
    assert daemons.submit(lambda: 5).result(PATIENCE) == 5
    with pytest.raises(ZeroDivisionError):
        daemons.submit(lambda: 1 / 0).result(PATIENCE)
    assert daemons.submit(lambda: 6).result(PATIENCE) == 6


def test_jobs_one_after_another_share_a_thread_and_no_more_than_allowed_are_started() -> None:
    daemons = Daemons(2, "t-few")
    go = threading.Event()

    def wait() -> bool:
        return go.wait(PATIENCE)

    for _ in range(3):
        daemons.submit(lambda: None).result(PATIENCE)
        wait_for(lambda: daemons._idle._value)  # it has come back for more
    assert alive("t-few") == 1
    waiting = [daemons.submit(wait) for _ in range(5)]
    assert alive("t-few") == 2
    go.set()
    assert all(each.result(PATIENCE) for each in waiting)


def test_job_that_nobody_wants_any_more_is_not_done() -> None:
    daemons = Daemons(1, "t-cancel")
    begun, go = threading.Event(), threading.Event()

    def first() -> bool:
        begun.set()
        return go.wait(PATIENCE)

    done: list[int] = []
    held = daemons.submit(first)
    assert begun.wait(PATIENCE)
    unwanted, last = daemons.submit(lambda: done.append(1)), daemons.submit(lambda: done.append(2))
    assert unwanted.cancel()
    go.set()
    last.result(PATIENCE)
    assert (held.result(PATIENCE), done) == (True, [2])


def test_nobody_uses_them_any_more_they_end() -> None:
    daemons = Daemons(2, "t-end")
    jobs: list[Callable[[], None]] = [lambda: None] * 4
    for each in [daemons.submit(job) for job in jobs]:
        each.result(PATIENCE)
    del daemons, each
    gc.collect()
    wait_for(lambda: alive("t-end") == 0)


def test_process_ends_while_a_job_hangs() -> None:
    """contract: Operations: a name server that hangs holds up no stop."""
    script = (
        "import threading; from sift.wire.threads import Daemons\n"
        "begun = threading.Event()\n"
        "Daemons(1, 'x').submit(lambda: (begun.set(), threading.Event().wait()))\n"
        "begun.wait(); print('over')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout == "over\n"
