"""The exit codes of the `sift` command."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """How a command ended (contract: Command line, Fetch command, Batch command)."""

    ANSWERED = 0  # with or without hits
    FAILED = 1  # an internal error, or an answer that is not Sift's
    USAGE = 2  # a wrong flag or setting, or a request the service rejected
    AUTH = 3  # no valid key, or one without permission
    UNREACHABLE = 4
    UNAVAILABLE = 5  # no source answered
    NOT_ALLOWED = 6  # a page that Sift does not open
    NO_PAGE = 7  # a page that could not be had, or is no text
    BUSY = 8  # too many pages are being opened, or too many batches are under way
    INCOMPLETE = 9  # a batch ended, and not every page of it could be had
    INTERRUPTED = 130  # Ctrl-C: 128 + SIGINT, as shells count
