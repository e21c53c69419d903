"""Crews for tests, and pages that come when a test lets them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from sift.batch.crew import Crew
from sift.batch.protocols import Jobs
from sift.fetch.model import Failed, Fetched, FetchRequest, Page
from tests.api.fetching import page

PATIENCE = 20.0


class FakeOpener:
    """Opens each page at once, unless its URL has a gate: then when that opens, or the page is given up.

    answers: what comes of a URL in place of a page; an exception is raised. begun: the URLs, in order. given_up: those
    that were given up.
    """

    def __init__(self, answers: dict[str, Page | Failed | Exception] | None = None) -> None:
        self.answers = answers or {}
        self.gates: dict[str, threading.Event] = {}
        self.begun: list[str] = []
        self.given_up: list[str] = []

    def hold(self, url: str) -> threading.Event:
        """Return the gate of a URL."""
        return self.gates.setdefault(url, threading.Event())

    def fetch(
        self, request: FetchRequest, caller: str, cls: str, is_given_up: Callable[[], bool] | None = None
    ) -> Fetched:
        """Open a page."""
        self.begun.append(request.url)
        assert is_given_up is not None
        if gate := self.gates.get(request.url):
            while not gate.wait(0.01):
                if is_given_up():
                    self.given_up.append(request.url)
                    return Fetched(Failed("fetch timeout"), "miss", 0.0)
        answer = self.answers.get(request.url, page())
        if isinstance(answer, Exception):
            raise answer
        return Fetched(answer, "miss", 0.0)


def crew_of(
    jobs: Jobs, opener: FakeOpener, size: int = 2, lease: float = 20.0, renew_every: float = 2.0, **more: Any
) -> Crew:
    """Return a crew that has started."""
    crew = Crew(size, lambda: jobs, lambda: opener, lease=lease, renew_every=renew_every, **more)
    crew.start()
    return crew
