"""What a fetch must not take from its surroundings, tell a site, or leave behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sift import __version__
from tests.faults.watch import is_alive, title, worker, workers
from tests.real.programs import bearer
from tests.waiting import wait_for
from tests.world.answers import failed, refused
from tests.world.network import OWN
from tests.world.service import CLASSES, Inside
from tests.world.steps import Steps, answer, article, drip, forever, hold, redirect, send, stall
from tests.world.world import World

CANARY = "xqcanaryqx"
SENT = ["host", "user-agent", "accept", "accept-encoding", "accept-language", "connection"]


def test_site_is_told_nothing_but_who_asks(sift: Inside, world: World) -> None:
    """contract: Fetch: no cookie, credential, referrer or language of anybody; robots.txt is asked for alike."""
    there = world.host(pages={"*": article()})
    pages = {"/": redirect(f"http://{there}/end", more=[]), "*": article(headers=[("Set-Cookie", "id=1; Path=/")])}
    host = world.host(pages=pages)
    sift.page(f"http://{host}/first")
    sift.page(f"http://{host}/second?a=b")
    sift.page(f"http://{host}/")
    requests = world.outside.requests()
    assert len(requests) == 6
    for hit in requests:
        names = [name for name, _ in hit.headers]
        assert len(set(names)) == len(names)
        assert set(names) <= {*SENT}
        assert not {"cookie", "referer", "authorization", "origin", "x-forwarded-for", "via", "from"} & set(names)
        assert hit.header("user-agent") == f"Sift/{__version__}"
        assert hit.header("accept-encoding") == "gzip"
        assert hit.header("connection") in (None, "close")
        assert hit.method == "GET"
    assert {hit.header("host") for hit in requests} == {host, there}


def test_cookie_that_a_redirect_sets_is_not_sent_to_its_target(sift: Inside, world: World) -> None:
    """contract: Fetch: nothing a site says is told to a site, nor to itself."""
    host = world.host(pages={"/end": article()})
    first = f"HTTP/1.1 302 Found\r\nSet-Cookie: id=1\r\nWWW-Authenticate: Basic\r\nLocation: http://{host}/end\r\n\r\n"
    world.serve(host, {"/": send(first.encode()), "/end": article()})
    sift.page(f"http://{host}/")
    assert {name for hit in world.outside.requests() for name, _ in hit.headers} <= {*SENT}


@pytest.fixture
def surrounded(world: World, tmp_path: Path) -> Iterator[Inside]:
    """Run Sift with everything in its environment that other programs heed."""
    proxy = f"http://{OWN[0]}:80"
    (tmp_path / ".netrc").write_text("default login someone password secret\n")
    (tmp_path / "certifi").mkdir()
    environ = {
        **{name: proxy for each in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") for name in (each, each.lower())},
        "NO_PROXY": "nothing.example.org",
        "no_proxy": "nothing.example.org",
        "NETRC": str(tmp_path / ".netrc"),
        "REQUESTS_CA_BUNDLE": str(world.directory / "stranger.pem"),
        "CURL_CA_BUNDLE": str(world.directory / "stranger.pem"),
        "SSL_CERT_FILE": str(world.directory / "stranger.pem"),
        "SSL_CERT_DIR": str(tmp_path / "certifi"),
        "SSLKEYLOGFILE": str(tmp_path / "keys.log"),
        "LOCALDOMAIN": "example.com",
        "SIFT_CONTACT": "https://example.org/robots; someone@example.org",
    }
    with Inside(world, tmp_path, environ) as service:
        yield service


def test_environment_is_not_heeded(surrounded: Inside, world: World, tmp_path: Path) -> None:
    """contract: Guard: no proxy, no .netrc, no other authorities, no log of keys; the contact is told."""
    sift, host = surrounded, world.host(pages={"/": article()})
    for url in (f"http://{host}/", f"https://{host}/?x"):
        world.serve(host, {"*": article()})
        assert sift.page(url)["final_url"] == url
    assert failed(sift.fetch(f"https://{world.host(kind='unknown')}/")) == "tls"
    assert {hit.header("host") for hit in world.outside.requests()} == {host}
    for hit in world.outside.requests():
        assert hit.header("authorization") is None
        assert hit.header("proxy-authorization") is None
        contact = "(+https://example.org/robots; someone@example.org)"
        assert hit.header("user-agent") == f"Sift/{__version__} {contact}"
    assert world.own.hits() == []  # the proxy
    assert not (tmp_path / "keys.log").exists() or (tmp_path / "keys.log").read_bytes() == b""


# --- children ---


def descendants(pid: int) -> set[int]:
    """Return the processes below another one."""
    found: set[int] = set()
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found |= {int(child)} | descendants(int(child))
    return found


def read_a_page(sift: Inside, world: World) -> set[int]:
    """Have a page read, and return the children that do such work."""
    wait_for(lambda: sift.fetch(f"http://{world.host(pages={'/': article()})}/").status == 200)
    children = descendants(worker(sift))
    assert children, "text is extracted in a process of its own"
    return children


def gone(pids: set[int]) -> bool:
    """Return whether none of these processes runs any more."""
    return not any(map(is_alive, pids))


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGQUIT], ids=lambda sig: sig.name)
def test_children_do_not_outlive_their_worker(sig: signal.Signals, world: World, tmp_path: Path) -> None:
    """contract: Page text: after a loss, a reload and a stop no process is left over, and pages are read meanwhile."""
    with Inside(world, tmp_path) as sift:
        assert sift.process is not None
        children = read_a_page(sift, world)
        for child in children:
            os.kill(child, signal.SIGKILL)
        wait_for(lambda: gone(children))
        for number in (signal.SIGKILL, signal.SIGHUP) if sig == signal.SIGTERM else ():
            children, pid = read_a_page(sift, world), worker(sift)
            os.kill(pid if number == signal.SIGKILL else sift.process.pid, number)
            wait_for(lambda children=children, pid=pid: gone(children) and workers(sift) not in ([], [pid]))
            wait_for(lambda: len(workers(sift)) == 1)
        children = read_a_page(sift, world)
        assert sift.stop(sig) == 0
        wait_for(lambda: gone(children))
    assert b"Traceback" not in sift.log()


def test_nothing_is_started_before_the_first_page(world: World, tmp_path: Path) -> None:
    """contract: Page text: a service that only searches pays nothing for pages."""
    with Inside(world, tmp_path) as sift:
        assert sift.fetch("http://127.0.0.1/").status == 403
        assert descendants(worker(sift)) == set()


def test_children_know_no_key(sift: Inside, world: World) -> None:
    """contract: Page text: what reads hostile bytes has an environment of its own."""
    sift.page(f"http://{world.host(pages={'/': article()})}/")
    for child in descendants(worker(sift)):
        environ = Path(f"/proc/{child}/environ").read_bytes()
        assert b"SIFT_" not in environ
        assert b"HOME" not in environ
        links = [os.readlink(each) for each in Path(f"/proc/{child}/fd").iterdir()]  # noqa: PTH115
        assert not [link for link in links if link.startswith("socket:") or str(sift.state_dir) in link]


# --- the log ---


def canary_steps(host: str) -> dict[str, Steps]:
    """Return pages that hold the canary in everything they send, and fail in every way."""
    words = f"<html><title>{CANARY}</title><body><p>{CANARY} and more words to read.</p></body></html>"
    more = [("Set-Cookie", CANARY), (f"X-{CANARY}", CANARY), ("Server", CANARY), ("Last-Modified", CANARY)]
    return {
        f"/{CANARY}": answer(words, headers=more),
        f"/{CANARY}/html": answer(f"<{CANARY} " * 3000, headers=more),
        f"/{CANARY}/deep": answer(f"<div class={CANARY}>" * 2000 + CANARY, headers=more),
        f"/{CANARY}/type": answer(words, f"application/{CANARY}"),
        f"/{CANARY}/charset": answer(words, f"text/html; charset={CANARY}"),
        f"/{CANARY}/pdf": answer(f"%PDF-1.7 {CANARY}", "application/pdf"),
        f"/{CANARY}/coding": answer(words, headers=[("Content-Encoding", CANARY)]),
        f"/{CANARY}/gzip": answer(words, headers=[("Content-Encoding", "gzip")]),
        f"/{CANARY}/404": answer(words, status=404),
        f"/{CANARY}/there": redirect(f"http://{host}/{CANARY}"),
        f"/{CANARY}/bad": redirect(f"http://{CANARY}.localhost/{CANARY}"),
        f"/{CANARY}/inside": redirect(f"http://inside-{CANARY}.example.org/"),
        f"/{CANARY}/loop": redirect(f"/{CANARY}/loop"),
        f"/{CANARY}/broken": send(f"{CANARY}\r\n\r\n".encode()),
        f"/{CANARY}/status": send(f"HTTP/1.1 {CANARY}\r\n\r\n".encode()),
        f"/{CANARY}/length": send(f"HTTP/1.1 200 {CANARY}\r\nContent-Length: {CANARY}\r\n\r\n".encode()),
        f"/{CANARY}/cut": answer(words, length=5000),
        f"/{CANARY}/stall": stall(),
        f"/{CANARY}/drip": drip(CANARY.encode()),
        f"/{CANARY}/endless": forever(f"HTTP/1.1 100 {CANARY}\r\n\r\n".encode()),
    }


def canary_urls(world: World) -> list[str]:
    """Return URLs that hold the canary and are opened, refused or lost, in every way."""
    host = f"{CANARY}.example.org"
    hosts = [host, *(f"{kind}-{host}" for kind in ("expired", "inside", "ill", "hang", "no"))]
    robots = {"/robots.txt": answer(f"User-agent: *\nDisallow: /\n# {CANARY}", "text/plain")}
    world.host(name=host, pages=canary_steps(host))
    world.host(name=hosts[1])
    world.host("10.1.2.3", name=hosts[2])
    world.host(name=hosts[3], rcode=2)
    world.host(name=hosts[4], hang=True)
    world.host(name=hosts[5], pages=robots)
    opened = [f"{host}{path}?{CANARY}={CANARY}#{CANARY}" for path in canary_steps(host)]
    lost = [*(f"{each}/{CANARY}" for each in hosts[1:]), f"nobody-{host}/", f"{host}:8081/{CANARY}"]
    refused = ["{0}.localhost/{0}", "{0}@{0}.org/", "{0}.org:6379/{0}", "127.0.0.1/{0}", "{0}.org\\{0}", "[{0}]/"]
    urls = [f"http://{rest}" for rest in (*opened, *lost, *(each.format(CANARY) for each in refused))]
    return [*urls, f"https://{hosts[1]}/{CANARY}", f"{CANARY}://{host}/", f"//{CANARY}/", CANARY]


def wander(sift: Inside, urls: Sequence[str]) -> None:
    """Ask for each of these as each caller, through both doors and with the command; put the canary in every field."""

    def ask(cls: str, url: str) -> None:
        fields = {"url": url, "timeout": 1000, "formats": ["markdown", "html"]}
        sift.fetch(url, cls, timeout=1)
        sift.post("/v2/scrape", fields, bearer(sift.tokens[cls]))

    with ThreadPoolExecutor(4) as first, ThreadPoolExecutor(4) as second:  # as many as each caller may
        running = [
            pool.submit(ask, cls, url) for url in urls for pool, cls in zip((first, second), CLASSES, strict=True)
        ]
        for each in running:
            each.result()
    for token, path in product(sift.tokens.values(), ("/v1/fetch", "/v2/scrape")):
        auth = bearer(token)
        for field in ("url", "format", "max_chars", "start", "max_age", "timeout", CANARY):
            for value in (CANARY, [CANARY], {CANARY: CANARY}):
                sift.post(path, {"url": f"http://{CANARY}.localhost/", field: value}, auth)
        sift.post(path, f'{{"url": "{CANARY}'.encode(), auth)
        sift.get(f"{path}?url={CANARY}", auth)
    for url in (urls[0], urls[-1]):
        sift.run("fetch", url)


def test_canary_is_found_nowhere(world: World, tmp_path: Path) -> None:
    """contract: Log: no URL, host, title or word of a page is in a log, a file or a title of a process."""
    with Inside(world, tmp_path, {"SIFT_LOG_LEVEL": "debug"}, ["--access-logfile", "-"]) as sift:
        wander(sift, canary_urls(world))
        assert sift.process is not None
        pids = [sift.process.pid, *descendants(sift.process.pid)]
        written = b"".join(map(title, pids))
    written += sift.log()
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path != sift.log_path]
    assert files  # the keys
    for path in files:
        written += path.name.encode() + path.read_bytes()
    for word in (CANARY, CANARY.upper(), CANARY.encode().hex(), "10.1.2.3", "secret of the inside"):
        assert word.encode() not in written
    assert b"Traceback" not in written
    assert b"internal_error" not in written
    assert b'"event": "fetch"' in written


@pytest.mark.parametrize("cls", ["fleet", "restricted"])
def test_fetch_leaves_one_record_of_exactly_these_fields(cls: str, sift: Inside, world: World) -> None:
    """contract: Log: caller, state, milliseconds, bytes, hops and cache, for both classes; a bad field leaves none."""
    before = len(sift.records("fetch"))
    host = world.host(pages={"/": redirect("/end"), "/end": article(), "/gone": answer(status=404)})
    body = sift.page(f"http://{host}/", cls)["sizes"]["wire"]
    sift.page(f"http://{host}/", cls)
    assert failed(sift.fetch(f"http://{host}/gone", cls)) == "status 404"
    assert refused(sift.fetch("http://127.0.0.1/", cls)) == "address"
    sift.fetch("http://127.0.0.1/", cls, timeout=99)
    wait_for(lambda: len(sift.records("fetch")) == before + 4)
    records: list[dict[str, Any]] = sift.records("fetch")[before:]
    fields = ["ts", "level", "event", "caller", "state", "ms", "bytes", "hops", "cache"]
    assert [list(record) for record in records] == [fields] * 4
    assert [record["caller"] for record in records] == [f"{cls}-bot"] * 4
    assert [record["state"] for record in records] == ["ok", "ok", "fetch failed", "url not allowed"]
    assert [record["cache"] for record in records][:2] == ["miss", "hit"]
    assert [record["hops"] for record in records][:2] == [1, 0]
    assert [record["bytes"] for record in records][:2] == [body, 0]
    assert all(isinstance(record["ms"], int) for record in records)


def test_stop_while_a_page_is_waited_for_it_is_answered(world: World, tmp_path: Path) -> None:
    """contract: Operations: a stop ends no fetch that is under way."""
    gate = world.gate()
    with Inside(world, tmp_path) as sift, ThreadPoolExecutor(1) as pool:
        assert sift.process is not None
        running = pool.submit(sift.page, f"http://{world.host(pages={'/': [*hold(gate), *article()]})}/", timeout=30)
        world.await_at(gate)
        sift.process.send_signal(signal.SIGTERM)
        wait_for(lambda: b"Handling signal: term" in sift.log())
        world.outside.open(gate)
        assert running.result()["status"] == 200
        assert sift.process.wait(20) == 0
