"""Servers that send too much, too slowly, or nothing: what they can cost, by the bytes they could send."""

from __future__ import annotations

import gzip
import itertools
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.faults.watch import worker
from tests.service import Reply
from tests.world.answers import failed
from tests.world.service import CLASSES, Inside
from tests.world.steps import HTML, Steps, answer, article, drip, forever, head, html, pause, redirect, send, stall
from tests.world.world import World

MIB = 1 << 20
SLACK = 2 * MIB  # what fits into the buffers between a server and Sift
TEXT = "text/plain; charset=utf-8"
LINE = b"A line of text that goes on and on, and then on again.\n"
GZIP = [("Content-Encoding", "gzip")]
MEMORY = 48 * MIB
"""By how much the worker may grow at most: by a page of 10 MiB, as it comes and as it goes to be read."""


def timed_out(reply: Reply) -> bool:
    """Return whether a fetch ended at its deadline."""
    return reply.status == 504 and reply.json() == {"error": "fetch timeout", "hint": ""}


def sent(world: World) -> int:
    """Return how many bytes the server of the page could send."""
    (hit,) = world.outside.requests("/")
    return hit.sent


class Peak:
    """The most memory that a process has had since this was made, beyond what it had then."""

    def __init__(self, pid: int) -> None:
        self._status = Path(f"/proc/{pid}/status")
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # the high-water mark starts anew
        self._before = self._read("VmRSS")

    def _read(self, name: str) -> int:
        lines = self._status.read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

    def grown(self) -> int:
        """Return by how many bytes it grew at most."""
        return self._read("VmHWM") - self._before


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


CHUNKED = [("Transfer-Encoding", "chunked")]
ENDLESS: dict[str, Steps] = {
    "by close": [*send(head(TEXT)), *forever(LINE * 1000)],
    "by chunks": [*send(head(TEXT, headers=CHUNKED)), *forever(chunked(LINE * 100))],
    "by length": [*send(head(TEXT, length=1 << 40)), *forever(LINE * 1000)],
}


@pytest.mark.parametrize("way", ENDLESS)
def test_text_without_end_is_cut_at_five_mib_on_the_wire(way: str, sift: Inside, world: World) -> None:
    """contract: Fetch: the page is what came until then, and says so; nothing more is read."""
    peak = Peak(worker(sift))
    page = sift.page(f"http://{world.host(pages={'/': ENDLESS[way]})}/", timeout=20)
    assert page["warnings"] == ["page cut at 5 MiB"]
    assert page["sizes"]["wire"] <= 5 * MIB
    assert page["sizes"]["body"] > 4 * MIB
    assert 5 * MIB <= sent(world) < 5 * MIB + SLACK
    assert peak.grown() < MEMORY


def test_inflated_text_is_cut_at_ten_mib(sift: Inside, world: World) -> None:
    """contract: Fetch: a bomb is cut while it is inflated, and costs no more than a page of that size."""
    bomb = gzip.compress(b"x" * (96 * MIB))
    assert len(bomb) < MIB // 8  # all of it arrives at once
    peak = Peak(worker(sift))
    page = sift.page(f"http://{world.host(pages={'/': answer(bomb, TEXT, headers=GZIP)})}/", timeout=20)
    assert page["warnings"] == ["page cut at 10 MiB"]
    assert page["sizes"]["body"] <= 10 * MIB
    assert peak.grown() < MEMORY


