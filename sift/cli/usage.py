"""`sift usage`: what was called, paid and spared, by day and source (contract: Usage, Command line)."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from sift.cli.explained import table
from sift.cli.service import ask, refusal
from sift.cli.status import ExitStatus
from sift.cli.terminal import Screen, complain, document, printable, say, screen, tell

MAX_DAYS = 90
MAX_BAR = 30  # columns
_STATUSES = {400: ExitStatus.USAGE, 401: ExitStatus.AUTH, 403: ExitStatus.AUTH, 503: ExitStatus.UNAVAILABLE}
_COLUMNS = ("calls", "credits", "spared_by_cache", "spared_by_sharing", "refused_by_cap")
_HEADS = ("day", "source", "calls", "credits", "cached", "shared", "refused")


@click.command(short_help="Show what was called, paid and spared.")
@click.option(
    "--days", type=click.IntRange(1, MAX_DAYS), metavar="N", default=7, show_default=True, help="How many days to show."
)
@click.option("--json", "as_json", is_flag=True, help="Print the service's JSON answer, and nothing else.")
def usage(*, days: int, as_json: bool) -> None:
    """Show the calls of each day and source, the credits they cost, and the calls that were not made.

    The service is at $SIFT_URL (default: http://127.0.0.1:8787), the token in $SIFT_TOKEN; it must be of class fleet.
    """
    response = ask(lambda client: client.usage(days), "waiting for the service ...")
    if as_json:
        say(document(response.payload, sys.stdout.encoding))
    if response.status != 200:
        is_class = response.status == 403 and response.payload["hint"] == "class"
        complain("forbidden: the key must be of class fleet" if is_class else refusal(response))
        raise click.exceptions.Exit(_STATUSES.get(response.status, ExitStatus.FAILED))
    if not as_json:
        for line in usage_lines(response.payload["days"], screen(os.environ)):
            say(line)
        if not response.payload["days"]:
            tell("nothing was used")


def usage_lines(days: list[dict[str, Any]], display: Screen | None) -> list[str]:
    """Return a table with a line for each day and source, and on a terminal a bar for its calls."""
    entries = [(day["day"], each) for day in days for each in day["sources"]]
    if not entries:
        return []
    rows = [
        [printable(day), printable(each["source"]), *(printable(str(each[name])) for name in _COLUMNS)]
        for day, each in entries
    ]
    lines = table([list(_HEADS), *rows], left={0, 1})
    if display is None:
        return lines
    room = min(MAX_BAR, display.width - max(map(len, lines)) - 3)
    most = max(each["calls"] for _, each in entries)
    bars = ["", *(_bar(each["calls"], most, room, display) for _, each in entries)]
    width = max(map(len, lines))
    return [f"{line.ljust(width)}  {bar}".rstrip() for line, bar in zip(lines, bars, strict=True)]


def _bar(calls: int, most: int, room: int, display: Screen) -> str:
    """Return a bar in proportion, of at least one mark for any call."""
    marks = -(-calls * room // most) if most and room > 0 else 0
    return display.green(("█" if display.ellipsis == "…" else "#") * marks) if marks else ""
