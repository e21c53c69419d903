"""What the worker relies on in gunicorn, compared with the installed release; and what it does differently."""

from __future__ import annotations

import errno
import inspect
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.workers import base, gthread

from sift.api.services import Stopping
from sift.server.worker import OUT_OF_FILES, Worker
from tests.service import ROOT

KINDS = [gthread.ThreadWorker, Worker]


class Pool:
    """A thread pool that runs nothing; with `fails`, one that cannot start a thread after it has queued the work."""

    def __init__(self, fails: bool = False) -> None:
        self.queued: list[Callable[[], Any]] = []
        self._fails = fails

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        done: Future[Any] = Future()

        def run() -> None:
            done.set_result(function(*arguments))

        self.queued.append(run)
        if self._fails:
            raise RuntimeError("can't start new thread")
        return done


class Deferred(list[tuple[Any, ...]]):
    """gunicorn's queue of calls for the main thread."""

    def defer(self, *call: Any) -> None:
        self.append(call)


class Lingering:
    """Keep the sockets that would be closed."""

    def __init__(self) -> None:
        self.closed: list[socket.socket] = []

    def close(self, connection: socket.socket) -> None:
        self.closed.append(connection)
        connection.close()


class Listener:
    """A listening socket whose `accept` fails once, then hands out a connection."""

    def __init__(self, number: int) -> None:
        self._error: OSError | None = OSError(number, "no")
        self.offered: list[socket.socket] = []

    def accept(self) -> tuple[socket.socket, object]:
        if self._error:
            error, self._error = self._error, None
            raise error
        one, other = socket.socketpair()
        self.offered.append(other)
        return one, None


def worker(kind: type[Any], pool: Pool | None = None) -> Any:
    """Return a worker that has one connection and no process of its own."""
    made = kind.__new__(kind)
    made.alive, made.nr_conns = True, 1
    made.tpool, made.method_queue = pool or Pool(), Deferred()
    made.lingering, made.spare = Lingering(), None
    return made


@pytest.fixture
def connection() -> Iterator[Any]:
    """gunicorn's record of a connection."""
    ours, theirs = socket.socketpair()
    theirs.close()  # so that gunicorn's own way of closing waits for nobody
    yield gthread.TConn(None, ours, None, None)
    ours.close()


def ended(**how: Any) -> Future[Any]:
    """Return what became of a request."""
    future: Future[Any] = Future()
    if "error" in how:
        future.set_exception(how["error"])
    elif "result" in how:
        future.set_result(how["result"])
    else:
        future.cancel()
    return future


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", [{"result": False}, {"result": None}, {"error": OSError()}, {}], ids=str)
def test_request_is_over_its_connection_is_closed_and_counted_off(
    how: dict[str, Any], kind: type[Any], connection: Any
) -> None:
    """A result that is not true ends the connection, in gunicorn as in Sift; the count goes down by one."""
    made = worker(kind)
    made.finish_request(connection, ended(**how))
    assert made.nr_conns == 0
    assert connection.sock.fileno() == -1
    if kind is Worker:
        assert made.lingering.closed == ([connection.sock] if "result" in how else [])


@pytest.mark.parametrize("kind", KINDS)
def test_connection_is_handed_to_the_pool_and_its_end_to_the_main_thread(kind: type[Any], connection: Any) -> None:
    """`handle` runs in the pool, and `finish_request` is deferred to the main thread with its result."""
    made = worker(kind)
    made.handle = lambda conn: ("handled", conn)
    made.enqueue_req(connection)
    assert made.method_queue == []
    (run,) = made.tpool.queued
    run()
    ((finish, conn, future),) = made.method_queue
    assert (finish, conn, future.result()) == (made.finish_request, connection, ("handled", connection))


def test_no_thread_can_be_started_the_connection_waits_for_one_that_runs(connection: Any) -> None:
    """A limit of threads ends no worker: gunicorn's would let the error out of its main loop."""
    made = worker(Worker, Pool(fails=True))
    made.handle = lambda conn: False
    made.enqueue_req(connection)
    (run,) = made.tpool.queued
    run()
    ((finish, conn, future),) = made.method_queue
    finish(conn, future)
    assert made.nr_conns == 0


