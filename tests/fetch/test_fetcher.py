"""A fetch from beginning to end (contract: Fetch)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from sift.errors import ExtractError, FetchError
from sift.fetch.extract.model import Document, Extract, RobotsRules
from sift.fetch.fetcher import DEMO_WARNING, Fetcher
from sift.fetch.model import Failed, Fetched, FetchRequest, Page
from sift.fetch.places import Places
from sift.fetch.robots import Robots
from sift.store.pages import PageCache
from tests.fakes import PATIENCE
from tests.fetch.web import FakeReply, FakeWeb, moved, page
from tests.waiting import wait_for

URL = "https://a.com/x"


class FakeExtractor:
    """Returns the body as text; a step is called or raised in its place.

    documents: what it was given.
    """

    version = "1"
    takes_pdf = True

    def __init__(self, step: Exception | Callable[[], Extract] | None = None) -> None:
        self.step = step
        self.documents: list[Document] = []
        self.closed = False

    def extract(self, document: Document, format: str, *, html: bool = False, deadline: float) -> Extract:
        """Return a text."""
        self.documents.append(document)
        if isinstance(self.step, Exception):
            raise self.step
        if self.step is not None:
            return self.step()
        return Extract(document.body.decode(), "builtin", html="<p>" if html else "", warnings=("little",))

    def robots(self, body: bytes, agent: str, url: str, *, deadline: float) -> RobotsRules:
        """Allow what is not spelled out."""
        return RobotsRules(allowed=b"/x" not in body, delay=None)

    def close(self) -> None:
        """Note it."""
        self.closed = True


class Bench:
    """A fetcher with everything around it."""

    def __init__(self, answers: Any, *, robots: bool = True, places: int = 16, **kwargs: Any) -> None:
        self.web = FakeWeb(answers)
        self.extractor = kwargs.pop("extractor", FakeExtractor())
        self.now = 1000.0
        self.pages: PageCache[Page] = PageCache(clock=self.clock)
        web: Any = self.web
        self.fetcher = Fetcher(
            web,
            self.extractor,
            self.pages,
            places=Places(places),
            robots=Robots(web, self.extractor, self.clock) if robots else None,
            clock=self.clock,
            now=lambda: datetime(2026, 12, 1, 8, 30, tzinfo=UTC),
            **kwargs,
        )

    def clock(self) -> float:
        """Return the time that the test has set."""
        return self.now

    def fetch(self, url: str = URL, *, caller: str = "one", cls: str = "fleet", **fields: Any) -> Fetched:
        """Fetch a page."""
        return self.fetcher.fetch(FetchRequest(url, **fields), caller, cls)

    def page(self, url: str = URL, **kwargs: Any) -> Page:
        """Fetch a page that must come."""
        outcome = self.fetch(url, **kwargs).outcome
        assert isinstance(outcome, Page)
        return outcome


def test_page_comes_as_text_with_its_sizes_and_the_time() -> None:
    bench = Bench({URL: moved("/%c3%a9"), "https://a.com/%C3%A9": page("é")})
    fetched = bench.fetch()
    assert isinstance(fetched.outcome, Page)
    assert (fetched.cache, fetched.bytes, fetched.hops) == ("miss", 2, 1)
    found = fetched.outcome
    assert (found.url, found.text.content, found.fetched_at) == ("https://a.com/%C3%A9", "é", "2026-12-01T08:30:00Z")
    assert found.sizes == (2, 2, 2)
    assert found.warnings == ("little",)
    assert bench.extractor.documents == [Document("é".encode(), "text/html", "utf-8", found.url)]


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("ftp://a.com/", "scheme"),
        ("https://a.com:25/", "port"),
        ("http://10.0.0.1/", "address"),
        ("http://x.lan/", "name"),
    ],
)
@pytest.mark.parametrize("cls", ["fleet", "restricted"])
def test_text_alone_refuses_nothing_is_asked_and_the_reason_is_said(url: str, hint: str, cls: str) -> None:
    """contract: Guard: what the text says may be said exactly, to either class."""
    bench = Bench({})
    assert bench.fetch(url, cls=cls).outcome == Failed("url not allowed", hint)
    assert bench.web.asked == []


@pytest.mark.parametrize("hint", ["address", "dns", "connect", "tls"])
def test_restricted_caller_learns_nothing_of_what_is_inside(hint: str) -> None:
    """contract: Guard: a forbidden address, an unknown name, a refused connection, a bad certificate: one answer."""
    bench = Bench({"https://a.com/robots.txt": FetchError("fetch failed", hint)})
    assert bench.fetch(cls="restricted").outcome == Failed("fetch failed", "unreachable")
    assert bench.fetch(cls="fleet").outcome == Failed("fetch failed", hint)


@pytest.mark.parametrize("hint", ["redirects", "encoding", "too large", "bad response", "status 404"])
def test_restricted_caller_learns_what_a_public_page_did(hint: str) -> None:
    bench = Bench({URL: FetchError("fetch failed", hint)})
    assert bench.fetch(cls="restricted").outcome == Failed("fetch failed", hint)


def test_robots_txt_says_no_the_page_is_not_asked() -> None:
    bench = Bench({URL: page(), "https://a.com/robots.txt": FakeReply(200, {}, b"Disallow: /x")})
    assert bench.fetch().outcome == Failed("robots disallow")
    assert bench.web.pages_asked == []
    bench = Bench({URL: page(), "https://a.com/robots.txt": FakeReply(200, {}, b"Disallow: /x")}, robots=False)
    assert isinstance(bench.fetch().outcome, Page)
    assert bench.web.asked == [URL]


def test_redirect_leads_to_where_robots_txt_says_no_it_is_not_followed() -> None:
    """contract: Robots: each target obeys its own host's."""
    robots = FakeReply(200, {}, b"Disallow: /x")
    bench = Bench({"https://b.com/": moved(URL), URL: page(), "https://a.com/robots.txt": robots})
    assert bench.fetch("https://b.com/").outcome == Failed("robots disallow")
    assert bench.web.pages_asked == ["https://b.com/"]


