"""`sift fetch` and `sift guard check`, as they are installed, against the real service."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.real.programs import SIFT
from tests.world.service import Inside
from tests.world.steps import answer, article, hold, stall
from tests.world.world import World


def test_page_is_printed_with_its_title_and_address(sift: Inside, world: World) -> None:
    """contract: Fetch command: title, final URL, a blank line, the text."""
    url = f"http://{world.host(pages={'/': article()})}/"
    done = sift.run("fetch", url)
    assert (done.returncode, done.stderr) == (0, "")
    first, second, blank, *text = done.stdout.splitlines()
    assert (first, second, blank) == ("The book of ships", url, "")
    assert "lighthouse" in "\n".join(text)


def test_page_as_json_is_the_services_answer(sift: Inside, world: World) -> None:
    """contract: Fetch command: `--json` prints it, and the flags are the request's fields."""
    text = "\n\n".join(f"Paragraph number {n} of a long page that is cut." for n in range(100))
    url = f"http://{world.host(pages={'/': answer(text, 'text/plain')})}/"
    flags = ("--format", "text", "--max-chars", "1000", "--start", "0", "--max-age", "60", "--timeout", "5")
    done = sift.run("fetch", url, *flags, "--json")
    assert done.returncode == 0, done.stderr
    page = json.loads(done.stdout)
    assert (page["url"], page["format"]) == (url, "text")
    assert len(page["content"]) <= 1000
    again = json.loads(sift.run("fetch", url, *flags[:4], "--start", f"{page['next_start']}", "--json").stdout)
    assert again["start"] == page["next_start"]
    assert again["cached"] is True


def test_warnings_go_to_stderr(sift: Inside, world: World) -> None:
    """contract: Fetch command: the text alone is on stdout."""
    url = f"http://{world.host(pages={'/': answer('<html><body><p>x</p></body></html>')})}/"
    done = sift.run("fetch", url)
    assert done.returncode == 0
    assert "warning" not in done.stdout
    if page := sift.page(url)["warnings"]:
        assert page[0] in done.stderr


ENDS = {
    "not allowed": (6, lambda world: "http://127.0.0.1/"),
    "not allowed by robots": (
        6,
        lambda world: f"http://{world.host(pages={'/robots.txt': answer('User-agent: *' + chr(10) + 'Disallow: /')})}/",
    ),
    "forbidden at the look-up": (7, lambda world: f"http://{world.host('10.1.2.3')}/"),
    "gone": (7, lambda world: f"http://{world.host(pages={'/': answer(status=404)})}/"),
    "type": (7, lambda world: f"http://{world.host(pages={'/': answer(b'x', 'image/png')})}/"),
    "timeout": (7, lambda world: f"http://{world.host(pages={'/': stall()})}/"),
}


@pytest.mark.parametrize("what", ENDS)
def test_failure_has_its_exit_code(what: str, sift: Inside, world: World) -> None:
    """contract: Fetch command: 6 not allowed, 7 the page could not be had; one line that says why."""
    code, url = ENDS[what]
    done = sift.run("fetch", "--timeout", "1", url(world))
    assert (done.returncode, done.stdout) == (code, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("sift: ")


def test_no_place_left_has_its_exit_code(sift: Inside, world: World) -> None:
    """contract: Fetch command: 8 is worth another try."""
    gate = world.gate()
    hosts = [world.host(pages={"/": [*hold(gate), *article()]}) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(sift.page, f"http://{host}/", timeout=30) for host in hosts]
        world.await_at(gate, 4)
        assert sift.run("fetch", f"http://{world.host()}/").returncode == 8
        assert sift.run("fetch", f"http://{world.host(pages={'/': article()})}/", cls="restricted").returncode == 0
        world.outside.open(gate)
        assert [each.result()["status"] for each in running] == [200] * 4


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://example.org/page", 0),
        ("http://127.0.0.1/", 6),
        ("ftp://example.org/", 6),
        ("http://x.localhost/", 6),
        ("http://a\\b/", 6),
    ],
)
def test_guard_is_asked_offline(url: str, code: int, world: World, tmp_path: Path) -> None:
    """contract: Fetch command: `sift guard check` needs no service, no key and no network."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = world.inside.run(SIFT, "guard", "check", url, environ=environ, check=False)
    assert done.returncode == code, done
    assert (done.stderr.startswith("sift: not allowed: "), len(done.stderr.splitlines())) == (code == 6, code == 6)
    assert world.queries() == []
    assert world.dials() == []


def test_text_of_a_page_cannot_drive_a_terminal(sift: Inside, world: World) -> None:
    """contract: Command line: what a page says is printed without control characters."""
    words = "\x1b]0;owned\x07 \x1b[2J words \u202e sdrow \u200b and more to read"
    url = f"http://{world.host(pages={'/': answer(words, 'text/plain; charset=utf-8')})}/"
    done = sift.run("fetch", url)
    assert done.returncode == 0
    assert not {"\x1b", "\x07", "\u202e", "\u200b"} & set(done.stdout)
