"""robots.txt: who obeys it, and what becomes of one that is missing, slow, long or hostile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.service import Reply
from tests.world.answers import failed
from tests.world.service import Inside
from tests.world.steps import Steps, answer, article, drip, forever, head, pause, redirect, send, stall
from tests.world.world import World

TEXT = "text/plain"
NO = b"User-agent: *\nDisallow: /\n"


def disallowed(reply: Reply) -> bool:
    """Return whether robots.txt kept a page from being fetched."""
    return (reply.status, reply.json()) == (403, {"error": "robots disallow", "hint": ""})


def site(world: World, robots: Steps, **more: Steps) -> str:
    """Return a host with this robots.txt and a page everywhere else."""
    return world.host(pages={"/robots.txt": robots, "*": article(), **more})


ALLOWING: dict[str, Steps] = {
    "allow": answer("User-agent: *\nAllow: /\n", TEXT),
    "empty": answer("", TEXT),
    "others only": answer("User-agent: GPTBot\nDisallow: /\n", TEXT),
    "elsewhere": answer("User-agent: *\nDisallow: /private\n", TEXT),
    "own group": answer("User-agent: *\nDisallow: /\n\nUser-agent: Sift\nAllow: /\n", TEXT),
    "404": answer("no", TEXT, status=404),
    "403": answer("no", TEXT, status=403),
    "401": answer("no", TEXT, status=401),
    "429": answer("no", TEXT, status=429),
    "a page": answer("<html><body>There is no such file. Disallow: /</body></html>"),
}
FORBIDDING: dict[str, Steps] = {
    "disallow": answer(NO, TEXT),
    "own group": answer("User-agent: *\nAllow: /\n\nUser-agent: sift\nDisallow: /\n", TEXT),
    "BOM and CRLF": answer(b"\xef\xbb\xbfUser-Agent: *\r\nDisallow: /\r\n", TEXT),
    "500": answer("no", TEXT, status=500),
    "503": answer("no", TEXT, status=503),
    "broken": send(b"nonsense\r\n\r\n"),
    "cut": answer(NO, TEXT, length=500),
    "hung up": [{"reset": True}],
}


@pytest.mark.parametrize("way", ALLOWING)
def test_robots_that_allow_are_asked_first(way: str, sift: Inside, world: World) -> None:
    """contract: Robots: 4xx allows; groups for others mean others."""
    sift.page(f"http://{site(world, ALLOWING[way])}/page")
    assert [hit.target for hit in world.outside.requests()] == ["/robots.txt", "/page"]


@pytest.mark.parametrize("way", FORBIDDING)
def test_robots_that_forbid_keep_the_page_from_being_asked_for(way: str, sift: Inside, world: World) -> None:
    """contract: Robots: 5xx and what is broken disallow; the page's server hears of nothing but robots.txt."""
    host = site(world, FORBIDDING[way])
    assert disallowed(sift.fetch(f"http://{host}/page"))
    assert disallowed(sift.fetch(f"http://{host}/page", "restricted"))
    assert {hit.target for hit in world.outside.requests()} == {"/robots.txt"}


SLOW: dict[str, Steps] = {
    "silent": stall(),
    "drips": [*send(b"HTTP/1.1 200 OK\r\n"), *drip(b"X: y\r\n")],
    "drips body": [*send(head(TEXT)), *drip(b"#")],
}


def test_slow_robots_disallow_after_three_seconds(sift: Inside, world: World) -> None:
    """contract: Robots: it has limits of its own; a fetch that has less time than that ends at its deadline."""

    def ask(steps: Steps, cls: str, seconds: int) -> Reply:
        return sift.fetch(f"http://{site(world, steps)}/page", cls, timeout=seconds)

    with ThreadPoolExecutor(2 * len(SLOW)) as pool:
        hasty = {way: pool.submit(ask, steps, "fleet", 1) for way, steps in SLOW.items()}
        patient = {way: pool.submit(ask, steps, "restricted", 30) for way, steps in SLOW.items()}
    assert {way: (each.result().status, each.result().json()["error"]) for way, each in hasty.items()} == (
        dict.fromkeys(SLOW, (504, "fetch timeout"))
    )
    assert {way: disallowed(each.result()) for way, each in patient.items()} == dict.fromkeys(SLOW, True)
    assert {hit.target for hit in world.outside.requests()} == {"/robots.txt"}


