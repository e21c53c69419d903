"""What becomes of a page: its type, its text, the cache, equal fetches, places."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.world.answers import failed
from tests.world.service import Inside
from tests.world.steps import ARTICLE, HTML, Steps, answer, article, forever, head, html, send
from tests.world.world import World

PDF = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer <<>>\n%%EOF\n"
KEYS = (
    "url final_url status content_type title author published_date lang format content chars start next_start".split()
)
KEYS += "extractor cached fetched_at sizes warnings".split()
TAKEN: dict[str | None, bytes] = {
    "text/html": html().encode(),
    "TEXT/HTML; Charset=UTF-8": html().encode(),
    "application/xhtml+xml": html().encode(),
    "text/plain": ARTICLE.encode(),
    "text/markdown": f"# Title\n\n{ARTICLE}\n".encode(),
    "text/csv": f"name,text\nkeeper,{ARTICLE}\n".encode(),
    "application/json": b'{"text": "%s"}' % ARTICLE.encode(),
    "application/ld+json": b'{"text": "%s"}' % ARTICLE.encode(),
    "application/xml": b"<?xml version='1.0'?><a><b>%s</b></a>" % ARTICLE.encode(),
    "text/xml": b"<?xml version='1.0'?><a><b>%s</b></a>" % ARTICLE.encode(),
    "application/rss+xml": b"<rss><channel><item><title>%s</title></item></channel></rss>" % ARTICLE.encode(),
    "application/atom+xml": b"<feed><entry><title>%s</title></entry></feed>" % ARTICLE.encode(),
    None: html().encode(),
}


@pytest.mark.parametrize("kind", TAKEN, ids=str)
def test_type_that_is_taken_gives_its_text(kind: str | None, sift: Inside, world: World) -> None:
    """contract: Fetch: keys in order, unknown ones left out; a page without a type is looked at."""
    page = sift.page(f"http://{world.host(pages={'/': answer(TAKEN[kind], kind)})}/")
    assert list(page) == [key for key in KEYS if key in page]
    assert {"title", "author", "published_date", "lang", "next_start"} >= set(KEYS) - set(page)
    assert "lighthouse keeper" in page["content"]
    assert page["content_type"] == (kind or "text/html").partition(";")[0].lower()
    assert (page["cached"], page["start"], page["warnings"]) == (False, 0, [])
    assert page["sizes"]["wire"] == page["sizes"]["body"] == len(TAKEN[kind])


@pytest.mark.parametrize(
    "kind",
    "application/x-msdownload application/octet-stream image/png image/svg+xml video/mp4 audio/mpeg font/woff2 "
    "text/css text/javascript application/zip application/gzip multipart/x-mixed-replace nonsense".split(),
)
def test_other_type_is_refused_before_its_body_is_read(kind: str, sift: Inside, world: World) -> None:
    """contract: Fetch: the server can send no more than fits into the buffers."""
    host = world.host(pages={"/": [*send(head(kind, length=30 << 20)), *forever(b"x" * 65536)]})
    reply = sift.fetch(f"http://{host}/")
    assert (reply.status, reply.json()) == (415, {"error": "unsupported content type", "hint": ""})
    (hit,) = world.outside.requests("/")
    assert hit.sent < 1 << 20


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"  \n<p>Words of a page.</p>", 200),
        (b"Plain words.", 200),
        ("Wörter, auch ohne Typ.".encode(), 200),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 415),
        (b"\xff\xfe\xff binary", 415),
        (b"", 200),
    ],
    ids=["markup", "text", "UTF-8", "image", "bytes", "nothing"],
)
def test_body_without_a_type_is_looked_at(body: bytes, status: int, sift: Inside, world: World) -> None:
    """contract: Fetch: the first 512 bytes tell whether it is a page, a PDF, text, or nothing for an agent."""
    assert sift.fetch(f"http://{world.host(pages={'/': answer(body, None)})}/").status == status


def pdf(words: str) -> bytes:
    """Return a PDF of one page with these words."""
    drawing = b"BT /F1 12 Tf 72 720 Td (%s) Tj ET" % words.encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(drawing), drawing),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    whole, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(whole))
        whole += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(whole)
    return whole + b"xref\n0 6\n0000000000 65535 f \n" + table + end


@pytest.mark.parametrize("kind", ["application/pdf", None])
def test_pdf_gives_its_text(kind: str | None, sift: Inside, world: World) -> None:
    """contract: Fetch: with its extra; also when nothing but its first bytes says what it is."""
    page = sift.page(f"http://{world.host(pages={'/': answer(pdf('The keeper counted ships'), kind)})}/")
    assert (page["extractor"], page["content_type"]) == ("pdf", "application/pdf")
    assert "The keeper counted ships" in page["content"]


@pytest.mark.parametrize("coding", [[], [("Content-Encoding", "gzip")]], ids=["plain", "bomb"])
def test_pdf_that_is_too_large_is_refused(coding: list[tuple[str, str]], sift: Inside, world: World) -> None:
    """contract: Fetch: half a PDF is none, so it is not cut at its 20 MiB."""
    start = b"%PDF-1.4\n" + bytes(1 << 20)
    body = send(gzip.compress(start * 40)) if coding else [*send(start), *forever(bytes(65536))]
    host = world.host(pages={"/": [*send(head("application/pdf", headers=coding)), *body]})
    assert failed(sift.fetch(f"http://{host}/", timeout=30)) == "too large"
    assert world.outside.requests("/")[0].sent < 22 << 20


def test_pdf_that_says_it_is_html_is_no_html(sift: Inside, world: World) -> None:
    """contract: Fetch: its bytes never reach the extractor for HTML."""
    reply = sift.fetch(f"http://{world.host(pages={'/': answer(PDF, HTML)})}/")
    assert reply.status == 415 or failed(reply)


@pytest.mark.parametrize("kind", ["application/xml", "text/xml", "application/rss+xml", "application/xhtml+xml", HTML])
def test_markup_reaches_no_file_and_no_host(kind: str, sift: Inside, world: World, tmp_path: Path) -> None:
    """contract: Page text: entities, document types, style sheets and frames of a page are not fetched."""
    secret = tmp_path / "secret.txt"
    secret.write_text("xqsecretqx")
    there = world.host(pages={"*": answer("<!ENTITY d 'xqsecretqx'>", "application/xml-dtd")})
    declared = "".join(f"<!ENTITY {'ab'[n % 2]}{n} '{f'&{chr(97 + (n - 1) % 2)}{n - 1};' * 10}'>" for n in range(1, 9))
    body = f"""<?xml version="1.0"?><?xml-stylesheet href="http://{there}/s.xsl"?>
        <!DOCTYPE x SYSTEM "http://{there}/x.dtd" [<!ENTITY f SYSTEM "file://{secret}"><!ENTITY h SYSTEM "http://{there}/h">
        <!ENTITY % p SYSTEM "http://{there}/p">%p;<!ENTITY a0 "words">{declared}]>
        <html xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="http://{there}/i"/><body><p>{ARTICLE}</p>
        <p>&f; &h; &d; &a8;</p><iframe src="http://{there}/f"></iframe><img src="http://{there}/g"/></body></html>"""
    reply = sift.fetch(f"http://{world.host(pages={'/': answer(body, kind)})}/")
    assert b"xqsecretqx" not in reply.body.replace(str(secret).encode(), b"")
    assert len(reply.body) < 1 << 20
    assert world.queries(there) == []
    assert world.own.hits() == []


@pytest.mark.parametrize(
    "charset", "bz2_codec zlib hex base64 rot13 uu punycode idna unicode_escape utf-7 nonsense x".split()
)
def test_charset_is_no_command(charset: str, sift: Inside, world: World) -> None:
    """contract: Page text: some of Python's codecs inflate, and others are no charsets of the web."""
    for kind in (f"text/plain; charset={charset}", f"text/html; charset={charset}"):
        page = sift.page(f"http://{world.host(pages={'/': answer(html(), kind)})}/")
        assert "lighthouse keeper" in page["content"]


