"""Reading the files that flags name, UTF-8 whatever the locale; `-` is standard input."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click


def read_text(path: str, flag: str, most: int) -> str:
    """Return what a file holds, without a byte order mark. Raises BadParameter, naming the flag.

    most: bytes; reading a device would never end.
    """
    try:
        with os.fdopen(os.dup(0), "rb") if path == "-" else Path(path).open("rb") as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise unfit(flag, "the file is too large.")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise unfit(flag, f"the file cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise unfit(flag, "the file is not UTF-8.") from None


def read_json(text: str, flag: str) -> Any:
    """Return the value that a text is the JSON of. Raises BadParameter, naming the flag."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise unfit(flag, "the file is not JSON.") from None


def unfit(flag: str, reason: str) -> click.BadParameter:
    """Return the error for a file that is not what its flag takes."""
    return click.BadParameter(reason, param_hint=f"'{flag}'")
