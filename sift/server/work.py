"""`sift worker`: a process that opens the pages of batches and serves nobody (contract: Batch work)."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import replace
from types import FrameType

from sift import __version__, log
from sift.config import BATCH_WORKERS, Config
from sift.errors import ConfigError
from sift.opening import LazyFetcher, watch_batches
from sift.server.worker import WATCH_EVERY
from sift.sources import DECLARED
from sift.store.open import check_store, open_store

STOPS = (signal.SIGTERM, signal.SIGINT)


class _StopError(BaseException):
    """The process was told to stop. No `except Exception` holds it up."""


def work(environ: Mapping[str, str] = os.environ) -> None:
    """Work on the batches of the store that the service's settings name, until SIGTERM or SIGINT.

    Raises ConfigError.
    """
    config = _config(environ)
    output = log.JsonLog(config.log_level)
    log.install(output)
    for event, fields in check_store(config):
        output.write("warning", event, fields)
    cpus = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()
    store, fetcher = open_store(config, {}), LazyFetcher(config, cpus)
    watch = watch_batches(config.batch_workers, store, fetcher)
    assert watch is not None
    output.write("info", "starting", {"version": __version__})
    try:
        for number in STOPS:
            signal.signal(number, _stop)
        while True:
            watch.look()
            time.sleep(WATCH_EVERY)
    except _StopError:
        pass
    finally:
        watch.close()
        store.close()
        fetcher.close()


def _config(environ: Mapping[str, str]) -> Config:
    """Return the settings. A service that leaves the work to others sets no threads: these are the others."""
    config = Config.from_env(environ, DECLARED)
    if not config.fetch.enabled:
        raise ConfigError("SIFT_FETCH is off: there are no batches to work on")
    return replace(config, batch_workers=config.batch_workers or BATCH_WORKERS)


def _stop(number: int, frame: FrameType | None) -> None:
    for each in STOPS:
        signal.signal(each, signal.SIG_IGN)  # a second one must not end what the first one began
    raise _StopError
