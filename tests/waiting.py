"""Waiting for the effects of other threads and processes."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import FrameType


def wait_until(condition: Callable[[], object], seconds: float = 20) -> bool:
    """Wait for a condition; return whether it came true in time."""
    end, pause = time.monotonic() + seconds, threading.Event()
    while not condition():
        if time.monotonic() > end:
            return False
        pause.wait(0.005)
    return True


def wait_for(condition: Callable[[], object], seconds: float = 20) -> None:
    """Wait until a condition holds; fail if it does not in time."""
    assert wait_until(condition, seconds), "the awaited condition never held"


def threads_in(function: Callable[..., object]) -> int:
    """Count the threads that are executing a Python function right now."""
    count = 0
    for frame in sys._current_frames().values():
        at: FrameType | None = frame
        while at is not None:
            count += at.f_code is function.__code__
            at = at.f_back
    return count
