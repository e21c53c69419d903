"""A real Chromium, and pages that try to use a Sift without authentication (contract: Origins)."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.service import Service
from tests.vendors import NAMES, Vendors

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed (Debian: chromium)")

FORM = """<!doctype html><meta charset=utf-8>
<form method=post enctype=text/plain action="{url}/v1/search">
<input name='{{"query": "from a page", "x": "' value='"}}'></form>
<script>document.forms[0].submit()</script>"""


class Pages:
    """A loopback server of one page, which sends the given headers with it."""

    def __init__(self, page: str, headers: dict[str, str]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                for name, value in {"Content-Type": "text/html", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(page.encode())

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Pages:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def browse(tmp_path: Path) -> Callable[..., str]:
    """Return a function that opens a URL and returns the document that it led to."""

    def open_url(url: str, *options: str) -> str:
        command = [
            *(str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            *(f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=10000", *options, "--dump-dom", url),
        ]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout

    return open_url


@pytest.fixture
def service(vendors: Vendors, tmp_path: Path) -> Iterator[Service]:
    """Run a service without authentication that logs methods and statuses."""
    with Service(tmp_path, vendors.environ, ["--access-logfile", "-"]) as running:
        yield running


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["same site", "cross site"])
@pytest.mark.parametrize("headers", [{}, {"Referrer-Policy": "no-referrer"}], ids=["named", "hidden"])
def test_form_of_another_page_spends_no_search(
    service: Service, vendors: Vendors, browse: Callable[..., str], host: str, headers: dict[str, str]
) -> None:
    """contract: Origins: what a form posts as text/plain is valid JSON, and is refused all the same."""
    with Pages(FORM.format(url=service.url), headers) as pages:
        document = browse(f"http://{host}:{pages.port}/")
    assert b'"method": "POST", "status": 403' in service.log()
    assert '"hint": "origin"' in document
    assert vendors.seen == []


def test_rebound_name_reads_nothing(service: Service, browse: Callable[..., str]) -> None:
    """contract: Origins: for a browser a rebound name is the page's own origin; only its Host gives it away."""
    document = browse(
        f"http://evil.example:{service.port}/v1/status", "--host-resolver-rules=MAP evil.example 127.0.0.1"
    )
    assert b'"method": "GET", "status": 403' in service.log()
    assert '"hint": "origin"' in document
    assert "sources" not in document


def test_address_typed_by_a_user_is_answered(service: Service, browse: Callable[..., str]) -> None:
    """contract: Origins: a person may look at the status of a service on their own machine."""
    document = browse(f"{service.url}/v1/status")
    assert all(name in document for name in NAMES)
