"""A hit's URL: the key by which hits are the same page, and the host a browser would connect to."""

from __future__ import annotations

import ipaddress
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sift.search.urls import _read_slowly, browser_host, read_url
from tests.fakes import raw
from tests.search.moderate import moderate
from tests.search.whatwg import goes_to

TRACKERS = ["gclid", "gbraid", "wbraid", "fbclid", "msclkid", "dclid", "yclid", "mc_cid", "mc_eid", "igshid"]
TRACKERS += [
    "_ga",
    "_gl",
    "utm_source",
    "utm_",
    "UTM_Source",
    "%5Fga",
]


def key(url: str) -> str:
    """Return the key of a usable URL."""
    return raw(url).address.key


SAME = [
    pytest.param("https://docs.example/a", "https://docs.example/a/", id="final-slash"),
    pytest.param("https://docs.example", "https://docs.example/", id="empty-path"),
    pytest.param("https://docs.example?x=1", "https://docs.example/?x=1", id="empty-path-with-query"),
    pytest.param("http://docs.example/x", "https://docs.example/x", id="scheme"),
    pytest.param("HTTPS://docs.example/x", "https://docs.example/x", id="scheme-case"),
    pytest.param("https://DOCS.Example/x", "https://docs.example/x", id="host-case"),
    pytest.param("https://docs.example./x", "https://docs.example/x", id="trailing-dot"),
    pytest.param("https://münchen.example/x", "https://xn--mnchen-3ya.example/x", id="idna-form"),
    pytest.param("https://docs.example/en", "https://docs.example/en#", id="empty-fragment"),
    pytest.param("https://docs.example/a", "https://docs.example/a#s1", id="anchor-and-none"),
    pytest.param("https://docs.example/a?x=1#s1", "https://docs.example/a?x=1", id="anchor-after-query"),
    pytest.param("https://docs.example/it's", "https://docs.example/it%27s", id="apostrophe"),
    pytest.param("https://docs.example/%41%2d%2E%5f9", "https://docs.example/A-._9", id="unreserved-decoded-all"),
    pytest.param("https://docs.example/a%2fb", "https://docs.example/a%2Fb", id="escape-case"),
    pytest.param("https://docs.example/é", "https://docs.example/%c3%a9", id="non-ascii-path"),
    pytest.param("https://docs.example/a b", "https://docs.example/a%20b", id="blank-in-path"),
    pytest.param("https://docs.example/?q=%c3%a9", "https://docs.example/?q=é", id="escapes-in-query"),
    pytest.param("http://docs.example:80/x", "http://docs.example/x", id="http-80"),
    pytest.param("https://docs.example:443/x", "https://docs.example/x", id="https-443"),
    pytest.param("https://docs.example:0443/x", "https://docs.example/x", id="default-port-with-zero"),
    pytest.param("https://docs.example:/x", "https://docs.example/x", id="empty-port"),
    pytest.param("http://docs.example:80/x", "https://docs.example:443/x", id="default-ports-across-schemes"),
    pytest.param("https://docs.example/x?", "https://docs.example/x", id="empty-query"),
    pytest.param("https://docs.example/x?&", "https://docs.example/x", id="query-of-nothing"),
    pytest.param("https://docs.example/x?&a=1&&b=2&", "https://docs.example/x?a=1&b=2", id="empty-parameters"),
    pytest.param("https://docs.example/x?utm_source=n&a=1", "https://docs.example/x?a=1", id="tracker-first"),
    pytest.param("https://docs.example/x?a=1&utm_source=n", "https://docs.example/x?a=1", id="tracker-last"),
    pytest.param("https://0x7f.1/", "https://127.0.0.1/", id="ipv4-forms"),
    pytest.param("https://[2001:DB8:0::1]/", "https://[2001:db8::1]/", id="ipv6-forms"),
    *(
        pytest.param(f"https://docs.example/x?{name}=n", "https://docs.example/x", id=f"tracker-{name}")
        for name in TRACKERS
    ),
    pytest.param("https://docs.example/x?gclid", "https://docs.example/x", id="tracker-without-value"),
    pytest.param("https://docs.example/x?gclid=1#a", "https://docs.example/x", id="tracker-before-anchor"),
]

