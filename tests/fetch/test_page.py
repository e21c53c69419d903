"""Opening a page: redirects, status, type, size (contract: Fetch)."""

from __future__ import annotations

import gzip
import time
from typing import Any

import pytest

from sift.errors import FetchError
from sift.fetch.model import Failed, RawPage
from sift.fetch.page import MAX_PDF, MIB, TYPES, is_public, open_page, sniffed
from sift.wire.call import Call
from sift.wire.connection import BadReplyError
from tests.fetch.web import HTML, FakeReply, FakeWeb, moved, page

START = "https://a.com/start"


def opened(web: Any, url: str = START, *, takes_pdf: bool = True, seconds: float = 20) -> RawPage:
    """Open a page."""
    deadline = time.monotonic() + seconds
    return open_page(web, web.guard.target(url), lambda: Call(deadline), lambda _: None, takes_pdf=takes_pdf)


def failure(web: Any, **kwargs: Any) -> Failed:
    """Return how opening a page fails."""
    with pytest.raises(FetchError) as caught:
        opened(web, **kwargs)
    return Failed(caught.value.state, caught.value.hint)  # type: ignore[arg-type]


def only(reply: FakeReply) -> FakeWeb:
    """Return a web of one page."""
    return FakeWeb({START: reply})


def test_page_comes_with_its_type_charset_and_sizes() -> None:
    found = opened(only(FakeReply(200, {"content-type": 'Text/HTML; Charset="ISO-8859-1"'}, b"<p>", b"x")))
    assert (found.url, found.status, found.content_type, found.charset) == (START, 200, "text/html", "iso-8859-1")
    assert (found.body, found.wire, found.hops, found.warnings) == (b"<p>x", 4, 0, ())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_is_followed_and_its_body_is_never_read(status: int) -> None:
    """contract: Guard: a redirect's body may be a bomb; nobody reads it, and its connection is closed."""
    hop = moved("/next", status, b"bomb")
    web = FakeWeb({START: hop, "https://a.com/next": page()})
    found = opened(web)
    assert (found.url, found.hops) == ("https://a.com/next", 1)
    assert (hop.read, hop.closed) == (0, True)


@pytest.mark.parametrize("status", [300, 304, 305, 404, 500, 101])
def test_status_other_than_success_is_an_error_that_names_it(status: int) -> None:
    """contract: Fetch: a program must not read a 404 page as the answer; 300 is no redirect."""
    reply = FakeReply(status, HTML | {"location": "https://a.com/next"}, b"<p>not found</p>")
    assert failure(only(reply)) == Failed("fetch failed", f"status {status}")
    assert reply.read == 0


def test_redirect_without_location_is_an_error_that_names_its_status() -> None:
    assert failure(only(FakeReply(302, {}))) == Failed("fetch failed", "status 302")


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1/",
        "https://169.254.169.254/latest",
        "file:///etc/passwd",
        "//internal/",
        "https://a.com:6379/",
        "https://user@b.com/",
        "https://a.com\\@b.com/",
        "https://[::ffff:127.0.0.1]/",
        "http://a.com/",
        "",
    ],
)
def test_redirect_to_where_the_guard_says_no_is_not_followed(location: str) -> None:
    """contract: Guard: each hop goes through all of it; that address was not the caller's, so it says `redirects`."""
    web = only(moved(location))
    if location:
        assert failure(web) == Failed("fetch failed", "redirects")
    else:  # an empty reference is the page itself
        assert failure(web).hint == "redirects"
    assert set(web.asked) == {START}


def test_five_redirects_are_followed_and_the_sixth_is_not() -> None:
    hops = {f"https://a.com/{number}": moved(f"/{number + 1}") for number in range(6)}
    assert opened(FakeWeb({**hops, "https://a.com/5": page()}), url="https://a.com/0").hops == 5
    assert failure(FakeWeb(hops), url="https://a.com/0") == Failed("fetch failed", "redirects")


def test_each_hop_is_allowed_or_not_before_it_is_asked() -> None:
    """contract: Robots: each redirect target obeys its own host's robots.txt."""
    web = FakeWeb({START: moved("https://b.com/"), "https://b.com/": page()})

    def allowed(target: Any) -> None:
        if target.host == "b.com":
            raise FetchError("robots disallow")

    with pytest.raises(FetchError, match="robots disallow"):
        open_page(web, web.guard.target(START), lambda: Call(time.monotonic() + 9), allowed, takes_pdf=False)  # type: ignore[arg-type]
    assert web.asked == [START]


