"""The page for people, without a browser: how it is sent, and what it says of the request (contract: Page)."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from sift.api.page import FILES
from sift.app import create_app
from sift.auth.caller import Caller
from sift.cli.flags import FLAGS
from sift.search.fields import FIELDS
from tests.fakes import FakeSource, engine_of, out, page, services_of
from tests.service import ROOT

TYPES = {"/": "text/html", "/page.css": "text/css", "/page.js": "text/javascript", "/icon.svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
SOURCES = {path: (ROOT / "sift/api/page" / name).read_text() for path, name in FILES.items()}


def client(*, page_is_on: bool = True) -> Any:
    """Return a client of a service with its page, or without."""
    services = services_of(engine_of(FakeSource("s1", out(page(1)))), callers={"Bearer fleet": Caller("a", "fleet")})
    return create_app(services=replace(services, page=page_is_on)).test_client()


class Controls(HTMLParser):
    """Collects the form's controls: attributes by id, and the choices of each list."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, dict[str, str | None]] = {}
        self.choices: dict[str, list[str]] = {}
        self._last = ""
        self.feed(SOURCES["/"])

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note a control."""
        named = dict(attributes)
        if "data-flag" in named:
            self._last = str(named["id"])
            self.found[self._last] = named

    def handle_data(self, data: str) -> None:
        """Note a choice."""
        if self.lasttag == "option" and data.strip():
            self.choices.setdefault(self._last, []).append(data)


@pytest.mark.parametrize("path", FILES)
def test_file_is_sent_without_a_key_and_to_any_site(path: str) -> None:
    """contract: Page: a link elsewhere may lead here; a policy, no referrer, no guessing of types."""
    answer = client().get(path, headers={"Sec-Fetch-Site": "cross-site", "Host": "sift.example"})
    assert (answer.status_code, answer.get_data(as_text=True)) == (200, SOURCES[path])
    assert answer.mimetype == TYPES[path]
    headers = {name: answer.headers[name] for name in ("Content-Security-Policy", "Referrer-Policy", "Cache-Control")}
    assert headers == {
        "Content-Security-Policy": POLICY,
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-cache",
    }
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_copy_that_is_right_is_not_sent_again() -> None:
    """contract: Page: asked for anew each time, and answered by a 304."""
    asked = client()
    tag = asked.get("/page.js").headers["ETag"]
    again = asked.get("/page.js", headers={"If-None-Match": tag})
    assert (again.status_code, again.data) == (304, b"")
    assert asked.get("/page.css").headers["ETag"] != tag


@pytest.mark.parametrize("path", FILES)
def test_page_is_off_there_is_none(path: str) -> None:
    """contract: Page: 404 in JSON; without a key 401, as everywhere."""
    asked = client(page_is_on=False)
    assert asked.get(path).status_code == 401
    answer = asked.get(path, headers={"Authorization": "Bearer fleet"})
    assert (answer.status_code, answer.get_json()) == (404, {"error": "not found", "hint": ""})


def test_nothing_else_is_open() -> None:
    """contract: Page: no file beside those that it needs, and no other method."""
    asked = client()
    for path in ("/index.html", "/page", "/page.js/", "//", "//page.js", "/page/page.js", "/favicon.ico"):
        assert asked.get(path).status_code == 401
    assert asked.post("/").status_code == 405


def test_page_is_small_and_takes_nothing_from_elsewhere() -> None:
    """contract: Page: 40 KB in all; no address but its own, no inline script or style, no markup made of text."""
    assert sum(len(text.encode()) for text in SOURCES.values()) <= 40_000
    for text in SOURCES.values():
        assert set(re.findall(r"https?://[^\s\"'`]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<style|<script(?! src)| style=| on[a-z]+=|javascript:", SOURCES["/"])
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|Function\(", SOURCES["/page.js"])


def test_form_has_every_field_of_a_search_with_the_command_s_flag() -> None:
    """contract: Page: all filters; only `digest`, which has no effect, is not there."""
    controls = Controls()
    flags = {name: str(each["data-flag"]) for name, each in controls.found.items()}
    assert flags == {name: flag for name, flag in FLAGS.items() if name != "digest"}
    for field in FIELDS:
        if field.choices and field.name != "include_domains_mode":
            shown = [*controls.choices[field.name]]
            assert [each for each in shown if each != "any age"] == list(field.choices)
        if field.type == "boolean" and field.name in controls.found:
            # `explain` is on here: people want to know.
            assert ("checked" in controls.found[field.name]) == (bool(field.default) or field.name == "explain")
