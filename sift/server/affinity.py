"""Which CPU a worker is pinned to, and when it is not (docs/decisions.md 21)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

LOOK_EVERY = 1.0
CROWDED, CROWDED_LOOKS = 0.6, 2
"""A worker leaves its CPU when others used more than this share of it, so many times in a row."""
WANTED = 0.02
"""It does not leave while it uses less than this share itself: nobody waits then, and it would come back late."""
CALM, CALM_LOOKS = 0.25, 30
"""It takes the CPU again when others used less than this share of all CPUs, so many times in a row."""


class Pin(NamedTuple):
    """Whether a worker keeps to its CPU; and how many looks in a row have spoken against that."""

    is_kept: bool = True
    against: int = 0


class Usage(NamedTuple):
    """CPU seconds used so far, at a monotonic time: by this process, and by everybody on each CPU."""

    at: float
    own: float
    by_cpu: Mapping[int, float]


def choose_cpu(cpus: Sequence[int], held: Sequence[int | None], workers: int) -> int | None:
    """Return one of `cpus` for a new worker, or None when there are fewer CPUs than workers.

    held: the CPUs of the running workers, newest first; None for a worker that has none. During a reload old and
    new workers run side by side, and only the newest `workers` remain.
    """
    if workers > len(cpus):
        return None
    staying = held[: workers - 1]
    return min(cpus, key=lambda cpu: (staying.count(cpu), held.count(cpu)))


def decide(pin: Pin, own: float, on_its_cpu: float, on_all: float) -> Pin:
    """Return what follows from a look.

    own: the share of one CPU that the worker used. on_its_cpu, on_all: what others used of its CPU, and of all CPUs.
    """
    is_against = on_its_cpu > CROWDED and own > WANTED if pin.is_kept else on_all < CALM
    against = pin.against + 1 if is_against else 0
    if against == (CROWDED_LOOKS if pin.is_kept else CALM_LOOKS):
        return Pin(not pin.is_kept)
    return Pin(pin.is_kept, against)


def others(before: Usage, now: Usage, cpus: Collection[int]) -> float:
    """Return the share of some CPUs, on which this process ran, that others used."""
    used = sum(now.by_cpu.get(cpu, 0.0) - before.by_cpu.get(cpu, 0.0) for cpu in cpus)
    return (used - (now.own - before.own)) / (now.at - before.at) / len(cpus)


class Pinned:
    """A worker's process on its CPU, which it leaves while others crowd it.

    cpus: those it may use otherwise. usage: reads it; raises OSError where the system does not tell.
    move: makes the process run on these CPUs.
    """

    def __init__(
        self,
        cpu: int,
        cpus: Collection[int],
        usage: Callable[[], Usage] | None = None,
        move: Callable[[Collection[int]], object] | None = None,
    ) -> None:
        self._cpu, self._cpus = cpu, cpus
        self._usage, self._move = usage or read_usage, move or move_threads
        self._pin = Pin()
        self._before: Usage | None = None
        self._move({cpu})

    def look(self) -> None:
        """Look who uses the CPUs, and stay, leave or come back."""
        try:
            now = self._usage()
        except OSError:
            return
        before, self._before = self._before, now
        if before is not None:
            own = (now.own - before.own) / (now.at - before.at)
            pin = decide(self._pin, own, others(before, now, {self._cpu}), others(before, now, self._cpus))
            if pin.is_kept != self._pin.is_kept:
                self._move({self._cpu} if pin.is_kept else self._cpus)
            self._pin = pin


def read_usage() -> Usage:
    """Return the usage of this moment. Interrupts do not count: they belong to nobody."""
    rows = [line.split() for line in Path("/proc/stat").read_text().splitlines() if line.startswith("cpu")]
    tick = os.sysconf("SC_CLK_TCK")
    by_cpu = {int(row[0][3:]): sum(map(int, row[1:4])) / tick for row in rows if row[0] != "cpu"}
    return Usage(time.monotonic(), time.process_time(), by_cpu)


def move_threads(cpus: Collection[int]) -> None:
    """Make every thread of this process run on these CPUs; those started later follow the thread that starts them."""
    for _ in range(2):  # the second time for threads that were started during the first
        for thread in os.listdir("/proc/self/task"):  # noqa: PTH208 - names, not paths
            with suppress(OSError):  # it has ended; the CPU is offline; a sandbox forbids it
                os.sched_setaffinity(int(thread), cpus)
