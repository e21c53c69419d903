"""The page for people, in a real browser over a real service (contract: Page)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sift.mcp.tools import SEARCH
from tests.real.programs import SIFT, new_key
from tests.service import Service
from tests.vendors import BODIES, NAMES, Vendors, hit, reply

HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>&lt;b&gt;'
SHIFT = """new Promise((tell) => {
  let sum = 0;
  new PerformanceObserver((list) => { for (const each of list.getEntries()) sum += each.value; })
    .observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => tell(sum), 0)));
})"""
"""How far what was there has moved, whoever caused it."""
PAINTS = """
window.paints = [];
const seen = new MutationObserver(() => {
  const now = [document.querySelectorAll("#answer .hits > li").length, document.querySelector("#told").textContent];
  if (now[0]) requestAnimationFrame((time) => window.paints.push([time, ...now]));
});
seen.observe(document.body, { childList: true, subtree: true, characterData: true });
"""
"""Notes what of an answer is there at each frame after a change."""


def titles(page: Any) -> list[str]:
    return [each.inner_text() for each in page.query_selector_all(".hits h2")]


def test_search_shows_hits_and_why_they_are_there(demo: Service, tab: Any) -> None:
    """contract: Page: title, place, text, ranks and score; pages, time and cache; the console stays silent."""
    shown = tab(demo.url)
    shown.search("asyncio task group")
    expected = demo.search("asyncio task group", explain=True)
    assert titles(shown.page) == [each["title"] for each in expected["results"]]
    first = shown.page.query_selector(".hits > li")
    assert first.query_selector("a").get_attribute("href") == expected["results"][0]["url"]
    assert first.query_selector("a").get_attribute("rel") == "noopener noreferrer"
    assert "searxng #1 · brave_llm #1 · tavily #1 → 0.0492" in first.inner_text()
    told = shown.page.inner_text("#told")
    assert told.startswith(f"{expected['sizes']['results']} of {expected['sizes']['unique']} pages · ")
    assert " ms · 0 credits spent" in told
    shown.search("asyncio task group")
    assert "from the cache" in shown.page.inner_text("#told")
    assert shown.told == []


def test_every_field_is_sent_as_it_is_set(demo: Service, tab: Any) -> None:
    """contract: Page: what is not touched is left out; hosts are told apart by blanks or commas; lines are queries."""
    shown = tab(demo.url)
    shown.page.click("#filters summary")
    shown.page.fill("#query", 'the "task group"\n\n a "context manager" ')
    for field, value in (("include_domains", "docs.python.org, python.org"), ("exclude_domains", "example.org")):
        shown.page.fill(f"#{field}", value)
    for field, value in (("start_date", "2026-01-02"), ("end_date", "2026-02-03")):
        shown.page.fill(f"#{field}", value)
    for field, value in (("k", "3"), ("max_snippet", "80"), ("min_score", "0.25")):
        shown.page.fill(f"#{field}", value)
    shown.page.select_option("#include_domains_mode", "prefer")
    shown.page.select_option("#topic", "news")
    shown.page.check("#exact_match")
    shown.page.uncheck("#rerank")
    shown.page.uncheck("#explain")
    shown.page.click("#search button[type=submit]")
    shown.settle()
    (sent,) = [body for method, url, body in shown.asked if url.endswith("/v1/search")]
    expected = {
        "queries": ['the "task group"', 'a "context manager"'],
        "include_domains": ["docs.python.org", "python.org"],
        "exclude_domains": ["example.org"],
        "include_domains_mode": "prefer",
        "topic": "news",
        "start_date": "2026-01-02",
        "end_date": "2026-02-03",
        "min_score": 0.25,
        "exact_match": True,
        "k": 3,
        "max_snippet": 80,
        "rerank": False,
    }
    assert json.loads(sent) == expected
    assert len(titles(shown.page)) == 3
    shown.page.fill("#start_date", "")
    shown.page.fill("#end_date", "")
    shown.page.select_option("#time_range", "month")
    shown.page.click("#search button[type=submit]")
    shown.settle()
    del expected["start_date"], expected["end_date"]
    (_, sent) = [body for method, url, body in shown.asked if url.endswith("/v1/search")]
    assert json.loads(sent) == expected | {"time_range": "month"}


def test_same_request_elsewhere_gives_the_same_hits(demo: Service, tab: Any, tmp_path: Path) -> None:
    """contract: Page: the lines for curl and the command run as they are; the MCP call has the same arguments."""
    shown = tab(demo.url)
    shown.page.click("#filters summary")
    shown.page.fill("#exclude_domains", "example.org")
    shown.page.fill("#k", "4")
    shown.page.uncheck("#rerank")
    for query in ('it\'s "quoted" $HOME `x` \\ asyncio', "asyncio\ncontext manager"):
        shown.search(query)
        shown.page.click("text=The same request elsewhere")
        curl, command, call = (each.inner_text() for each in shown.page.query_selector_all(".same pre"))
        assert "explain" in curl
        by_curl = subprocess.run(["bash", "-c", curl], capture_output=True, text=True, check=True, timeout=60)
        assert [each["title"] for each in json.loads(by_curl.stdout)["results"]] == titles(shown.page)
        environ = {"PATH": f"{Path(SIFT).parent}:/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"}
        line = command.replace("sift search", "sift search --json")
        by_sift = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60, env=environ
        )
        assert by_sift.returncode == 0, by_sift.stderr
        assert [each["title"] for each in json.loads(by_sift.stdout)["results"]] == titles(shown.page)
        (*_, sent) = [body for method, url, body in shown.asked if url.endswith("/v1/search")]
        called = json.loads(call)
        assert called["name"] == SEARCH.name
        assert called["arguments"] == {name: json.loads(sent)[name] for name in json.loads(sent) if name != "rerank"}
        assert set(called["arguments"]) <= SEARCH.described.keys()


def test_wrong_field_is_named_and_marked(demo: Service, tab: Any) -> None:
    """contract: Page: the service's refusal, in words, at the field; the next answer takes it away."""
    shown = tab(demo.url)
    shown.page.click("#filters summary")
    for field, value, words in (
        ("k", "99", "“Hits” is not right: 1 to 50."),
        ("min_score", "high", "“Least Tavily score” is not right: 0 to 1"),
        ("include_domains", "https://a.example/", "“Only these hosts” is not right: such as python.org"),
    ):
        shown.page.fill(f"#{field}", value)
        shown.search("x")
        assert words in shown.page.inner_text("[role=alert]")
        assert shown.page.evaluate("document.activeElement.id") == field
        assert shown.page.get_attribute(f"#{field}", "aria-invalid") == "true"
        shown.page.fill(f"#{field}", "")
    shown.search(" ")
    assert "A query is wanted" in shown.page.inner_text("[role=alert]")
    shown.search("asyncio")
    assert shown.page.query_selector("[aria-invalid]") is None
    assert titles(shown.page)


