"""Checks that wait for others: made at the same time, and bounded in all, whatever anybody does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from sift.findings import Finding, fail

Check = Callable[[], list[Finding]]


def guarded(name: str, check: Check) -> list[Finding]:
    """Return what a check finds; when it breaks, its exception's type: the text may hold anything."""
    try:
        return check()
    except Exception as error:
        return [fail(name, f"this check broke: {type(error).__name__}", "report it; the other checks hold")]


def together(checks: Mapping[str, Check], seconds: float) -> list[Finding]:
    """Return what all checks find, in their order; one that has not ended after `seconds` is given up."""
    found: dict[str, list[Finding]] = {}

    def run(name: str, check: Check) -> None:
        found[name] = guarded(name, check)

    threads = {
        name: threading.Thread(target=run, args=(name, check), name="sift-doctor", daemon=True)
        for name, check in checks.items()
    }
    for thread in threads.values():
        thread.start()
    end = time.monotonic() + seconds
    for thread in threads.values():
        thread.join(max(0.0, end - time.monotonic()))
    late = (f"no answer within {seconds:g} s", "look at the network, the name server and what is asked")
    return [each for name in checks for each in found.get(name, [fail(name, *late)])]