def test_long_robots_are_read_up_to_their_limit(sift: Inside, world: World) -> None:
    """contract: Robots: of 600 KiB the first 500 count, and no more than that is read of what has no end."""
    filler = b"# a comment of some length, to fill the file\n" * (600 * 1024 // 45)
    assert disallowed(sift.fetch(f"http://{site(world, answer(NO + filler, TEXT))}/page"))
    sift.page(f"http://{site(world, answer(filler + NO, TEXT))}/page")
    world.begin()
    sift.page(f"http://{site(world, [*send(head(TEXT)), *forever(filler)])}/page")
    (hit,) = world.outside.requests("/robots.txt")
    assert hit.sent < 4 << 20


def test_robots_redirect_is_followed_within_the_guard(sift: Inside, world: World) -> None:
    """contract: Robots: five redirects, to other hosts as well, and none to the inside."""
    there = world.host(pages={"/rules": answer(NO, TEXT)})
    assert disallowed(sift.fetch(f"http://{site(world, redirect(f'http://{there}/rules'))}/page"))
    for bad in (
        "http://127.0.0.1/robots.txt",
        "http://169.254.169.254/",
        f"http://{world.host('10.77.0.1')}/",
        "file:///x",
    ):
        assert disallowed(sift.fetch(f"http://{site(world, redirect(bad))}/page"))
    assert world.own.hits() == []
    sift.page(f"http://{site(world, redirect('/robots.txt'))}/page")  # a loop is as none, as RFC 9309 has it


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("http://nobody-has-robots.example.org/", "dns"),
        ("http://{refused}:8081/", "connect"),
        ("https://{wrong}/", "tls"),
        ("http://{inside}/", "address"),
    ],
)
def test_host_that_cannot_be_had_is_no_matter_of_robots(url: str, hint: str, sift: Inside, world: World) -> None:
    """contract: Robots: the answer is the page's own."""
    hosts = {"refused": world.host(), "wrong": world.host(kind="wrong"), "inside": world.host("10.77.0.1")}
    assert failed(sift.fetch(url.format(**hosts))) == hint


def test_target_of_a_redirect_has_its_own_robots(sift: Inside, world: World) -> None:
    """contract: Robots: each host decides for itself, before its page is asked for."""
    there = site(world, answer(NO, TEXT))
    host = world.host(pages={"/": redirect(f"http://{there}/page")})
    assert disallowed(sift.fetch(f"http://{host}/"))
    seen = [(hit.header("host"), hit.target) for hit in world.outside.requests()]
    assert seen == [(host, "/robots.txt"), (host, "/"), (there, "/robots.txt")]


def test_robots_are_kept_for_an_origin(sift: Inside, world: World) -> None:
    """contract: Robots: one file for all pages; another port or scheme is another origin."""
    host = site(world, answer("User-agent: *\nDisallow: /no\n", TEXT))
    sift.page(f"http://{host}/one")
    sift.page(f"http://{host}/two")
    assert disallowed(sift.fetch(f"http://{host}/no"))
    assert len(world.outside.requests("/robots.txt")) == 1
    sift.page(f"https://{host}/one", max_age=0)
    assert len(world.outside.requests("/robots.txt")) == 2


@pytest.mark.parametrize("setting", ["batch", "off"])
def test_robots_that_are_not_asked_for_single_pages(setting: str, world: World, tmp_path: Path) -> None:
    """contract: Robots: `batch` leaves single fetches alone, and so does `off`."""
    with Inside(world, tmp_path, {"SIFT_ROBOTS": setting}) as sift:
        sift.page(f"http://{site(world, answer(NO, TEXT))}/page")
    assert [hit.target for hit in world.outside.requests()] == ["/page"]


def test_slow_robots_that_come_in_time_count(sift: Inside, world: World) -> None:
    """contract: Robots: a moment is no failure."""
    assert disallowed(sift.fetch(f"http://{site(world, [*pause(0.3), *answer(NO, TEXT)])}/page"))


@pytest.mark.parametrize("what", ["addresses", "name server", "handshake"])
def test_host_that_is_silent_for_three_seconds_is_not_said_to_forbid(what: str, sift: Inside, world: World) -> None:
    """contract: Robots: there was nobody to ask, whatever time the fetch itself has left."""
    address = world.address()
    if what == "handshake":
        world.stall(address, stall())
    host = world.host(hang=True) if what == "name server" else world.host(address if what == "handshake" else "1.1.9.1")
    url = f"{'https' if what == 'handshake' else 'http'}://{host}/"
    with ThreadPoolExecutor(2) as pool:
        fleet = pool.submit(sift.fetch, url, timeout=20)
        restricted = pool.submit(sift.fetch, url, "restricted", timeout=20)
    assert failed(fleet.result()) == "connect"
    assert failed(restricted.result()) == "unreachable"