@pytest.mark.parametrize("number", OUT_OF_FILES, ids=errno.errorcode.get)
def test_out_of_files_the_connection_is_closed_and_the_worker_goes_on(number: int) -> None:
    """What cannot be accepted would be offered again and again; gunicorn lets the error end the worker."""
    listener, made = Listener(number), worker(Worker)
    made.accept(listener)
    (offered,) = listener.offered
    with offered:
        assert offered.recv(1) == b""
    assert made.nr_conns == 1
    with pytest.raises(OSError, match="no"):
        worker(gthread.ThreadWorker).accept(Listener(number))


def test_accept_fails_otherwise_the_error_is_gunicorns() -> None:
    """An error that is no lack of files is not hidden."""
    with pytest.raises(OSError, match="no"):
        worker(Worker).accept(Listener(errno.EBADF))
    worker(Worker).accept(Listener(errno.ECONNABORTED))


EARLY = """
import os, signal, sys
from gunicorn.arbiter import Arbiter
from sift.server.worker import heed_early_stop
server = Arbiter.__new__(Arbiter)
server.SIG_QUEUE = type(Arbiter(type("App", (), {"cfg": __import__("gunicorn.config").config.Config()})()).SIG_QUEUE)()
signal.signal(signal.SIGTERM, server.signal)
if sys.argv[1] == "before":
    signal.raise_signal(signal.SIGTERM)
heed_early_stop(server)
if sys.argv[1] == "after":
    signal.raise_signal(signal.SIGTERM)
sys.exit("went on")
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_stop_comes_while_a_worker_starts_it_ends(when: str) -> None:
    """contract: Operations: the master's handler, with which a worker is forked, would forget it."""
    done = subprocess.run(
        [sys.executable, "-c", EARLY, when], cwd=ROOT, capture_output=True, timeout=30, check=False, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("accept", ["self", "listener"]),
        ("enqueue_req", ["self", "conn"]),
        ("finish_request", ["self", "conn", "fs"]),
        ("handle", ["self", "conn"]),
        ("handle_quit", ["self", "sig", "frame"]),
        ("handle_exit", ["self", "sig", "frame"]),
        ("init_process", ["self"]),
        ("init_signals", ["self"]),
        ("run", ["self"]),
    ],
)
def test_methods_are_those_of_the_installed_gunicorn(method: str, parameters: list[str]) -> None:
    """A release that renames one of them would leave Sift's own version unused, without a word."""
    assert list(inspect.signature(getattr(gthread.ThreadWorker, method)).parameters) == parameters


def test_quick_stop_is_the_base_workers() -> None:
    """It ends the process without touching the thread pool, whose lock the main thread may hold."""
    assert list(inspect.signature(base.Worker.handle_quit).parameters) == ["self", "sig", "frame"]
    assert "tpool" not in inspect.getsource(base.Worker.handle_quit)


class Application:
    """An application with what Sift keeps there."""

    def __init__(self) -> None:
        self.extensions = {"sift": SimpleNamespace(stopping=Stopping())}


def test_worker_is_told_to_stop_whoever_waits_is_told_too() -> None:
    """contract: Batch: a request that waits for the end of a batch holds up no stop."""
    made = worker(Worker)
    made.wsgi = Application()
    made.handle_exit(15, None)
    assert not made.alive
    assert made.wsgi.extensions["sift"].stopping.is_set
    assert "init_signals" in vars(base.Worker)
    assert "signal.SIGTERM, self.handle_exit" in inspect.getsource(base.Worker.init_signals)


def test_worker_is_told_to_stop_before_it_has_an_application_it_stops() -> None:
    made = worker(Worker)
    made.handle_exit(15, None)
    assert not made.alive


def noting(alive: bool) -> tuple[Any, list[str]]:
    """Return a worker that says that it is alive, and what it then does about batches."""
    made, told = worker(Worker), []
    made.tmp = type("Heartbeat", (), {"notify": lambda self: None})()
    made.alive, made.watch, made.retire = alive, lambda: told.append("watch"), lambda: told.append("retire")
    return made, told


def test_worker_is_alive_it_looks_for_batches_once_a_second() -> None:
    """contract: Batch work: on the thread that is there anyway."""
    made, told = noting(alive=True)
    for _ in range(3):
        made.notify()
    assert told == ["watch"]
    made.next_watch = 0.0
    made.notify()
    assert told == ["watch", "watch"]


def test_worker_is_told_to_stop_batches_are_given_back_while_it_answers_the_rest() -> None:
    """contract: Batch work: not only when the last request was answered, which may take a minute."""
    made, told = noting(alive=False)
    made.notify()
    assert told == ["retire"]
