"""An application whose pages are made up, for the tests of the routes that open pages."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from sift.app import create_app
from sift.auth.caller import Caller
from sift.fetch.extract.model import Extract
from sift.fetch.model import Failed, Fetched, FetchRequest, Page, Sizes
from sift.guard.url import Target, parse
from tests.fakes import engine_of, services_of

URL = "https://canary-host.com/canary-page?q=canary-query"
TEXT = Extract("# One\n\nTwo.", "trafilatura", title="One", lang="en", description="All of it.", html="<h1>One</h1>")
PAGE = Page(
    url=f"{URL}&b",
    status=200,
    content_type="text/html",
    text=TEXT,
    warnings=("page cut at 5 MiB",),
    sizes=Sizes(10, 20, 11),
    fetched_at="2026-12-01T08:30:00Z",
    at=0.0,
    hops=1,
)


@dataclass
class FakeFetcher:
    """Comes to one outcome for every request but those of `by_url`, and notes the requests.

    each: how many pages a caller may open at a time.
    """

    outcome: Page | Failed = PAGE
    cache: Any = "miss"
    asked: list[tuple[FetchRequest, str, str]] = field(default_factory=list)
    by_url: dict[str, Page | Failed] = field(default_factory=dict)
    each: int = 4

    def target(self, url: str) -> Target:
        """Judge a URL by its text."""
        return parse(url)

    def fetch(self, request: FetchRequest, caller: str, cls: str) -> Fetched:
        """Come to the outcome."""
        self.asked.append((request, caller, cls))
        return Fetched(self.by_url.get(request.url, self.outcome), self.cache, 0.25, 10, 1)


class App:
    """An application with a fetcher of its own.

    lines: what it has logged.
    """

    def __init__(self, outcome: Page | Failed = PAGE, cache: str = "miss") -> None:
        self.fetcher = FakeFetcher(outcome, cache)
        self.lines: list[bytes] = []
        callers = {"Bearer one": Caller("one", "restricted")}
        services = services_of(engine_of(), callers=callers, lines=self.lines, fetcher=self.fetcher)
        self.client = create_app(services=services).test_client()

    def post(self, path: str, body: object) -> Any:
        """Post a body, bytes as they are."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(path, data=data, headers={"Authorization": "Bearer one"})

    @property
    def records(self) -> list[dict[str, Any]]:
        """Return what was logged of fetches."""
        return [record for record in map(json.loads, self.lines) if record["event"] == "fetch"]


def page(**changes: Any) -> Page:
    """Return the page with other values."""
    text = {name: changes.pop(name) for name in list(changes) if hasattr(TEXT, name) and name != "warnings"}
    return replace(PAGE, text=replace(TEXT, **text), **changes)
