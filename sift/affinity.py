"""Which CPU a worker keeps to (docs/decisions.md 21)."""

from __future__ import annotations

from collections.abc import Sequence


def choose_cpu(cpus: Sequence[int], held: Sequence[int | None], workers: int) -> int | None:
    """Choose one of `cpus` for a new worker; None when there are fewer CPUs than workers.

    held: the CPUs of the running workers, the newest first; None where one has none of its own. During a reload old and
    new ones run side by side, and only the newest `workers` stay.
    """
    if workers > len(cpus):
        return None
    staying = held[: workers - 1]
    return min(cpus, key=lambda cpu: (staying.count(cpu), held.count(cpu)))
