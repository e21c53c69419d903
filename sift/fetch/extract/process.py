"""One child process, as its parent sees it: jobs over pipes, each with an end, and certain death."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from sift.fetch.extract.frames import BEGUN, LENGTHS, BadFrameError, Frame, lengths, pack, unpack

Cause = Literal["timeout", "memory", "deadline"]
_ROOT = str(Path(__file__).resolve().parents[3])
# The child finds modules exactly where this process finds them, and looks at no environment and no working directory.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from sift.fetch.extract.child import main; main(sys.argv[2])"
)
_OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGALRM)
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What a job may use.

    memory: bytes of address space. cpu: seconds of processor time. wall: seconds from the moment it has begun.
    load: seconds until then, in which the child starts and loads what the job needs. cpus: where it may run.
    """

    memory: int = 768 << 20
    cpu: int = 5
    wall: float = 5.0
    load: float = 10.0
    cpus: tuple[int, ...] = ()


class JobLostError(Exception):
    """A job has no answer, and its child is dead.

    cause: "timeout" and "memory" are the job's own; "deadline" is the caller's. begun: whether the job had begun.
    """

    def __init__(self, cause: Cause, *, begun: bool) -> None:
        super().__init__(cause)
        self.cause: Cause = cause
        self.begun = begun


def command_line(limits: Limits, path: Sequence[str], which: Callable[[str], str | None] = shutil.which) -> list[str]:
    """Return the command line of a child that imports from the directories of `path`.

    Where `chrt` and `taskset` are, they put it behind everything else before the interpreter starts: until then it has
    the precedence of the service, and the one CPU of its worker.
    """
    places = [place for place in path if place]
    places += [] if _ROOT in places else [_ROOT]
    behind: list[str] = []
    if taskset := which("taskset") if limits.cpus else None:
        behind += [taskset, "-c", ",".join(map(str, limits.cpus))]
    if chrt := which("chrt"):
        behind += [chrt, "--idle", "0"]
    return [*behind, sys.executable, "-I", "-S", "-B", "-c", _PROGRAM, json.dumps(places), json.dumps(asdict(limits))]


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return all that a child learns of the environment: where Python's own libraries are."""
    # One arena: memory that a page took goes back to the system more often.
    kept = {name: environ[name] for name in ("LD_LIBRARY_PATH",) if name in environ}
    return {**kept, "LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1"}


class Child:
    """A running child. One thread at a time may use it. Raises OSError when it cannot be started."""

    def __init__(
        self,
        command: Sequence[str],
        limits: Limits,
        environ: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env=dict(environ),
            # A terminal's Ctrl-C is for the service. A session of its own would also be a scheduling group of its own,
            # with as much of the processor as the whole service, however nice it is (autogroups, sched(7)).
            process_group=0,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._to, self._from = self._process.stdin, self._process.stdout
        os.set_blocking(self._to.fileno(), False)
        os.set_blocking(self._from.fileno(), False)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def is_idle(self) -> bool:
        """Return whether it lives and says nothing unasked."""
        poller = select.poll()
        poller.register(self._from, select.POLLIN)
        return not poller.poll(0) and self._process.poll() is None

    def memory(self) -> int:
        """Return its resident memory in bytes, 0 where that is not told."""
        try:
            return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError):
            return 0

    def run(self, job: Frame, deadline: float) -> Frame:
        """Return the answer to a job. Raises JobLostError, once the child is dead."""
        exchange = _Exchange(self._to.fileno(), self._from.fileno(), pack(job))
        try:
            return unpack(self._carry(exchange, deadline))
        except (EOFError, BadFrameError, OSError):
            exit_code = self.kill(wait=0.1)
            raise JobLostError("timeout" if exit_code in _OUT_OF_TIME else "memory", begun=exchange.begun) from None
        except JobLostError:
            self.kill()
            raise
        except BaseException:  # an interrupt: the child is in the middle of something
            self.kill()
            raise

    def _carry(self, exchange: _Exchange, deadline: float) -> bytearray:
        ends = self._clock() + self._limits.load
        begun = False
        while not exchange.whole:
            if exchange.begun and not begun:
                begun = True
                ends = self._clock() + self._limits.wall
            left = min(ends, deadline) - self._clock()
            if left <= 0:
                raise JobLostError("deadline" if deadline <= ends else "timeout", begun=begun)
            exchange.step(left)
        return exchange.received

    def kill(self, wait: float = 0.0) -> int | None:
        """End it now and return its exit code, None if the system has not ended it within 2 seconds.

        wait: seconds in which it may end by itself, so that its own exit code is known.
        """
        with suppress(subprocess.TimeoutExpired):
            if wait:
                self._process.wait(wait)
        self._process.kill()
        self.forget()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        return self._process.returncode

    def stop(self) -> None:
        """End it now; the thread whose job it does finds out."""
        self._process.kill()

    def forget(self) -> None:
        """Close the pipes, at which an idle child ends."""
        for pipe in (self._to, self._from):
            with suppress(OSError):
                pipe.close()

    def disown(self) -> None:
        """Forget a child that a forked process inherited: it belongs to the process that started it."""
        self.forget()
        self._process.returncode = 0  # it is not this process's to wait for


class _Exchange:
    """The bytes of one job on their way, and those of its answer."""

    def __init__(self, to: int, from_: int, pieces: Sequence[bytes]) -> None:
        self._to = to
        self._from = from_
        self._left = [memoryview(piece) for piece in pieces if piece]
        self._poller = select.poll()
        self._poller.register(from_, select.POLLIN)
        self._poller.register(to, select.POLLOUT)
        self._needed = LENGTHS
        self.received = bytearray()
        self.begun = False
        self.whole = False

    def step(self, seconds: float) -> None:
        """Wait until something can be sent or has come, and do it. Raises EOFError, BadFrameError and OSError."""
        for number, _ in self._poller.poll(seconds * 1000 + 1):
            if number == self._from:
                self._receive()
            else:
                self._send()

    def _send(self) -> None:
        try:
            sent = os.write(self._to, self._left[0][:_CHUNK])
        except BlockingIOError:
            return
        except BrokenPipeError:  # what it has said before it died is still to be read
            self._left.clear()
        else:
            self._left[0] = self._left[0][sent:]
            if not self._left[0]:
                del self._left[0]
        if not self._left:
            self._poller.unregister(self._to)

    def _receive(self) -> None:
        try:
            data = os.read(self._from, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            raise EOFError
        self.received += data
        if not self.begun and len(self.received) >= LENGTHS:
            if not self.received.startswith(BEGUN):
                raise BadFrameError
            del self.received[:LENGTHS]
            self.begun = True
        if self.begun and self._needed == LENGTHS and len(self.received) >= LENGTHS:
            self._needed += sum(lengths(self.received))
        if len(self.received) > self._needed > LENGTHS:
            raise BadFrameError
        self.whole = len(self.received) == self._needed > LENGTHS
