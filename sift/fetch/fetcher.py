"""A fetch from beginning to end: guard, cache, places, robots, page, text (contract: Fetch)."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple, Protocol

from sift.errors import ExtractError, FetchError, RefusedURLError
from sift.fetch.extract.model import Document, Extract, Format
from sift.fetch.model import CacheUse, Failed, Fetched, FetchRequest, Page, RawPage, Sizes
from sift.fetch.page import open_page
from sift.fetch.places import Places
from sift.fetch.robots import Robots
from sift.fetch.web import Web
from sift.flight import SingleFlight
from sift.guard.url import Target
from sift.wire.call import Call

DEMO_WARNING = "demo page: text that comes with Sift, nothing was fetched"


class Pages(Protocol):
    """The cache of pages."""

    def get(self, key: bytes) -> Page | None:
        """Return the page stored under `key`, None if there is none."""

    def put(self, key: bytes, page: Page, size: int) -> None:
        """Store a page of so many bytes."""


class Extractor(Protocol):
    """What finds the text of pages; `extract.Extractor`, or a portion of it."""

    takes_pdf: bool

    @property
    def version(self) -> str:
        """What extracts, with versions: another one may extract something else."""

    def extract(self, document: Document, format: Format, *, html: bool = False, deadline: float) -> Extract:
        """Return the readable text of a document. Raises TimeoutError at the deadline (monotonic), and ExtractError."""

    def close(self) -> None:
        """End what runs beside the service."""


def no_bundled_page(url: str) -> bytes | None:
    """Return None: without the demo no page is bundled."""
    return None


def never() -> bool:
    """Return False: nobody gives this fetch up."""
    return False


class _Opened(NamedTuple):
    """What opening a page came to, and the delay that its host's robots.txt asks for, if it does."""

    outcome: Page | Failed
    delay: float | None = None


class _Asking:
    """Asks the robots.txt of each host of one fetch.

    delay: what that of the first host says. Later ones are those of redirects, whose hosts are nobody's to wait for.
    """

    def __init__(self, robots: Robots | None, deadline: float, is_given_up: Callable[[], bool]) -> None:
        self._robots = robots
        self._deadline = deadline
        self._is_given_up = is_given_up
        self._is_first = True
        self.delay: float | None = None

    def __call__(self, target: Target) -> None:
        """Raise FetchError when a page may not be asked for, or need not be any more."""
        is_first, self._is_first = self._is_first, False
        self._check()
        if self._robots is not None:
            rules = self._robots.verdict(target, self._deadline)
            if is_first:
                self.delay = rules.delay
            if not rules.allowed:
                raise FetchError("robots disallow")
            self._check()

    def _check(self) -> None:
        if self._is_given_up():
            raise FetchError("fetch timeout")


