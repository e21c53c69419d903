"""A real browser, and the services whose page it shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.service import Service
from tests.vendors import Vendors

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (PyPI: playwright)")

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
).split()


class Tab(NamedTuple):
    """A page of the browser. told: what the console said. asked: method, URL and body of all that it asked for."""

    page: Any
    told: list[str]
    asked: list[tuple[str, str, str]]

    def search(self, query: str) -> None:
        """Type a query, press Enter, and wait for what comes of it."""
        self.page.fill("#query", query)
        self.page.press("#query", "Enter")
        self.settle()

    def settle(self) -> None:
        """Wait until the answer, or why there is none, is there."""
        self.page.wait_for_selector("#answer[aria-busy=false] > *")


# Not for the session: as long as it runs, playwright's event loop counts as one that runs in this thread.
@pytest.fixture(scope="module")
def _browser() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip("no Chromium (Debian: chromium)")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run a service with demo sources and its page."""
    with Service(tmp_path_factory.mktemp("demo"), {"SIFT_DEMO": "on", "SIFT_PAGE": "on"}) as service:
        yield service


@pytest.fixture
def tab(_browser: Any) -> Iterator[Any]:
    """Return what opens a tab at a service's page: `tab(url, **options of the context)`."""
    contexts: list[Any] = []

    def show(url: str, **options: Any) -> Tab:
        context = _browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(15_000)
        made = Tab(context.new_page(), [], [])
        made.page.on("console", lambda message: made.told.append(message.text))
        made.page.on("pageerror", lambda error: made.told.append(str(error)))
        made.page.on("request", lambda asked: made.asked.append((asked.method, asked.url, asked.post_data or "")))
        with made.page.expect_response("**/v1/status"):
            made.page.goto(url)
        return made

    yield show
    for context in contexts:
        context.close()


@pytest.fixture
def over_vendors(vendors: Vendors, tmp_path: Path) -> Iterator[Service]:
    """Run a service with stand-ins of the vendors and its page."""
    with Service(tmp_path, vendors.environ | {"SIFT_PAGE": "on"}) as service:
        yield service
