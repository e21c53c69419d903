"""The program of a child process: reads jobs from its standard input until that ends, under limits of its own.

The limits hold even when the parent is gone: the address space, the processor time of a job, and an alarm at the end
of a job's wall time, whose default action kills. At the end of its input, an idle child ends. What a page could make
of a faulty extractor beyond that is taken from it, where the system can.
"""

from __future__ import annotations

import json
import logging
import math
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from sift.fetch.extract import sandbox
from sift.fetch.extract.frames import BEGUN, LENGTHS, Frame, lengths, pack, unpack
from sift.fetch.extract.jobs import Job, prepare
from sift.fetch.extract.process import NICE, Limits

_GRACE = 0.25
"""Seconds that the parent has for ending an overrun itself, before the alarm does."""
_SHARE = 0.5
"""Of the wall time: after it, an extractor that can stop and tell what it has does so."""


def main(limits: str) -> None:
    """Do jobs until the input ends. limits: a `Limits` record as JSON."""
    logging.disable(logging.CRITICAL)  # extractors log what they find in pages
    values = json.loads(limits)
    bounds = Limits(**{**values, "cpus": tuple(values["cpus"])})
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, bounds.load)
    confine(bounds)
    # Nothing that is printed may get between the frames.
    answers = os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    sandbox.enter()
    serve(sys.stdin.buffer, answers, bounds)


def confine(limits: Limits) -> None:
    """Give up what no extractor needs: memory beyond the limit, files, core dumps, other CPUs, precedence."""
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    with suppress(OSError):
        os.nice(max(0, NICE - os.nice(0)))
    if limits.cpus and hasattr(os, "sched_setaffinity"):
        with suppress(OSError):
            os.sched_setaffinity(0, limits.cpus)


def serve(jobs: BinaryIO, answers: BinaryIO, limits: Limits) -> None:
    """Answer each job that comes, until none comes any more."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    while (frame := _read(jobs)) is not None:
        signal.setitimer(signal.ITIMER_REAL, limits.load)
        job = prepare(frame, limits.wall * _SHARE)
        _begin(limits)
        answers.write(BEGUN)
        answers.flush()
        for piece in pack(_answer(job)):
            answers.write(piece)
        answers.flush()
        signal.setitimer(signal.ITIMER_REAL, 0)


def _begin(limits: Limits) -> None:
    """Start the clocks of a job. The limit of processor time counts from the process's start, in whole seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = math.ceil(used.ru_utime + used.ru_stime + limits.cpu)
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_REAL, limits.wall + _GRACE)


def _answer(job: Job) -> Frame:
    try:
        return job()
    except MemoryError:
        os._exit(1)  # whatever else failed with it cannot be known
    except Exception:
        return Frame({"failed": True})


def _read(jobs: BinaryIO) -> Frame | None:
    start = jobs.read(LENGTHS)
    if len(start) < LENGTHS:
        return None
    wanted = sum(lengths(start))
    rest = jobs.read(wanted)
    return unpack(start + rest) if len(rest) == wanted else None