def test_failures_are_told_in_words_with_what_to_do(over_vendors: Service, vendors: Vendors, tab: Any) -> None:
    """contract: Page: a failure beside hits, and one without any; none looks like "nothing found"."""
    shown = tab(over_vendors.url)
    vendors.behaviour["tavily"] = reply({}, 401)
    shown.search("one")
    assert "tavily: http 401 It refused the key" in shown.page.inner_text(".notes")
    assert titles(shown.page)
    for name in NAMES:
        vendors.behaviour[name] = reply(BODIES[name]([]))
    shown.search("two")
    assert "Nothing was found." in shown.page.inner_text("#answer")
    for name in NAMES:
        vendors.behaviour[name] = reply({}, 500)
    shown.search("three")
    assert "No source answered." in shown.page.inner_text("[role=alert]")
    assert "searxng: http 500" in shown.page.inner_text(".notes")
    assert "Nothing was found" not in shown.page.inner_text("#answer")
    over_vendors.stop()
    shown.search("four")
    assert "The service does not answer" in shown.page.inner_text("[role=alert]")


def test_key_is_asked_for_kept_in_the_tab_and_sent_as_a_header(vendors: Vendors, tmp_path: Path, tab: Any) -> None:
    """contract: Page: no key, a wrong one, the right one; in no address, and gone with the tab."""
    token = new_key(tmp_path / "state", "people", "restricted")
    with Service(tmp_path, vendors.environ | {"SIFT_PAGE": "on", "SIFT_AUTH": "keys"}) as service:
        shown = tab(service.url)
        shown.settle()
        assert "The service wants a key." in shown.page.inner_text("[role=alert]")
        shown.page.click("#key-open")
        shown.page.fill("#token", "sift_\u2026")
        shown.page.press("#token", "Enter")
        assert "only letters, digits" in shown.page.inner_text("#key-told")
        shown.page.keyboard.press("Escape")
        for key, answer in (("sift_aaaaaaaa_wrong", "The service does not know this key"), (token, "")):
            shown.page.click("#key-open")
            shown.page.fill("#token", key)
            with shown.page.expect_response("**/v1/status"):
                shown.page.press("#token", "Enter")
            shown.search("anything")
            if answer:
                assert answer in shown.page.inner_text("[role=alert]")
        assert titles(shown.page)
        assert shown.page.evaluate("[sessionStorage.length, localStorage.length, document.cookie]") == [1, 0, ""]
        assert not [url for _, url, _ in shown.asked if "sift_" in url or "anything" in url]
        assert token not in shown.page.content()
        shown.page.click("#key-open")
        shown.page.click("#key-forget")
        assert shown.page.evaluate("sessionStorage.length") == 0
        assert token.encode() not in service.log()


