"""What workers know of each other."""

from __future__ import annotations

import subprocess
import sys

from sift.server.headcount import free_slot

FORK = """
import os
from sift.server.headcount import Headcount
headcount = Headcount()
assert headcount.size == 1
told, tell = os.pipe()
if (child := os.fork()) == 0:
    os.read(told, 1)
    os._exit(headcount.size)
headcount.size = 7
os.write(tell, b"x")
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_workers_read_the_number_that_their_master_sets() -> None:
    """contract: Operations: also when it changes after they were forked."""
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "7\n"


def test_slot_is_the_lowest_that_is_free() -> None:
    """contract: Metrics: there are never more files than workers at the same time."""
    assert [free_slot(taken) for taken in ([], [0], [1, 2], [0, 1, 3], [2, 1, 0])] == [0, 1, 0, 2, 3]
