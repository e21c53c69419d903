"""Domain filters: legal entries, and the hosts they match (contract: Domains, Domain filter)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sift.search.domains import host_filter, normalise_domain
from sift.search.model import Filter
from sift.search.urls import read_url
from tests.fakes import raw
from tests.search.moderate import moderate
from tests.search.whatwg import goes_to


def stays(url: str, **fields: Any) -> bool:
    """Whether a hit passes the filter."""
    may_stay = host_filter(Filter(**fields))
    return may_stay is None or may_stay(raw(url).address.host)


INCLUDED = [
    ("docs.example", "https://docs.example/x", True),
    ("docs.example", "https://api.docs.example/x", True),
    ("docs.example", "https://a.b.docs.example/x", True),
    pytest.param("docs.example", "https://evildocs.example/", False, id="plain-suffix"),
    pytest.param("docs.example", "https://docs.example.evil.test/", False, id="prefix"),
    pytest.param("docs.example", "https://other.test/?docs.example", False, id="in-query"),
    pytest.param("docs.example", "https://docs.example@other.test/", False, id="in-user-info"),
    pytest.param("docs.example", "https://DOCS.example./", True, id="trailing-dot"),
    pytest.param("docs.example", "https://docs.example:8443/", True, id="port"),
    pytest.param("docs.example", "https://ｄｏｃｓ．ｅｘａｍｐｌｅ/", True, id="full-width"),
    pytest.param("docs.example", "https://a..docs.example/", False, id="empty-label"),
    pytest.param("docs.example", "https://%ff.docs.example/", False, id="no-host-at-all"),
    pytest.param("xn--mnchen-3ya.example", "https://www.MÜNCHEN.example/x", True, id="unicode-subdomain"),
    pytest.param("www.docs.example", "https://www.docs.example/", True, id="www"),
    pytest.param("www.docs.example", "https://docs.example/", False, id="without-www"),
    pytest.param("gov", "https://agency.gov/", True, id="one-label"),
    pytest.param("gov", "https://agency.gov.example/", False, id="one-label-not-last"),
    pytest.param("192.0.2.7", "http://192.0.2.7/", True, id="ipv4"),
    pytest.param("192.0.2.7", "http://0xC0000207/", True, id="ipv4-other-form-of-hit"),
    pytest.param("0xc0.0.519", "http://192.0.2.7/", True, id="ipv4-other-form-of-entry"),
    pytest.param("2.7", "http://192.0.2.7/", False, id="ipv4-two-parts-by-equality-only"),
    pytest.param("2.7", "http://2.0.0.7/", True, id="ipv4-short-form-is-an-address"),
    pytest.param("999.999.999.999", "https://docs.example/", False, id="no-host-of-entry-matches-nothing"),
    pytest.param("999.999.999.999", "https://%ff/", False, id="no-host-of-both-matches-nothing"),
]


@pytest.mark.parametrize(("domain", "url", "matches"), INCLUDED)
def test_domain_matches_the_host_itself_and_those_below(domain: str, url: str, matches: bool) -> None:
    """R3: a host matches d if it is d or ends with "." + d; include keeps what exclude drops."""
    assert stays(url, include_domains=(domain,)) is matches
    assert stays(url, exclude_domains=(domain,)) is not matches


EXCLUDED = [
    pytest.param("blocked.example", "https://blocked.example:8443/x", id="port"),
    pytest.param("evil.example", "https://evil.example./", id="trailing-dot"),
    pytest.param("sex.example", "https://\u017fex.example/", id="long-s"),
    pytest.param("evil.example", "https://good.example@evil.example/", id="user-info"),
    pytest.param("0.0.0.0", "http://0x/", id="bare-hex-address"),
]


@pytest.mark.parametrize(("domain", "url"), EXCLUDED)
def test_exclude_in_another_spelling_is_dropped(domain: str, url: str) -> None:
    """R3: no spelling of a host gets round an exclusion."""
    assert not stays(url, exclude_domains=(domain,))


def test_exclude_that_is_an_url_or_unicode_is_no_domain() -> None:
    """contract: Domains: an entry that could never match is refused, not silently accepted."""
    for entry in ("https://a.example", "a.example:443", "a.example/x", "münchen.example"):
        assert normalise_domain(entry) is None
    assert normalise_domain("xn--mnchen-3ya.example") == "xn--mnchen-3ya.example"


def test_filter_without_domains_has_no_predicate() -> None:
    """R3: without domains nothing is filtered."""
    assert host_filter(Filter()) is None
    assert host_filter(Filter(topic="news", min_score=0.5)) is None


def test_prefer_keeps_hits_outside_the_list_but_not_excluded_ones() -> None:
    """R3: a preference filters nothing; exclude_domains always does."""
    prefer = {"include_domains": ("docs.example",), "include_domains_mode": "prefer"}
    assert host_filter(Filter(**prefer)) is None  # type: ignore[arg-type]
    assert stays("https://other.test/", exclude_domains=("bad.test",), **prefer)
    assert not stays("https://bad.test/", exclude_domains=("bad.test",), **prefer)


def test_restrict_and_exclude_together_both_hold() -> None:
    """R3: a hit must be in the include list and not in the exclude list."""
    both = {"include_domains": ("docs.example", "wiki.example"), "exclude_domains": ("old.docs.example",)}
    assert stays("https://docs.example/", **both)
    assert stays("https://a.wiki.example/", **both)
    assert not stays("https://old.docs.example/", **both)
    assert not stays("https://other.test/", **both)


def test_host_that_is_none_is_dropped_by_restrict_and_matches_no_exclusion() -> None:
    """contract: Domain filter: a host that cannot be encoded matches nothing."""
    assert not stays("https://%ff.docs.example/", include_domains=("docs.example",))
    assert stays("https://%ff.docs.example/", exclude_domains=("docs.example",))


@moderate
@given(st.text(st.sampled_from("abzABZ019-._ :/*\u212aé٣"), max_size=12) | st.text(max_size=8))
@example("a.example.")
@example("a.example..")
def test_normalising_a_domain_twice_is_once(text: str) -> None:
    """contract: Domains: normalisation is idempotent, and gives lower-case ASCII only."""
    once = normalise_domain(text)
    if once is not None:
        assert normalise_domain(once) == once
        assert once.isascii()
        assert once == once.lower() != ""
        assert not set(once) - set("abcdefghijklmnopqrstuvwxyz0123456789-.")


# --- the post-filter against a model of what browsers do

DOMAINS = [
    "docs.example",
    "evil.example",
    "a.docs.example",
    "xn--mnchen-3ya.example",
    "example",
    "10.0.0.1",
    "king.example",
]
FULL_WIDTH = {
    ord(char): ord(char) + 0xFEE0 for char in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
}
RESPELL = [
    str.upper,
    lambda char: char.translate(FULL_WIDTH),
    lambda char: "".join(f"%{byte:02x}" for byte in char.encode()),
    lambda char: f"{char}\u00ad",
    lambda char: {".": "。", "s": "\u017f", "k": "\u212a"}.get(char, char),
    lambda char: {".": "．"}.get(char, char),
    lambda char: {".": "%2E"}.get(char, char),
    lambda char: f"{char}\t",
    lambda char: f"{char}\\",
    lambda char: f"{char}@",
    lambda char: f"{char}:80",
    lambda char: f"{char}.",
    lambda char: f"{char}%00",
]
SEEDS = [*DOMAINS, "www.docs.example", "evildocs.example", "münchen.example", "docs.example.evil.example", "0xa.0.0.1"]
SEEDS += ["167772161", "012.1", "10.1", "[::1]", "[::ffff:10.0.0.1]", "king.example", "docs.example@evil.example"]
SEEDS += ["evil.example\\@docs.example", "evil.example#@docs.example", "evil.example?@docs.example", "docs.example\tx"]


@st.composite
def tricky_url(draw: st.DrawFn) -> str:
    """Return a URL whose host is one of the above, with some characters respelled."""
    host = list(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(host) - 1))
        host[place] = draw(st.sampled_from(RESPELL))(host[place])
    scheme = draw(
        st.sampled_from(
            ["https://", "http://", "HTTP://", "https:/", "https:\\\\", "https:", " https://", "ht\ttps://"]
        )
    )
    user = draw(st.sampled_from(["", "", "u@", "u:p@", "docs.example@", "docs.example:80@", "%40@"]))
    tail = draw(
        st.sampled_from(
            ["", ".", ":443", ":8080", ":", "\\", "\\@docs.example", "@docs.example", "\t", "\u3000", "%2f@x"]
        )
    )
    path = draw(st.sampled_from(["", "/", "/x", "?docs.example", "#@evil.example", "/@docs.example"]))
    return scheme + user + "".join(host) + tail + path


@moderate
@given(tricky_url(), st.sampled_from(DOMAINS))
@example("https://\u017fex.example/", "sex.example")
@example("http://0x/", "0.0.0.0")
def test_hit_that_stays_is_where_a_browser_may_go(url: str, domain: str) -> None:
    """R3: a hit that include keeps leads a browser to the domain; one that exclude keeps never does."""
    there = goes_to(url)
    address = read_url(url)
    assume(address and there)
    assert address
    assert there
    _, host = address
    belongs = there == domain or (there.endswith("." + domain) and not domain[-1].isdigit())
    include, exclude = host_filter(Filter(include_domains=(domain,))), host_filter(Filter(exclude_domains=(domain,)))
    assert include is not None
    assert exclude is not None
    if include(host):
        assert belongs
    if exclude(host):
        assert not belongs