def test_vendors_texts_are_text_and_only_the_web_is_linked(over_vendors: Service, vendors: Vendors, tab: Any) -> None:
    """contract: Page: markup is shown as it is written, javascript: and data: are no links, nothing runs."""
    rows = [
        hit("https://a.example/<script>", HOSTILE, HOSTILE, date=HOSTILE[:40]),
        hit("javascript:document.title=3", "script", "x"),
        hit("data:text/html,<script>document.title=4</script>", "data", "x"),
        hit("https://user:secret@b.example/%zz\u202e", "odd", "x"),
    ]
    vendors.behaviour["tavily"] = reply(BODIES["tavily"](rows))
    shown = tab(over_vendors.url)
    shown.search(HOSTILE)
    assert shown.page.title() == "Sift"
    assert shown.page.query_selector("#answer img, #answer script, #answer b") is None
    links = [each.get_attribute("href") for each in shown.page.query_selector_all("#answer a")]
    assert links
    assert all(link.startswith(("http://", "https://")) for link in links)
    assert shown.told == []


def test_other_spellings_of_an_address_are_shown(over_vendors: Service, vendors: Vendors, tab: Any) -> None:
    """contract: Page: as text that a keyboard reaches."""
    vendors.behaviour["tavily"] = reply(BODIES["tavily"]([hit("https://shared.example/page?utm_source=x", "Shared")]))
    shown = tab(over_vendors.url)
    shown.search("x")
    shown.page.click("text=1 other spelling of its address")
    assert shown.page.is_visible("text=https://shared.example/page?utm_source=x")


def test_address_that_is_not_of_the_web_is_no_link(demo: Service, tab: Any) -> None:
    """contract: Page: whatever an answer holds, though the service leaves such hits out itself."""
    shown = tab(demo.url)
    odd = ("javascript:document.title=1", "data:text/html,<script>1</script>", "file:///etc/passwd", "//[", "https:")
    answer = demo.search("asyncio")
    hits = [answer["results"][0] | {"url": url, "title": url} for url in (*odd, "https://a.example/")]
    shown.page.route("**/v1/search", lambda route: route.fulfill(json=answer | {"results": hits}))
    shown.search("x")
    assert titles(shown.page) == [*odd, "https://a.example/"]
    links = [each.get_attribute("href") for each in shown.page.query_selector_all("#answer a")]
    assert links == ["https://a.example/"]
    assert len(shown.page.query_selector_all(".facts button")) == 1


def test_page_asks_nobody_but_its_service(demo: Service, tab: Any) -> None:
    """contract: Page: nothing from elsewhere, with an answer and an open page; no query in any address."""
    shown = tab(demo.url)
    shown.search("asyncio task group")
    shown.page.click(".hits button")
    shown.page.wait_for_selector("#page-text p")
    assert {url.removeprefix(demo.url) for _, url, _ in shown.asked} == {
        *("/", "/page.css", "/page.js", "/icon.svg", "/v1/status", "/v1/search", "/v1/fetch")
    }


def test_nothing_of_what_is_typed_or_read_is_logged(over_vendors: Service, vendors: Vendors, tab: Any) -> None:
    """contract: Page, Log: neither a query, a filter, a hit's host nor a page that was opened."""
    canary = "xqcanaryqx"
    vendors.behaviour["tavily"] = reply(BODIES["tavily"]([hit(f"http://{canary}.invalid/{canary}", canary)]))
    shown = tab(f"{over_vendors.url}/?{canary}#{canary}")
    shown.page.click("#filters summary")
    shown.page.fill("#exclude_domains", f"{canary}.example")
    shown.search(f"{canary} words")
    shown.page.click(f'button[aria-label="Read {canary}"]')
    shown.page.wait_for_selector("#page-about:not(:text('Opening…'))")
    shown.page.keyboard.press("Escape")
    shown.page.fill("#exclude_domains", f"https://{canary}/")
    shown.search(canary)
    assert over_vendors.records("search")
    assert over_vendors.records("fetch")
    assert canary.encode() not in over_vendors.log()


