"""Blocks of text, put together from what a parser meets: paragraphs, headings, lists, quotes, code and tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from sift.fetch.extract.model import Format

_DEEPEST = 8
"""Levels of nested lists and quotes that are told apart."""
_LEAST_MAIN = 250
_LEAST_SHARE = 0.2
"""What the main part of a page must have, in characters and of the whole, to be taken for the page."""
_BLANKS = re.compile(r"[^\S\n]+")
_LINE_ENDS = re.compile(r" ?\n[ \n]*")
_TICKS = re.compile("`+")


class _Block(NamedTuple):
    text: str
    is_main: bool
    is_item: bool


@dataclass(slots=True)
class _Table:
    """A table. One that holds more than words is there for the layout: its cells are blocks like any other."""

    rows: list[list[str]] = field(default_factory=list)
    is_layout: bool = False
    in_cell: bool = False


class Writer:
    """Write blocks in a format. Each call costs what its text costs, however deep the page is."""

    def __init__(self, format: Format) -> None:
        self._markdown = format == "markdown"
        self._blocks: list[_Block] = []
        self._line: list[str] = []
        self._lists: list[int | None] = []  # the number of the last item, None without numbers
        self._marker = ""
        self._heading = ""
        self._quotes = 0
        self._link: int | None = None
        self._in_code = False
        self._tables: list[_Table] = []
        self.size = 0
        self.is_main = False

    def text(self, text: str) -> None:
        """Add running text."""
        self._line.append(text.replace("\n", " "))

    def line_break(self) -> None:
        """Go on in a new line of the same block."""
        self._line.append("\n")

    def code(self, *, opens: bool) -> None:
        """Begin or end code in running text."""
        if self._markdown and opens != self._in_code:
            self._in_code = opens
            self._line.append("`")

    def open_link(self) -> None:
        """Begin the text of a link; one that no text of the same block follows is none."""
        self._link = len(self._line)

    def close_link(self, url: str) -> None:
        """End the text of a link to an absolute URL, "" for none."""
        begin, self._link = self._link, None
        if begin is None or not url or not self._markdown:
            return
        label = " ".join("".join(self._line[begin:]).split())
        if label:
            target = url.replace("(", "%28").replace(")", "%29")
            self._line[begin:] = [f"[{label.replace('[', '(').replace(']', ')')}]({target})"]

    def end(self) -> str:
        """End the block, if one is open, and return its text. Inside a table's cell, it goes on."""
        if self._tables and self._tables[-1].in_cell and not self._tables[-1].is_layout:
            self._line.append(" ")
            return ""
        return self._end()

    def heading(self, level: int) -> None:
        """Begin a heading."""
        self._is_structured()
        self._end()
        self._heading = "#" * level + " " if self._markdown else ""

    def open_list(self, *, numbered: bool) -> None:
        """Begin a list."""
        self._is_structured()
        self._end()
        self._lists.append(0 if numbered else None)

    def close_list(self) -> None:
        """End the innermost list."""
        self.end()
        if self._lists:
            self._lists.pop()

    def item(self) -> None:
        """Begin an item of the innermost list."""
        self.end()
        if not self._lists:
            self._lists.append(None)
        number = self._lists[-1]
        if number is not None:
            self._lists[-1] = number = number + 1
        self._marker = "- " if number is None else f"{number}. "

    def quote(self, *, opens: bool) -> None:
        """Begin or end a quote."""
        self.end()
        self._quotes = max(0, self._quotes + (1 if opens else -1))

    def verbatim(self, text: str) -> None:
        """Add a block of code, with its white space."""
        self._is_structured()
        self._end()
        text = text.strip("\n").expandtabs(8)
        if not text.strip():
            return
        if self._markdown:
            fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
            text = f"{fence}\n{text}\n{fence}"
        self._add(text)

    def open_table(self) -> None:
        """Begin a table."""
        self._is_structured()
        self._end()
        self._tables.append(_Table())

    def row(self) -> None:
        """Begin a row of the innermost table."""
        self.cell(opens=False)
        if self._tables:
            self._tables[-1].rows.append([])

    def cell(self, *, opens: bool) -> None:
        """Begin or end a cell of the innermost table."""
        if not self._tables:
            return
        table = self._tables[-1]
        if table.is_layout:
            self._end()
        elif table.in_cell:
            table.rows[-1].append(" ".join(self._taken().split()))
        table.in_cell = opens
        if opens and not table.rows:
            table.rows.append([])

    def close_table(self) -> None:
        """End the innermost table and add it."""
        self.cell(opens=False)
        self._end()
        if self._tables and (table := self._tables.pop()) and not table.is_layout:
            self._add_table([row for row in table.rows if any(row)])

    def content(self) -> str:
        """End everything and return the text: of the page's main part, if it marks one that is worth it."""
        while self._tables:
            self.close_table()
        self._end()
        main = [block for block in self._blocks if block.is_main]
        main_size = sum(len(block.text) for block in main)
        is_worth_it = main_size >= max(_LEAST_MAIN, _LEAST_SHARE * self.size)
        blocks = main if is_worth_it else self._blocks
        parts: list[str] = []
        for before, block in zip([None, *blocks], blocks, strict=False):
            if before:
                parts.append("\n" if before.is_item and block.is_item else "\n\n")
            parts.append(block.text)
        return "".join(parts)

    def _is_structured(self) -> None:
        """Note that the open cell holds more than words: what its table had so far becomes blocks."""
        if self._tables and (table := self._tables[-1]).in_cell and not table.is_layout:
            table.is_layout = True
            begun = self._taken()
            for text in [*(text for row in table.rows for text in row), begun]:
                self._add(text.strip())
            table.rows.clear()

    def _taken(self) -> str:
        """Return the open line's text and begin a new one."""
        if not self._line:
            return ""
        self.code(opens=False)
        text = "".join(self._line)
        self._line.clear()
        self._link = None
        if "\n" not in text:
            return " ".join(text.split())
        return _LINE_ENDS.sub("\n", _BLANKS.sub(" ", text)).strip()

    def _end(self) -> str:
        text = self._taken()
        heading, self._heading = self._heading, ""
        if text:
            self._add(heading + text.replace("\n", " ") if heading else text)
        return text

    def _add(self, text: str) -> None:
        if not text:
            return
        if self._lists or self._quotes or self._marker:
            text = self._nested(text)
        self.size += len(text)
        self._blocks.append(_Block(text, self.is_main, bool(self._lists)))

    def _nested(self, text: str) -> str:
        """Return a block as it looks in the lists and quotes that are open."""
        marker, self._marker = self._marker, ""
        depth = min(len(self._lists), _DEEPEST) - 1
        indent = "  " * max(0, depth)
        quote = "> " * min(self._quotes, _DEEPEST) if self._markdown else ""
        rest = quote + indent + ("  " if self._lists else "")
        first = quote + indent + marker if marker else rest
        return first + text.replace("\n", "\n" + rest)

    def _add_table(self, rows: list[list[str]]) -> None:
        if not rows:
            return
        columns = max(map(len, rows))
        if columns == 1 or not self._markdown:
            self._add("\n".join(" | ".join(row) for row in rows))
            return
        lines = [[cell.replace("|", "\\|") for cell in row] for row in rows]
        lines.insert(1, ["---"] * min(columns, 100))
        self._add("\n".join("| " + " | ".join(line) + " |" for line in lines))
