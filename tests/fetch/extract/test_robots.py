"""robots.txt (contract: Robots)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sift.fetch.extract import robots
from sift.fetch.extract.model import RobotsRules

BODY = b"""\xef\xbb\xbfUser-agent: sift
Disallow: /private
Crawl-delay: 2.5

User-agent: *
Disallow: /
"""
PARSERS = [robots.by_standard_library]
try:
    import protego  # noqa: F401
except ImportError:
    pass
else:
    PARSERS.append(robots.by_protego)


@pytest.mark.parametrize("judge", PARSERS)
def test_rules_for_the_agent_count(judge: Callable[[bytes, str, str], RobotsRules]) -> None:
    """contract: Robots. Its own group, else the one for everybody."""
    site = "https://site.example"
    assert judge(BODY.replace(b"2.5", b"2"), "Sift/1.0", f"{site}/open") == RobotsRules(allowed=True, delay=2.0)
    assert not judge(BODY, "Sift/1.0", f"{site}/private/x").allowed
    assert judge(BODY, "Other/1.0", f"{site}/open") == RobotsRules(allowed=False, delay=None)


@pytest.mark.parametrize("judge", PARSERS)
@pytest.mark.parametrize(
    "body", [b"", b"\0\xff" * 100, b"<html>Not found</html>", b"Disallow: /", b"User-agent: *\nCrawl-delay: -1"]
)
def test_body_that_says_nothing_allows(judge: Callable[[bytes, str, str], RobotsRules], body: bytes) -> None:
    """contract: Robots. Whatever the server sends in place of one."""
    assert judge(body, "Sift/1.0", "https://site.example/") == RobotsRules(allowed=True, delay=None)


@pytest.mark.skipif(robots.by_protego not in PARSERS, reason="the extra `fetch` is not installed")
def test_wildcards_are_known() -> None:
    """contract: Robots. RFC 9309, and the longest rule that fits wins."""
    body = b"User-agent: *\nDisallow: /*.php$\nAllow: /a/*.php$\nDisallow: /a"
    judge = robots.parser()
    assert judge is robots.by_protego
    verdicts = {
        path: judge(body, "Sift/1.0", f"https://site.example{path}").allowed
        for path in ("/x.php", "/x.php5", "/a/x.php", "/a/x")
    }
    assert verdicts == {"/x.php": False, "/x.php5": True, "/a/x.php": True, "/a/x": False}
