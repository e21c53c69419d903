"""What the commands of `sift batch` take in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import click
from click.types import StringParamType

from sift.batch.ids import BATCH_ID

Command = TypeVar("Command", bound=Callable[..., Any])

PATIENCE = 960
"""Seconds of a wait without a number: a batch ends after 15 minutes, whatever becomes of its pages."""
MAX_WAIT = 3600
_NUMBER = re.compile(r"-?[0-9.]+")


class Id(StringParamType):
    """The id of a batch; it is no secret, but becomes part of a path."""

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the id; fail unless it has the form of one."""
        text = super().convert(value, param, ctx)
        return text if BATCH_ID.fullmatch(text) else self.fail("that is not the id of a batch.", param, ctx)


class Waiting(click.Command):
    """A command with `--wait [S]`: the number may be left out, also before an argument that is none.

    click alone would take whatever follows for the number.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give each `--wait` without a number the one that it stands for."""
        before, *after = _split(args)
        given = [
            f"--wait={PATIENCE}" if each == "--wait" and not _NUMBER.fullmatch(following) else each
            for each, following in pairwise([*before, ""])
        ]
        return super().parse_args(ctx, [*given, *(after[0] if after else [])])


def batch_id(command: Command) -> Command:
    """Add the argument ID to a command."""
    return click.argument("id", metavar="ID", type=Id())(command)


def wait_flag(command: Command) -> Command:
    """Add `--wait [S]` to a command."""
    sentence = f"Wait for the end of the batch, S seconds at most; without S {PATIENCE}, in which any batch ends."
    return click.option("--wait", type=click.IntRange(1, MAX_WAIT), metavar="[S]", help=sentence)(command)


def json_flag(command: Command) -> Command:
    """Add `--json` to a command."""
    sentence = "Print the service's JSON answer, and nothing else."
    return click.option("--json", "as_json", is_flag=True, help=sentence)(command)


def _split(args: list[str]) -> list[list[str]]:
    """Return what is before `--`, and what is behind it, `--` included, if it is there."""
    return [args[: args.index("--")], args[args.index("--") :]] if "--" in args else [args]
