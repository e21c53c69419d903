"""Threads and connections of a worker, from the limit of open files (contract: Operations)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.errors import ConfigError
from sift.server.capacity import BASE, Capacity, fit, lingering


@pytest.mark.parametrize(
    ("threads", "limit", "capacity"),
    [
        (64, 4096, Capacity(64, 1000)),
        (64, 1024, Capacity(64, 654)),
        (512, 1_000_000, Capacity(512, 2048)),
        (64, 128, Capacity(13, 39)),
        (64, 48, Capacity(2, 7)),
        (1, 39, Capacity(1, 2)),
    ],
)
def test_capacity_follows_from_the_limit(threads: int, limit: int, capacity: Capacity) -> None:
    """contract: Operations: as many connections as are wanted, or as fit; fewer threads only when they do not fit."""
    assert fit(threads, 3, limit) == capacity


def test_not_even_one_thread_fits_the_limit_is_named() -> None:
    """contract: Operations: one line says which limit it is, and what it must be at least."""
    with pytest.raises(ConfigError, match=r"^the limit of open files is 38 and must be at least 39 "):
        fit(64, 3, 38)


@given(st.integers(1, 4096), st.integers(1, 12), st.integers(64, 1_000_000))
def test_nothing_runs_out_whatever_happens_at_once(threads: int, calls: int, limit: int) -> None:
    """contract: Operations: all threads with all their calls, and all connections, stay within the limit."""
    capacity = fit(threads, calls, limit)
    assert 1 <= capacity.threads <= threads
    assert capacity.connections > capacity.threads  # gunicorn keeps none alive otherwise
    assert BASE + capacity.connections + lingering(capacity.connections) + capacity.threads * (calls + 1) <= limit
