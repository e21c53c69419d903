"""The wiring of what opens pages, for requests and for batches. All of it is loaded when the first page is wanted."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, NamedTuple

from sift import __version__, demo
from sift.batch.watch import Watch, Workers
from sift.config import Config
from sift.observe import NULL_OBSERVER, Observer
from sift.store.open import Store

if TYPE_CHECKING:
    from sift.fetch.fetcher import Fetcher

LOOKUPS = 128
"""Threads for the names of pages; more than the fetches of one caller can leave hanging."""
BATCH_CHILDREN = 2
"""Children that the pages of batches may keep busy, beside those of single fetches."""


def cpus_of_children(cpus: frozenset[int]) -> frozenset[int]:
    """Return where children may run: where this worker is not pinned to, as long as there is such a CPU."""
    own = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else frozenset()
    return cpus - own or cpus


class LazyFetcher:
    """Makes the fetchers when the first page is to be opened: a service that opens none spares their memory."""

    def __init__(self, config: Config, cpus: frozenset[int]) -> None:
        self._config = config
        self._cpus = cpus
        self._lock = threading.Lock()
        self._fetchers: Fetchers | None = None

    def __call__(self) -> Fetcher:
        """Return the fetcher of this process for single fetches."""
        return self._both().single

    def batches(self) -> Fetcher:
        """Return that for the pages of batches."""
        return self._both().batches

    def close(self) -> None:
        """Close what there is."""
        if self._fetchers is not None:
            self._fetchers.single.close()

    def _both(self) -> Fetchers:
        with self._lock:
            if self._fetchers is None:
                self._fetchers = _build_fetchers(self._config, self._cpus)
            return self._fetchers


class Fetchers(NamedTuple):
    """What opens pages: those of single fetches, and those of batches. One web, one cache, the same children."""

    single: Fetcher
    batches: Fetcher


def _build_fetchers(config: Config, cpus: frozenset[int]) -> Fetchers:
    from sift.fetch.extract.extractor import Extractor
    from sift.fetch.extract.portion import Portion
    from sift.fetch.fetcher import Fetcher, no_bundled_page
    from sift.fetch.model import Page
    from sift.fetch.places import Places
    from sift.fetch.robots import Robots
    from sift.fetch.web import Web
    from sift.guard.guard import Guard
    from sift.store.pages import PageCache
    from sift.wire.resolver import Resolver

    settings = config.fetch
    contact = f" (+{settings.contact})" if settings.contact else ""
    web = Web(
        Guard(settings.ports, settings.deny),
        Resolver(threads=LOOKUPS),
        user_agent=f"Sift/{__version__}{contact}",
    )
    places = Places(min(settings.places, max(1, config.threads // 2)))  # searches keep threads, however few there are
    # One more than a caller may keep busy: nobody's hostile pages hold up the text of others' pages.
    extractor = Extractor(places.each + 1 + BATCH_CHILDREN, cpus_of_children(cpus))
    robots, bundled = Robots(web, extractor), demo.page if config.demo else no_bundled_page
    pages: PageCache[Page] = PageCache()
    return Fetchers(
        Fetcher(
            web,
            extractor,
            pages,
            places=places,
            robots=robots if settings.robots == "all" else None,
            bundled=bundled,
        ),
        Fetcher(
            web,
            Portion(extractor, BATCH_CHILDREN),
            pages,
            places=None,  # its threads are
            robots=None if settings.robots == "off" else robots,
            bundled=bundled,
        ),
    )


def watch_batches(workers: int, store: Store, fetcher: LazyFetcher, observer: Observer = NULL_OBSERVER) -> Watch | None:
    """Return what starts the threads that open the pages of batches; None for none.

    observer: is told of the items that have ended and of those that wait.
    """

    def make() -> Workers:
        from sift.batch.crew import Crew

        return Crew(workers, store.jobs, fetcher.batches, observer=observer)

    return Watch(store.may_hold_batches, make) if workers else None
