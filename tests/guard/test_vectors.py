"""Every vector has its verdict."""

from __future__ import annotations

import pytest

from sift.errors import RefusedAddressError, RefusedURLError
from sift.guard.guard import Guard
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
