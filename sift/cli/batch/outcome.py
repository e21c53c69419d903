"""What has become of a batch's pages: fetched page by page, and shown, printed as JSON or written to files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from sift.cli.batch.answers import PAGE, accepted, is_incomplete, pages
from sift.cli.batch.saved import folder
from sift.cli.batch.shown import failure_lines, item_lines, warning_lines
from sift.cli.service import reaching
from sift.cli.status import ExitStatus
from sift.cli.terminal import complain, document, explained, say, screen, tell

if TYPE_CHECKING:
    from sift.client import SiftClient


class Outcome:
    """The results of a batch, read once from the service. status: the batch's, when the last page was read.

    places, had: how many came, and how many of them with a page.
    """

    def __init__(self, client: SiftClient, id: str, only: str = "", *, as_json: bool = False) -> None:
        self._client = client
        self._id = id
        self._only = only
        self._as_json = as_json
        self.status = ""
        self.places = self.had = 0

    @property
    def is_incomplete(self) -> bool:
        """Whether the batch has ended and a place that came is without its page."""
        return is_incomplete(self.status, self.places, self.had)

    def show(self) -> None:
        """Print each place as it comes; on a terminal the first lines of its text, and at the end each warning once."""
        display = screen(os.environ)
        warnings: dict[str, list[int]] = {}
        for item in self._items():
            if self.places > 1:
                say("")
            for line in item_lines(item, display):
                say(line)
            for warning in item["result"]["warnings"] if item["state"] == "ok" else ():
                warnings.setdefault(warning, []).append(item["index"] + 1)
        if display and self.places:
            say("")
            for line in warning_lines(warnings, self.had):
                say(line)

    def save(self, path: str) -> None:
        """Write each page to a file, and print the files' paths; failures go to stderr. Exit when that fails."""
        try:
            with folder(path) as into:
                for item in self._items():
                    if item["state"] == "ok":
                        say(str(into.save(item)))
                    for line in failure_lines([item] if item["state"] != "ok" else []):
                        tell(line)
        except OSError as error:
            complain(f"--out: the files cannot be written: {error.strerror or type(error).__name__}")
            raise click.exceptions.Exit(ExitStatus.FAILED) from None

    def dump(self, receipt: dict[str, Any]) -> None:
        """Print all pages of results as one JSON object. receipt: what it has besides."""
        items = [*self._items()]
        whole = {**receipt, "id": self._id, "status": self.status, "items": items}
        say(document(whole, sys.stdout.encoding))

    def _items(self) -> Iterator[dict[str, Any]]:
        for page in pages(self._page(0), self._page):
            self.status = page["status"]
            for item in page["items"]:
                self.places += 1
                self.had += item["state"] == "ok"
                yield item

    def _page(self, offset: int) -> dict[str, Any]:
        with reaching(), explained("waiting for the results ..."):
            response = self._client.batch_results(self._id, offset, PAGE, self._only)
        return accepted(response, as_json=self._as_json)
