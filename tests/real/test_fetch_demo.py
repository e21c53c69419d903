"""Pages of the demo, in an internet that could have them too."""

from __future__ import annotations

from pathlib import Path

from tests.world.answers import failed
from tests.world.service import Inside
from tests.world.steps import article
from tests.world.world import World

SITE = "docs.python.org"
PAGE = f"https://{SITE}/3/library/textwrap.html"
WARNING = "demo page: text that comes with Sift, nothing was fetched"


def is_bundled(sift: Inside, url: str, world: World) -> bool:
    """Return whether a page is answered without its host; over TLS that cannot prove here who it is."""
    asked = len(world.queries(SITE))
    reply = sift.fetch(url)
    assert reply.status == 200 or failed(reply) == "tls"
    return len(world.queries(SITE)) == asked


def test_page_of_the_demo_is_bundled_and_says_so(sift: Inside, world: World) -> None:
    """contract: Demo: what its hits lead to is answered without a network; nothing else is, not even next to it."""
    world.host(name=SITE, pages={"*": article()})
    page = sift.page(PAGE)
    assert WARNING in page["warnings"]
    assert "textwrap" in page["content"]
    assert world.queries() == []
    for url in (f"https://{SITE}/3/library/no-such-page.html", PAGE.replace("https", "http")):
        assert not is_bundled(sift, url, world)


def test_demo_is_off_its_pages_are_fetched_like_others(world: World, tmp_path: Path) -> None:
    """contract: Demo: nothing of it is there."""
    world.host(name=SITE, pages={"*": article()})
    with Inside(world, tmp_path, {"SIFT_DEMO": "off", "SIFT_SEARXNG_URL": "http://127.0.0.1:9"}) as sift:
        assert not is_bundled(sift, PAGE, world)
