"""Reading the text of a URL that may be hostile."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from requests import PreparedRequest
from urllib3.util import parse_url

from sift.errors import RefusedURLError
from sift.guard.url import SPECIAL_NAMES, Target, parse, resolve
from tests.search.moderate import moderate

# What parsers stumble over: syntax, digits in several spellings, characters that mapping turns into others or deletes.
_PIECES = [
    *("a", "b", "Z", "0", "1", "127", "0x7f", "xn--", "-", "_", ".", "..", "/", ":", "@", "?", "#", "%", "%2e", "%zz"),
    *("[", "]", "::", "\\", " ", "\t", "\r\n", "\0", ";", "&", "=", "good.com", "127.0.0.1", "localhost", "//", "/./"),
    *("\u00fc", "\u00df", "\u3002", "\uff0e", "\u00ad", "\u200b", "\u200d", "\uff0f", "\uff20", "\u2100", "\u2460"),
    *("\ud800", "\U0001f600", "\u0301", "\u0130", "\u017f", "80", "443", "https", "http:"),
]
_SOUP = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)
_URLS = st.builds("{}://{}{}".format, st.sampled_from(["http", "https", "HTTP"]), _SOUP, st.text(max_size=6))
_LIKELY = st.builds(
    "{}://{}.{}{}/{}".format,
    st.sampled_from(["http", "hTTps"]),
    st.text("abc\u00fc\u00df\u3042\U0001f600_-1.\u3002", max_size=20),
    st.sampled_from(["com", "de.", "\u0440\u0444", "8.8.8", "a1"]),
    st.sampled_from(["", ":80", ":0443"]),
    _SOUP,
)
_GOOD = "https://w\u00fcrze.good.com:443/a/b?c=d#e"


def read(text: str) -> Target | None:
    """Return what a URL asks for, None if it is refused; any other error fails."""
    try:
        return parse(text)
    except RefusedURLError:
        return None


@given(st.one_of(_URLS, _LIKELY, st.text(), _SOUP))
@example("http://\u0130.com/")
@example("http://a.com/..//..%2e/\u00e9?#")
@moderate
def test_url_that_passes_is_rebuilt_once_and_for_all(text: str) -> None:
    """contract: Guard: what is judged is what is fetched: the rebuilt URL reads as itself."""
    target = read(text)
    if target is not None:
        assert parse(target.url) == target
        assert re.fullmatch(r"https?://[a-z0-9._:\[\]-]+/[!-~]*", target.url)
        assert not any(char in target.url for char in '\\"<>`{}|^#')


@given(st.one_of(_URLS, _LIKELY))
@moderate
def test_host_of_a_url_that_passes_is_the_same_to_all_parsers(text: str) -> None:
    """contract: Guard: no client finds another host in the URL than the one that was judged."""
    target = read(text)
    if target is None:
        return
    request = PreparedRequest()
    request.prepare_url(target.url, None)
    hosts = {
        urlsplit(target.url).hostname,
        urlsplit(str(request.url)).hostname,
        (parse_url(target.url).host or "").strip("[]"),
    }
    assert hosts == {target.host}
    default = 443 if target.scheme == "https" else 80
    assert {urlsplit(url).port or default for url in (target.url, str(request.url))} == {target.port}


@given(st.integers(0, len(_GOOD)), st.sampled_from([*map(chr, range(0x21)), "\x7f", "\\", "\ud800", "\udfff"]))
@moderate
def test_url_with_a_character_that_parsers_cut_or_turn_is_refused(at: int, unfit: str) -> None:
    """contract: Guard: control characters, blanks and backslashes never pass, wherever they are."""
    assert parse(_GOOD)
    with pytest.raises(RefusedURLError, match=r"^form$"):
        parse(_GOOD[:at] + unfit + _GOOD[at:])


@given(st.text("abcxyz019-", min_size=1, max_size=24))
@moderate
def test_punycode_that_passes_is_that_of_what_it_stands_for(digits: str) -> None:
    """contract: Guard: Punycode stands for what the mapping leaves alone, so that a name has one spelling."""
    target = read(f"http://xn--{digits}.com/")
    if target is not None:
        label = target.host.partition(".")[0].removeprefix("xn--").encode().decode("punycode")
        assert parse(f"http://{label}.com/") == target


@pytest.mark.parametrize("name", SPECIAL_NAMES)
def test_special_name_is_refused_with_all_under_it(name: str) -> None:
    """contract: Guard: special-use names, and none that only ends alike."""
    for host in (f"a.{name}", f"A.B.{name.upper()}.", name):
        with pytest.raises(RefusedURLError, match=r"^name$"):
            parse(f"http://{host}/")
    assert parse(f"http://{name}.com/").host == f"{name}.com"
    assert parse(f"http://a.x{name}/").host == f"a.x{name}"


def test_ports_are_added_they_pass_and_no_other() -> None:
    """contract: Guard: 80, 443 and those that the settings add."""
    assert parse("https://good.com:08443/", frozenset({8443})).url == "https://good.com:8443/"
    assert parse("http://good.com:443/", frozenset({8443})).port == 443
    for port in (8442, 8444, 0, 65_535):
        with pytest.raises(RefusedURLError, match=r"^port$"):
            parse(f"https://good.com:{port}/", frozenset({8443}))


def test_literal_address_is_denied_it_is_refused_as_an_address() -> None:
    """contract: Guard: a literal address that the settings deny; names are looked up first."""
    deny = (IPv4Network("93.184.215.0/24"), IPv6Network("2606:2800::/32"))
    for host in ("93.184.215.14", "[2606:2800::1]", "\uff19\uff13.184.215.14"):
        with pytest.raises(RefusedURLError, match=r"^address$"):
            parse(f"http://{host}/", deny=deny)
    assert parse("http://93.184.216.14/", deny=deny).host == "93.184.216.14"
    assert parse("http://good.com/", deny=deny).host == "good.com"


def test_refusal_tells_its_hint_and_nothing_of_the_url() -> None:
    """contract: Guard: neither the text of the error, nor that of an error behind it."""
    for url in (
        "http://[secret]/",
        "http://secret",
        "http://xn--secret.com/",
        "http://secret.com:x/",
        "http://se\u200bcret.com",
    ):
        with pytest.raises(RefusedURLError) as refusal:
            parse(url)
        assert refusal.value.args == (refusal.value.hint,)
        assert refusal.value.hint in ("form", "name", "port")
        assert (refusal.value.__cause__, refusal.value.__context__) == (None, None)


@pytest.mark.parametrize(
    ("url", "authority", "origin"),
    [
        ("http://good.com:80/x", "good.com", "http://good.com"),
        ("https://good.com:80/x", "good.com:80", "https://good.com:80"),
        ("https://[2A00:1450::1]/x", "[2a00:1450::1]", "https://[2a00:1450::1]"),
        ("http://[2A00:1450::1]:443/x", "[2a00:1450::1]:443", "http://[2a00:1450::1]:443"),
        ("http://8.8.8.8./", "8.8.8.8", "http://8.8.8.8"),
    ],
)
def test_target_spells_authority_and_origin(url: str, authority: str, origin: str) -> None:
    """contract: Guard: without a port that is the scheme's own; IPv6 in brackets."""
    target = parse(url)
    assert (target.authority, target.origin, target.url) == (authority, origin, origin + target.path)
    assert "[" not in target.host


@pytest.mark.parametrize("rounds", [1, 300])
def test_long_url_is_read_to_its_end(rounds: int) -> None:
    """contract: Guard: whole path and query reach the request."""
    path = "/" + "a%2Fb;c=d,e/" * rounds
    assert parse(f"https://good.com{path}?{path}#{path}"[:4096]).path.startswith(path)


def test_reference_without_a_path_keeps_the_query_only_of_the_same_page() -> None:
    """contract: Guard: a redirect is resolved against the page's URL (RFC 3986, section 5.2.2)."""
    base = parse("https://good.com:80/a/b?c")
    assert resolve(base, "?d") == "https://good.com:80/a/b?d"
    assert resolve(base, "#d") == "https://good.com:80/a/b?c"
    assert resolve(base, "") == "https://good.com:80/a/b?c"
    assert resolve(parse("https://good.com"), "x") == "https://good.com/x"
