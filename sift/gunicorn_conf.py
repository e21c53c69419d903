"""gunicorn's settings: `gunicorn -c python:sift.gunicorn_conf wsgi:app` (contract: Operations)."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from random import shuffle
from typing import Any, NoReturn

from sift import __version__
from sift.api.services import Services
from sift.app import build_services
from sift.errors import ConfigError
from sift.log import JsonLog, refuse_start, render, watch_dropped
from sift.metrics.board import drop_gauges
from sift.metrics.directory import Directory
from sift.metrics.scrapes import has_client
from sift.server.affinity import Pinned, choose_cpu
from sift.server.headcount import free_slot
from sift.server.listen import obstacle
from sift.server.messages import QuietLogger, keep_stderr_taken, take_over_stderr
from sift.server.start import Start, start
from sift.server.worker import heed_early_stop


def _refuse(message: str) -> NoReturn:
    refuse_start(message)
    sys.exit(1)


def _start() -> Start:
    """Read and check everything in the master: a worker that merely exits would be respawned."""
    is_open = keep_stderr_taken()
    take_over_stderr(JsonLog())
    try:
        found = start()
        build_services(found.config, found.keys, found.mark)
    except ConfigError as error:
        _refuse(str(error))
    if not (is_open and JsonLog(found.config.log_level).write("info", "starting", {"version": __version__})):
        with suppress(OSError, AttributeError):  # stdout may be closed, too
            sys.stdout.write(render("error", "no_log", {"message": "stderr cannot be written"}).decode())
            sys.stdout.flush()
    return found


def _heartbeat_directory(state_dir: Path) -> str:
    """Return a directory for the workers' heartbeat files, which have no name and no content.

    One in memory causes no disk writes; where it cannot be used, the state directory is Sift's to write to.
    """
    for directory in (Path("/dev/shm"), state_dir):
        with suppress(OSError):
            if directory == state_dir:
                directory.mkdir(0o700, parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=directory).close()
            return str(directory)
    _refuse(f"neither /dev/shm nor the state directory can be written: {state_dir}")


def _metrics_directory() -> Directory | None:
    """Return where the workers count; None where nothing can be written, which is no reason not to search."""
    try:
        return Directory(settings.state_dir)
    except OSError as error:
        _warn_of_metrics(error)
        return None


def _warn_of_metrics(error: OSError) -> None:
    JsonLog(settings.log_level).write("warning", "metrics_unavailable", {"type": type(error).__name__})


_started = _start()
settings = _started.config

bind = list(settings.bind)
worker_class = "sift.server.worker.Worker"
threads = settings.threads
worker_connections = _started.connections
# Above the worst case of a request, 4 queries × 10 s, so that a stop or a reload answers what is running.
timeout = 60
graceful_timeout = 60
keepalive = 75  # longer than proxies keep an idle connection, so that none sends into one that is closing
# The parts of the application are made once, before a worker is forked, and shared: 1.3 MiB less for each worker.
preload_app = True
accesslog = None
errorlog = "-"
loglevel = settings.log_level
logger_class = QuietLogger
# Sift trusts no proxy headers. With the defaults, `SCRIPT_NAME: /x` leads to a 500 in HTML.
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}
proc_name = "sift"
control_socket_disable = True
worker_tmp_dir = _heartbeat_directory(settings.state_dir)


def on_starting(server: Any) -> None:
    """Refuse what gunicorn would take silently, or only after five seconds of errors; make what workers count in."""
    if server.num_workers < 1:
        _refuse("WEB_CONCURRENCY must be a whole number of workers, at least 1")
    inherited = server.cfg.reuse_port or {"LISTEN_FDS", "GUNICORN_FD"} & os.environ.keys()
    for address in () if inherited else server.cfg.address:
        if isinstance(address, tuple) and (why := obstacle(address)):
            host, port = address
            other = "SIFT_BIND sets another address; for `make run`, PORT sets another port"
            _refuse(f"cannot listen on {host}:{port}: {why} ({other})")
    server.metrics = _metrics_directory() if settings.metrics and has_client() else None


def nworkers_changed(server: Any, new: int, old: int | None) -> None:
    """Tell the workers how many they are to be."""
    _started.headcount.size = new


def pre_fork(server: Any, worker: Any) -> None:
    """Choose a CPU and a slot for a worker, and read its keys: the master knows what the others have."""
    if _started.keys is not None:
        _started.keys.follow()
    worker.slot = free_slot(other.slot for other in server.WORKERS.values())
    worker.metrics = server.metrics
    worker.cpu = None
    if settings.cpu_affinity and hasattr(os, "sched_getaffinity"):
        cpus = list(os.sched_getaffinity(0))
        shuffle(cpus)  # so that two services on a host do not always choose the same CPU
        newest_first = sorted(server.WORKERS.values(), key=lambda other: other.age, reverse=True)
        worker.cpu = choose_cpu(cpus, [other.cpu for other in newest_first], server.num_workers)


def post_fork(server: Any, worker: Any) -> None:
    """Heed a stop that comes early, and pin a worker to its CPU while that is not crowded.

    The interpreter runs one of its threads at a time. When the kernel spreads them over CPUs, every hand-over wakes
    another CPU, which costs more than the hand-over itself (docs/performance.md).
    """
    heed_early_stop(server)
    if worker.cpu is not None:
        worker.pinned = Pinned(worker.cpu, os.sched_getaffinity(0))


def post_worker_init(worker: Any) -> None:
    """Begin to count, and to look for batches, whose threads must not start before the fork.

    Garbage is collected less often: start-up leaves objects that stay, and searches make many that do not.
    """
    if worker.metrics is not None and (services := _services(worker)):
        try:
            services.begin_metrics(worker.metrics.path, worker.slot)
        except OSError as error:
            _warn_of_metrics(error)
        watch_dropped(services.observer.line_dropped)
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    if services := _services(worker):
        worker.watch, worker.retire = services.watch, services.retire


def worker_exit(server: Any, worker: Any) -> None:
    """Give back what batches have under way, and book what calls have cost while the ledger was locked."""
    if services := _services(worker):
        services.close()


def child_exit(server: Any, worker: Any) -> None:
    """Forget what a worker that has ended, in whatever way, said of the present."""
    if server.metrics is not None:
        drop_gauges(server.metrics.path, worker.slot)


def _services(worker: Any) -> Services | None:
    app = getattr(worker, "wsgi", None)  # a worker that failed to boot has none
    services: Services | None = getattr(app, "extensions", {}).get("sift")
    return services
