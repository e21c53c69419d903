"""Files of settings, as systemd's `EnvironmentFile=` takes them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sift.findings import Finding, fail

CHECK = "env file"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPED = re.compile(r'\\(["\\$`])')


def parse(text: str) -> tuple[dict[str, str], list[Finding]]:
    """Return the variables of a file, and a finding for each line that is none; no finding holds what is in it."""
    read: dict[str, str] = {}
    found: list[Finding] = []
    for number, line in _lines(text):
        name, equals, value = line.partition("=")
        if equals and _NAME.fullmatch(name.strip()):
            read[name.strip()] = _unquoted(value.strip())
        elif name.startswith("export "):
            found.append(fail(CHECK, f"line {number} begins with export", "take the word out: no shell reads the file"))
        else:
            found.append(fail(CHECK, f"line {number} is no NAME=value", "correct it, or begin it with #"))
    return read, found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if (stripped := line.strip()) and stripped[0] not in "#;":
            yield number, stripped


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        inner = value[1:-1]
        return inner if value[0] == "'" else _ESCAPED.sub(r"\1", inner)
    return value
