"""Which CPU a worker is pinned to: one that no other worker has (docs/decisions.md 21)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sift.affinity import choose_cpu

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
