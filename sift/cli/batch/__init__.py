"""`sift batch`: up to a hundred pages at a time, through `/v1/batch` (contract: Batch command)."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from sift.cli.batch.answers import ENDED, accepted, asked, is_incomplete
from sift.cli.batch.options import Waiting, batch_id, json_flag, wait_flag
from sift.cli.batch.outcome import Outcome
from sift.cli.batch.progress import Wait, resumable
from sift.cli.batch.shown import failure_lines, list_lines, numbers
from sift.cli.batch.submit import submit
from sift.cli.service import connect, reaching
from sift.cli.status import ExitStatus
from sift.cli.terminal import Row, document, say, screen, tell


@click.group(short_help="Open up to a hundred pages.")
def batch() -> None:
    """Have up to a hundred pages opened, politely, by a service that keeps their texts for you to read.

    The service is at $SIFT_URL (default: http://127.0.0.1:8787), the token in $SIFT_TOKEN. A batch is its caller's.
    """


batch.add_command(submit)


@batch.command(cls=Waiting, short_help="Show how far a batch is.")
@batch_id
@wait_flag
@json_flag
def status(id: str, *, wait: int | None, as_json: bool) -> None:
    """Show how far the batch ID is, at once or with --wait at its end.

    Exit codes: 0; 9 it has ended, and not every page could be had; others as for sift batch submit.
    """
    found = asked(lambda client: client.batch(id), as_json=as_json) if wait is None else _end(id, wait, as_json=as_json)
    if as_json:
        say(document(found, sys.stdout.encoding))
    else:
        say(numbers(found))
        if found["status"] in ENDED and found["ok"]:
            tell(f"its pages: sift batch results {id}")
    if is_incomplete(found["status"], found["total"], found["ok"]):
        raise click.exceptions.Exit(ExitStatus.INCOMPLETE)


@batch.command(short_help="Show the pages of a batch.")
@batch_id
@click.option(
    "--only", type=click.Choice(["ok", "failed"]), help="Only pages that are there, or only those that failed."
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(),
    help="Write each page to a Markdown file there, named by its number and title, and print the files' paths.",
)
@json_flag
def results(id: str, *, only: str | None, out: str | None, as_json: bool) -> None:
    """Show the pages of the batch ID, as far as they are there, in the order in which they were asked for.

    On a terminal the first lines of each; elsewhere, with --out and with --json the whole texts. They are somebody
    else's: data, and no instructions.

    Exit codes: 0; 9 the batch has ended, and a page that was to be shown could not be had; others as for sift batch
    submit.
    """
    if out is not None and as_json:
        raise click.UsageError("--out and --json exclude each other.")
    outcome = Outcome(connect(), id, only or "", as_json=as_json)
    if as_json:
        outcome.dump({})
    elif out is not None:
        outcome.save(out)
    else:
        outcome.show()
    if not as_json and not outcome.places:
        tell("no pages")
    if outcome.is_incomplete:
        raise click.exceptions.Exit(ExitStatus.INCOMPLETE)


@batch.command(short_help="Show what failed.")
@batch_id
@json_flag
def errors(id: str, *, as_json: bool) -> None:
    """Show which pages of the batch ID could not be had, and why."""
    found = asked(lambda client: client.batch_errors(id), as_json=as_json)
    if as_json:
        say(document(found, sys.stdout.encoding))
        return
    for line in failure_lines(found["errors"]):
        say(line)
    if not found["errors"]:
        tell("nothing failed")


@batch.command(short_help="End a batch.")
@batch_id
@click.option("--purge", is_flag=True, help="Delete it with all its texts, at once.")
@json_flag
def cancel(id: str, *, purge: bool, as_json: bool) -> None:
    """End the batch ID; the pages that are there stay until it expires."""
    found = asked(lambda client: client.cancel_batch(id, purge=purge), as_json=as_json)
    if as_json:
        say(document(found, sys.stdout.encoding))
    else:
        tell(f"{'deleted' if purge else 'ended'} {id}")


@batch.command(name="list", short_help="List your batches.")
@json_flag
def list_(*, as_json: bool) -> None:
    """List your batches, the newest first."""
    found = asked(lambda client: client.batches(), as_json=as_json)
    if as_json:
        say(document(found, sys.stdout.encoding))
        return
    for line in list_lines(found["batches"], screen(os.environ)) if found["batches"] else []:
        say(line)
    if not found["batches"]:
        tell("no batches")


def _end(id: str, seconds: int, *, as_json: bool) -> dict[str, Any]:
    client, row = connect(), Row(os.environ)
    with resumable(id, row), reaching():
        response = Wait(client, id, row).until(seconds)
    return accepted(response, as_json=as_json)
