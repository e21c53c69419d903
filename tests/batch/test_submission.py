"""From a request to what the store keeps (contract: Batch)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.api.batch import _canonical as canonical
from sift.batch.model import BatchRequest, Submission
from sift.batch.submission import digest_of, submission_of
from sift.errors import InvalidBatchError, RefusedURLError
from sift.guard.url import parse


def submission(*urls: str, **more: Any) -> Submission:
    return submission_of(BatchRequest(urls), "ann", "fleet", target=parse, canonical=canonical, body="b", **more)


def test_places_have_the_url_as_asked_the_canonical_key_and_the_guards_host() -> None:
    """contract: Batch, Canonical URLs."""
    found = submission("HTTPS://A.com:443/x/?utm_source=y#z", "http://bücher.de").places
    assert [(each.index, each.url, each.key, each.host) for each in found] == [
        (0, "HTTPS://A.com:443/x/?utm_source=y#z", "a.com/x", "a.com"),
        (1, "http://bücher.de", "xn--bcher-kva.de", "xn--bcher-kva.de"),
    ]


def test_refused_urls_are_reported_with_their_place_and_their_reason() -> None:
    found = submission("ftp://a.com", "https://a.com", "http://127.0.0.1", "")
    assert json.loads(found.invalid) == [
        {"index": 0, "url": "ftp://a.com", "error": "url not allowed", "hint": "scheme"},
        {"index": 2, "url": "http://127.0.0.1", "error": "url not allowed", "hint": "address"},
        {"index": 3, "url": "", "error": "url not allowed", "hint": "form"},
    ]
    assert [each.index for each in found.places] == [1]


def test_refusals_are_ascii_whatever_was_refused() -> None:
    """contract: Batch: the store keeps text, and half of a surrogate pair is none."""
    found = submission("https://a.com", "https://\ud800", "https://ü\0")
    assert found.invalid.isascii()
    assert "\0" not in found.invalid


def test_none_may_be_opened_the_request_is_refused() -> None:
    with pytest.raises(InvalidBatchError) as refusal:
        submission("http://10.0.0.1/", "x")
    assert refusal.value.field == "urls"


def test_fields_of_the_request_are_kept() -> None:
    request = BatchRequest(("https://a.com",), "text", 1000, 0.0, 3600.0)
    found = submission_of(request, "ann", "restricted", target=parse, canonical=canonical, body="b", key="k")
    assert (found.caller, found.cls, found.body, found.key) == ("ann", "restricted", "b", "k")
    assert (found.format, found.max_chars, found.max_age, found.ttl) == ("text", 1000, 0.0, 3600.0)


def test_nothing_hostile_is_in_a_repr() -> None:
    assert "a.com" not in repr(submission("https://a.com", "http://10.0.0.1/a.com"))
    assert "a.com" not in repr(BatchRequest(("https://a.com",)))


_URLS = st.sampled_from(
    [
        *("https://a.com/", "http://a.com", "https://A.com/#x", "https://a.com/?utm_campaign=1", "https://a.com/b"),
        *("https://b.com:80/", "http://127.0.0.1/", "ftp://a.com/", "https://c.localhost/", "\ud800", ""),
    ]
) | st.text(max_size=20)


@given(st.lists(_URLS, min_size=1, max_size=30))
def test_each_url_is_a_place_or_a_refusal_in_order(urls: list[str]) -> None:
    """contract: Batch: none is lost or there twice; equal keys are equal pages, and a URL's key is its own."""
    try:
        found = submission(*urls)
    except InvalidBatchError:
        for url in urls:
            with pytest.raises(RefusedURLError):
                parse(url)
        return
    refused = json.loads(found.invalid)
    places = {each.index: each.url for each in found.places}
    assert places | {each["index"]: each["url"] for each in refused} == dict(enumerate(urls))
    assert len(places) + len(refused) == len(urls)
    assert list(places) == sorted(places)
    for each in found.places:
        target = parse(each.url)
        assert (each.host, each.key) == (target.host, canonical(target.url))
        # What differs in the fragment alone is one page.
        assert submission(each.url.partition("#")[0] + "#other").places[0].key == each.key


def test_digest_tells_requests_apart_and_not_their_spelling() -> None:
    """contract: Batch: neither the order of keys nor white space is another request; another door is."""
    assert digest_of("/v1/batch", {"a": 1, "b": [2]}) == digest_of("/v1/batch", {"b": [2], "a": 1})
    different = [
        digest_of("/v1/batch", {"urls": ["a", "b"]}),
        digest_of("/v1/batch", {"urls": ["b", "a"]}),
        digest_of("/v2/batch/scrape", {"urls": ["a", "b"]}),
        digest_of("/v1/batch", {"urls": ["a", "b"], "ttl": 3600}),
        digest_of("/v1/batch", {"urls": ["a", "b\ud800"]}),
    ]
    assert len(set(different)) == 5
