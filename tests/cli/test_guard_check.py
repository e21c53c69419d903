"""`sift guard check`: the guard's text part, without a network."""

from __future__ import annotations

from typing import Any

import pytest

from sift.cli.refusals import REFUSALS

REFUSED = {
    "scheme": "ftp://needle.example.com/",
    "port": "http://needle.example.com:8080/",
    "address": "http://127.0.0.1/needle",
    "name": "http://needle.internal/",
    "userinfo": "http://needle@example.com/",
    "form": "http://example.com/needle\\x",
}


def test_url_that_passes_is_printed_as_it_would_be_asked_for(run: Any, service: Any) -> None:
    """contract: Fetch command: exit code 0, the rebuilt URL alone on stdout, and nothing is asked of anybody."""
    done = run("guard", "check", "HTTPS://Bücher.Example.com:443/a%2fb?q=1#x")
    assert (done.returncode, done.stdout, done.stderr) == (0, "https://xn--bcher-kva.example.com/a%2Fb?q=1\n", "")
    assert service.asked == []


@pytest.mark.parametrize(("hint", "url"), REFUSED.items())
def test_url_that_is_refused_exits_6_and_says_why(call: Any, hint: str, url: str) -> None:
    """contract: Fetch command: one line on stderr, in words, without the URL."""
    done = call("guard", "check", url)
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr == f"sift: not allowed: {REFUSALS[hint]}\n"
    assert "needle" not in done.stderr


def test_every_hint_has_words_of_its_own() -> None:
    """contract: Fetch command: the hints of the guard, and no others."""
    assert REFUSALS.keys() == REFUSED.keys()
    assert len(set(REFUSALS.values())) == len(REFUSALS)


def test_settings_of_the_environment_count(call: Any) -> None:
    """contract: Fetch command: the ports and networks that the service has are those that are checked."""
    assert call("guard", "check", "http://example.com:8443/", SIFT_FETCH_PORTS="8443").returncode == 0
    assert call("guard", "check", "http://93.184.215.14/").returncode == 0
    assert call("guard", "check", "http://93.184.215.14/", SIFT_FETCH_DENY="93.184.215.0/24").returncode == 6


def test_bad_setting_is_named_and_not_shown(call: Any) -> None:
    """contract: Settings: a wrong one is a usage error of the command."""
    done = call("guard", "check", "http://example.com/", SIFT_FETCH_DENY="needle")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sift: SIFT_FETCH_DENY must be ")
    assert "needle" not in done.stderr


@pytest.mark.parametrize("arguments", [(), ("http://example.com/", "x")])
def test_wrong_usage_exits_2(call: Any, arguments: tuple[str, ...]) -> None:
    """contract: Fetch command: one URL is checked at a time."""
    done = call("guard", "check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
