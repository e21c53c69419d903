"""What may reach a terminal: text of others is made harmless here, and errors become one line."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

# Whole sequences first, so that no "[31m" is left over. No body may hold a control character, which keeps this linear.
_SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # CSI: colours, cursor
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*+(?:\x07|\x1b\\\\|\x9c)"  # OSC, DCS …: titles, links
    "|\x1b[ -/]*+[0-~]"
)
# C0, DEL, C1, bidi marks, embeddings, overrides and isolates, line and paragraph separators, lone surrogates.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """Make text safe to print on one line: control sequences and bidi characters out, white space folded."""
    return _UNSAFE.sub("", " ".join(_SEQUENCE.sub("", text).split()))


def document(value: object, encoding: str) -> str:
    """Write a value as one line of JSON with every unsafe character escaped, as all are that the encoding lacks."""
    text = json.dumps(value, ensure_ascii=False)
    # All of them lie inside strings, where an escape means the same.
    text = _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def say(text: str) -> None:
    """Print one line on stdout. Not click.echo, which writes UTF-8 to a terminal that says it is ASCII."""
    sys.stdout.write(f"{text}\n")


def tell(text: str) -> None:
    """Print one line on stderr; that nobody listens there changes nothing."""
    with suppress(OSError):
        sys.stderr.write(f"{text}\n")


def complain(message: str) -> None:
    """Print an error in one line on stderr."""
    tell(f"sift: {message}")


def prepare_streams() -> None:
    """Make both streams printable: what an encoding lacks is replaced, and a closed stream swallows all.

    A stream that is None would send errors to stdout.
    """
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - it stays open as long as the process


def silence(stream: TextIO) -> None:
    """Send what a broken stream still holds nowhere, so that the interpreter's last flush is quiet."""
    with suppress(OSError, ValueError), _nowhere() as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
