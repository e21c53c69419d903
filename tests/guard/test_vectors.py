"""Every vector has its verdict."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from sift.errors import RefusedAddressError, RefusedURLError
from sift.fetch.extract.extractor import Extractor
from sift.fetch.fetcher import Fetcher
from sift.fetch.model import Failed, FetchRequest
from sift.fetch.places import Places
from sift.fetch.robots import Robots
from sift.fetch.web import Web
from sift.guard.guard import Guard
from sift.store.pages import PageCache
from sift.wire.resolver import Resolver
from tests.guard.hosts import HOSTS_REFUSED
from tests.guard.vectors import (
    ANSWERS,
    BASE,
    PASSED,
    REDIRECTS_PASSED,
    REDIRECTS_REFUSED,
    URLS_REFUSED,
    Answer,
    Passed,
    Refused,
    looked_up,
)

GUARD = Guard()


def named(cases: list[Refused] | list[Passed] | list[Answer]) -> list[str]:
    """Return a short ASCII name for each vector."""
    return [f"{case[0]}-{number}".replace(" ", "-") for number, case in enumerate(cases)]


def hint(url: str) -> str:
    """Return the hint of a URL's refusal; fail if it passes."""
    with pytest.raises(RefusedURLError) as refusal:
        GUARD.target(url)
    return refusal.value.hint


@pytest.mark.parametrize("case", HOSTS_REFUSED, ids=named(HOSTS_REFUSED))
def test_host_that_may_not_be_is_refused_by_text(case: Refused) -> None:
    """contract: Guard: with either scheme, and whatever follows."""
    found = {hint(f"{scheme}://{case.text}{rest}") for scheme in ("http", "HTTPS") for rest in ("", "/", "/x?y#z")}
    assert found == {case.hint}


@pytest.mark.parametrize("case", URLS_REFUSED, ids=named(URLS_REFUSED))
def test_url_that_may_not_be_is_refused_by_text(case: Refused) -> None:
    """contract: Guard: the hint says why."""
    assert hint(case.text) == case.hint


@pytest.mark.parametrize("case", PASSED, ids=named(PASSED))
def test_url_that_may_be_passes_rebuilt(case: Passed) -> None:
    """contract: Guard: what passes is rebuilt, and passes again as it is."""
    target = GUARD.target(case.url)
    assert target.url == case.rebuilt
    assert GUARD.target(target.url) == target


@pytest.mark.parametrize("case", REDIRECTS_REFUSED, ids=named(REDIRECTS_REFUSED))
def test_redirect_that_may_not_be_is_refused(case: Refused) -> None:
    """contract: Guard: a redirect's target is judged from the start."""
    base = GUARD.target(BASE)
    with pytest.raises(RefusedURLError) as refusal:
        GUARD.redirect(base, case.text)
    assert refusal.value.hint == case.hint


@pytest.mark.parametrize("case", REDIRECTS_PASSED, ids=named(REDIRECTS_PASSED))
def test_redirect_that_may_be_is_resolved_against_the_page(case: Passed) -> None:
    """contract: Guard: a redirect is resolved against the page's URL."""
    assert GUARD.redirect(GUARD.target(BASE), case.url).url == case.rebuilt


@pytest.mark.parametrize("case", ANSWERS, ids=named(ANSWERS))
def test_answer_of_the_name_service_is_judged_whole(case: Answer) -> None:
    """contract: Guard: one address that is not public refuses the host; else at most four are tried, in order."""
    found = looked_up(*case.addresses)
    if case.may:
        assert list(GUARD.judge(found)) == found
    else:
        with pytest.raises(RefusedAddressError):
            GUARD.judge(found)


class Names:
    """A name service that knows nobody, and notes who asks."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, host: str, port: int, **_: Any) -> list[Any]:
        """Note a question, and answer as a name server does that does not know the name."""
        self.asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "unknown")


@pytest.fixture(scope="module")
def fetch() -> Iterator[tuple[Names, Fetcher]]:
    """Return what opens pages, and the name service that it asks."""
    names = Names()
    web = Web(GUARD, Resolver(names, threads=8), user_agent="Sift")
    extractor = Extractor(1)
    yield names, Fetcher(web, extractor, PageCache(), places=Places(16), robots=Robots(web, extractor))
    extractor.close()


ALL_REFUSED = [*(f"http://{case.text}" for case in HOSTS_REFUSED), *(case.text for case in URLS_REFUSED)]


def test_url_that_its_text_forbids_is_not_looked_up(fetch: tuple[Names, Fetcher]) -> None:
    """contract: Guard: no name server hears of it, and nobody behind a name that is asked for on purpose."""
    names, fetcher = fetch
    states = [fetcher.fetch(FetchRequest(url), "one", "fleet").outcome for url in ALL_REFUSED]
    assert {outcome.state for outcome in states if isinstance(outcome, Failed)} == {"url not allowed"}
    assert names.asked == []
    assert fetcher.fetch(FetchRequest("http://good.com"), "one", "fleet").outcome == Failed("fetch failed", "dns")
    assert set(names.asked) == {"good.com"}
