"""Waiting for what other threads and processes bring about."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import FrameType


def wait_until(condition: Callable[[], object], seconds: float = 20) -> bool:
    """Wait for a condition; tell whether it came true in time."""
    end, pause = time.monotonic() + seconds, threading.Event()
    while not condition():
        if time.monotonic() > end:
            return False
        pause.wait(0.005)
    return True


def wait_for(condition: Callable[[], object], seconds: float = 20) -> None:
    """Wait until a condition holds; fail when it does not come true in time."""
    assert wait_until(condition, seconds), "what was waited for did not happen"


def threads_in(function: Callable[..., object]) -> int:
    """Count the threads that are inside a call of a Python function now."""
    count = 0
    for frame in sys._current_frames().values():
        at: FrameType | None = frame
        while at is not None:
            count += at.f_code is function.__code__
            at = at.f_back
    return count
