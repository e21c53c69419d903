"""Redirects: where they may lead, and what is read of them."""

from __future__ import annotations

import gzip

import pytest

from tests.world.answers import failed
from tests.world.network import OWN
from tests.world.service import Inside
from tests.world.steps import Steps, article, forever, head, redirect, send
from tests.world.world import World


def chain(world: World, *locations: str | bytes, status: int = 302) -> str:
    """Return the URL of a host whose page redirects there; several locations are several pages, one after another."""
    host = world.host()
    paths = ["/", *(f"/{n}" for n in range(1, len(locations)))]
    targets = [*(f"/{n}" for n in range(1, len(locations))), locations[-1]]
    world.serve(host, {path: redirect(to, status) for path, to in zip(paths, targets, strict=True)})
    return f"http://{host}/"


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://10.77.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://metadata.google.internal/",
        "http://localhost/",
        "file:///etc/passwd",
        "gopher://8.8.4.4/",
        "data:text/html,hello",
        "//internal/",
        "//127.0.0.1/",
        "http://8.8.4.4:6379/",
        "http://user:pass@8.8.4.4/",
        "http://8.8.4.4@127.0.0.1/",
        "http://127.0.0.1\\@8.8.4.4/",
        "http:\\\\127.0.0.1\\",
        "/\\127.0.0.1/",
        "http://[::ffff:127.0.0.1]/",
        "http://2130706433/",
        "http://127.1/",
        "http://%31%32%37.0.0.1/",
        "http://",
        "http://[::1",
    ],
)
@pytest.mark.parametrize("status", [301, 307])
def test_redirect_that_its_text_forbids_is_not_followed(location: str, status: int, sift: Inside, world: World) -> None:
    """contract: Guard: the target goes through all parts; it was not the caller who named it, hence no 403."""
    url = chain(world, location, status=status)
    assert failed(sift.fetch(url)) == "redirects"
    assert failed(sift.fetch(url, "restricted")) == "redirects"
    assert world.own.hits() == []
    assert len({dial.address for dial in world.dials()}) == 1
    assert [hit.target for hit in world.outside.hits()] == ["/robots.txt", "/", "/"]


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "169.254.169.254", "::1", "::ffff:10.77.0.1", "64:ff9b::7f00:1", OWN[0]]
)
def test_redirect_to_a_name_that_leads_inside_is_not_followed(address: str, sift: Inside, world: World) -> None:
    """contract: Guard: what a look-up tells of a redirect counts like what it tells of the first URL."""
    bad = world.host(address)
    for location in (f"http://{bad}/", f"//{bad}/x"):
        url = chain(world, location)
        assert failed(sift.fetch(url)) == "address"
        assert failed(sift.fetch(url, "restricted")) == "unreachable"
    assert world.queries(bad)
    assert world.own.requests() == []


def test_redirect_from_https_to_http_is_not_followed(sift: Inside, world: World) -> None:
    """contract: Guard: nobody on the way may read what was asked for in secret."""
    there = world.host()
    host = world.host(pages={"/": redirect(f"http://{there}/")})
    assert failed(sift.fetch(f"https://{host}/")) == "redirects"
    assert world.queries(there) == []


def test_redirect_from_http_to_https_is_followed(sift: Inside, world: World) -> None:
    """contract: Guard: the other way round is what most sites do."""
    there = world.host(pages={"/end": article()})
    page = sift.page(chain(world, f"https://{there}/end"))
    assert page["final_url"] == f"https://{there}/end"
    assert "lighthouse" in page["content"]


@pytest.mark.parametrize("count", [5, 6])
def test_no_more_than_five_redirects_are_followed(count: int, sift: Inside, world: World) -> None:
    """contract: Guard: the sixth ends it."""
    there = world.host(pages={"/": article()})
    url = chain(world, *["next"] * (count - 1), f"http://{there}/")
    if count == 5:
        assert sift.page(url)["final_url"] == f"http://{there}/"
    else:
        assert failed(sift.fetch(url)) == "redirects"
        assert world.queries(there) == []


