"""What the views work with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from flask import current_app

from sift.auth.caller import Caller
from sift.log import JsonLog
from sift.search.engine import Engine


@dataclass(frozen=True, slots=True)
class Services:
    """The parts that `create_app` wires.

    identify: from an Authorization header to the caller; raises UnauthorizedError.
    refused: called with the peer's address for each refused attempt.
    cache_stats: the number of entries and the hit rate.
    spent: from nothing to (credits used, credits left) of the capped source; None where that is unknown.
    notices: warnings that every answer carries.
    """

    engine: Engine
    identify: Callable[[str | None], Caller]
    refused: Callable[[str], None]
    log: JsonLog
    cache_stats: Callable[[], Mapping[str, float]]
    spent: Callable[[], tuple[int | None, int | None]]
    since: str
    notices: tuple[str, ...] = ()


def services() -> Services:
    """Return the services of the current application."""
    return cast(Services, current_app.extensions["sift"])