def test_page_says_what_it_declares_about_itself(sift: Inside, world: World) -> None:
    """contract: Fetch: and nothing is invented."""
    page = sift.page(f"http://{world.host(pages={'/': article()})}/")
    assert page["title"] == "The book of ships"
    assert "published_date" not in page
    assert "author" not in page


def test_long_page_is_read_on(sift: Inside, world: World) -> None:
    """contract: Fetch: a page is cut at a block's end; what follows comes from the cache, seamlessly."""
    text = "\n\n".join(f"Paragraph {n}. {ARTICLE}" for n in range(60))
    url = f"http://{world.host(pages={'/': answer(text, 'text/plain')})}/"
    parts, start = [], 0
    while True:
        page = sift.page(url, max_chars=2000, start=start)
        assert page["start"] == start
        assert len(page["content"]) <= 2000
        parts.append(page["content"])
        if "next_start" not in page:
            break
        start = page["next_start"]
    assert len(parts) > 2
    words = " ".join(parts).split()
    assert words == text.split()
    assert len(world.outside.requests("/")) == 1


# --- the request ---


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"url": 5}, "url"),
        ({"format": "html"}, "format"),
        ({"max_chars": 999}, "max_chars"),
        ({"max_chars": 200_001}, "max_chars"),
        ({"start": -1}, "start"),
        ({"max_age": 86_401}, "max_age"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": 31}, "timeout"),
        ({"timeout": "5"}, "timeout"),
    ],
    ids=str,
)
def test_wrong_field_is_named(fields: dict[str, Any], hint: str, sift: Inside, world: World) -> None:
    """contract: Fetch: before anything is looked up, and without a record in the log."""
    before = len(sift.records("fetch"))
    reply = sift.fetch(**{"url": "http://good.example.org/", **fields})
    assert (reply.status, reply.json()) == (400, {"error": "invalid fetch", "hint": hint})
    assert world.queries() == []
    assert len(sift.records("fetch")) == before


