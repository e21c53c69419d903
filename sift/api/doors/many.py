"""Opening several pages for one request, a few at a time, until one moment (contract: Tavily door)."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Generic, TypeVar

from sift.errors import FetchError

T = TypeVar("T")


def open_all(
    open_page: Callable[[str, float], T],
    urls: Sequence[str],
    *,
    at_once: int,
    deadline: float,
    clock: Callable[[], float] = time.monotonic,
) -> list[T | FetchError]:
    """Open pages, the first ones first; return what each came to, in the order of `urls`.

    open_page: takes a URL and the seconds that are left; raises FetchError. at_once: this thread included.
    deadline: in seconds of the clock; a page that has not begun by then is not opened.

    Whoever finds no place stops, so that nothing waits for one: a request holds no more threads than places. What is
    left is for the others, and `busy` when nobody is.
    """
    work = _Work(open_page, urls, deadline, clock)
    helpers: list[Future[bool]] = []
    with ThreadPoolExecutor(max(1, at_once - 1)) as pool:
        for _ in range(min(at_once, len(urls)) - 1):
            with suppress(RuntimeError):  # no thread: this one does it all
                helpers.append(pool.submit(work.run))
        found_places = work.run()
    for helper in helpers:
        helper.result()  # a fault of Sift's own is raised
    if found_places:
        work.run()  # a helper may have put a page back after this thread had found none left
    return work.outcomes


class _Work(Generic[T]):
    """The pages still to be opened, and what became of the others."""

    def __init__(
        self, open_page: Callable[[str, float], T], urls: Sequence[str], deadline: float, clock: Callable[[], float]
    ) -> None:
        self.outcomes: list[T | FetchError] = [FetchError("busy") for _ in urls]
        self._open_page = open_page
        self._urls = urls
        self._deadline = deadline
        self._clock = clock
        self._left = deque(range(len(urls)))
        self._lock = threading.Lock()

    def run(self) -> bool:
        """Open pages until none is left, or there is no place for the next; return whether there were places."""
        while (index := self._next()) is not None:
            outcome = self._open(self._urls[index])
            if isinstance(outcome, FetchError) and outcome.state == "busy":
                with self._lock:
                    self._left.appendleft(index)
                return False
            self.outcomes[index] = outcome
        return True

    def _next(self) -> int | None:
        with self._lock:
            return self._left.popleft() if self._left else None

    def _open(self, url: str) -> T | FetchError:
        seconds = self._deadline - self._clock()
        if seconds <= 0:
            return FetchError("fetch timeout")
        try:
            return self._open_page(url, seconds)
        except FetchError as error:
            return error
