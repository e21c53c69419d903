"""Which CPU a worker is pinned to (docs/decisions.md 21)."""

from __future__ import annotations

from collections.abc import Sequence


def choose_cpu(cpus: Sequence[int], held: Sequence[int | None], workers: int) -> int | None:
    """Return one of `cpus` for a new worker, or None when there are fewer CPUs than workers.

    held: the CPUs of the running workers, newest first; None for a worker that is not pinned. During a reload old and
    new workers run side by side, and only the newest `workers` remain.
    """
    if workers > len(cpus):
        return None
    staying = held[: workers - 1]
    return min(cpus, key=lambda cpu: (staying.count(cpu), held.count(cpu)))
