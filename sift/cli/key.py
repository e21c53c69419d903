"""`sift key`: create, list and revoke the keys of the service on this host (contract: Callers)."""

from __future__ import annotations

import os
import sys
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
_SHOWN = {"name": "--name", "class": "--class", "expires": "--expires", "id": "ID|NAME"}
_COLUMNS = "{:<8}  {:<10}  {:<8}  {:<20}  {:<20}  {}"
_SCREEN_COLUMNS = "{:<8}  {:<10}  {:<8}  {:<16}  {:<16}  {}"  # leaves room for a name in 80 columns


@click.group(short_help="Create, list and revoke keys.")
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
    at_terminal = sys.stdout.isatty()
    if keys and at_terminal:
        say(_SCREEN_COLUMNS.format("ID", "CLASS", "STATE", "CREATED (UTC)", "EXPIRES (UTC)", "NAME"))
    now = _now()
    for entry in keys:
        say(_line(entry, now, at_terminal=at_terminal))


@key.command(name="revoke", short_help="Disable a key.")
@click.argument("key", metavar="ID|NAME")
def revoke_(key: str) -> None:
    """Disable the key with this ID or NAME, immediately and permanently; its entry stays in the list.

    A NAME must be that of one key only, expired and disabled ones aside.
    """
    with _usage_errors(), _file_errors():
        revoked = revoke(_path(), _id(list_keys(_path()), key, _now()))
    tell(f"revoked {revoked.id} ({printable(revoked.caller.name)})")


def _id(keys: tuple[Key, ...], wanted: str, now: datetime) -> str:
    """Return the id that is wanted, or that of the one key with such a name, usable ones before others."""
    named = [entry for entry in keys if entry.caller.name == wanted]
    if any(entry.id == wanted for entry in keys) or not named:
        return wanted
    found = [entry for entry in named if entry.is_usable(now)] or named
    if len(found) > 1:
        ids = ", ".join(f"{entry.id} (of {format_time(entry.created)})" for entry in found)
        raise KeyArgumentError("id", f"several keys have this name: {ids}")
    return found[0].id


def _path() -> Path:
    return keys_file(os.environ)


def _now() -> datetime:
    return datetime.now(UTC)


def _line(entry: Key, now: datetime, *, at_terminal: bool) -> str:
    columns, moment = (_SCREEN_COLUMNS, _minute) if at_terminal else (_COLUMNS, format_time)
    ends = moment(entry.expires) if entry.expires else "never"
    name = printable(entry.caller.name)
    return columns.format(entry.id, entry.caller.cls, _state(entry, now), moment(entry.created), ends, name)


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


def _state(entry: Key, now: datetime) -> str:
    return "active" if entry.is_usable(now) else "disabled" if entry.disabled else "expired"


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
