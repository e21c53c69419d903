"""What the views work with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from flask import current_app

from sift.auth.caller import Caller
from sift.log import JsonLog
from sift.search.engine import Engine


class Credits(NamedTuple):
    """Describe what a capped source may cost in the current day.

    used: None when the ledger cannot be read. resets_at: the end of the day, in ISO 8601 with `Z`.
    """

    used: int | None
    limit: int
    resets_at: str


@dataclass(frozen=True, slots=True)
class Services:
    """The parts that `create_app` wires.

    identify: from an Authorization header to the caller; raises UnauthorizedError.
    refused: called with the peer's address for each refused attempt.
    cache_stats: the number of entries and the hit rate.
    credits: from nothing to the credits of every capped source, by its name.
    demo: whether the bundled demo sources answer. notices: warnings that every answer carries.
    share: takes the mark by which the processes of a service know their ledger. close: books what is not yet booked.
    """

    engine: Engine
    identify: Callable[[str | None], Caller]
    refused: Callable[[str], None]
    log: JsonLog
    cache_stats: Callable[[], Mapping[str, float]]
    credits: Callable[[], Mapping[str, Credits]]
    since: str
    demo: bool = False
    notices: tuple[str, ...] = ()
    share: Callable[[Any], None] = lambda mark: None
    close: Callable[[], None] = lambda: None


def services() -> Services:
    """Return the services of the current application."""
    return cast(Services, current_app.extensions["sift"])
