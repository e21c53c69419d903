"""The text of HTML: by trafilatura where that is installed and finds any, else by the builtin extractor."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import Any

from sift.fetch.extract import builtin, memory
from sift.fetch.extract.encoding import decode
from sift.fetch.extract.model import LITTLE_TEXT, MEMORY, NOT_INSTALLED, Document, Extract, Format

LITTLE = 200
"""Characters. Less is little for a page that runs scripts."""
_SCRIPT = re.compile(r"<script(?=[\s/>])(?![^>]{0,200}\bld\+json)", re.IGNORECASE)
_MARKS = re.compile(r"\]\([^)]*\)|[\W_]+")


def load_readable() -> ModuleType | None:
    """Return the module `readable`, None when what it needs is not installed."""
    try:
        return import_module("sift.fetch.extract.readable")
    except ImportError:
        return None


def extract(
    document: Document,
    format: Format,
    *,
    html: bool,
    readable: Any,
    is_builtin: bool = False,
    seconds: float = builtin.MOST_SECONDS,
    is_starved: Callable[[], bool] = memory.was_used_up,
) -> Extract:
    """Return the readable text of an HTML document.

    readable: the module of that name, if it is there. is_builtin: whether it has had its chance already.
    seconds: what the builtin extractor may take. is_starved: whether memory has run out.
    Raises MemoryError, after which this process is good for nothing.
    """
    text = decode(document.body, document.charset, readable.detect if readable else None)
    found: Extract | None = None
    cause = "" if readable or is_builtin else NOT_INSTALLED
    if readable and not is_builtin:
        try:
            found = readable.extract(text, document.url, format, html=html)
        except RecursionError:  # the page is deeper than the stack
            cause = MEMORY
        except MemoryError:
            raise
        except Exception:  # whatever a page does to it: there is another one
            found = None
        if found is None and is_starved():  # trafilatura takes that for a page without text
            raise MemoryError
    if found is None:
        found = builtin.extract(text, document.url, format, seconds=seconds)
    warnings = [cause] if cause else []
    warnings += [warning for warning in found.warnings if warning != cause]
    if has_little(found.content, text):
        warnings.append(LITTLE_TEXT)
    return replace(found, warnings=tuple(warnings))


def has_little(content: str, markup: str) -> bool:
    """Return whether a page has next to no text and runs scripts, which may write what is missing."""
    return len(content) < 20 * LITTLE and len(_MARKS.sub("", content)) < LITTLE and _SCRIPT.search(markup) is not None
