"""A scrape, by prometheus_client: the one module that imports it, and loaded by the first scrape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from sift.metrics.families import CREDITS_LIMIT, CREDITS_USED

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

Credits = Mapping[str, tuple[int | None, int]]
"""Used and limit of each source that has a cap; None for what the ledger did not tell."""


class _Ledger:
    """The credits, which no worker has a number of its own of."""

    def __init__(self, credits: Credits) -> None:
        self._credits = credits

    def collect(self) -> Iterator[Any]:
        used = GaugeMetricFamily(*CREDITS_USED, labels=["source"])
        limit = GaugeMetricFamily(*CREDITS_LIMIT, labels=["source"])
        for source, (spent, cap) in self._credits.items():
            if spent is not None:
                used.add_metric([source], spent)
            limit.add_metric([source], cap)
        yield used
        yield limit


def exposition(directory: Path, credits: Credits) -> bytes:
    """Return the numbers of all workers in Prometheus's text format. Raises OSError, ValueError without the files."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(directory))
    registry.register(_Ledger(credits))
    body: bytes = generate_latest(registry)
    return body
