"""Batches as text: their pages, their failures, their numbers (contract: Batch command)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from sift.cli.explained import table
from sift.cli.layout import shortened, wrapped
from sift.cli.refusals import unopened
from sift.cli.terminal import Screen, printable, printable_lines

LINES = 3  # of each text, on a terminal
_HEAD = 4000  # characters of a text, more than that many lines of any terminal
_MARGIN = 4  # columns: no text can pass for the head of another page
_MIN_WIDTH = 20
_HEADING = re.compile(r"#{1,6} ")
_STATES = {
    "queued": "not opened yet",
    "running": "being opened",
    "cancelled": "cancelled before it was opened",
}


def item_lines(item: dict[str, Any], display: Screen | None) -> Iterator[str]:
    """Yield one place of a batch: number and title, URL, length, text; or number and URL, and why there is no text.

    Whole texts and warnings for a pipe; on a terminal the first lines of texts, and no warnings: `warning_lines` has
    those of all places. All that is somebody else's is indented.
    """
    number, margin = f"{item['index'] + 1}.".ljust(_MARGIN - 1), " " * _MARGIN
    if item["state"] != "ok":
        yield f"{number} {printable(item['url'])}"
        yield f"{margin}{reason(item)}"
        return
    page = item["result"]
    url = printable(page["final_url"])
    title = _shown(page, "title") or url
    yield f"{number} {display.bold(shortened(title, _width(display), display.ellipsis)) if display else title}"
    yield margin + (display.green(url) if display else url)
    about = ", ".join(filter(None, (_shown(page, "published_date"), _length(page))))
    yield margin + (display.dim(about) if display else about)
    if display is None:
        yield from (f"{margin}warning: {printable(warning)}" for warning in page["warnings"])
    yield ""
    yield from (f"{margin}{line}".rstrip() for line in _text(page["content"], display))


def warning_lines(warnings: Mapping[str, Sequence[int]], pages: int) -> Iterator[str]:
    """Yield a line for each warning. warnings: the numbers of the pages that have it. pages: how many there are."""
    for warning, numbers in warnings.items():
        which = f"{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
        yield f"warning, {'all pages' if len(numbers) == pages > 1 else f'page{which}'}: {printable(warning)}"


def reason(item: dict[str, Any]) -> str:
    """Return in words why a place has no page."""
    error, hint = _shown(item, "error"), _shown(item, "hint")
    if item.get("state") in _STATES:
        return _STATES[item["state"]]
    if error == "fetch timeout" and hint == "deadline":
        return "the time of the batch was over before its turn came"
    return unopened(error, hint) or f"{error} {hint}".strip() or "the service does not say why"


def failure_lines(items: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the number and URL of each place without a page, and why."""
    for item in items:
        yield f"{item['index'] + 1}. {printable(item['url'])}: {reason(item)}"


def numbers(batch: dict[str, Any]) -> str:
    """Return the state of a batch in one line."""
    counts = [f"{batch[name]} {words}" for name, words in (("ok", "ok"), ("failed", "failed"), ("pending", "to come"))]
    shown = [count for count in counts if not count.startswith("0 ")] or ["0 ok"]
    total = batch["total"]
    return f"{batch['status']}: {', '.join(shown)}, of {total} page{'' if total == 1 else 's'}{kept(batch)}"


def kept(batch: dict[str, Any]) -> str:
    """Return until when a batch is kept, behind a semicolon; "" when the service does not say."""
    until = _shown(batch, "expires_at")
    return f"; kept until {until}" if until else ""


def list_lines(batches: Sequence[dict[str, Any]], display: Screen | None) -> list[str]:
    """Return a table with a line for each batch; on a terminal that has no room for it, without when they began."""
    columns = {name: name for name in ("id", "status", "ok", "failed")}
    columns |= {"total": "pages", "pending": "left", "created_at": "created", "expires_at": "kept until"}
    order = ["id", "status", "total", "ok", "failed", "pending", "created_at", "expires_at"]

    rows = [[printable(str(batch.get(name, ""))) for name in order] for batch in batches]
    lines = table([[columns[name] for name in order], *rows], left={0, 1, 6, 7})
    if display is None or max(map(len, lines)) <= display.width:
        return lines
    # The end of 2026-12-02T12:00:00Z is 12-02 12:00Z, as batches are kept for a week at most.
    short = [[*row[:6], f"{row[7][5:16].replace('T', ' ')}Z"] for row in rows]
    return table([[columns[name] for name in order if name != "created_at"], *short], left={0, 1, 6})


def _length(page: dict[str, Any]) -> str:
    here = f", the first {page['next_start']} kept" if "next_start" in page else ""
    return f"{page['chars']} characters{here}"


def _text(content: str, display: Screen | None) -> Iterator[str]:
    if display is None:
        yield from printable_lines(content).split("\n")
        return
    lines = wrapped(printable(_prose(content[:_HEAD])), _width(display))
    yield from islice(lines, LINES)
    if next(lines, None):
        yield display.ellipsis


def _prose(text: str) -> str:
    """Return a text without its headings, which would run into what follows; all of it when it has nothing else."""
    return "\n".join(line for line in text.split("\n") if not _HEADING.match(line)).strip() or text


def _width(display: Screen) -> int:
    return max(display.width - _MARGIN, _MIN_WIDTH)


def _shown(record: dict[str, Any], field: str) -> str:
    value = record.get(field)
    return printable(value) if isinstance(value, str) else ""
