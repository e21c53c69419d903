"""How a command of `sift` ends."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """Name the exit codes (contract: Command line)."""

    ANSWERED = 0  # also with no hits
    FAILED = 1  # inside Sift, or what answered is not Sift
    USAGE = 2  # a wrong flag or setting, or a request the service refused as wrong
    AUTH = 3  # no valid key, or one that may not
    UNREACHABLE = 4
    UNAVAILABLE = 5  # no source answered
    INTERRUPTED = 130  # Ctrl-C: 128 + SIGINT, as shells count
