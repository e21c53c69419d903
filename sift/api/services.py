"""What the views work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from flask import current_app

from sift.api.log import JsonLog
from sift.auth.caller import Caller
from sift.search.engine import Engine


@dataclass(frozen=True, slots=True)
class Services:
    """Hold the parts that `create_app` wires.

    identify: from an Authorization header to the caller; raises UnauthorizedError.
    refused: called with the peer's address for each refused attempt.
    spent: from nothing to (credits used, credits left) of the capped source; None where that is unknown.
    notices: warnings that every answer carries.
    """

    engine: Engine
    identify: Callable[[str | None], Caller]
    refused: Callable[[str], None]
    log: JsonLog
    spent: Callable[[], tuple[int | None, int | None]]
    since: str
    notices: tuple[str, ...] = ()


def services() -> Services:
    """Give the services of the current application."""
    return cast(Services, current_app.extensions["sift"])
