"""Links of a page (contract: Page text)."""

from __future__ import annotations

import pytest

from sift.fetch.extract.links import Links

PAGE = "https://site.example/docs/page.html?x=1"


@pytest.mark.parametrize(
    ("href", "absolute"),
    [
        ("other.html", "https://site.example/docs/other.html"),
        ("/root", "https://site.example/root"),
        ("//else.example/a", "https://else.example/a"),
        ("?q=2", "https://site.example/docs/page.html?q=2"),
        ("../up#part", "https://site.example/up#part"),
        (" https://else.example/a b\n", "https://else.example/ab"),
        ("#part", ""),
        ("", ""),
        (None, ""),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("mailto:a@b.example", ""),
        ("https://[bad", ""),
        ("x" * 3000, ""),
    ],
)
def test_link_is_absolute_or_none(href: str | None, absolute: str) -> None:
    """contract: Page text. Only what a reader could fetch next is a link."""
    assert Links(PAGE).absolute(href) == absolute


def test_first_base_element_counts() -> None:
    """contract: Page text. It may itself be relative."""
    links = Links(PAGE)
    links.base("/base/")
    links.base("https://later.example/")
    assert links.absolute("x") == "https://site.example/base/x"


def test_base_that_is_no_address_is_ignored() -> None:
    """contract: Page text. A page cannot turn its links into something else by it."""
    links = Links(PAGE)
    links.base("javascript:x")
    assert links.absolute("x") == "https://site.example/docs/x"