def test_location_in_raw_utf_8_is_followed() -> None:
    """contract: Guard: headers are read as Latin-1; browsers take such a Location as UTF-8."""
    web = FakeWeb({START: moved("/é".encode().decode("latin-1")), "https://a.com/%C3%A9": page()})
    assert opened(web).url == "https://a.com/%C3%A9"


def test_location_in_bytes_that_are_no_utf_8_keeps_them() -> None:
    web = FakeWeb({START: moved("/caf\xe9"), "https://a.com/caf%E9": page()})
    assert opened(web).url == "https://a.com/caf%E9"


@pytest.mark.parametrize("kind", ["application/x-msdownload", "image/png", "video/mp4", "text/css", "html", "*/*"])
def test_type_is_not_taken_the_body_is_not_read(kind: str) -> None:
    """contract: Fetch: refused by its declared type, before anything of it is read."""
    reply = FakeReply(200, {"content-type": kind}, b"MZ")
    assert failure(only(reply)) == Failed("unsupported content type")
    assert reply.read == 0


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_type_of_text_is_taken(kind: str) -> None:
    assert opened(only(FakeReply(200, {"content-type": kind}, b"text"))).content_type == kind


def test_pdf_is_taken_only_where_it_can_be_read() -> None:
    reply = {"content-type": "application/pdf"}
    assert opened(only(FakeReply(200, reply, b"%PDF-1.7"))).content_type == "application/pdf"
    assert failure(only(FakeReply(200, reply, b"%PDF-1.7")), takes_pdf=False).state == "unsupported content type"


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        (b"\n <!doctype html>", "text/html"),
        (b"\xef\xbb\xbf<p>", "text/html"),
        (b"%PDF-1.7", "application/pdf"),
        (b"plain text", "text/plain"),
        ("é".encode()[:1], "text/plain"),  # the first bytes may end within a character
        (b"", "text/plain"),
        (b"\xff\xfe\x00", ""),
        (b"a\x00b", ""),
    ],
)
def test_type_is_missing_it_is_read_off_the_first_bytes(first: bytes, kind: str) -> None:
    """contract: Fetch: `<` or `%PDF`, else text when it is UTF-8, else refused."""
    assert sniffed(first) == kind
    web = only(FakeReply(200, {}, first))
    if kind:
        assert opened(web).content_type == kind
    else:
        assert failure(web).state == "unsupported content type"


def test_type_is_missing_and_refused_no_more_than_the_beginning_is_read() -> None:
    reply = FakeReply(200, {}, b"\xff" * 600, b"more")
    assert failure(only(reply)).state == "unsupported content type"
    assert reply.read == 1


def test_pdf_that_calls_itself_html_is_refused() -> None:
    assert failure(only(FakeReply(200, HTML, b"%PDF-1.7"))).state == "unsupported content type"


def test_page_over_the_limit_on_the_wire_is_cut_there_and_says_so() -> None:
    """contract: Fetch: 5 MiB on the wire, and nothing is read behind them."""
    reply = FakeReply(200, HTML, *[b"x" * MIB] * 7)
    found = opened(only(reply))
    assert (len(found.body), found.wire, found.warnings) == (5 * MIB, 5 * MIB, ("page cut at 5 MiB",))
    assert reply.read == 6


def test_page_of_just_the_limit_is_whole() -> None:
    assert opened(only(FakeReply(200, HTML, *[b"x" * MIB] * 5))).warnings == ()


def test_page_over_the_limit_when_inflated_is_cut_there_and_says_so() -> None:
    """contract: Fetch: 10 MiB inflated; a bomb costs no more than that."""
    bomb = gzip.compress(bytes(200 * MIB), 9)
    found = opened(only(FakeReply(200, HTML | {"content-encoding": "gzip"}, bomb)))
    assert (len(found.body), found.warnings) == (10 * MIB, ("page cut at 10 MiB",))


