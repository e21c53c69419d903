"""gunicorn's settings: `gunicorn -c python:sift.gunicorn_conf wsgi:app` (contract: Operations)."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import shuffle
from typing import Any

from gunicorn.glogging import Logger  # type: ignore[import-untyped]
from gunicorn.workers.base import Worker  # type: ignore[import-untyped]

from sift.affinity import choose_cpu
from sift.app import build_services
from sift.config import Config
from sift.errors import ConfigError
from sift.sources import DECLARED
from sift.store.mark import Mark


def _config() -> Config:
    """Return the settings, all checked in the master: a worker that merely exits would be respawned."""
    try:
        config = Config.from_env(os.environ, DECLARED)
        build_services(config)
    except ConfigError as error:
        sys.exit(f"sift: {error}")
    return config


class QuietLogger(Logger):  # type: ignore[misc]
    """gunicorn's logger without anything a client sent: the stock one prints request lines and tracebacks."""

    def exception(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Log the type of the error only."""
        kind = sys.exc_info()[0]
        self.error_log.error("error in a worker: %s", kind.__name__ if kind else "unknown")

    def warning(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Log a warning, but without the text of a rejected request, which gunicorn formats into the message."""
        text = str(msg)
        if text.startswith("Invalid request from"):
            self.error_log.warning("a request was refused as broken HTTP")
        else:
            super().warning(msg, *args, **kwargs)

    def debug(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Drop the message: debug lines contain request lines and headers."""


settings = _config()
# Made in the master, which keeps it over reloads; its workers share it.
_ledger_mark = Mark()

bind = "127.0.0.1:8787"
worker_class = "gthread"
threads = settings.threads
worker_connections = max(1000, 4 * settings.threads)
# Above the worst case of a request, 4 queries × 10 s, so that a stop or a reload answers what is running.
timeout = 60
graceful_timeout = 60
keepalive = 75  # longer than proxies keep an idle connection, so that none sends into one that is closing
accesslog = None
access_log_format = "%(m)s %(s)s %(M)sms"
errorlog = "-"
loglevel = settings.log_level
logger_class = QuietLogger
# Sift trusts no proxy headers. With the defaults, `SCRIPT_NAME: /x` leads to a 500 in HTML.
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}
proc_name = "sift"
control_socket_disable = True
# The heartbeat file of a worker is unlinked and empty; in memory it causes no disk writes either.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None


def pre_fork(server: Any, worker: Any) -> None:
    """Choose a CPU for a worker. The master does so, because it knows the CPUs of the others."""
    worker.cpu = None
    if settings.cpu_affinity and hasattr(os, "sched_getaffinity"):
        cpus = list(os.sched_getaffinity(0))
        shuffle(cpus)  # so that two services on a host do not always choose the same CPU
        newest_first = sorted(server.WORKERS.values(), key=lambda other: other.age, reverse=True)
        worker.cpu = choose_cpu(cpus, [other.cpu for other in newest_first], server.num_workers)


def post_fork(server: Any, worker: Any) -> None:
    """Pin a worker to its CPU.

    The interpreter runs one of its threads at a time. When the kernel spreads them over CPUs, every hand-over wakes
    another CPU, which costs more than the hand-over itself (docs/performance.md).
    """
    if worker.cpu is not None:
        with suppress(OSError):  # the CPU is offline, or a sandbox forbids it
            os.sched_setaffinity(0, {worker.cpu})


def post_worker_init(worker: Any) -> None:
    """Make Ctrl-C and SIGQUIT always end a worker at once, and collect garbage less often.

    gunicorn's handler takes a lock of the thread pool. If the main thread already holds it, because it is submitting a
    request or handling another signal, it deadlocks until the master kills it after `timeout`. A terminal sends SIGINT
    to master and workers alike, and the master then sends SIGQUIT: a worker needs only one of them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, partial(Worker.handle_quit, worker))
    # Objects made at start-up live for ever, and a search makes thousands of short-lived ones.
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    worker.wsgi.extensions["sift"].share(_ledger_mark)


def worker_exit(server: Any, worker: Any) -> None:
    """Book what calls have cost while the ledger was locked."""
    app = getattr(worker, "wsgi", None)  # missing from one that failed to boot
    if app is not None:
        app.extensions["sift"].close()