def test_second_location_leads_nowhere(sift: Inside, world: World) -> None:
    """contract: Guard: what is judged is what is followed, however many there are."""
    bad, good = "http://127.0.0.1/", f"http://{world.host(pages={'/': article()})}/"
    for first, second in ((bad, good), (good, bad)):
        lines = f"HTTP/1.1 302 Found\r\nLocation: {first}\r\nLocation: {second}\r\nContent-Length: 0\r\n\r\n"
        sift.fetch(f"http://{world.host(pages={'/': send(lines.encode())})}/")
    assert world.own.hits() == []
    assert "127.0.0.1" not in {dial.address for dial in world.dials()}


def test_redirect_to_itself_ends(sift: Inside, world: World) -> None:
    """contract: Guard: a loop is six requests and no more."""
    url = chain(world, "/")
    assert failed(sift.fetch(url)) == "redirects"
    assert len(world.outside.requests("/")) == 6


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/there", "/there"),
        ("there?a=b#c", "/there?a=b"),
        ("../there", "/there"),
        ("/th%c3%a9re", "/th%C3%A9re"),
        ("/thére".encode(), "/th%C3%A9re"),
        (b"/there%0d%0aX-Injected:%20yes", "/there%0D%0AX-Injected:%20yes"),
        ("?x=y", "/?x=y"),
    ],
    ids=str,
)
@pytest.mark.parametrize("status", [302, 303, 308])
def test_redirect_that_works_is_followed(
    location: str | bytes, target: str, status: int, sift: Inside, world: World
) -> None:
    """contract: Guard: relative ones, raw UTF-8 and escapes lead where a browser goes; the method stays GET."""
    host = world.host(pages={"*": article()})
    world.serve(host, {"/": redirect(location, status), target: article()})
    page = sift.page(f"http://{host}/")
    assert page["final_url"] == f"http://{host}{target}"
    last = world.outside.requests()[-1]
    assert (last.method, last.target) == ("GET", target)
    assert last.header("x-injected") is None


@pytest.mark.parametrize("status", [300, 304, 305, 306])
def test_other_statuses_with_a_location_are_not_followed(status: int, sift: Inside, world: World) -> None:
    """contract: Guard: of the 3xx only 301, 302, 303, 307 and 308 are redirects."""
    there = world.host()
    assert failed(sift.fetch(chain(world, f"http://{there}/", status=status))) == f"status {status}"
    assert world.queries(there) == []


BOMB = gzip.compress(bytes(64 << 20))
BODIES: dict[str, tuple[bytes, Steps]] = {
    "endless": (b"", forever(b"x" * 65536)),
    "endless chunks": (b"Transfer-Encoding: chunked\r\n", forever(b"1000\r\n" + b"x" * 4096 + b"\r\n")),
    "bomb": (b"Content-Encoding: gzip\r\nContent-Length: %d\r\n" % len(BOMB), send(BOMB)),
    "long": (b"Content-Length: 30000000\r\n", forever(b"x" * 65536)),
}


@pytest.mark.parametrize("body", BODIES)
def test_body_of_a_redirect_is_never_read(body: str, sift: Inside, world: World) -> None:
    """contract: Guard: its server cannot get rid of more than fits into the buffers on the way."""
    headers, more = BODIES[body]
    there = world.host(pages={"/": article()})
    first = b"HTTP/1.1 302 Found\r\nLocation: http://%s/\r\n%s\r\n" % (there.encode(), headers)
    host = world.host(pages={"/": send(first) + more})
    assert sift.page(f"http://{host}/")["final_url"] == f"http://{there}/"
    (hit,) = world.outside.requests("/", host=host)
    assert hit.sent < 1 << 20


def test_page_that_redirects_by_its_text_is_not_followed(sift: Inside, world: World) -> None:
    """contract: Guard: meta refresh, scripts and headers that browsers know stay what they are: text."""
    there = world.host()
    body = (
        f'<html><head><meta http-equiv=refresh content="0;url=http://{there}/"><title>t</title></head>'
        f"<body><script>location='http://{there}/'</script><img src='http://{there}/i.png'><p>Words to read.</p></body>"
    ).encode()
    more = [("Refresh", f"0;url=http://{there}/"), ("Link", f"<http://{there}/s.css>; rel=preload")]
    host = world.host(pages={"/": send(head(headers=more, length=len(body)) + body)})
    assert sift.page(f"http://{host}/")["final_url"] == f"http://{host}/"
    assert world.queries(there) == []