def test_unknown_field_is_a_warning(sift: Inside, world: World) -> None:
    """contract: Fetch: as for searches."""
    page = sift.page(f"http://{world.host(pages={'/': article()})}/", headers={"Cookie": "x"})
    assert page["warnings"] == ["unknown field ignored: headers"]


def test_nobody_without_a_key_can_fetch(sift: Inside, world: World) -> None:
    """contract: Callers: fetching is for both classes and for nobody else."""
    assert sift.post("/v1/fetch", {"url": f"http://{world.host()}/"}).status == 401
    assert world.queries() == []


# --- the cache ---


def twice(sift: Inside, world: World, steps: Steps, path: str = "/", **fields: Any) -> int:
    """Fetch a page twice, and return how often it was asked for."""
    host = world.host(pages={"*": steps})
    pages = [sift.page(f"http://{host}{path}", **fields) for _ in range(2)]
    assert pages[0]["content"] == pages[1]["content"]
    count = len([hit for hit in world.outside.requests(host=host) if hit.target != "/robots.txt"])
    assert [page["cached"] for page in pages] == [False, count == 1]
    return count


def test_page_is_kept(sift: Inside, world: World) -> None:
    """contract: Fetch: the text, for each class; a fragment makes no other page."""
    host = world.host(pages={"/": article()})
    first = sift.page(f"http://{host}/#one")
    again = sift.page(f"HTTP://{host.upper()}:80#two")
    assert again == first | {"url": f"HTTP://{host.upper()}:80#two", "cached": True}
    assert sift.page(f"http://{host}/", "restricted")["cached"] is False
    assert sift.page(f"http://{host}/", format="text")["cached"] is False
    assert len(world.outside.requests("/")) == 3


@pytest.mark.parametrize(
    "headers",
    [
        [("Cache-Control", "no-store")],
        [("Cache-Control", "max-age=60, Private")],
        [("Cache-Control", 'private="x"')],
        [("Set-Cookie", "session=1")],
    ],
    ids=str,
)
def test_page_for_one_reader_is_not_kept(headers: list[tuple[str, str]], sift: Inside, world: World) -> None:
    """contract: Fetch: what its server marks so is fetched anew."""
    assert twice(sift, world, article(headers=headers)) == 2


@pytest.mark.parametrize(
    "path",
    ["/?token=a", "/?x=1&sig=b", "/?X-Amz-Signature=c", "/?ACCESS_TOKEN=d", "/?key=e", "/?a&%74oken=f"],
)
def test_page_whose_address_is_a_credential_is_not_kept(path: str, sift: Inside, world: World) -> None:
    """contract: Fetch: whoever has such an address may see what others may not."""
    assert twice(sift, world, article(), path) == 2


def test_page_no_older_than_asked_for_is_served(sift: Inside, world: World) -> None:
    """contract: Fetch: `max_age: 0` asks for a new one; others take what is there."""
    assert twice(sift, world, article(), max_age=0) == 2
    assert twice(sift, world, article(), max_age=60) == 1
    assert twice(sift, world, article(), "/?q=words") == 1


def test_failure_is_not_kept(sift: Inside, world: World) -> None:
    """contract: Fetch: the next fetch tries again."""
    host = world.host(pages={"/": answer(status=503)})
    assert failed(sift.fetch(f"http://{host}/")) == "status 503"
    world.serve(host, {"/": article()})
    assert sift.page(f"http://{host}/")["cached"] is False


# --- the switch ---


def test_switched_off_there_is_no_route(world: World, tmp_path: Path) -> None:
    """contract: Fetch: SIFT_FETCH=off takes the routes away, and the command says so."""
    with Inside(world, tmp_path, {"SIFT_FETCH": "off"}) as sift:
        host = world.host()
        assert sift.fetch(f"http://{host}/").status == 404
        done = sift.run("fetch", f"http://{host}/")
        assert done.returncode == 1
        assert done.stdout == ""
        assert "off" in done.stderr
    assert world.queries() == []
