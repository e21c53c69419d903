"""Output that is safe for a terminal: untrusted text is sanitised here, and an error is one line."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from threading import Event, Timer
from typing import NamedTuple, TextIO

PATIENCE = 1.0  # seconds before a wait is explained
ERASE = "\r\x1b[K"  # the row that the cursor is in

# Whole sequences, so that no "[31m" is left over. No body may contain a control character, which keeps this linear.
_SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # CSI: colours, cursor
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*+(?:\x07|\x1b\\\\|\x9c)"  # OSC, DCS …: titles, links
    "|\x1b[ -/]*+[0-~]"
)
# C0, DEL, C1, bidi marks, embeddings, overrides and isolates, line and paragraph separators, lone surrogates.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSAFE_IN_LINES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return text that is safe to print on one line: no control sequences, no bidi controls, white space folded."""
    return _UNSAFE.sub("", " ".join(_SEQUENCE.sub("", text).split()))


def printable_lines(text: str) -> str:
    """Return text that is safe to print as it is laid out: its line breaks, tabs and blanks stay."""
    return _UNSAFE_IN_LINES.sub("", _SEQUENCE.sub("", text))


def document(value: object, encoding: str) -> str:
    """Return a value as one line of JSON, with unsafe characters and those the encoding lacks escaped."""
    text = json.dumps(value, ensure_ascii=False)
    # They occur inside strings only, where an escape is equivalent.
    text = _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


class Screen(NamedTuple):
    """What a terminal can show.

    width, rows: its size in characters. has_styles: whether bold and dim work.
    has_colour: whether colour works and is wanted.
    """

    width: int
    rows: int
    has_styles: bool
    has_colour: bool
    ellipsis: str

    def bold(self, text: str) -> str:
        """Return text that is shown in bold."""
        return f"\x1b[1m{text}\x1b[0m" if self.has_styles else text

    def dim(self, text: str) -> str:
        """Return text that is shown fainter than the rest."""
        return f"\x1b[2m{text}\x1b[0m" if self.has_styles else text

    def green(self, text: str) -> str:
        """Return text that is shown in green."""
        return f"\x1b[32m{text}\x1b[0m" if self.has_colour else text

    def yellow(self, text: str) -> str:
        """Return text that is shown in yellow."""
        return f"\x1b[33m{text}\x1b[0m" if self.has_colour else text

    def red(self, text: str) -> str:
        """Return text that is shown in red."""
        return f"\x1b[31m{text}\x1b[0m" if self.has_colour else text

    def cleared(self) -> str:
        """Return what empties the screen, if it can be emptied."""
        return "\x1b[H\x1b[2J" if self.has_styles else ""


def screen(environ: Mapping[str, str], stream: TextIO | None = None) -> Screen | None:
    """Return what the terminal behind a stream, stdout unless told otherwise, can show; None when it is no terminal."""
    stream = stream or sys.stdout
    if not stream.isatty():
        return None
    has_styles = environ.get("TERM", "dumb") != "dumb"
    ellipsis = "…" if (stream.encoding or "").lower().startswith("utf") else "..."
    size = shutil.get_terminal_size()
    return Screen(size.columns, size.lines, has_styles, has_styles and not environ.get("NO_COLOR"), ellipsis)


@contextmanager
def explained(text: str, after: float = PATIENCE) -> Iterator[None]:
    """Show a line on stderr while the block runs for longer than `after` seconds; only when all output is a terminal's.

    text: one line; it is erased when the block ends.
    """
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        yield
        return
    shown = Event()

    def show() -> None:
        shown.set()
        _write(text[: shutil.get_terminal_size().columns - 1])  # one row, which can be erased

    timer = Timer(after, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown.is_set():
            _write(ERASE)


class Row:
    """The last row of the terminal behind stderr, which is written over again and again; without one it does nothing.

    screen: what that terminal can show. It must be able to erase a row, or nothing is shown.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        found = screen(environ, sys.stderr)
        self.screen = found if found and found.has_styles else None
        self._shown = False

    def show(self, text: str) -> None:
        """Replace what the row shows. text: one line that fits into the width, and cannot drive the terminal."""
        if self.screen:
            self._shown = True
            _write(ERASE + text)

    def erase(self) -> None:
        """Leave no trace of the row."""
        if self._shown:
            self._shown = False
            _write(ERASE)


def _write(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def say(text: str) -> None:
    """Print one line on stdout. click.echo would write UTF-8 even to an ASCII terminal."""
    sys.stdout.write(f"{text}\n")


def tell(text: str) -> None:
    """Print one line on stderr; a closed or broken stderr is ignored."""
    with suppress(OSError):
        sys.stderr.write(f"{text}\n")


def complain(message: str) -> None:
    """Print an error as one line on stderr."""
    tell(f"sift: {message}")


def prepare_streams() -> None:
    """Prepare stdout and stderr: characters their encoding lacks are replaced, and a closed stream discards all.

    With sys.stderr left None, errors would end up on stdout.
    """
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - open for the life of the process


def silence(stream: TextIO) -> None:
    """Discard what a broken stream still buffers, so that the interpreter's final flush stays quiet."""
    with suppress(OSError, ValueError), _nowhere() as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
