"""How a child is started: behind everything else, from its first instruction."""

from __future__ import annotations

import os
import shutil
import sys
import time

import pytest

from sift.fetch.extract.extractor import Extractor
from sift.fetch.extract.model import Document
from sift.fetch.extract.process import Limits, command_line


def test_child_gets_its_cpus_and_its_precedence_before_the_interpreter_starts() -> None:
    """contract: Page text: until then it would have those of the service, and slow searches."""
    found = command_line(Limits(cpus=(0, 3)), ["/x"], lambda name: f"/bin/{name}")
    assert found[:6] == ["/bin/taskset", "-c", "0,3", "/bin/chrt", "--idle", "0"]
    assert found[6] == sys.executable


def test_programs_are_not_there_the_interpreter_starts_at_once() -> None:
    assert command_line(Limits(cpus=(0,)), [], lambda name: None)[0] == sys.executable


def test_no_cpus_are_given_only_the_precedence_is_set() -> None:
    assert command_line(Limits(), [], lambda name: name)[:4] == ["chrt", "--idle", "0", sys.executable]


@pytest.mark.skipif(not shutil.which("chrt"), reason="chrt is missing")
def test_child_is_in_the_services_session_in_a_group_of_its_own_and_behind_everything() -> None:
    """contract: Page text: in a session of its own it would have as much of the processor as the whole service."""
    extractor = Extractor(1, os.sched_getaffinity(0))
    try:
        extractor.extract(Document(b"x", "text/plain", "", "https://a.com/"), "text", deadline=time.monotonic() + 20)
        (pid,) = extractor.pids
        assert os.getsid(pid) == os.getsid(0)
        assert os.getpgid(pid) == pid
        assert os.sched_getscheduler(pid) == os.SCHED_IDLE
        assert os.sched_getaffinity(pid) == os.sched_getaffinity(0)
    finally:
        extractor.close()
