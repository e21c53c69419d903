"""What a check of a set-up found (contract: Doctor)."""

from __future__ import annotations

from typing import Literal, NamedTuple

Level = Literal["ok", "warn", "fail"]


class Finding(NamedTuple):
    """One line of `sift doctor`: nothing in it comes from a vendor's text, and no key, URL or caller's name does.

    check: what was looked at, a word or a source's name. what: the state of it. cure: what to do, "" when all is well.
    """

    level: Level
    check: str
    what: str
    cure: str = ""


def ok(check: str, what: str) -> Finding:
    """Return that a check found nothing wrong."""
    return Finding("ok", check, what)


def caution(check: str, what: str, cure: str) -> Finding:
    """Return that Sift works, and not as well as it could or not for long."""
    return Finding("warn", check, what, cure)


def fail(check: str, what: str, cure: str) -> Finding:
    """Return that Sift, or a part of it, does not work like this."""
    return Finding("fail", check, what, cure)