def test_page_is_kept_for_as_long_as_each_caller_says() -> None:
    """contract: Fetch: `max_age` is judged at the look-up."""
    bench = Bench({URL: page})
    bench.page()
    bench.now += 50
    again = bench.fetch(max_age=51)
    assert (again.cache, again.bytes, again.hops) == ("hit", 0, 0)
    assert bench.fetch(max_age=50).cache == "miss"
    assert bench.fetch(max_age=0).cache == "miss"
    assert bench.web.pages_asked == [URL] * 3


def test_fragment_does_not_make_another_page_but_class_format_and_html_do() -> None:
    """contract: Fetch: the cache's key."""
    bench = Bench({URL: page})
    bench.page()
    assert bench.fetch(f"{URL}#part").cache == "hit"
    assert bench.fetch("HTTPS://A.com:443/x").cache == "hit"
    for other in ({"cls": "restricted"}, {"format": "text"}, {"html": True}):
        assert bench.fetch(**other).cache == "miss"  # type: ignore[arg-type]


def test_extractor_has_changed_the_page_is_read_anew() -> None:
    bench = Bench({URL: page})
    bench.page()
    bench.extractor.version = "2"
    assert bench.fetch().cache == "miss"


def test_page_meant_for_one_reader_is_not_kept() -> None:
    bench = Bench({URL: lambda: page(cache_control="no-store")})
    bench.page()
    assert bench.fetch().cache == "miss"


def test_failure_is_not_kept() -> None:
    bench = Bench({URL: lambda: FakeReply(404)})
    assert bench.fetch().outcome == Failed("fetch failed", "status 404")
    bench.web.answers[URL] = page
    assert isinstance(bench.fetch().outcome, Page)


@pytest.mark.parametrize(
    ("step", "failed"),
    [(TimeoutError(), Failed("fetch timeout")), (ExtractError(), Failed("fetch failed", "bad response"))],
)
def test_no_text_can_be_made_of_a_page_it_is_a_failure(step: Exception, failed: Failed) -> None:
    assert Bench({URL: page()}, extractor=FakeExtractor(step)).fetch().outcome == failed


def test_demo_page_takes_the_whole_path_but_for_the_connection_and_says_so() -> None:
    """contract: Demo: a page that the demo's hits lead to is answered from the bundled text."""
    bench = Bench({}, bundled=lambda url: b"<p>bundled" if url == URL else None)
    found = bench.page()
    assert (found.text.content, found.warnings) == ("<p>bundled", (DEMO_WARNING, "little"))
    assert bench.web.asked == []
    assert bench.fetch("https://a.com/other").outcome == Failed("fetch failed", "dns")


