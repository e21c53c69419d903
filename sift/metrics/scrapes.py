"""Whether there are metrics, and reading them: what the wiring needs to know of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from sift import __version__
from sift.metrics.observer import Metrics

MISSING = "metrics need an extra: pip install 'sift-gateway[metrics]'"


def has_client() -> bool:
    """Return whether prometheus_client is installed, without loading it."""
    return find_spec("prometheus_client") is not None


class Credits(Protocol):
    """The credits of a source; `used` is None when the ledger cannot be read."""

    @property
    def used(self) -> int | None: ...

    @property
    def limit(self) -> int: ...


class Scrapes:
    """The metrics of one process, if there are any.

    wanted: whether the settings ask for them. is_installed: whether prometheus_client is there.
    observers: the one that counts, or none. why_none: why there are none, unless they are not wanted.
    """

    def __init__(self, sources: Sequence[str], *, wanted: bool, is_installed: bool | None = None) -> None:
        installed = has_client() if is_installed is None else is_installed
        self.why_none = MISSING if wanted and not installed else ""
        self.observers = (Metrics(sources, __version__),) if wanted and installed else ()

    def begin(self, directory: Path, slot: int) -> None:
        """Count from now on, if there are metrics. Raises OSError. slot: as in `Board`."""
        for metrics in self.observers:
            metrics.begin(directory, slot)

    def bound_to(self, credits: Callable[[], Mapping[str, Credits]]) -> Callable[[], tuple[bytes, str] | None] | None:
        """Return what reads the metrics of all processes, with these credits; None if there are none."""
        if not self.observers:
            return None
        (metrics,) = self.observers

        def scrape() -> tuple[bytes, str] | None:
            from sift.metrics.exposition import CONTENT_TYPE, exposition

            if metrics.directory is None:
                return None
            shown = {name: (each.used, each.limit) for name, each in credits().items()}
            try:
                return exposition(metrics.directory, shown), CONTENT_TYPE
            except (OSError, ValueError):  # somebody removed the directory
                return None

        return scrape
