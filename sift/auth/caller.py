"""The caller of a request."""

from __future__ import annotations

from typing import NamedTuple, get_args

from sift.search.model import CallerClass

CLASSES: tuple[CallerClass, ...] = get_args(CallerClass)


class Caller(NamedTuple):
    """A caller's name, for the log, and class; both come from the key alone (contract: Callers)."""

    name: str
    cls: CallerClass


LOCAL = Caller("local", "fleet")  # every caller of a service without authentication
