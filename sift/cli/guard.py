"""`sift guard`: what the guard says of a URL, without a network (contract: Guard, Fetch command)."""

from __future__ import annotations

import os

import click

from sift.cli.refusals import refused
from sift.cli.status import ExitStatus
from sift.cli.terminal import complain, printable, say
from sift.config import fetch_config


@click.group(short_help="Check what may be opened.")
def guard() -> None:
    """Check what may be opened, without a network and without the service."""


@guard.command(short_help="Check the text of a URL.")
@click.argument("url", metavar="URL")
def check(url: str) -> None:
    """Check whether the text of URL passes the guard, and print it as it would be asked for.

    Its host is not looked up: the addresses that a look-up gives are judged when a page is opened. SIFT_FETCH_PORTS and
    SIFT_FETCH_DENY of the environment count, as they do for the service.

    Exit codes: 0 it passes; 2 wrong usage; 6 it is refused, and stderr says why.
    """
    # Imported late: what reads host names takes long to load, and --help does not need it.
    from sift.errors import RefusedURLError
    from sift.guard.guard import Guard

    settings = fetch_config(os.environ)
    try:
        target = Guard(settings.ports, settings.deny).target(url)
    except RefusedURLError as error:
        complain(refused(error.hint))
        raise click.exceptions.Exit(ExitStatus.NOT_ALLOWED) from None
    say(printable(target.url))
