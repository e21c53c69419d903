"""`sift key`: create, list and revoke the keys of the service on this host (contract: Callers)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click

from sift.auth.caller import CLASSES
from sift.auth.entry import Key, format_time
from sift.auth.keys import KeyArgumentError, list_keys, new_key, revoke
from sift.cli.status import ExitStatus
from sift.cli.terminal import complain, printable, say, tell
from sift.config import keys_file

# How a refused argument is called on the command line.
_SHOWN = {"name": "--name", "class": "--class", "expires": "--expires", "id": "ID"}


@click.group()
def key() -> None:
    """Create, list and revoke the keys of callers.

    The file is $SIFT_KEYS_FILE, else keys.json in $SIFT_STATE_DIR, else in $XDG_STATE_HOME/sift or
    ~/.local/state/sift. A running service picks up changes without a restart.
    """


@key.command()
@click.option("--name", required=True, metavar="NAME", help="Who the key is for; shown in the log.")
@click.option("--class", "cls", required=True, type=click.Choice(CLASSES), help="fleet may also see the status.")
@click.option("--expires", metavar="SPAN", help="Lifetime: 12h, 90d, 4w. Without it the key never expires.")
def new(name: str, cls: str, expires: str | None) -> None:
    """Create a key and print its token, once."""
    with _usage_errors(), _file_errors():
        token = new_key(_path(), name, cls, expires, _now())
    say(token)
    tell("This token is not shown again. The caller sets SIFT_TOKEN to it.")


@key.command(name="list")
def list_() -> None:
    """List all keys, without their secrets."""
    keys = list_keys(_path())
    if not keys:
        tell("no keys yet: sift key new --name NAME --class CLASS")
    now = _now()
    for entry in keys:
        say(_line(entry, now))


@key.command(name="revoke")
@click.argument("key_id", metavar="ID")
def revoke_(key_id: str) -> None:
    """Disable the key with this ID, immediately and permanently; its entry stays in the list."""
    with _usage_errors(), _file_errors():
        revoked = revoke(_path(), key_id)
    tell(f"revoked {revoked.id} ({printable(revoked.caller.name)})")


def _path() -> Path:
    return keys_file(os.environ)


def _now() -> datetime:
    return datetime.now(UTC)


def _line(entry: Key, now: datetime) -> str:
    state = "active" if entry.is_usable(now) else "disabled" if entry.disabled else "expired"
    ends = format_time(entry.expires) if entry.expires else "never"
    made = format_time(entry.created)
    return f"{entry.id}  {entry.caller.cls:<10}  {state:<8}  {made:<20}  {ends:<20}  {printable(entry.caller.name)}"


@contextmanager
def _usage_errors() -> Iterator[None]:
    try:
        yield
    except KeyArgumentError as error:
        raise click.BadParameter(error.reason, param_hint=f"'{_SHOWN[error.argument]}'") from None


@contextmanager
def _file_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        complain(f"the key file cannot be written: {error.strerror or type(error).__name__}")
        raise click.exceptions.Exit(ExitStatus.FAILED) from None
