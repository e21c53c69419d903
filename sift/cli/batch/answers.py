"""Asking the service about batches, and saying why it refused."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from sift.cli.service import again, ask, refusal
from sift.cli.status import ExitStatus
from sift.cli.terminal import complain, document, say

if TYPE_CHECKING:
    from sift.client import Response, SiftClient

Item = dict[str, Any]

ENDED = ("done", "cancelled")
PAGE = 50  # places at a time, as many as the service gives
_STATUSES = {
    400: ExitStatus.USAGE,
    401: ExitStatus.AUTH,
    403: ExitStatus.AUTH,
    413: ExitStatus.USAGE,
    429: ExitStatus.BUSY,
    503: ExitStatus.BUSY,
}


def asked(call: Callable[[SiftClient], Response], *, as_json: bool) -> dict[str, Any]:
    """Return what the service answers about a batch; when it refuses say why, and exit."""
    return accepted(ask(call, "waiting for the service ..."), as_json=as_json)


def accepted(response: Response, *, as_json: bool, reason: Callable[[Response], str] | None = None) -> dict[str, Any]:
    """Return a good response's answer; of any other say why, and exit.

    reason: says why; by default as for a batch that exists or does not.
    """
    if response.status in (200, 202):
        return response.payload
    if as_json:
        say(document(response.payload, sys.stdout.encoding))
    complain((reason or refused)(response))
    raise click.exceptions.Exit(_STATUSES.get(response.status, ExitStatus.FAILED))


def refused(response: Response) -> str:
    """Return in one line why the service refused."""
    if response.status == 404:
        return "there is no such batch: it was never there, has expired, was deleted, or is another caller's"
    if response.status == 429:
        return f"too many batches are under way{again(response)}"
    if response.status == 503:
        return f"the service's store of batches does not answer{again(response)}"
    return refusal(response)


def pages(first: dict[str, Any], following: Callable[[int], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the pages of a batch's results. first: the one at 0. following: returns the one at an offset."""
    page, offset = first, 0
    yield page
    while page.get("next_offset", 0) > offset:  # else it would never end
        offset = page["next_offset"]
        page = following(offset)
        yield page


def is_incomplete(status: str, wanted: int, had: int) -> bool:
    """Whether a batch has ended, and not every page of it could be had."""
    return status in ENDED and had < wanted