def test_pdf_over_its_limit_is_refused() -> None:
    """contract: Fetch: half a PDF cannot be read."""
    reply = FakeReply(200, {"content-type": "application/pdf"}, b"%PDF-", bytes(MAX_PDF))
    assert failure(only(reply)) == Failed("fetch failed", "too large")


def test_pdf_that_declares_no_type_has_the_limits_of_a_pdf() -> None:
    """contract: Fetch: 20 MiB, however it is known to be one."""
    found = opened(only(FakeReply(200, {}, b"%PDF-1.7" + bytes(600), *[bytes(MIB)] * 12)))
    assert (found.content_type, found.wire, found.warnings) == ("application/pdf", 608 + 12 * MIB, ())
    assert failure(only(FakeReply(200, {}, b"%PDF-1.7" + bytes(600), *[bytes(MIB)] * 21))).hint == "too large"


@pytest.mark.parametrize(
    ("encoding", "body"), [("br", b"x"), ("gzip, gzip", b"x"), ("deflate", b"x"), ("gzip", b"not gzip")]
)
def test_encoding_is_not_the_one_asked_for_it_is_an_error(encoding: str, body: bytes) -> None:
    found = failure(only(FakeReply(200, HTML | {"content-encoding": encoding}, body)))
    assert found == Failed("fetch failed", "encoding")


@pytest.mark.parametrize("encoding", ["identity", "", "gzip"])
def test_encodings_that_are_read(encoding: str) -> None:
    body = gzip.compress(b"text") if encoding == "gzip" else b"text"
    found = opened(only(FakeReply(200, HTML | {"content-encoding": encoding}, body)))
    assert (found.body, found.wire) == (b"text", len(body))


def test_body_is_shorter_than_it_should_be_it_is_an_error_and_no_page() -> None:
    whole = gzip.compress(b"text" * 100)
    assert failure(only(FakeReply(200, HTML, b"x", BadReplyError("a truncated body")))).hint == "bad response"
    short = FakeReply(200, HTML | {"content-encoding": "gzip"}, whole[:-4])
    assert failure(only(short)).hint == "bad response"


def test_deadline_passes_while_the_body_arrives_it_is_a_timeout() -> None:
    """contract: Fetch: a body that ends by close counts as whole only before the deadline."""
    assert failure(only(FakeReply(200, HTML, b"x", TimeoutError())), seconds=0) == Failed("fetch timeout")


@pytest.mark.parametrize(
    ("path", "headers", "public"),
    [
        ("/page?q=1&monkey=2", {}, True),
        ("/page?TOKEN=x", {}, False),
        ("/page?a=1&sig=", {}, False),
        ("/page?X-Amz-Signature=x", {}, False),
        ("/page?access_token=x", {}, False),
        ("/page?key=x", {}, False),
        ("/page?invite-token=x", {}, False),
        ("/page?Policy=p&Signature=x", {}, False),
        ("/page", {"cache-control": "max-age=60, public"}, True),
        ("/page", {"cache-control": "No-Store"}, False),
        ("/page", {"cache-control": 'private="x", max-age=1'}, False),
        ("/page", {"set-cookie": "a=b"}, False),
    ],
)
def test_page_that_may_be_one_readers_is_not_kept(path: str, headers: dict[str, str], public: bool) -> None:
    """contract: Fetch: no-store, private, a cookie set, or an address that looks like a credential."""
    assert is_public(path, headers) is public
    assert opened(FakeWeb({f"https://a.com{path}": page(**headers)}), url=f"https://a.com{path}").keeps is public


@pytest.mark.parametrize(
    ("first", "headers"),
    [("/in?token=x", {}), ("/in", {"set-cookie": "a=b"}), ("/in", {"cache-control": "private"})],
)
def test_page_behind_a_redirect_for_one_reader_is_not_kept(first: str, headers: dict[str, str]) -> None:
    """contract: Fetch: whoever has the first address is led to what others may not see."""
    hop = moved("/page")
    hop.headers.update(headers)
    web = FakeWeb({f"https://a.com{first}": hop, "https://a.com/page": page()})
    assert opened(web, url=f"https://a.com{first}").keeps is False
    web = FakeWeb({"https://a.com/in": moved("/page"), "https://a.com/page": page()})
    assert opened(web, url="https://a.com/in").keeps is True
