"""Pages of a batch as Markdown files: what a page says of itself decides neither where they go nor what they harm."""

from __future__ import annotations

import os
import secrets
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sift.cli.terminal import document, printable_lines

_MAX_NAME = 100  # bytes of a title in a file's name; every file system takes 255 for the whole
_FIELDS = ("final_url", "title", "author", "published_date", "lang", "fetched_at", "chars", "next_start")
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class Folder:
    """A directory that is made when it is missing, and held open: whatever is renamed meanwhile, files end up in it.

    Raises OSError when there can be none.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._path.mkdir(parents=True, exist_ok=True)
        self._directory = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)

    def close(self) -> None:
        """Let the directory go."""
        os.close(self._directory)

    def save(self, item: dict[str, Any]) -> Path:
        """Write the page of one place, and return the path of its file. Raises OSError.

        A file of that name is replaced, never written into: a link there leads nowhere.
        """
        name = file_name(item["index"], item["result"].get("title"))
        part = f"{name}.{secrets.token_hex(8)}.part"
        try:
            with os.fdopen(os.open(part, _FLAGS, 0o666, dir_fd=self._directory), "wb") as file:
                file.write(markdown(item).encode())
            os.replace(part, name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        except OSError:
            with suppress(OSError):
                os.unlink(part, dir_fd=self._directory)
            raise
        return self._path / name


@contextmanager
def folder(path: str) -> Iterator[Folder]:
    """Open a directory for pages for as long as the block runs. Raises OSError."""
    opened = Folder(path)
    try:
        yield opened
    finally:
        opened.close()


def file_name(index: int, title: object) -> str:
    """Return the name of a page's file: its number, then letters and digits of its title, with hyphens for the rest.

    It begins with a digit, and holds neither separators nor control or bidi characters.
    """
    text = unicodedata.normalize("NFC", title if isinstance(title, str) else "").lower()
    words = "".join(each if unicodedata.category(each)[0] in "LNM" else " " for each in text).split()
    slug = "-".join(words).encode()[:_MAX_NAME].decode(errors="ignore").rstrip("-")
    return f"{index + 1:03}-{slug}.md" if slug else f"{index + 1:03}.md"


def markdown(item: dict[str, Any]) -> str:
    """Return a page as Markdown: what is known of it as front matter, whose values are JSON, then the text."""
    page = item["result"]
    known = {"url": item["url"]} | {name: page[name] for name in _FIELDS if isinstance(page.get(name), str | int)}
    head = "".join(f"{name}: {document(value, 'utf-8')}\n" for name, value in known.items())
    return f"---\n{head}---\n\n{printable_lines(page['content'])}\n"
