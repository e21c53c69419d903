"""`sift store`: the store of the service on this host (contract: Store)."""

from __future__ import annotations

import logging
import os

import click

from sift.cli.status import ExitStatus
from sift.cli.terminal import complain, say
from sift.config import store_config


@click.group(short_help="Look after the store.")
def store() -> None:
    """Look after what the service on this host keeps. Runs where the service runs, with its environment."""


@store.command(name="import", short_help="Carry files over to PostgreSQL.")
def import_() -> None:
    """Carry today's credits and the unfinished batches from the files in $SIFT_STATE_DIR to $SIFT_STORE_URL.

    What was carried over before is not again. Stop every service that uses the files first; they stay as they are.

    Exit codes: 0 carried over, or there was nothing left; 1 the files cannot be read, or the database does not answer;
    2 wrong settings.
    """
    # Imported late: what reads files and databases takes long to load, and --help does not need it.
    from sift.errors import StoreError
    from sift.store.open import import_store

    settings = store_config(os.environ)
    logging.getLogger("sift").addHandler(logging.NullHandler())  # the service's log is none of a person's
    try:
        paid, batches = import_store(settings)
    except StoreError:
        complain("the files cannot be read, or the database does not answer; it does no harm to run this again")
        raise click.exceptions.Exit(ExitStatus.FAILED) from None
    say(f"carried over: {paid} credits of today, unfinished batches: {batches}")
