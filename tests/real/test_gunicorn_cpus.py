"""Which CPUs gunicorn's workers run on with the shipped settings (docs/decisions.md 21)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.watch import workers
from tests.service import Service
from tests.vendors import Vendors
from tests.waiting import wait_for

MINE = os.sched_getaffinity(0)
ALL = set(sorted(MINE)[:2])
pytestmark = pytest.mark.skipif(len(ALL) < 2, reason="there is only one CPU here, so there is nothing to choose")


@pytest.fixture(autouse=True)
def two_cpus() -> Iterator[None]:
    """Limit the services started here to two CPUs."""
    os.sched_setaffinity(0, ALL)
    yield
    os.sched_setaffinity(0, MINE)


SETTLED = ("-k", "tests.real.patient.Settled")


def cpus(service: Service) -> list[set[int]]:
    """Return the CPUs that each worker may use."""
    return [os.sched_getaffinity(pid) for pid in workers(service)]


def have_cpus_of_their_own(service: Service, count: int) -> bool:
    found = cpus(service)
    return len(found) == count == len(set().union(*found)) and all(len(each) == 1 for each in found)


def test_two_workers_each_stay_on_a_cpu_of_their_own(vendors: Vendors, tmp_path: Path) -> None:
    with Service(tmp_path, vendors.environ | {"WEB_CONCURRENCY": "2"}, SETTLED) as service:
        wait_for(lambda: have_cpus_of_their_own(service, 2))
        assert service.process is not None
        assert os.sched_getaffinity(service.process.pid) == ALL  # the master, which assigns them, is not pinned
        assert service.search("anything")["sources_failed"] == []


@pytest.mark.parametrize("turn", [0, 1], ids=["first", "second"])
def test_worker_in_the_place_of_a_lost_one_takes_its_cpu(turn: int, vendors: Vendors, tmp_path: Path) -> None:
    """Two workers on one CPU would halve the capacity of the service until it is restarted."""
    with Service(tmp_path, vendors.environ | {"WEB_CONCURRENCY": "2"}, SETTLED) as service:
        wait_for(lambda: have_cpus_of_their_own(service, 2))
        before = sorted(workers(service))
        lost = before[turn]
        its_cpu = os.sched_getaffinity(lost)
        os.kill(lost, signal.SIGKILL)
        wait_for(lambda: lost not in workers(service) and have_cpus_of_their_own(service, 2))
        (new,) = set(workers(service)) - set(before)
        assert os.sched_getaffinity(new) == its_cpu


def test_reload_leaves_each_worker_a_cpu_of_its_own(vendors: Vendors, tmp_path: Path) -> None:
    with Service(tmp_path, vendors.environ | {"WEB_CONCURRENCY": "2"}, SETTLED) as service:
        wait_for(lambda: have_cpus_of_their_own(service, 2))
        before = set(workers(service))
        assert service.process is not None
        service.process.send_signal(signal.SIGHUP)
        wait_for(lambda: not before & set(workers(service)) and have_cpus_of_their_own(service, 2))


@pytest.mark.parametrize(
    "settings",
    [{"SIFT_CPU_AFFINITY": "off"}, {"WEB_CONCURRENCY": "3"}],
    ids=["switched off", "more workers than CPUs"],
)
def test_workers_are_left_to_the_kernel(settings: dict[str, str], vendors: Vendors, tmp_path: Path) -> None:
    """Only the kernel can share CPUs evenly among more workers than there are CPUs."""
    with Service(tmp_path, vendors.environ | settings) as service:
        service.search("anything")
        assert all(each == ALL for each in cpus(service))


def test_others_crowd_its_cpu_the_worker_leaves_it(vendors: Vendors, tmp_path: Path) -> None:
    """docs/decisions.md 21: all of its threads, so that a search waits behind nobody's work."""
    with Service(tmp_path, vendors.environ) as service, ExitStack() as stack:
        (pid,) = workers(service)
        service.search("anything")  # starts threads
        its_cpu = min(os.sched_getaffinity(pid))
        for _ in range(4):
            busy = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(busy.kill)
            os.sched_setaffinity(busy.pid, {its_cpu})
        threads = [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
        assert len(threads) > 3

        def has_left() -> bool:
            service.search("something to do")  # it stays while it has no use for the CPU itself
            return all(os.sched_getaffinity(thread) == ALL for thread in threads)

        wait_for(has_left)
        assert service.search("anything else")["sources_failed"] == []