DIFFERENT = [
    pytest.param("https://docs.example/p/AbC", "https://docs.example/p/aBc", id="path-case"),
    pytest.param("https://docs.example/p?q=A", "https://docs.example/p?q=a", id="query-case"),
    pytest.param("https://app.example/#/one", "https://app.example/#/two", id="routes"),
    pytest.param("https://app.example/#!one", "https://app.example/#!two", id="hash-bang-routes"),
    pytest.param("http://docs.example:443/x", "https://docs.example:443/x", id="http-443"),
    pytest.param("https://docs.example:80/x", "https://docs.example/x", id="https-80"),
    pytest.param("https://docs.example:8443/x", "https://docs.example/x", id="other-port"),
    pytest.param("https://docs.example:0/x", "https://docs.example/x", id="port-0"),
    pytest.param("https://docs.example:00/x", "https://docs.example/x", id="port-00"),
    pytest.param("https://m.docs.example/x", "https://docs.example/x", id="mobile-twin"),
    pytest.param("https://www.docs.example/x", "https://docs.example/x", id="www"),
    pytest.param("https://docs.example/x/amp", "https://docs.example/x", id="amp"),
    pytest.param("https://docs.example/a%2Fb", "https://docs.example/a/b", id="escaped-slash"),
    pytest.param("https://docs.example/a//", "https://docs.example/a", id="one-slash-only"),
    pytest.param("https://docs.example/?a%26b=1", "https://docs.example/?a&b=1", id="escaped-ampersand"),
    pytest.param("https://docs.example/?a=1&b=2", "https://docs.example/?b=2&a=1", id="order-kept"),
    pytest.param("https://docs.example/?a=1&a=2", "https://docs.example/?a=1", id="repeats-kept"),
    pytest.param("https://docs.example/?ref=7", "https://docs.example/", id="ref-kept"),
    pytest.param("https://docs.example/?xutm_source=2", "https://docs.example/", id="tracker-inside-a-name"),
    pytest.param("https://docs.example/?gclid2=2", "https://docs.example/", id="tracker-as-prefix"),
    pytest.param("https://docs.example/?x=gclid", "https://docs.example/", id="tracker-as-value"),
    pytest.param("https://u@docs.example/x", "https://docs.example/x", id="user-info"),
    pytest.param("https://docs.example/?x", "https://docs.example/?x=", id="empty-value"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_key_of_two_spellings_of_a_page_is_one(one: str, other: str) -> None:
    """contract: Canonical URLs: what the key ignores."""
    assert key(one) == key(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_key_of_two_pages_differs(one: str, other: str) -> None:
    """contract: Canonical URLs: what the key keeps."""
    assert key(one) != key(other)


def test_key_of_ip_host_keeps_the_whole_address() -> None:
    """contract: Canonical URLs: IP hosts are kept whole."""
    assert read_url("http://192.0.2.7/x") == ("192.0.2.7/x", "192.0.2.7")
    assert read_url("http://[2001:db8::7]:8080/x") == ("[2001:db8::7]:8080/x", "[2001:db8::7]")


def test_key_keeps_the_highest_port() -> None:
    """contract: Canonical URLs: every port is valid, 65535 included."""
    assert read_url("https://docs.example:65535/x") == ("docs.example:65535/x", "docs.example")


def test_key_is_written_as_documented() -> None:
    """contract: Canonical URLs: a golden example of the whole form."""
    url = "https://U:p@MÜNCHEN.example.:8443/A%2fB/%7e/?b=%e9&utm_x=1&a=C#/r"
    assert read_url(url) == ("U:p@xn--mnchen-3ya.example:8443/A%2FB/~?b=%E9&a=C#/r", "xn--mnchen-3ya.example")


UNUSABLE = {
    "broken-bracket": "http://[broken",
    "bracket-in-the-middle": "http://a[b].example/",
    "text-after-bracket": "http://[::1]x/",
    "javascript-with-slashes": "JAVASCRIPT://x/%0aalert(1)",
    "ftp": "ftp://f.example/x",
    "no-scheme": "//docs.example/x",
    "empty": "",
    "no-host": "https:///x",
    "no-host-but-port": "https://:80/x",
    "no-host-but-user": "https://u@/x",
    "backslashes": "https:\\\\docs.example",
    "backslash-in-authority": "https://good.example\\@evil.example/",
    "tab-in-authority": "https://good\t.example/",
    "nul-in-authority": "https://good.example\x00/",
    "c1-control-in-authority": "https://good\x85.example/",
    "blank-in-authority": "https://good .example/",
    "no-break-space-in-authority": "https://good\u00a0.example/",
    "blank-in-scheme": "https ://docs.example/",
    "port-too-high": "https://docs.example:65536/",
    "port-of-many-digits": "https://docs.example:" + "9" * 5000 + "/",
    "port-no-number": "https://docs.example:x/",
    "two-ports": "https://docs.example:80:80/",
    "surrogate-in-path": "https://docs.example/\ud800",
    "surrogate-in-anchor": "https://docs.example/#\udfff",
    "long-s-in-scheme": "http\u017f://docs.example:80/",
}


@pytest.mark.parametrize("url", UNUSABLE.values(), ids=UNUSABLE)
def test_url_that_is_unusable_is_none_and_raises_nothing(url: str) -> None:
    """contract: HTTP calls: only absolute http(s) URLs with a fit authority are usable."""
    assert read_url(url) is None


@pytest.mark.parametrize("url", ["https://docs.example/a", "https://docs.example/#/r", "https://a:1/?q=\u00e9"])
def test_url_with_blanks_around_it_is_read_without_them(url: str) -> None:
    """contract: Canonical URLs: blanks around a URL are cut before everything else."""
    for blank in (" ", "\t\n", "\u00a0\u3000"):
        assert read_url(blank + url + blank) == read_url(url)
        assert raw(blank + url + blank).url == url


HOSTS = {
    "docs.example": "docs.example",
    "DOCS.Example.": "docs.example",
    "münchen.example": "xn--mnchen-3ya.example",
    "ｄｏｃｓ．ｅｘａｍｐｌｅ": "docs.example",
    "docs。example": "docs.example",
    "d%6fcs%2Eexample": "docs.example",
    "m%C3%BCnchen.example": "xn--mnchen-3ya.example",
    "do\u00adcs.example": "docs.example",
    "doc\u017f.example": "docs.example",
    "faß.example": "xn--fa-hia.example",
    "\N{GRINNING FACE}.example": "xn--e28h.example",
    "a_b.example": "a_b.example",
    "ab--cd.example": "ab--cd.example",
    "127.1": "127.0.0.1",
    "0x": "0.0.0.0",
    "1.0x": "1.0.0.0",
    "①.0.0.1": "1.0.0.1",
    "[::1]": "[::1]",
    "[2001:DB8:0:0::1]": "[2001:db8::1]",
    ".".join(["a" * 63] * 3 + ["b" * 61]): ".".join(["a" * 63] * 3 + ["b" * 61]),
    # refused: a browser goes nowhere
    ".".join(["a" * 63] * 3 + ["b" * 62]): "",
    "": "",
    ".": "",
    "a..example": "",
    "a" * 64 + ".example": "",
    "ü" * 60 + ".example": "",
    ".".join(["a" * 63] * 4): "",
    "%zz.example": "",
    "%ff.example": "",
    "%00.example": "",
    "a%2fb.example": "",
    "a/b.example": "",
    "a％41.example": "",
    "℀.example": "",
    "a|b.example": "",
    "\u00ad": "",
    "1.2.3.256": "",
    "4294967296": "",
    "docs.0x1": "",
    "[::g]": "",
    "[1.2.3.4]": "",
}


@pytest.mark.parametrize(("host", "read"), HOSTS.items(), ids=ascii)
def test_host_is_read_as_a_browser_does(host: str, read: str) -> None:
    """contract: Domain filter: every spelling has one form; a host that no browser takes is none."""
    assert browser_host(host) == read


@pytest.mark.parametrize(
    "host", ["docs..example", ".docs.example", "a" * 64 + ".docs.example", "b." * 123 + "docs.example"]
)
def test_host_that_no_resolver_takes_is_none_on_the_fast_path_too(host: str) -> None:
    """contract: Domain filter: the fast path refuses what the full one refuses."""
    assert raw(f"https://{host}/x").address.host == ""


# --- generated URLs

SCHEMES = st.sampled_from(["http://", "https://", "HTTPS://", "hTTp://"])
LETTERS = st.sampled_from(
    [*"abkszABKSZ019-_.", "xn--", "ü", "Ü", "é", "\u212a", "\u017f", "ｅ", "０", "．", "。", "\u00ad"]
)
FIT_HOSTS = st.sampled_from(["docs.example", "DOCS.example.", "münchen.example", "a.b-c.docs.example", "x_y.example"])
ODD_HOSTS = st.sampled_from(
    ["127.0.0.1", "0x7f.1", "1.0x", "017.1", "300", "[::1]", "[2001:DB8::1]", "a..b", "-a-.x-", "x." * 40]
)
HOST = FIT_HOSTS | ODD_HOSTS | st.lists(LETTERS, min_size=1, max_size=12).map("".join)
PORTS = st.sampled_from(["", "", "", ":", ":80", ":443", ":0443", ":8443", ":0", ":00", ":65536", ":x"])
USERS = st.sampled_from(["", "", "", "u@", "u:p@", "a@b@", "docs.example@"])
PIECES = st.sampled_from(
    [
        *"aB/~.-_'!$()*+,;=:@?& ü%|",
        *"// && %2f %2F %7e %41 % %zz %c3%bc &a=2 a=1 b=%26 é utm_source=1 msclkid=1 gclid=2 _ga=1 &utm_x".split(),
        "\t",
        "\\",
        "\ud800",
    ]
)
TAILS = st.lists(PIECES, max_size=8).map("".join)
FRAGMENTS = st.sampled_from(["", "", "#", "#a", "#/r", "#!r", "#/%7e", "#a#/b", "#\ud800"])


@st.composite
def any_url(draw: st.DrawFn) -> str:
    """Return a URL of fit and unfit parts."""
    path = draw(st.sampled_from(["", "/"])) + draw(TAILS)
    query = draw(st.sampled_from(["", "?"])) + draw(TAILS)
    return draw(SCHEMES) + draw(USERS) + draw(HOST) + draw(PORTS) + path + query + draw(FRAGMENTS)


@moderate
@given(any_url())
@example("https://docs.example/?msclkid=1")
@example("https://docs.example/?a=1&")
@example("https://do\u017fs.example/")
@example("https://a.docs.example:443/x/?&a=1#b")
@example("https://" + "a" * 64 + ".docs.example/")
@example("https://a..docs.example/")
def test_fast_path_equals_the_full_one(url: str) -> None:
    """contract: Canonical URLs: the fast path never gives another answer."""
    assert read_url(url) == _read_slowly(url)


@moderate
@given(any_url())
def test_key_read_again_is_itself(url: str) -> None:
    """contract: Canonical URLs: normalisation is idempotent, but for paths that end in several slashes."""
    address = read_url(url)
    if address is None or "//" in url.partition("://")[2]:
        return
    key, host = address
    assert read_url(url.partition("://")[0] + "://" + key) == address
    if host:
        assert browser_host(host) == host


@moderate
@given(any_url())
def test_host_read_is_where_a_browser_goes(url: str) -> None:
    """R3: the host that the filter sees is the one a browser would connect to, or none."""
    address, there = read_url(url), goes_to(url)
    if address and address[1] and there:
        assert _comparable(address[1]) == there


@st.composite
def spelled_ipv4(draw: st.DrawFn) -> tuple[str, str]:
    """Return an IPv4 address, and one of the many spellings of it that browsers accept."""
    value = draw(st.integers(0, 2**32 - 1))
    parts = draw(st.integers(1, 4))
    numbers = [value >> 8 * (3 - place) & 255 for place in range(parts - 1)]
    numbers.append(value & 256 ** (5 - parts) - 1)
    forms = [draw(st.sampled_from([str, oct8, hex, lambda number: f"0X00{number:X}"]))(number) for number in numbers]
    return str(ipaddress.IPv4Address(value)), ".".join(forms) + draw(st.sampled_from(["", "."]))


def oct8(number: int) -> str:
    """Return a number in C's octal form."""
    return f"0{number:o}"


@moderate
@given(spelled_ipv4())
def test_ipv4_in_any_form_is_one_address(case: tuple[str, str]) -> None:
    """contract: Canonical URLs: octal, hexadecimal, short and integer forms equal the dotted address."""
    address, spelled = case
    assert browser_host(spelled) == address
    assert goes_to(f"http://{spelled}/") == address  # the model agrees


def _comparable(host: str) -> str:
    """Return a host with IPv6 written as the model writes it."""
    return f"[{ipaddress.IPv6Address(host[1:-1]).exploded}]" if host.startswith("[") else host


@pytest.mark.parametrize(
    ("url", "count"),
    [
        pytest.param("https://docs.example/{}", 30_000, id="many"),
        pytest.param("https://docs.example/{}/" + "x" * 10_000, 1_000, id="long"),
        pytest.param("https://docs.example/{}?q=" + "é" * 800, 2_000, id="growing"),
    ],
)
def test_memo_of_urls_stays_within_a_few_mebibytes(url: str, count: int) -> None:
    """contract: HTTP calls: whatever vendors send, a worker's memory stays bounded."""
    tracemalloc.start()
    try:
        for number in range(count):
            read_url(url.format(number))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 4 * 1024 * 1024