class Held:
    """An extraction that lasts until the test lets it go."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.go = threading.Event()

    def __call__(self) -> Extract:
        self.begun.release()
        assert self.go.wait(PATIENCE)
        return Extract("text", "builtin")


def test_caller_holds_all_places_it_may_it_is_refused_and_others_are_not() -> None:
    """contract: Fetch: four places a caller; busy at once."""
    held = Held()
    urls = [f"https://a.com/{number}" for number in range(6)]
    bench = Bench(dict.fromkeys(urls, page), extractor=FakeExtractor(held))
    with ThreadPoolExecutor(5) as pool:
        try:
            running = [pool.submit(bench.fetch, url) for url in urls[:4]]
            for _ in running:
                assert held.begun.acquire(timeout=PATIENCE)
            assert bench.fetch(urls[4]).outcome == Failed("busy")
            other = pool.submit(bench.fetch, urls[5], caller="another")
            assert held.begun.acquire(timeout=PATIENCE)
        finally:
            held.go.set()
        assert all(isinstance(each.result(PATIENCE).outcome, Page) for each in [*running, other])
    assert isinstance(bench.fetch(urls[4]).outcome, Page)


def test_kept_page_needs_no_place() -> None:
    held = Held()
    bench = Bench({URL: page, "https://a.com/slow": page}, places=1)
    bench.page()
    bench.extractor.step = held
    with ThreadPoolExecutor(1) as pool:
        try:
            slow = pool.submit(bench.fetch, "https://a.com/slow")
            assert held.begun.acquire(timeout=PATIENCE)
            assert bench.fetch().cache == "hit"
        finally:
            held.go.set()
        slow.result(PATIENCE)


def test_equal_fetches_under_way_share_one_page() -> None:
    """contract: Fetch: also with `max_age` 0."""
    held = Held()
    bench = Bench({URL: page}, extractor=FakeExtractor(held))
    with ThreadPoolExecutor(2) as pool:
        try:
            first = pool.submit(bench.fetch, max_age=0)
            assert held.begun.acquire(timeout=PATIENCE)
            second = pool.submit(bench.fetch, max_age=0, caller="another")
            wait_for(lambda: bench.fetcher._places._taken["another"])
        finally:
            held.go.set()
        uses = sorted([first.result(PATIENCE).cache, second.result(PATIENCE).cache])
    assert uses in (["miss", "shared"], ["miss", "miss"])  # the second may have come after the end
    assert len(bench.web.pages_asked) == (1 if "shared" in uses else 2)


def test_other_fetch_runs_out_of_time_first_this_one_goes_on_by_itself() -> None:
    """contract: Fetch: each caller has its own timeout, whoever began."""
    bench = Bench({URL: page})
    begun, go = threading.Event(), threading.Event()

    def late() -> Extract:
        begun.set()
        assert go.wait(PATIENCE)
        bench.extractor.step = None
        raise TimeoutError

    bench.extractor.step = late
    with ThreadPoolExecutor(2) as pool:
        try:
            first = pool.submit(bench.fetch, timeout=1)
            assert begun.wait(PATIENCE)
            second = pool.submit(bench.fetch, timeout=30, caller="another")
            wait_for(lambda: bench.fetcher._places._taken["another"])
        finally:
            go.set()
        assert first.result(PATIENCE).outcome == Failed("fetch timeout")
        assert isinstance(second.result(PATIENCE).outcome, Page)


def test_close_ends_the_extractor() -> None:
    bench = Bench({})
    bench.fetcher.close()
    assert bench.extractor.closed


def test_robots_txt_asks_for_a_delay_it_is_told_whatever_the_page_did() -> None:
    """contract: Batch work: of the page's own host, not of those that it redirects to."""

    class Slow(FakeExtractor):
        def robots(self, body: bytes, agent: str, url: str, *, deadline: float) -> RobotsRules:
            return RobotsRules(allowed=True, delay=float(body))

    answers = {
        URL: moved("https://b.com/"),
        "https://b.com/": page(),
        "https://c.com/": FetchError("fetch failed", "connect"),
        "https://d.com/": page(),
        **{f"https://{host}.com/robots.txt": FakeReply(200, {}, delay) for host, delay in
           (("a", b"3"), ("b", b"9"), ("c", b"4"))},
    }  # fmt: skip
    bench = Bench(answers, extractor=Slow())
    assert bench.fetch().delay == 3
    assert bench.fetch("https://c.com/").delay == 4
    assert bench.fetch("https://d.com/").delay is None


def test_busy_site_says_when_to_come_back_the_failure_has_it() -> None:
    """contract: Batch work."""
    bench = Bench({URL: FakeReply(503, {"retry-after": "7"}), "https://b.com/": FakeReply(429, {})})
    assert bench.fetch().outcome == Failed("fetch failed", "status 503", 7.0)
    assert bench.fetch("https://b.com/").outcome == Failed("fetch failed", "status 429")


def test_fetch_is_given_up_nothing_more_is_asked() -> None:
    """contract: Batch work: neither the page behind its robots.txt, nor the target of a redirect."""
    is_given_up = False

    def give_up() -> FakeReply:
        nonlocal is_given_up
        is_given_up = True
        return moved("https://b.com/")

    bench = Bench({URL: give_up, "https://b.com/": page()})
    fetched = bench.fetcher.fetch(FetchRequest(URL), "one", "fleet", lambda: is_given_up)
    assert fetched.outcome == Failed("fetch timeout")
    assert bench.web.asked == ["https://a.com/robots.txt", URL]
    assert bench.web.calls[-1].is_over()


def test_threads_are_the_places_as_many_fetches_as_there_are_threads() -> None:
    """contract: Batch work: batches take no place of single fetches."""
    web: Any = FakeWeb({URL: page()})
    fetcher = Fetcher(web, FakeExtractor(), PageCache(), places=None, robots=None)
    assert isinstance(fetcher.fetch(FetchRequest(URL), "one", "fleet").outcome, Page)
