"""The extractor: hands documents to warm children, each with limits, and replaces the children that die of them."""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sift.errors import ExtractError
from sift.fetch.extract import installed
from sift.fetch.extract.checks import to_extract, to_rules
from sift.fetch.extract.frames import BadFrameError, Frame
from sift.fetch.extract.model import HTML, MEMORY, TIMEOUT, XML, Document, Extract, Format, RobotsRules
from sift.fetch.extract.process import Child, JobLostError, Limits, command_line, environment
from sift.fetch.extract.turns import Turns

MOST_HTML = 2 << 20
"""Bytes. Longer HTML goes to the builtin extractor at once (contract: Page text)."""
IDLE = 60.0
"""Seconds after which children that had nothing to do end, all but one."""
FAT = 64 << 20
"""Bytes of resident memory. A child that a page has blown up beyond is not kept; the next one is small again."""
_TRIES = 2
"""How many children a job may try that die before it has begun, which is no fault of the job's."""
Result = TypeVar("Result")


class Extractor:
    """Find the readable text of documents, in child processes that start with the first of them.

    children: how many may exist at a time; documents beyond wait, first come first served.
    cpus: where the children may run; empty: where this process may. command: the program of a child, if not Sift's.
    Threads may share an extractor. A forked process that inherits one starts children of its own.
    """

    def __init__(
        self,
        children: int,
        cpus: Collection[int] = (),
        *,
        limits: Limits | None = None,
        command: Sequence[str] = (),
        environ: Mapping[str, str] = os.environ,
        idle: float = IDLE,
        fat: int = FAT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._children = max(1, children)
        self._limits = replace(limits or Limits(), cpus=tuple(sorted(cpus)))
        self._command = tuple(command)
        self._environ = environment(environ)
        self._idle_seconds = idle
        self._fat = fat
        self._clock = clock
        self.takes_pdf = installed.has_pypdf()
        self._reset()
        _extractors.add(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._turns = Turns(self._children, self._clock)
        self._idle: list[tuple[Child, float]] = []  # with the time since when; the last is used next
        self._busy: set[Child] = set()
        self._sweeper: threading.Timer | None = None
        self._closed = False

    @property
    def version(self) -> str:
        """What extracts, with versions: another one may extract something else."""
        return installed.version()

    @property
    def pids(self) -> list[int]:
        """The process ids of the children."""
        with self._lock:
            return [child.pid for child in [*(child for child, _ in self._idle), *self._busy]]

    def extract(self, document: Document, format: Format, *, html: bool = False, deadline: float) -> Extract:
        """Return the readable text of a document, by the builtin extractor where trafilatura fails.

        html: whether cleaned HTML is wanted as well. deadline: monotonic.
        Raises TimeoutError at the deadline, and ExtractError when no text can be had.
        """
        with self._turns.turn(deadline):
            cause = MEMORY if document.content_type in HTML and len(document.body) > MOST_HTML else ""
            if not cause:
                try:
                    return self._run(_job(document, format, html=html), to_extract, deadline)
                except JobLostError as lost:
                    if document.content_type not in HTML | XML:
                        raise ExtractError from None
                    cause = TIMEOUT if lost.cause == "timeout" else MEMORY
            try:
                extract = self._run(_job(document, format, builtin=True), to_extract, deadline)
            except JobLostError:
                raise ExtractError from None
        return replace(extract, warnings=(cause, *(each for each in extract.warnings if each != cause)))

    def robots(self, body: bytes, agent: str, url: str, *, deadline: float) -> RobotsRules:
        """Return what a robots.txt says to a user agent about a URL. Raises TimeoutError and ExtractError."""
        with self._turns.turn(deadline):
            try:
                return self._run(Frame({"job": "robots", "agent": agent, "url": url}, body), to_rules, deadline)
            except JobLostError:
                raise ExtractError from None

    def close(self) -> None:
        """End all children; documents on their way fail, and so do later ones."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            if self._sweeper:
                self._sweeper.cancel()
            for child in self._busy:
                child.stop()  # the thread that waits for it does the rest
        for child, _ in idle:
            child.kill()

    def _run(self, job: Frame, check: Callable[[Frame], Result], deadline: float) -> Result:
        """Return the checked answer to a job. Raises TimeoutError, ExtractError and JobLostError."""
        tries = 0
        while True:
            tries += 1
            try:
                return self._ask(self._take(), job, check, deadline)
            except JobLostError as lost:
                if lost.cause == "deadline":
                    raise TimeoutError from None
                if lost.begun or lost.cause == "timeout" or tries == _TRIES:
                    raise

    def _ask(self, child: Child, job: Frame, check: Callable[[Frame], Result], deadline: float) -> Result:
        is_sound = False
        try:
            result = check(child.run(job, deadline))
            is_sound = True
        except ExtractError:  # the child says itself that there is no text to be had
            is_sound = True
            raise
        except BadFrameError:
            raise JobLostError("memory", begun=True) from None
        finally:
            self._give(child, keep=is_sound)
        return result

    def _take(self) -> Child:
        """Return a child that waits for a job, a new one if there is none. Raises ExtractError."""
        dead = []
        try:
            with self._lock:
                while self._idle and not self._closed:
                    child, _ = self._idle.pop()
                    if child.is_idle():
                        self._busy.add(child)
                        return child
                    dead.append(child)
        finally:
            for each in dead:
                each.kill()
        return self._start()

    def _start(self) -> Child:
        command = self._command or command_line(self._limits, sys.path)
        try:
            child = Child(command, self._limits, self._environ, self._clock)
        except OSError:
            raise ExtractError from None
        with self._lock:
            if not self._closed:
                self._busy.add(child)
                return child
        child.kill()
        raise ExtractError

    def _give(self, child: Child, *, keep: bool) -> None:
        keep = keep and child.memory() <= self._fat
        with self._lock:
            self._busy.discard(child)
            keep = keep and not self._closed
            if keep:
                self._idle.append((child, self._clock()))
                self._plan()
        if not keep:
            child.kill()

    def _plan(self) -> None:
        """See to it that children without work end; call it with the lock held."""
        if len(self._idle) > 1 and not self._sweeper:
            self._sweeper = threading.Timer(self._idle_seconds, self._sweep)
            self._sweeper.daemon = True
            try:
                self._sweeper.start()
            except RuntimeError:  # no thread left: the next child that is given back tries again
                self._sweeper = None

    def _sweep(self) -> None:
        with self._lock:
            self._sweeper = None
            since = self._clock() - self._idle_seconds
            idle = [child for child, when in self._idle[:-1] if when <= since]
            self._idle = [each for each in self._idle if each[0] not in idle]
            if not self._closed:
                self._plan()
        for child in idle:
            child.kill()

    def _forked(self) -> None:
        for child in [*(child for child, _ in self._idle), *self._busy]:
            child.disown()
        self._reset()


def _job(document: Document, format: Format, *, html: bool = False, builtin: bool = False) -> Frame:
    header = {
        "job": "extract",
        "content_type": document.content_type,
        "charset": document.charset,
        "url": document.url,
        "format": format,
        "html": html,
        "builtin": builtin,
    }
    return Frame(header, document.body)


_extractors: weakref.WeakSet[Extractor] = weakref.WeakSet()


def _after_fork() -> None:
    """Let go of the pipes to another process's children, which would not end with it while these are open."""
    for extractor in _extractors:
        extractor._forked()


os.register_at_fork(after_in_child=_after_fork)
