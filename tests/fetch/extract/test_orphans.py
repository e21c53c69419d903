"""No child is left over (contract: Page text)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict

import pytest

from sift.errors import ExtractError
from sift.fetch.extract.extractor import Extractor
from sift.fetch.extract.frames import BEGUN, Frame, pack
from sift.fetch.extract.process import Limits, command_line
from tests.fetch.extract.children import ROOT
from tests.fetch.extract.samples import SLOW, html
from tests.fetch.extract.test_extractor import gone, linux, needs_extra, read
from tests.waiting import wait_for

pytestmark = linux
Service = subprocess.Popen[str]


@pytest.fixture
def serve() -> Iterator[Callable[[str], Service]]:
    """Return what starts a small service; it is killed when the test is over."""
    started: list[Service] = []

    def serve(what: str) -> Service:
        command = [sys.executable, "-m", "tests.fetch.extract.orphan", what]
        started.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield serve
    for each in started:
        each.kill()
        each.wait(20)
        if each.stdout:
            each.stdout.close()  # a forked process may still hold the other end


def said(service: Service) -> list[str]:
    """Return the words of the next line that a service prints."""
    assert service.stdout
    return service.stdout.readline().split()


def test_closing_ends_all_children() -> None:
    """contract: Page text. Idle ones at once; no document is read afterwards."""
    extractor = Extractor(2)
    read(extractor, html("x", "text/plain"))
    (pid,) = extractor.pids
    extractor.close()
    assert gone(pid)
    assert extractor.pids == []
    with pytest.raises(ExtractError):
        read(extractor, html("x", "text/plain"))


def test_children_end_with_a_parent_that_is_killed(serve: Callable[[str], Service]) -> None:
    """contract: Page text. At the end of their input."""
    service = serve("idle")
    pids = [int(pid) for pid in said(service)]
    assert len(pids) == 1
    assert not gone(pids[0])
    service.kill()
    wait_for(lambda: all(map(gone, pids)))


@needs_extra
def test_child_at_work_ends_with_its_job_when_its_parent_is_killed(serve: Callable[[str], Service]) -> None:
    """contract: Page text. Nobody is left to kill it, so it sees to that itself."""
    service = serve("busy")
    pids = [int(pid) for pid in said(service)]
    service.kill()
    wait_for(lambda: all(map(gone, pids)))


@pytest.mark.parametrize("what", ["fork", "use fork"])
def test_children_end_with_their_parent_though_a_forked_process_lives(
    serve: Callable[[str], Service], what: str
) -> None:
    """contract: Page text. A forked process lets go of its parent's children, and has its own when it needs them."""
    service = serve(what)
    (pid,) = [int(each) for each in said(service)]
    fork, *own = [int(each) for each in said(service)]
    try:
        assert len(own) == (what == "use fork")
        assert pid not in own
        assert not any(map(gone, (pid, fork, *own)))
        service.kill()
        service.wait(20)
        wait_for(lambda: gone(pid))
        assert not gone(fork)
    finally:
        os.kill(fork, signal.SIGKILL)
    wait_for(lambda: all(map(gone, own)))


@needs_extra
@pytest.mark.parametrize(
    ("limits", "end"),
    [(Limits(wall=0.2), signal.SIGALRM), (Limits(cpu=1, wall=60), signal.SIGXCPU)],
    ids=["wall", "processor"],
)
def test_child_whose_parent_is_gone_is_ended_by_the_system(limits: Limits, end: signal.Signals) -> None:
    """contract: Page text. An alarm and a limit without a handler: no page can talk them away."""
    command = command_line(limits, sys.path)
    header = {"job": "extract", "content_type": "text/html", "charset": "", "url": "", "format": "markdown"}
    job = Frame({**header, "html": False, "builtin": False}, SLOW)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        for piece in pack(job):
            child.stdin.write(piece)
        child.stdin.close()
        assert child.stdout.read() == BEGUN
        assert child.wait(60) == -end


def test_limits_travel_as_json() -> None:
    """contract: Page text. The child sets them before it reads anything."""
    limits = Limits(cpus=(0, 1))
    assert json.loads(command_line(limits, [])[-1]) == json.loads(json.dumps(asdict(limits)))
