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
from sift.api.services import Services
from sift.app import build_services
from sift.config import Config
from sift.errors import ConfigError
from sift.sources import DECLARED
from sift.store.mark import Mark


def _config() -> Config:
    """Check everything in the master, before a worker is started: a worker that only exits is started again."""
    try:
        config = Config.from_env(os.environ, DECLARED)
        build_services(config)
    except ConfigError as error:
        sys.exit(f"sift: {error}")
    return config


class QuietLogger(Logger):  # type: ignore[misc]
    """Keep what clients send out of gunicorn's own messages: it prints request lines and tracebacks otherwise."""

    def exception(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Name the error's type only."""
        kind = sys.exc_info()[0]
        self.error_log.error("error in a worker: %s", kind.__name__ if kind else "unknown")

    def warning(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Say that a request was refused, without its words; gunicorn formats those into the message itself."""
        text = str(msg)
        if text.startswith("Invalid request from"):
            self.error_log.warning("a request was refused as broken HTTP")
        else:
            super().warning(msg, *args, **kwargs)

    def debug(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Say nothing: debug lines hold request lines and headers."""


settings = _config()
# Made in the master, which keeps it over reloads; its workers share it.
_ledger_mark = Mark()

bind = "127.0.0.1:8787"
worker_class = "gthread"
threads = settings.threads
worker_connections = max(1000, 4 * settings.threads)
# Above the worst case of a request, 4 queries × 10 s: a stop or reload answers what is running.
timeout = 60
graceful_timeout = 60
keepalive = 75  # longer than a proxy keeps an idle connection, so that it never sends into a closing one
accesslog = None
access_log_format = "%(m)s %(s)s %(M)sms"
errorlog = "-"
loglevel = settings.log_level
logger_class = QuietLogger
# No header is the proxy's word on anything Sift looks at: with the defaults `SCRIPT_NAME: /x` is a 500 in HTML.
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}
proc_name = "sift"
control_socket_disable = True
# The worker's heartbeat file has no name and holds nothing; in memory it is no write to a disk either.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None


def pre_fork(server: Any, worker: Any) -> None:
    """Choose a CPU for a worker, in the master: it knows which ones the others have."""
    worker.cpu = None
    if settings.cpu_affinity and hasattr(os, "sched_getaffinity"):
        cpus = list(os.sched_getaffinity(0))
        shuffle(cpus)  # two services of one host must not always meet on the same one
        newest_first = sorted(server.WORKERS.values(), key=lambda other: other.age, reverse=True)
        worker.cpu = choose_cpu(cpus, [other.cpu for other in newest_first], server.num_workers)


def post_fork(server: Any, worker: Any) -> None:
    """Keep a worker on its CPU.

    The interpreter runs one of its threads at a time. Where the kernel spreads them, each hand-over wakes another CPU:
    a sixth of the CPU time of an uncached search at 1 connection, a third at 16.
    """
    if worker.cpu is not None:
        with suppress(OSError):  # the CPU has gone, or a sandbox forbids it
            os.sched_setaffinity(0, {worker.cpu})


def post_worker_init(worker: Any) -> None:
    """Make Ctrl-C and SIGQUIT end a worker at once, always; and look for garbage less often.

    gunicorn's own handler takes a lock of the thread pool. Where the main thread holds it already, because it hands out
    a request or is in that handler for another signal, it waits for itself until the master kills it a minute later.
    A terminal sends SIGINT to master and workers alike, and the master then sends SIGQUIT: one of the two is enough.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, partial(Worker.handle_quit, worker))
    # What start-up made stays for good, and a search makes thousands of short-lived objects: a tenth of its CPU.
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    if services := _services(worker):
        services.share(_ledger_mark)


def worker_exit(server: Any, worker: Any) -> None:
    """Book what calls have cost while the ledger was locked."""
    if services := _services(worker):
        services.close()


def _services(worker: Any) -> Services | None:
    app = getattr(worker, "wsgi", None)  # a worker that failed to boot has none
    services: Services | None = app and app.extensions["sift"]
    return services
