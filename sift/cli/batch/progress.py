"""Waiting for the end of a batch, with a bar on the terminal behind stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from sift.cli.batch.answers import ENDED
from sift.cli.layout import columns, shortened
from sift.cli.status import ExitStatus
from sift.cli.terminal import Row, Screen, printable, tell

if TYPE_CHECKING:
    from sift.client import Response, SiftClient

_STEP, _WATCHED_STEP = 20, 2  # seconds that the service is asked to wait; a bar wants news more often
_PAUSE = 1.0  # seconds between two questions when the service does not wait
_TRIES = 5  # in a row that may fail: a service that restarts is back by then
_LOOKS = 4  # places that are looked at in one step for the host that is waited for
_MAX_BAR = 30  # columns


class Wait:
    """One wait for the end of a batch. clock: monotonic seconds. row: where the bar is shown, on a terminal."""

    def __init__(
        self,
        client: SiftClient,
        id: str,
        row: Row,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self._client = client
        self._id = id
        self._row = row
        self._clock = clock
        self._pause = pause
        self._first = 0  # no place before it is still waited for

    def until(self, seconds: float) -> Response:
        """Return the state at the end of the batch, or after so many seconds, or what the service answered instead.

        Raises UnreachableError or ForeignResponseError when it did not answer several times in a row.
        """
        from sift.client import UnreachableError

        end = self._clock() + seconds
        asked = failed = 0
        while True:
            begun = self._clock()
            most = _STEP if not self._row.screen else _WATCHED_STEP if asked else 0  # the bar is there at once
            step, asked = max(0, min(most, int(end - begun))), asked + 1
            try:
                response = self._client.batch(self._id, step)
            except UnreachableError:
                response, failed = None, failed + 1
                if failed == _TRIES or self._clock() >= end:
                    raise
            if response is not None:
                failed = failed + 1 if response.status == 503 else 0
                if response.status == 200:
                    self._show(response.payload)
                elif failed in (0, _TRIES):
                    return response
                if response.payload.get("status") in ENDED or self._clock() >= end:
                    return response
            if failed or self._clock() - begun < step or (not step and asked > 1):
                self._pause(min(_PAUSE, max(end - self._clock(), 0)))

    def _show(self, batch: dict[str, Any]) -> None:
        if self._row.screen:
            host = "" if batch["status"] in ENDED else self._host()
            self._row.show(progress(batch, host, self._row.screen))

    def _host(self) -> str:
        """Return the host of the first page that is still to come; "" when that takes too long to find out."""
        from sift.client import ForeignResponseError, UnreachableError

        for _ in range(_LOOKS):
            try:
                response = self._client.batch_results(self._id, self._first, 1)
            except (UnreachableError, ForeignResponseError):
                return ""
            items = response.payload.get("items")
            if not items:
                return ""
            if items[0]["state"] in ("queued", "running"):
                return _host_of(items[0]["url"])
            self._first += 1
        return ""


@contextmanager
def resumable(id: str, row: Row) -> Iterator[None]:
    """Erase the bar in the end; where the block ends early, say how to go on. A Ctrl-C ends the command alone."""
    try:
        yield
    except KeyboardInterrupt:
        row.erase()
        tell(go_on(id))
        raise click.exceptions.Exit(ExitStatus.INTERRUPTED) from None
    except click.exceptions.Exit as end:
        row.erase()
        if end.exit_code in (ExitStatus.UNREACHABLE, ExitStatus.BUSY):
            tell(go_on(id))
        raise
    finally:
        row.erase()


def progress(batch: dict[str, Any], host: str, screen: Screen) -> str:
    """Return a bar of what is done, in proportion, then the numbers and the host that is waited for.

    One row: what does not fit is left out, the host first.
    """
    total, failed = batch["total"], batch["failed"]
    done = min(batch["ok"] + failed, total)
    room = screen.width - 1
    said = f"{done} of {total}" + (f", {failed} failed" if failed else "")
    said = shortened(said, room, screen.ellipsis)
    waiting = f"  waiting for {printable(host)}" if host else ""
    if waiting and columns(said) + columns(waiting) + 12 <= room:
        said += waiting
    width = min(_MAX_BAR, room - columns(said) - 2)
    if width < 4:
        return said
    marks = done * width // total if total else width
    full, empty = ("█", "░") if screen.ellipsis == "…" else ("#", "-")
    return f"{screen.green(full * marks)}{screen.dim(empty * (width - marks))}  {said}"


def go_on(id: str) -> str:
    """Return how to wait on for a batch."""
    return f"the batch goes on: sift batch status {id} --wait"


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
