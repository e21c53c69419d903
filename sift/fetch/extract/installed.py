"""What the extras `fetch` and `pdf` bring, as far as it is installed; nothing of it is loaded to find out."""

from __future__ import annotations

from functools import cache
from importlib import metadata, util

from sift import __version__


def has_pypdf() -> bool:
    """Return whether PDFs can be read."""
    return util.find_spec("pypdf") is not None


@cache
def version() -> str:
    """Return what extracts, with versions, such as "sift 1.0, trafilatura 2.3.1, pypdf 7.1.1"."""
    found = [f"sift {__version__}"]
    for name in ("trafilatura", "pypdf"):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)
