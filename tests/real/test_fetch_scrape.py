"""`POST /v2/scrape` in an internet of its own, with Firecrawl's SDK and without."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.real.programs import bearer
from tests.service import Reply
from tests.world.service import Inside
from tests.world.steps import answer, article, redirect, stall
from tests.world.world import World

SDK = """
import json, sys
from firecrawl import Firecrawl
client = Firecrawl(api_key=sys.argv[2], api_url=sys.argv[1])
for url in sys.argv[3:]:
    try:
        page = client.scrape(url, formats=["markdown", "html"], timeout=1000)
    except Exception as error:
        print(json.dumps({"error": type(error).__name__, "message": str(error)}))
    else:
        print(json.dumps(page.model_dump(mode="json")))
"""


def scrape(sift: Inside, url: str, cls: str = "fleet", **fields: Any) -> Reply:
    """Ask for a page as Firecrawl's SDKs do."""
    return sift.post("/v2/scrape", {"url": url, **fields}, bearer(sift.tokens[cls]))


def sdk(sift: Inside, *urls: str) -> list[dict[str, Any]]:
    """Ask for pages with the SDK, which runs where the service does."""
    environ = {"HOME": sift.environ["HOME"], "PATH": sift.environ["PATH"]}
    command = (sys.executable, "-c", SDK, sift.url, sift.tokens["fleet"], *urls)
    return [json.loads(line) for line in sift.world.inside.run(*command, environ=environ).stdout.splitlines()]


def test_page_comes_in_firecrawls_form(sift: Inside, world: World) -> None:
    """contract: Scrape: every value of the metadata is a string or a number."""
    end = world.host(pages={"/": article()})
    url = f"http://{world.host(pages={'/': redirect(f'http://{end}/')})}/"
    reply = scrape(sift, url, formats=["markdown", {"type": "html"}, "screenshot"], timeout=5000, onlyMainContent=False)
    body = reply.json()
    assert (reply.status, list(body), body["success"]) == (200, ["success", "data"], True)
    data = body["data"]
    assert set(data) <= {"markdown", "html", "metadata", "warning"}
    assert "lighthouse" in data["markdown"]
    assert "screenshot" in data["warning"]
    metadata = data["metadata"]
    assert all(isinstance(value, str | int) for value in metadata.values())
    assert (metadata["sourceURL"], metadata["url"], metadata["statusCode"]) == (url, f"http://{end}/", 200)
    assert (metadata["title"], metadata["contentType"]) == ("The book of ships", "text/html")


FAILURES: dict[str, tuple[int, str, Callable[[World], str]]] = {
    "refused": (400, "url not allowed", lambda world: "http://127.0.0.1/"),
    "robots": (
        400,
        "robots disallow",
        lambda world: f"http://{world.host(pages={'/robots.txt': answer(b'User-agent: *%cDisallow: /' % 10)})}/",
    ),
    "type": (
        415,
        "unsupported content type",
        lambda world: f"http://{world.host(pages={'/': answer(b'x', 'image/png')})}/",
    ),
    "address": (500, "fetch failed", lambda world: f"http://{world.host('10.1.2.3')}/"),
    "name": (500, "fetch failed", lambda world: "http://nobody-scrapes.example.org/"),
    "404": (500, "fetch failed", lambda world: f"http://{world.host(pages={'/': answer(status=404)})}/"),
    "timeout": (504, "fetch timeout", lambda world: f"http://{world.host(pages={'/': stall()})}/"),
}


@pytest.mark.parametrize("what", FAILURES)
def test_failure_is_in_firecrawls_form_and_never_a_502(what: str, sift: Inside, world: World) -> None:
    """contract: Scrape: the SDK would ask three times after a 502; a refused URL is a 400."""
    status, error, url = FAILURES[what]
    reply = scrape(sift, url(world), timeout=1000)
    body = reply.json()
    assert (reply.status, body["success"], body["error"]) == (status, False, error)
    assert list(body) == ["success", "error", "details"]
    assert isinstance(body["details"], str)


def test_restricted_caller_learns_nothing_from_refusals(sift: Inside, world: World) -> None:
    """contract: Guard, Scrape: one and the same answer here as well."""
    urls = [f"http://{world.host('10.1.2.3')}/", "http://nobody-scrapes.example.org/", f"http://{world.host()}:8081/"]
    urls += [f"https://{world.host(kind='expired')}/"]
    replies = [scrape(sift, url, "restricted") for url in urls]
    assert len({(reply.status, reply.body) for reply in replies}) == 1
    assert replies[0].status == 500


def test_sdk_gets_a_page_and_an_error_that_it_does_not_repeat(sift: Inside, world: World) -> None:
    """contract: Scrape: Firecrawl's own client is served unchanged, and asks once."""
    host = world.host(pages={"/": answer(status=404)})
    page, *failures = sdk(sift, f"http://{world.host(pages={'/': article()})}/", f"http://{host}/", "http://127.0.0.1/")
    assert "lighthouse" in page["markdown"], page
    assert page["metadata"]["title"] == "The book of ships"
    assert [set(each) for each in failures] == [{"error", "message"}] * 2
    assert len(world.outside.requests("/", host=host)) == 1
