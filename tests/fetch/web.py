"""A web for tests: answers by URL, behind the real guard's text part."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from sift.errors import FetchError
from sift.guard.guard import Guard
from sift.guard.url import Target
from sift.wire.call import Call
from sift.wire.connection import READ_SIZE

HTML = {"content-type": "text/html; charset=utf-8"}
NO_ROBOTS = 404


class FakeReply:
    """An answer whose body comes in the given pieces; an exception among them is raised in its turn.

    read: how many pieces were read. closed: whether the connection was closed.
    """

    def __init__(self, status: int = 200, headers: Mapping[str, str] = HTML, *pieces: bytes | Exception) -> None:
        self.status = status
        self.headers = dict(headers)
        self.read = 0
        self.closed = False
        self._pieces = pieces

    def __enter__(self) -> FakeReply:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.closed = True

    def read1(self, n: int = READ_SIZE, decode_content: bool = False) -> bytes:
        """Return the next piece, or raise it."""
        if self.read == len(self._pieces):
            return b""
        piece = self._pieces[self.read]
        self.read += 1
        if isinstance(piece, Exception):
            raise piece
        return piece


def page(text: str = "<p>text</p>", **headers: str) -> FakeReply:
    """Return an HTML page."""
    return FakeReply(200, HTML | {name.replace("_", "-"): value for name, value in headers.items()}, text.encode())


def moved(location: str, status: int = 302, *pieces: bytes | Exception) -> FakeReply:
    """Return a redirect."""
    return FakeReply(status, {"location": location}, *pieces)


Step = FakeReply | FetchError | Callable[[], FakeReply]


class FakeWeb:
    """Answers by URL; a robots.txt that is not given is a 404, any other URL a failed look-up.

    asked: the URLs, in the order of the requests.
    """

    def __init__(self, answers: Mapping[str, Step], guard: Guard | None = None) -> None:
        self.guard = guard or Guard()
        self.answers = dict(answers)
        self.asked: list[str] = []
        self.calls: list[Call] = []
        self._lock = threading.Lock()

    def get(self, target: Target, call: Call) -> Any:
        """Answer a request."""
        with self._lock:
            self.asked.append(target.url)
            self.calls.append(call)
        if target.url not in self.answers and target.path == "/robots.txt":
            return FakeReply(NO_ROBOTS)
        step = self.answers.get(target.url, FetchError("fetch failed", "dns"))
        if isinstance(step, FetchError):
            raise step
        return step() if callable(step) else step

    @property
    def pages_asked(self) -> list[str]:
        """Return what was asked besides robots.txt."""
        return [url for url in self.asked if not url.endswith("/robots.txt")]
