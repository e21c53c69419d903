"""`sift status`: how the service and its sources do (contract: Operations, Command line)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import click

from sift.cli.explained import table
from sift.cli.service import ask, refusal
from sift.cli.status import ExitStatus
from sift.cli.terminal import Screen, complain, document, printable, say, screen

PAUSE = 2.0  # seconds between two looks
_STATUSES = {401: ExitStatus.AUTH, 403: ExitStatus.AUTH}
_HEADS = ("source", "state", "calls", "failures", "p50 ms", "p95 ms", "credits", "last failure")
_UNKNOWN = "-"


@click.command("status", short_help="Show how the service and its sources do.")
@click.option("--json", "as_json", is_flag=True, help="Print the service's JSON answer, and nothing else.")
@click.option("--watch", is_flag=True, help="Look again every two seconds, until Ctrl-C.")
def show_status(*, as_json: bool, watch: bool) -> None:
    """Show the state of each source, its calls and times, and the credits that are left.

    The numbers are those of the worker that answers, but for the credits. The service is at $SIFT_URL (default:
    http://127.0.0.1:8787), the token in $SIFT_TOKEN; it must be of class fleet.
    """
    _look(as_json=as_json, clears=watch)
    while watch:
        time.sleep(PAUSE)
        try:
            _look(as_json=as_json, clears=True)
        except click.exceptions.Exit:  # it has been said why; the service may come back
            continue


def _look(*, as_json: bool, clears: bool) -> None:
    """Ask once and print the answer. Raises Exit when there is none."""
    response = ask(lambda client: client.status(), "waiting for the service ...")
    if as_json:
        say(document(response.payload, sys.stdout.encoding))
    elif response.status == 200:
        display = screen(os.environ)
        cleared = display.cleared() if display and clears else ""
        say(cleared + "\n".join(status_lines(response.payload, display)))
    sys.stdout.flush()
    if response.status != 200:
        is_class = response.status == 403 and response.payload["hint"] == "class"
        complain("forbidden: the key must be of class fleet" if is_class else refusal(response))
        raise click.exceptions.Exit(_STATUSES.get(response.status, ExitStatus.FAILED))


def status_lines(payload: dict[str, Any], display: Screen | None) -> list[str]:
    """Return a line on the service, and a table with a line for each source; states are coloured on a terminal."""
    sources = payload["sources"]
    rows = [[_text(each.get("name")), _text(each.get("state")), *_numbers(each), _failure(each)] for each in sources]
    head, *lines = table([list(_HEADS), *rows], left={0, 1, len(_HEADS) - 1})
    if display is not None:
        begins = [line.index(row[1], len(row[0]) + 2) for line, row in zip(lines, rows, strict=True)]
        lines = [
            line[:at] + _colour(row[1], display)(row[1]) + line[at + len(row[1]) :]
            for line, row, at in zip(lines, rows, begins, strict=True)
        ]
        head = display.bold(head)
    return [_service(payload), "", head, *lines]


def _service(payload: dict[str, Any]) -> str:
    cache = payload["cache"]
    rate = cache.get("hit_rate")
    parts = [
        f"Sift {_text(payload['version'])} since {_text(payload.get('since'))}",
        f"workers: {_text(payload.get('workers'))}",
        f"answers kept: {_text(cache.get('entries'))}",
        f"hit rate: {rate:.0%}" if isinstance(rate, int | float) else "",
        "demo sources" if payload.get("demo") is True else "",
    ]
    return "; ".join(part for part in parts if part)


def _numbers(source: dict[str, Any]) -> list[str]:
    capped = source.get("credits")
    spent = f"{_text(capped.get('used'))}/{_text(capped.get('limit'))}" if isinstance(capped, dict) else _UNKNOWN
    return [*(_text(source.get(name)) for name in ("calls", "failures", "p50_ms", "p95_ms")), spent]


def _failure(source: dict[str, Any]) -> str:
    last = source.get("last_failure")
    return f"{_text(last.get('reason'))}, {_text(last.get('at'))}" if isinstance(last, dict) else ""


def _text(value: object) -> str:
    """Return a value for one cell; a dash for none."""
    return _UNKNOWN if value is None or value == "" else printable(str(value))


def _colour(state: str, display: Screen) -> Callable[[str], str]:
    return {"ok": display.green, "idle": display.dim, "failing": display.red}.get(state, display.yellow)
