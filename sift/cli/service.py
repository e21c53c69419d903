"""Asking the service, and saying in one line why it refused: what every command that asks it shares."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from sift.cli.status import ExitStatus
from sift.cli.terminal import complain, explained, printable, tell

if TYPE_CHECKING:
    from sift.client import Response, SiftClient

DEFAULT_URL = "http://127.0.0.1:8787"


def ask(call: Callable[[SiftClient], Response], waiting: str) -> Response:
    """Return the response of the service that the environment names; when there is none say why, and exit.

    call: makes the call. waiting: what is said of a long wait.
    """
    client = connect()
    with reaching(), explained(waiting):
        return call(client)


def connect() -> SiftClient:
    """Return a client of the service that the environment names. Raises ConfigError for a setting that is wrong."""
    # Imported late: requests takes longer to load than everything else, and --help and usage errors do not need it.
    from sift.client import SiftClient

    url = os.environ.get("SIFT_URL", "").strip() or DEFAULT_URL
    return SiftClient(url, os.environ.get("SIFT_TOKEN", "").strip(), os.environ)


@contextmanager
def reaching() -> Iterator[None]:
    """Say why the service gave no answer, and exit, when a call of the block got none."""
    from sift.client import ForeignResponseError, UnreachableError

    try:
        yield
    except UnreachableError as error:
        complain(f"{error}; SIFT_URL says where it is")
        raise click.exceptions.Exit(ExitStatus.UNREACHABLE) from None
    except ForeignResponseError as error:
        complain(f"{error}; SIFT_URL must be the address of a Sift service")
        raise click.exceptions.Exit(ExitStatus.FAILED) from None


def refusal(response: Response) -> str:
    """Return in one line why the service refused, as far as that does not depend on what it was asked."""
    error, hint = response.payload["error"], response.payload["hint"]
    if response.status == 401:
        return "unauthorized: SIFT_TOKEN must hold a valid key"
    if response.status == 403 and hint == "origin":
        return "forbidden: without keys the service answers to localhost, addresses and names without a dot only"
    if response.status == 404:
        return "not found: SIFT_URL must be the service's address alone, without /v1"
    return printable(f"the service answered {response.status}: {error} {hint}") + again(response)


def again(response: Response) -> str:
    """Return when to try again, behind a semicolon; "" when the service does not say."""
    return "" if response.retry_after is None else f"; try again in {_wait(response.retry_after)}"


def warn(warnings: Iterable[str]) -> None:
    """Print each warning of an answer as one line on stderr."""
    for warning in warnings:
        tell(f"warning: {printable(warning)}")


def _wait(seconds: int) -> str:
    """Return a wait in the largest unit that keeps it precise enough, rounded up."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds > 2 * size:
            return f"{-(-seconds // size)} {unit}"
    return f"{seconds} s"