def test_bomb_without_end_is_cut(sift: Inside, world: World) -> None:
    """contract: Fetch: neither the length that is promised nor the end that is missing matters."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    first = squeeze.compress(b"\0" * MIB) + squeeze.flush(zlib.Z_FULL_FLUSH)
    again = squeeze.compress(b" " * (16 * MIB)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    steps = [*send(head(TEXT, headers=GZIP) + first), *forever(again)]
    peak = Peak(worker(sift))
    reply = sift.fetch(f"http://{world.host(pages={'/': steps})}/", timeout=20)
    assert reply.status == 200, reply
    assert "page cut at 10 MiB" in reply.json()["warnings"]
    assert sent(world) < SLACK
    assert peak.grown() < MEMORY


@pytest.mark.parametrize("coding", ["gzip, gzip", "br", "deflate", "zstd", "x-unheard-of", "gzip,"])
def test_coding_that_was_not_asked_for_is_refused(coding: str, sift: Inside, world: World) -> None:
    """contract: Fetch: gzip is asked for, and nothing else is inflated."""
    body = html().encode()
    if "gzip" in coding:
        body = gzip.compress(gzip.compress(body) if coding.count("gzip") > 1 else body)
    reply = sift.fetch(f"http://{world.host(pages={'/': answer(body, headers=[('Content-Encoding', coding)])})}/")
    if coding == "gzip,":
        assert reply.status == 200 or failed(reply) == "encoding"
    else:
        assert failed(reply) == "encoding"
    assert {hit.header("accept-encoding") for hit in world.outside.requests("/")} == {"gzip"}


def test_gzip_that_is_none_is_refused(sift: Inside, world: World) -> None:
    """contract: Fetch: broken and cut streams are no pages."""
    whole = gzip.compress(html().encode() * 50)
    for body in (b"not gzip at all" * 10, whole[: len(whole) // 2], whole[:-4] + b"\1\2\3\4"):
        host = world.host(pages={"/": answer(body, headers=GZIP)})
        assert failed(sift.fetch(f"http://{host}/")) in ("encoding", "bad response")


def test_gzip_is_inflated(sift: Inside, world: World) -> None:
    """contract: Fetch: sizes tell both."""
    body = html().encode()
    page = sift.page(f"http://{world.host(pages={'/': answer(gzip.compress(body), headers=GZIP)})}/")
    assert page["sizes"]["wire"] == len(gzip.compress(body))
    assert page["sizes"]["body"] == len(body)


def test_body_shorter_than_its_length_is_no_page(sift: Inside, world: World) -> None:
    """contract: Fetch: half a page is none."""
    body = html().encode()
    assert (
        failed(sift.fetch(f"http://{world.host(pages={'/': answer(body, length=len(body) + 1)})}/")) == "bad response"
    )
    cut = [*send(head(headers=CHUNKED) + chunked(body) + b"400\r\nhalf a chunk")]
    assert failed(sift.fetch(f"http://{world.host(pages={'/': cut})}/")) == "bad response"


def test_body_longer_than_its_length_is_cut_to_it(sift: Inside, world: World) -> None:
    """contract: Fetch: what follows belongs to nobody."""
    body = b"0123456789 and what follows"
    page = sift.page(f"http://{world.host(pages={'/': answer(body, TEXT, length=10)})}/")
    assert page["content"].strip() == "0123456789"


def test_body_that_ends_by_close_is_whole(sift: Inside, world: World) -> None:
    """contract: Fetch: as long as that is before the deadline."""
    host = world.host(pages={"/": send(head() + html().encode())})
    assert "lighthouse" in sift.page(f"http://{host}/")["content"]


BROKEN: dict[str, Steps] = {
    "300 headers": send(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(300)) + b"\r\nwords"),
    "endless headers": [*send(b"HTTP/1.1 200 OK\r\n"), *forever(b"X-Header: value\r\n" * 100)],
    "endless header": [*send(b"HTTP/1.1 200 OK\r\nX-Header: "), *forever(b"value" * 100)],
    "endless status": forever(b"HTTP" * 1000),
    "interim answers": forever(b"HTTP/1.1 100 Continue\r\n\r\n" * 50),
    "early hints": forever(b"HTTP/1.1 103 Early Hints\r\nLink: </s.css>\r\n\r\n" * 50),
    "switching protocols": send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
    "no HTTP": send(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "HTTP/0.9": send(b"<html>words</html>"),
    "nothing": [],
    "reset": [{"reset": True}],
    "two lengths": send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nwords!"),
    "bad chunk": send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nwords\r\n0\r\n\r\n"),
    "endless chunk size": [*send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), *forever(b"0" * 1000)],
    "endless trailers": [
        *send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwords\r\n0\r\n"),
        *forever(b"X-Trailer: value\r\n" * 100),
    ],
}


@pytest.mark.parametrize("way", BROKEN)
def test_broken_answer_is_no_page_and_is_not_read_for_ever(way: str, sift: Inside, world: World) -> None:
    """contract: Fetch: a head has its bounds, and so has what is no HTTP."""
    peak = Peak(worker(sift))
    reply = sift.fetch(f"http://{world.host(pages={'/': BROKEN[way]})}/", timeout=5)
    if way == "endless trailers" and reply.status == 200:
        assert reply.json()["content"].strip() == "words"  # nothing is waited for behind a whole body
    else:
        assert failed(reply) == ("status 101" if way == "switching protocols" else "bad response")
    assert sent(world) < SLACK
    assert peak.grown() < MEMORY


_squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
GZIP_START = _squeeze.compress(b"words") + _squeeze.flush(zlib.Z_FULL_FLUSH)
EMPTY_BLOCK = b"\0\0\0\xff\xff"
DRIPS: dict[str, Steps] = {
    "status line": drip(b"HTTP/1.1 200 OK"),
    "header": [*send(b"HTTP/1.1 200 OK\r\nX-Header: "), *drip(b"x")],
    "headers": [*send(b"HTTP/1.1 200 OK\r\n"), *drip(b"X: y\r\n")],
    "body": [*send(head(TEXT, length=10_000)), *drip(b"word ")],
    "body by close": [*send(head(TEXT)), *drip(b"word ")],
    "chunks": [*send(head(TEXT, headers=CHUNKED)), *drip(b"1\r\nx\r\n")],
    "interim answers": drip(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "redirect": [*send(b"HTTP/1.1 302 Found\r\nLocation: /there\r\n"), *drip(b"X: y\r\n")],
    "gzip": [*send(head(TEXT, headers=GZIP) + GZIP_START), *drip(EMPTY_BLOCK)],
}
STALLS: dict[str, Steps] = {
    "at once": stall(),
    "in the head": [*send(b"HTTP/1.1 200 OK\r\nContent-Ty"), *stall()],
    "in the body": [*send(head(TEXT, length=10_000) + b"words"), *stall()],
    "before the end": [*send(head(TEXT) + b"words"), *stall()],
}


def at_once(sift: Inside, urls: Mapping[str, str]) -> dict[str, Reply]:
    """Fetch pages with a second each, as many at a time as two callers may."""
    classes = itertools.cycle(CLASSES)
    with ThreadPoolExecutor(4) as first, ThreadPoolExecutor(4) as second:
        pools = itertools.cycle((first, second))
        running = {way: next(pools).submit(sift.fetch, url, next(classes), timeout=1) for way, url in urls.items()}
        return {way: each.result() for way, each in running.items()}


def test_answer_that_does_not_end_in_time_is_a_timeout(sift: Inside, world: World) -> None:
    """contract: Fetch: the deadline bounds the whole, not one byte after another; what came is no page."""
    ways = DRIPS | STALLS
    replies = at_once(sift, {way: f"http://{world.host(pages={'/': ways[way]})}/" for way in ways})
    assert {way: timed_out(reply) or reply for way, reply in replies.items()} == dict.fromkeys(ways, True)
    assert max(hit.sent for hit in world.outside.requests("/")) < 10_000


def test_all_hops_share_one_deadline(sift: Inside, world: World) -> None:
    """contract: Fetch: redirects that each take a moment do not add up to more."""
    host = world.host()
    hops: dict[str, Steps] = {f"/{n}": [*pause(0.45), *redirect(f"/{n + 1}")] for n in range(1, 5)}
    world.serve(host, {"/": redirect("/1"), **hops, "/5": article()})
    assert timed_out(sift.fetch(f"http://{host}/", timeout=1))
    assert 2 <= len(world.outside.requests()) - 1 <= 5


def test_silence_is_a_timeout(sift: Inside, world: World) -> None:
    """contract: Fetch: a name server that hangs and addresses that lead nowhere end at the deadline."""
    urls = {
        "name server": f"http://{world.host(hang=True)}/",
        "IPv4": f"http://{world.host('1.1.9.9')}/",
        "IPv6": f"https://{world.host('2606:4700:dead::9')}/",
        "literal": "http://1.1.9.10/",
        "four addresses": f"http://{world.host('1.1.9.1', '1.1.9.2', '1.1.9.3', '1.1.9.4')}/",
    }
    replies = at_once(sift, urls)
    assert {way: timed_out(reply) or reply for way, reply in replies.items()} == dict.fromkeys(urls, True)
    assert world.outside.hits() == []


def test_look_ups_that_hang_do_not_keep_others_from_theirs(sift: Inside, world: World) -> None:
    """contract: Guard: a look-up that was given up costs the next fetch nothing."""
    replies = at_once(sift, {f"{n}": f"http://{world.host(hang=True)}/" for n in range(12)})
    assert all(map(timed_out, replies.values()))
    assert sift.fetch(f"http://{world.host(pages={'/': article()})}/").status == 200


@pytest.mark.parametrize("status", [201, 206, 400, 401, 402, 403, 404, 410, 418, 429, 451, 500, 502, 503, 599])
def test_status_other_than_2xx_is_the_answer(status: int, sift: Inside, world: World) -> None:
    """contract: Fetch: an agent must not read an error page as what it asked for; its body is not read."""
    long = [*send(head(HTML, status, length=30 * MIB)), *forever(html().encode())]
    host = world.host(pages={"/": article(status=status) if status < 300 else long})
    reply = sift.fetch(f"http://{host}/")
    if status < 300:
        assert (reply.status, reply.json()["status"]) == (200, status)
    else:
        assert failed(reply) == f"status {status}"
        assert failed(sift.fetch(f"http://{host}/", "restricted")) == f"status {status}"
        assert max(hit.sent for hit in world.outside.requests("/")) < MIB
