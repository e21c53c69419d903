"""Waiting for the end of a batch, and its bar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click
import pytest

from sift.cli.batch.progress import Wait, progress, resumable
from sift.cli.layout import columns
from sift.cli.status import ExitStatus
from sift.cli.terminal import Row, Screen
from sift.client import Response, UnreachableError
from tests.cli.batches import ID

SCREEN = Screen(80, 40, has_styles=True, has_colour=False, ellipsis="…")
PLAIN = Screen(80, 40, has_styles=False, has_colour=False, ellipsis="...")


def numbers(ok: int, failed: int = 0, total: int = 4) -> dict[str, Any]:
    ended = ok + failed == total
    counts = {"total": total, "ok": ok, "failed": failed, "pending": total - ok - failed}
    return {"id": ID, "status": "done" if ended else "running", **counts}


class Client:
    """Answers questions for the state one after another; time passes as the test says.

    waits: whether the service waits as long as it is asked to.
    """

    def __init__(self, *answers: Response | Exception, waits: bool = True) -> None:
        self._answers: Iterator[Response | Exception] = iter(answers)
        self._waits = waits
        self.now = 0.0
        self.asked: list[int] = []
        self.paused: list[float] = []

    def batch(self, id: str, wait: int) -> Response:
        self.asked.append(wait)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        if self._waits and answer.payload.get("status") == "running":
            self.now += wait
        return answer

    def pause(self, seconds: float) -> None:
        self.paused.append(seconds)
        self.now += seconds

    def until(self, seconds: float) -> Response:
        wait = Wait(self, ID, Row({}), clock=lambda: self.now, pause=self.pause)  # type: ignore[arg-type]
        return wait.until(seconds)


RUNNING, DONE = Response(200, numbers(1)), Response(200, numbers(4))
BUSY = Response(503, {"error": "busy", "hint": ""}, 1)
GONE = UnreachableError("the connection was refused")


def test_service_that_waits_is_not_asked_in_between() -> None:
    """contract: Batch command: 20 s at a time, and the last time what is left."""
    client = Client(RUNNING, RUNNING, RUNNING)
    assert client.until(50) == RUNNING
    assert (client.asked, client.paused) == ([20, 20, 10], [])


def test_service_that_does_not_wait_is_asked_at_intervals() -> None:
    """contract: Batch command: it waits for a few only, and answers the others at once."""
    client = Client(*[RUNNING] * 3, DONE, waits=False)
    assert client.until(50) == DONE
    assert client.paused == [1.0] * 3


def test_wait_ends_when_its_time_is_over() -> None:
    """contract: Batch command: fractions of a second included, and with a last look."""
    client = Client(*[RUNNING] * 9, waits=False)
    assert client.until(2.5) == RUNNING
    assert client.now == 2.5


def test_service_that_is_gone_for_a_moment_is_asked_again() -> None:
    """contract: Batch command: a restart of the service ends no wait."""
    client = Client(GONE, GONE, BUSY, RUNNING, GONE, DONE)
    assert client.until(600) == DONE


@pytest.mark.parametrize("trouble", [GONE, BUSY])
def test_service_that_stays_away_ends_the_wait(trouble: Any) -> None:
    """contract: Batch command: five times in a row are enough."""
    client = Client(*[trouble] * 5)
    if trouble is BUSY:
        assert client.until(600) == BUSY
    else:
        with pytest.raises(UnreachableError):
            client.until(600)
    assert len(client.asked) == 5


def test_refusal_ends_the_wait_at_once() -> None:
    """contract: Batch command: a batch that was deleted does not come back."""
    gone = Response(404, {"error": "not found", "hint": ""})
    assert Client(RUNNING, gone).until(600) == gone


@pytest.mark.parametrize("code", [ExitStatus.UNREACHABLE, ExitStatus.BUSY])
def test_wait_that_breaks_off_says_how_to_go_on(code: ExitStatus, capsys: pytest.CaptureFixture[str]) -> None:
    """contract: Batch command: the batch does not need the command."""
    with pytest.raises(click.exceptions.Exit), resumable(ID, Row({})):
        raise click.exceptions.Exit(code)
    assert capsys.readouterr().err == f"the batch goes on: sift batch status {ID} --wait\n"


BARS = {
    "none": (numbers(0), "a.example", SCREEN, "░" * 30 + "  0 of 4  waiting for a.example"),
    "half": (numbers(1, 1), "", SCREEN, "█" * 15 + "░" * 15 + "  2 of 4, 1 failed"),
    "all": (numbers(4), "", SCREEN, "█" * 30 + "  4 of 4"),
    "ascii": (numbers(2), "", PLAIN, "#" * 15 + "-" * 15 + "  2 of 4"),
    "more than all": (numbers(9), "", PLAIN, "#" * 30 + "  4 of 4"),
    "no host": (numbers(2), "h" * 70, PLAIN, "#" * 15 + "-" * 15 + "  2 of 4"),
    "hostile": (numbers(0), "\x1b[31ma\u202eb\n.example", PLAIN, "-" * 30 + "  0 of 4  waiting for ab .example"),
}


@pytest.mark.parametrize(("batch", "host", "screen", "shown"), BARS.values(), ids=BARS)
def test_bar_is_in_proportion(batch: Any, host: str, screen: Screen, shown: str) -> None:
    """contract: Batch command: then the numbers, and the host that is waited for."""
    assert re.sub(r"\x1b\[\d*m", "", progress(batch, host, screen)) == shown


def test_bar_fits_into_any_terminal() -> None:
    """contract: Batch command: one row, which can be erased."""
    for width in range(1, 120):
        screen = SCREEN._replace(width=width, has_styles=False)
        for host in ("", "例え.example" * 3, "a.example"):
            assert columns(progress(numbers(1, 2), host, screen)) < max(width, 3)
