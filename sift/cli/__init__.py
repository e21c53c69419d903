"""The `sift` command: search and open pages over HTTP, look after the service and its keys."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn

import click

from sift import __version__
from sift.cli.batch import batch
from sift.cli.doctor import doctor
from sift.cli.fetch import fetch
from sift.cli.guard import guard
from sift.cli.key import key
from sift.cli.mcp import mcp
from sift.cli.overview import show_status
from sift.cli.search import search
from sift.cli.status import ExitStatus
from sift.cli.store import store
from sift.cli.terminal import complain, prepare_streams, silence
from sift.cli.usage import usage
from sift.cli.worker import worker
from sift.errors import ConfigError

__all__ = ["ExitStatus", "main"]

COMPLETE = "_SIFT_COMPLETE"  # the variable in which a shell asks for completions; click derives the name


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sift", message="%(prog)s %(version)s")
def sift() -> None:
    """Search the web and read its pages through your own Sift service, and manage its keys."""


for command in (search, fetch, batch, show_status, usage, doctor, guard, key, store, worker, mcp):
    sift.add_command(command)


def main() -> NoReturn:
    """Run `sift` with the arguments of the process and exit; no traceback ever reaches the user."""
    status = _run(sys.argv[1:])
    sys.exit(status)


def _run(arguments: list[str]) -> int:
    prepare_streams()
    try:
        status = _dispatch(arguments)
        sys.stdout.flush()  # here, where a failure can still be reported
        return status
    except BrokenPipeError:
        status = ExitStatus.ANSWERED  # `sift search … | head -n1`
    except KeyboardInterrupt:
        status = ExitStatus.INTERRUPTED
    except Exception as error:  # the text may hold anything: the type says enough
        complain(f"internal error: {type(error).__name__}")
        status = ExitStatus.FAILED
    silence(sys.stdout)
    silence(sys.stderr)
    return status


def _dispatch(arguments: list[str]) -> int:
    """Run the command and return its status. click's own main() would exit with 1 on a broken pipe."""
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(sift, {}, "sift", COMPLETE, instruction)
    try:
        with sift.make_context("sift", arguments) as context:
            sift.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        return error.exit_code
    except ConfigError as error:
        complain(str(error))
        return ExitStatus.USAGE
    except click.Abort:
        return ExitStatus.INTERRUPTED
    return ExitStatus.ANSWERED
