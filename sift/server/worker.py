"""gunicorn's threaded worker, without the places in which one client makes the others wait or ends the process.

This is the one module that builds on how gunicorn's worker works inside. What it relies on:

* `accept(listener)`, `enqueue_req(conn)` and `finish_request(conn, future)` run on the main thread;
* `accept` raises the OSError of the system's `accept` and has then counted nothing;
* `enqueue_req` submits `handle` to `tpool`, and `method_queue.defer` makes the main thread call `finish_request`;
* a false result of `handle` means that the connection is over: one less in `nr_conns`, and `conn.sock` is closed;
* until `init_signals`, signals to a worker go into the copy of the master's `SIG_QUEUE` that it was forked with;
* `handle_exit` is the handler of SIGTERM, with which a stop and a reload begin; `wsgi` is the application;
* `notify` is called on the main thread at least once a second;
* `alive` is true until the worker is told to stop;
* `run` returns when the worker has been told to stop and has answered what it had taken.

tests/server/test_worker.py compares these with the installed release.
"""

from __future__ import annotations

import errno
import os
import queue
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from gunicorn.workers import base, gthread  # type: ignore[import-untyped]

from sift.server.affinity import LOOK_EVERY, Pinned
from sift.server.capacity import lingering
from sift.server.linger import SECONDS, Lingering

STOPS = (signal.SIGTERM, signal.SIGQUIT)
WATCH_EVERY = 1.0
"""Seconds between two looks for batches; gunicorn's own rounds are a second apart when nothing happens."""
OUT_OF_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Worker(gthread.ThreadWorker):  # type: ignore[misc]
    """gunicorn's threaded worker, to whose other clients one that lingers costs nothing, and which nothing ends."""

    linger_seconds = SECONDS
    look_every = LOOK_EVERY
    pinned: Pinned | None = None
    next_look = 0.0
    watch: Callable[[], None] = staticmethod(lambda: None)
    retire: Callable[[], None] = staticmethod(lambda: None)
    next_watch = 0.0

    def init_process(self) -> None:
        """Set up what belongs to this process, then run."""
        self.lingering = Lingering(self.linger_seconds, lingering(self.worker_connections))
        self.spare = _spare()
        super().init_process()

    def init_signals(self) -> None:
        """Leave Ctrl-C to the master, which passes it on as SIGQUIT: a terminal sends SIGINT to every process."""
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def notify(self) -> None:
        """Tell the master that this worker is alive, and look after its CPU and its batches."""
        super().notify()
        now = time.monotonic()
        if self.pinned is not None and now >= self.next_look:
            self.next_look = now + self.look_every
            self.pinned.look()
        if not self.alive:
            self.retire()
        elif now >= self.next_watch:
            self.next_watch = now + WATCH_EVERY
            self.watch()

    def handle_exit(self, sig: int, frame: Any) -> None:
        """End when all is answered; whoever waits for a batch is answered now."""
        super().handle_exit(sig, frame)
        if app := getattr(self, "wsgi", None):
            app.extensions["sift"].stopping.is_set = True

    def handle_quit(self, sig: int, frame: Any) -> None:
        """End at once. gunicorn's own handler takes a lock of the thread pool that the main thread may be holding."""
        base.Worker.handle_quit(self, sig, frame)

    def run(self) -> None:
        """Work until told to stop, and let the last answers reach their clients."""
        super().run()
        self.lingering.finish()

    def accept(self, listener: Any) -> None:
        """Accept a connection; when the process is out of files, close it, or it would be offered again and again."""
        try:
            super().accept(listener)
        except OSError as error:
            if error.errno not in OUT_OF_FILES:
                raise
            if self.spare is not None:
                os.close(self.spare)
            with suppress(OSError):  # another thread was quicker to use it
                listener.accept()[0].close()
            self.spare = _spare()

    def enqueue_req(self, conn: Any) -> None:
        """Hand a connection to the pool. When no thread can be started, it waits there for one that runs already."""
        done: Future[Any] = Future()
        done.add_done_callback(lambda future: self.method_queue.defer(self.finish_request, conn, future))
        with suppress(RuntimeError):
            self.tpool.submit(self._handle, conn, done)

    def _handle(self, conn: Any, done: Future[Any]) -> None:
        try:
            done.set_result(self.handle(conn))
        except BaseException as error:
            done.set_exception(error)
            raise

    def finish_request(self, conn: Any, fs: Future[Any]) -> None:
        """Close a connection that is over without waiting for its peer; gunicorn waits, and everybody else with it."""
        if fs.cancelled() or fs.exception() or fs.result():
            super().finish_request(conn, fs)
        else:
            self.nr_conns -= 1
            self.lingering.close(conn.sock)


def heed_early_stop(server: Any) -> None:
    """End a worker that is told to stop before it has handlers of its own, now or a moment ago.

    gunicorn forgets such a stop, and kills the worker when `graceful_timeout` is over.
    """
    for number in STOPS:
        signal.signal(number, lambda *_: sys.exit(0))
    with suppress(queue.Empty):
        while True:
            if server.SIG_QUEUE.get_nowait() in STOPS:
                sys.exit(0)


def _spare() -> int | None:
    """Open a file that can be closed when no other can be opened; None when there is none even for that."""
    with suppress(OSError):
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    return None
