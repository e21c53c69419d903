"""Which CPU a worker is pinned to: one that no other worker has (docs/decisions.md 21)."""

from __future__ import annotations

import os
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sift.server.affinity import (
    CALM_LOOKS,
    CROWDED_LOOKS,
    Pin,
    Pinned,
    Usage,
    choose_cpu,
    decide,
    others,
    read_usage,
)

Step = str | int
"""What happens to gunicorn: a reload, or the death of the worker at this index."""


@given(st.data(), st.integers(1, 6), st.integers(0, 6), st.lists(st.just("reload") | st.integers(0, 5), max_size=8))
def test_workers_never_share_a_cpu_once_a_change_is_over(
    data: st.DataObject, workers: int, spare: int, steps: list[Step]
) -> None:
    """Whatever was reloaded or died, and in whatever order the CPUs are listed."""
    cpus = list(range(workers + spare))
    running: list[int | None] = []  # newest first, like `held`

    def start() -> None:
        running.insert(0, choose_cpu(data.draw(st.permutations(cpus)), tuple(running), workers))

    for _ in range(workers):
        start()
    for step in steps:
        if step == "reload":  # gunicorn starts new workers, then ends the oldest
            for _ in range(workers):
                start()
            del running[workers:]
        else:
            del running[int(step) % workers]
            start()
        assert None not in running
        assert len(set(running)) == workers


def test_more_workers_than_cpus_none_is_chosen() -> None:
    """Only the kernel can share the CPUs evenly; a worker added beside pinned ones is not pinned."""
    assert choose_cpu([0, 1], (), 3) is None
    assert choose_cpu([0, 1], (1, 0), 3) is None


def test_worker_that_is_not_pinned_leaves_every_cpu_free() -> None:
    assert choose_cpu([0, 1], (None,), 2) in (0, 1)
    assert choose_cpu([0, 1], (None, 1), 2) == 0


def after(pin: Pin, looks: list[tuple[float, float]], own: float = 0.3) -> list[bool]:
    """Return whether the worker keeps to its CPU after each look."""
    kept = []
    for on_its_cpu, on_all in looks:
        pin = decide(pin, own, on_its_cpu, on_all)
        kept.append(pin.is_kept)
    return kept


BUSY, QUIET = (0.8, 0.9), (0.1, 0.1)


def test_others_crowd_its_cpu_the_worker_leaves_it() -> None:
    """docs/decisions.md 21: two looks in a row, so that a short burst moves nobody."""
    assert after(Pin(), [BUSY, QUIET, BUSY, BUSY]) == [True, True, True, False]


def test_others_are_busy_elsewhere_the_worker_stays() -> None:
    """docs/decisions.md 21: what the other CPUs do is no reason to leave."""
    assert after(Pin(), [(0.3, 0.9)] * 50) == [True] * 50


def test_worker_has_nothing_to_do_it_stays_whatever_others_do() -> None:
    """docs/decisions.md 21: it waits for nobody, and would miss its CPU for the next half minute."""
    assert after(Pin(), [BUSY] * 50, own=0.01) == [True] * 50


def test_host_is_calm_for_a_while_the_worker_comes_back() -> None:
    """docs/decisions.md 21: half a minute without a busy look."""
    gone = Pin(is_kept=False)
    assert after(gone, [QUIET] * CALM_LOOKS) == [False] * (CALM_LOOKS - 1) + [True]
    assert True not in after(gone, [*[QUIET] * (CALM_LOOKS - 1), BUSY] * 5)


@given(st.lists(st.sampled_from([BUSY, QUIET]), min_size=200, max_size=400))
def test_worker_moves_seldom_whatever_others_do(looks: list[tuple[float, float]]) -> None:
    """docs/decisions.md 21: no flapping: two moves in each half minute and two seconds, at most."""
    kept = after(Pin(), looks)
    moves = sum(one != other for one, other in pairwise(kept))
    assert moves <= 2 * (len(looks) // (CALM_LOOKS + CROWDED_LOOKS) + 1)


def test_share_of_others_is_what_the_process_did_not_use() -> None:
    """Of one CPU, and of all that the process may use."""
    before, now = Usage(10.0, 5.0, {0: 20.0, 1: 30.0, 2: 0.0}), Usage(12.0, 5.5, {0: 22.0, 1: 31.0, 2: 2.0})
    assert others(before, now, {0}) == 0.75
    assert others(before, now, {0, 1}) == 0.625


def test_pinned_follows_its_looks() -> None:
    """It is on its CPU from the start, and each move is of the whole process."""
    moves: list[set[int]] = []
    seconds = iter(range(100))

    def usage() -> Usage:
        second = next(seconds)
        own = second / 10
        return Usage(float(second), own, {0: min(second, 4) + own, 1: 0.0})  # others stop after four seconds

    pinned = Pinned(0, {0, 1}, usage, lambda cpus: moves.append(set(cpus)))
    for _ in range(50):
        pinned.look()
    assert moves == [{0}, {0, 1}, {0}]


def test_usage_cannot_be_read_the_worker_stays() -> None:
    """A sandbox may hide it."""
    moves: list[set[int]] = []

    def usage() -> Usage:
        raise PermissionError

    pinned = Pinned(0, {0, 1}, usage, lambda cpus: moves.append(set(cpus)))
    for _ in range(5):
        pinned.look()
    assert moves == [{0}]


def test_usage_of_this_process_is_part_of_what_all_used() -> None:
    """The system's numbers are in seconds, for each CPU that this process may use."""
    usage = read_usage()
    assert 0 < usage.own <= sum(usage.by_cpu.values())
    assert os.sched_getaffinity(0) <= set(usage.by_cpu)