class Fetcher:
    """Opens pages.

    places: None when the threads that use it are as many as pages may be opened at a time. robots: None when robots.txt
    does not count for these fetches. bundled: returns the HTML of a demo page, None for any other URL. clock: monotonic
    seconds. now: the current UTC time.
    """

    def __init__(
        self,
        web: Web,
        extractor: Extractor,
        pages: Pages,
        *,
        places: Places | None,
        robots: Robots | None,
        bundled: Callable[[str], bytes | None] = no_bundled_page,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._web = web
        self.target = lru_cache(maxsize=512)(web.guard.target)
        """Returns what a URL leads to, by its text alone. Raises RefusedURLError."""
        self._extractor = extractor
        self._pages = pages
        self._places = places
        self.each = 1 if places is None else places.each
        """How many pages one caller may open at a time."""
        self._robots = robots
        self._bundled = bundled
        self._clock = clock
        self._now = now
        self._flights: SingleFlight[_Opened] = SingleFlight()

    def fetch(
        self, request: FetchRequest, caller: str, cls: str, is_given_up: Callable[[], bool] | None = None
    ) -> Fetched:
        """Open the page of a valid request; never raises for what a page, a host or a name server does.

        is_given_up: says whether nobody wants the page any more, if that can be; the fetch then ends soon, whatever
        the host does, and what it came to means nothing.
        """
        began = self._clock()
        deadline = began + request.timeout
        try:
            target = self.target(request.url)
        except RefusedURLError as error:
            return self._ended(Failed("url not allowed", error.hint), cls, began)
        key = page_key(request, target.url, cls, self._extractor.version)
        page = self._pages.get(key) if request.max_age > 0 else None
        if page is not None and began - page.at < request.max_age:
            return Fetched(page, "hit", self._clock() - began)
        try:
            with self._places.place(caller) if self._places is not None else nullcontext():
                opened, is_shared = self._share(
                    key, lambda: self._open(request, target, key, deadline, is_given_up), deadline
                )
        except FetchError as error:
            return self._ended(Failed.of(error), cls, began)
        return self._ended(opened.outcome, cls, began, opened.delay, is_shared=is_shared)

    def close(self) -> None:
        """End what runs beside the service."""
        self._extractor.close()

    def _ended(
        self, outcome: Page | Failed, cls: str, began: float, delay: float | None = None, *, is_shared: bool = False
    ) -> Fetched:
        seconds = self._clock() - began
        use: CacheUse = "shared" if is_shared else "miss"
        if isinstance(outcome, Failed):
            return Fetched(outcome.for_class(cls), use, seconds, delay=delay)
        return Fetched(outcome, use, seconds, 0 if is_shared else outcome.sizes.wire, outcome.hops, delay)

    def _share(self, key: bytes, call: Callable[[], _Opened], deadline: float) -> tuple[_Opened, bool]:
        """Return what a fetch comes to, and whether another request made it. Raises FetchError at the deadline."""
        while True:
            try:
                opened, is_shared = self._flights.run(key, call, deadline - self._clock())
            except TimeoutError:
                raise FetchError("fetch timeout") from None
            if not (is_shared and opened.outcome == Failed("fetch timeout") and self._clock() < deadline):
                return opened, is_shared  # else that one had less time than this one, or was given up

    def _open(
        self,
        request: FetchRequest,
        target: Target,
        key: bytes,
        deadline: float,
        is_given_up: Callable[[], bool] | None,
    ) -> _Opened:
        ask = _Asking(self._robots, deadline, is_given_up or never)
        try:
            raw = self._raw(target, lambda: Call(deadline, self._clock, is_given_up=is_given_up), ask)
            page = self._page(request, raw, deadline)
        except FetchError as error:
            return _Opened(Failed.of(error), ask.delay)
        if raw.keeps:
            self._pages.put(key, page, memory(page))
        return _Opened(page, ask.delay)

    def _raw(self, target: Target, call: Callable[[], Call], ask: Callable[[Target], None]) -> RawPage:
        if (html := self._bundled(target.url)) is not None:
            return RawPage(target.url, 200, "text/html", "utf-8", html, len(html), warnings=(DEMO_WARNING,))
        return open_page(self._web, target, call, ask, takes_pdf=self._extractor.takes_pdf)

    def _page(self, request: FetchRequest, raw: RawPage, deadline: float) -> Page:
        document = Document(raw.body, raw.content_type, raw.charset, raw.url)
        try:
            text = self._extractor.extract(document, request.format, html=request.html, deadline=deadline)
        except TimeoutError:
            raise FetchError("fetch timeout") from None
        except ExtractError:
            raise FetchError("fetch failed", "bad response") from None
        return Page(
            url=raw.url,
            status=raw.status,
            content_type=raw.content_type,
            text=text,
            warnings=tuple(dict.fromkeys(raw.warnings + text.warnings)),
            sizes=Sizes(raw.wire, len(raw.body), len(text.content.encode())),
            fetched_at=self._now().isoformat(timespec="seconds").replace("+00:00", "Z"),
            at=self._clock(),
            hops=raw.hops,
        )


def page_key(request: FetchRequest, url: str, cls: str, version: str) -> bytes:
    """Return the key under which a page is kept, and equal fetches under way find each other."""
    parts = (cls, url, request.format, str(request.html), version)
    return hashlib.sha256("\0".join(parts).encode()).digest()


def memory(page: Page) -> int:
    """Return how many bytes a page takes, rounded up."""
    return 2048 + sum(map(sys.getsizeof, (page.url, page.text.content, page.text.html, page.text.description)))
