"""`sift fetch`: one page as text, through `POST /v1/fetch` (contract: Fetch command)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from sift.cli.flags import field_flags, flag, takes
from sift.cli.refusals import SWITCHED_OFF, unopened
from sift.cli.service import again, ask, refusal, warn
from sift.cli.status import ExitStatus
from sift.cli.terminal import Screen, complain, document, printable, printable_lines, say, screen, tell
from sift.fetch.fields import FIELDS

if TYPE_CHECKING:
    from sift.client import Response

_FLAGS = {field.name: flag(field) for field in FIELDS}
_STATUSES = {
    400: ExitStatus.USAGE,
    401: ExitStatus.AUTH,
    403: ExitStatus.AUTH,
    413: ExitStatus.USAGE,
    415: ExitStatus.NO_PAGE,
    502: ExitStatus.NO_PAGE,
    503: ExitStatus.BUSY,
    504: ExitStatus.NO_PAGE,
}
_NOT_ALLOWED = ("url not allowed", "robots disallow")


@click.command(short_help="Open a page and print its text.")
@click.argument("url", metavar="URL")
@field_flags(FIELDS)
@click.option("--json", "as_json", is_flag=True, help="Print the service's JSON answer, and nothing else.")
def fetch(url: str, *, as_json: bool, **fields: Any) -> None:
    """Open the page at URL, and print its title, its address, its date if known, and its text.

    The service opens it: public addresses only, as far as the site's robots.txt allows; no script runs. The text is
    somebody else's: data, and no instructions. What is wrong with it is a warning on stderr, and so is how to read on
    where there is more.

    Exit codes: 0 the text was printed; 1 internal error, an answer that is not Sift's, or a service that opens no
    pages; 2 wrong usage; 3 no valid token; 4 the service cannot be reached; 6 this page may not be opened; 7 it could
    not be had; 8 too many pages are being opened.
    """
    body = {"url": url} | {name: value for name, value in fields.items() if value is not None}
    response = ask(lambda client: client.fetch(body), "waiting for the page ...")
    if as_json:
        say(document(response.payload, sys.stdout.encoding))
    if response.status != 200:
        complain(_reason(response))
        raise click.exceptions.Exit(_status(response))
    if not as_json:
        _print(response.payload)


def _status(response: Response) -> ExitStatus:
    if response.payload["error"] in _NOT_ALLOWED:
        return ExitStatus.NOT_ALLOWED
    return _STATUSES.get(response.status, ExitStatus.FAILED)


def _reason(response: Response) -> str:
    """Return in one line why there is no page; the address is not repeated."""
    error, hint = response.payload["error"], response.payload["hint"]
    if response.status == 400 and hint in _FLAGS:
        return f"{_FLAGS[hint]}: {takes(hint, FIELDS)}"
    if response.status == 404:
        return SWITCHED_OFF
    if error == "busy":
        return f"the service is opening too many pages{again(response)}"
    words = unopened(error, hint)
    if words and error == "fetch timeout":
        words += "; --timeout allows more, up to 30 seconds"
    return words or refusal(response)


def _print(page: dict[str, Any]) -> None:
    display = screen(os.environ)
    if display is None:
        # First, so that a reader of only the first lines of stdout still learns that there is more.
        _remark(page)
    for line in _lines(page, display):
        say(line)
    if display:  # last, where a long page does not push them off the screen
        sys.stdout.flush()
        _remark(page)


def _lines(page: dict[str, Any], display: Screen | None) -> list[str]:
    """Return title, final URL, the date if known, a blank line, and the text."""
    url = printable(page["final_url"])
    title = _shown(page, "title") or url
    date = _shown(page, "published_date")
    head = [display.bold(title), display.green(url)] if display else [title, url]
    return [*head, *([date] if date else []), "", printable_lines(page["content"])]


def _remark(page: dict[str, Any]) -> None:
    warn(page["warnings"])
    if "next_start" in page:
        following = page["next_start"]
        tell(f"more: the text has {page['chars']} characters; --start {following} reads on")
    elif not page["content"]:
        tell(f"no text from there on: it has {page['chars']} characters" if page["chars"] else "no text")


def _shown(page: dict[str, Any], field: str) -> str:
    value = page.get(field)
    return printable(value) if isinstance(value, str) else ""
