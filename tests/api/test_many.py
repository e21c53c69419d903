"""Opening several pages for one request (contract: Tavily door)."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from sift.api.doors.many import _Work, open_all
from sift.errors import FetchError
from tests.fakes import PATIENCE, FakeClock
from tests.waiting import threads_in, wait_for

URLS = [str(number) for number in range(6)]


class Pages:
    """Notes what is opened; each URL does what `steps` say, or comes to its own name.

    most: how many were being opened at the same time.
    """

    def __init__(self, **steps: Callable[[], str]) -> None:
        self.steps = steps
        self.asked: list[tuple[str, float]] = []
        self.open = self.most = 0
        self._lock = threading.Lock()

    def __call__(self, url: str, seconds: float) -> str:
        with self._lock:
            self.asked.append((url, seconds))
            self.open += 1
            self.most = max(self.most, self.open)
        try:
            return self.steps.get(f"p{url}", lambda: url)()
        finally:
            with self._lock:
                self.open -= 1

    @property
    def urls(self) -> list[str]:
        return [url for url, _ in self.asked]


def busy() -> str:
    raise FetchError("busy")


def opened(pages: Pages, at_once: int, clock: Callable[[], float] | None = None) -> list[str]:
    """Open all pages; return what each came to, the state of one that failed."""
    found = open_all(pages, URLS, at_once=at_once, deadline=10.0, clock=clock or FakeClock(0.0))
    return [each.state if isinstance(each, FetchError) else each for each in found]


def test_one_at_a_time_in_the_order_of_the_request() -> None:
    pages = Pages()
    assert opened(pages, 1) == URLS
    assert (pages.urls, pages.most) == (URLS, 1)


def test_several_at_a_time_and_no_more_the_answer_stays_in_order() -> None:
    """contract: Tavily door: a slow page holds up no other."""
    gate = threading.Event()

    def slow() -> str:
        assert gate.wait(PATIENCE)
        return "0"

    pages = Pages(p0=slow)
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.extend(opened(pages, 3)))
    thread.start()
    wait_for(lambda: len(pages.asked) == len(URLS) and pages.open == 1, PATIENCE)
    gate.set()
    thread.join(PATIENCE)
    assert found == URLS
    assert pages.most <= 3


def test_time_is_up_the_rest_is_not_opened() -> None:
    """contract: Tavily door: each page gets what is left of the time of all."""
    clock = FakeClock(0.0)

    def takes_four() -> str:
        clock.tick(4)
        return "ok"

    pages = Pages(**{f"p{url}": takes_four for url in URLS})
    assert opened(pages, 1, clock) == ["ok", "ok", "ok", "fetch timeout", "fetch timeout", "fetch timeout"]
    assert pages.asked == [("0", 10.0), ("1", 6.0), ("2", 2.0)]


def test_failed_page_is_its_outcome() -> None:
    def fails() -> str:
        raise FetchError("fetch failed", "dns")

    assert opened(Pages(p2=fails), 1) == ["0", "1", "fetch failed", "3", "4", "5"]


def test_no_place_the_rest_is_busy_and_nothing_waits() -> None:
    """contract: Tavily door: a request without a place holds no thread."""
    pages = Pages(**{f"p{url}": busy for url in URLS[2:]})
    assert opened(pages, 1) == ["0", "1", "busy", "busy", "busy", "busy"]
    assert pages.urls == ["0", "1", "2"]


def test_helper_without_a_place_leaves_its_page_to_the_others() -> None:
    """contract: Tavily door: one place is enough for all pages."""
    places = threading.Semaphore(1)

    def open_one() -> str:
        if not places.acquire(blocking=False):
            raise FetchError("busy")
        try:
            # Held until the helper has asked in vain, if there is still one.
            wait_for(lambda: pages.open == 1, PATIENCE)
            return "ok"
        finally:
            places.release()

    pages = Pages(**{f"p{url}": open_one for url in URLS})
    assert opened(pages, 2) == ["ok"] * len(URLS)


def test_page_put_back_when_nobody_was_left_is_opened_in_the_end() -> None:
    """contract: Tavily door: a place that is free again is used."""
    met = threading.Barrier(2)
    again = threading.Event()

    def step() -> str:
        if again.is_set():
            return "ok"
        met.wait(PATIENCE)
        if threading.current_thread() is threading.main_thread():
            return "ok"
        again.set()
        wait_for(lambda: threads_in(_Work.run) == 1, PATIENCE)  # the other thread has found nothing left
        raise FetchError("busy")

    pages = Pages(p0=step, p1=step)
    found = open_all(pages, URLS[:2], at_once=2, deadline=10.0, clock=FakeClock(0.0))
    assert found == ["ok", "ok"]
    assert len(pages.asked) == 3


def test_fault_in_a_helper_is_raised() -> None:
    """contract: Errors: a fault of Sift's own is a 500, and no failed page."""
    met = threading.Barrier(2)

    def fault() -> str:
        met.wait(PATIENCE)
        if threading.current_thread() is threading.main_thread():
            return "ok"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        opened(Pages(p0=fault, p1=fault), 2)