def test_hit_opens_as_readable_text(demo: Service, tab: Any) -> None:
    """contract: Page: in a panel, with where it is from and its warnings; Escape closes it and gives the focus back."""
    shown = tab(demo.url)
    shown.search("asyncio task group")
    shown.page.focus(".hits button")
    shown.page.keyboard.press("Enter")
    shown.page.wait_for_selector("#page-text p")
    assert shown.page.inner_text("#page-title") == titles(shown.page)[0]
    about = shown.page.inner_text("#page-about")
    assert "https://docs.python.org/3/library/asyncio.html · " in about
    assert "demo page: text that comes with Sift" in about
    shown.page.keyboard.press("Escape")
    assert shown.page.evaluate("document.activeElement.textContent") == "Read"
    assert not shown.page.is_visible("#page")


def test_page_that_cannot_be_opened_says_why(over_vendors: Service, vendors: Vendors, tab: Any) -> None:
    """contract: Page: the guard's refusal in words."""
    vendors.behaviour["tavily"] = reply(BODIES["tavily"]([hit("http://127.0.0.1/admin", "Admin")]))
    shown = tab(over_vendors.url)
    shown.search("x")
    shown.page.click('button[aria-label="Read Admin"]')
    shown.page.wait_for_selector("#page-about:not(:text('Opening…'))")
    assert shown.page.inner_text("#page-about").startswith("This page may not be opened: ")


def test_status_of_the_sources_is_shown_to_whom_it_is_for(demo: Service, tab: Any) -> None:
    """contract: Page: state in a word for who cannot see a colour."""
    shown = tab(demo.url)
    shown.search("asyncio")
    shown.page.wait_for_selector("#sources .ok")
    assert [each.text_content() for each in shown.page.query_selector_all("#sources li")] == [
        f"{name} answers" for name in NAMES
    ]


def test_answer_is_painted_in_one_frame_and_moves_nothing(demo: Service, tab: Any) -> None:
    """contract: Page: hits, summary and the rest at once; no layout shift of what is there, wide or narrow."""
    for width in (1280, 360):
        shown = tab(demo.url, viewport={"width": width, "height": 900})
        shown.page.evaluate(PAINTS)
        shown.search("asyncio task group")
        assert shown.page.evaluate(SHIFT) < 0.001
        paints = shown.page.evaluate("window.paints")
        assert len({(hits, told) for _, hits, told in paints}) == 1
        assert paints[0][1] == 8


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
def test_page_is_accessible(demo: Service, tab: Any, scheme: str, width: int) -> None:
    """contract: Page: axe finds nothing, empty and with everything open; nothing is wider than the screen."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed (PyPI)").Axe()
    shown = tab(demo.url, color_scheme=scheme, viewport={"width": width, "height": 800}, reduced_motion="reduce")

    def check() -> None:
        found = axe.run(shown.page, options={"resultTypes": ["violations"]})
        assert found.response["violations"] == []
        assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    check()
    shown.page.click("#filters summary")
    shown.page.select_option("#topic", "news")
    shown.search("asyncio task group")
    for summary in shown.page.query_selector_all("#answer details summary"):
        summary.click()
    check()
    shown.page.click("#key-open")
    check()
    shown.page.keyboard.press("Escape")
    shown.page.click(".hits button")
    shown.page.wait_for_selector("#page-text p")
    check()
    shown.page.keyboard.press("Escape")
    shown.page.fill("#k", "99")
    shown.search("x")
    check()


def test_everything_can_be_done_with_the_keyboard(demo: Service, tab: Any) -> None:
    """contract: Page: the box has the focus at once; Tab reaches the button, the filters, a hit and its text."""
    shown = tab(demo.url)
    shown.page.keyboard.type("asyncio")
    shown.page.keyboard.press("Shift+Enter")
    shown.page.keyboard.type("context manager")
    shown.page.keyboard.press("Enter")
    shown.settle()
    reached = []
    for _ in range(6):
        shown.page.keyboard.press("Tab")
        reached.append(shown.page.evaluate("document.activeElement.tagName"))
    assert reached == ["BUTTON", "SUMMARY", "A", "BUTTON", "A", "BUTTON"]
    (sent,) = [json.loads(body) for _, url, body in shown.asked if url.endswith("/v1/search")]
    assert sent["queries"] == ["asyncio", "context manager"]
