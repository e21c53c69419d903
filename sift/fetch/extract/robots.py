"""What a robots.txt says, by Protego or, without the extra `fetch`, by the standard library."""

from __future__ import annotations

from collections.abc import Callable

from sift.fetch.extract.model import RobotsRules

Judge = Callable[[bytes, str, str], RobotsRules]
"""Tells what the body of a robots.txt says to a user agent about a URL."""


def parser() -> Judge:
    """Return the best parser that is installed."""
    try:
        import protego  # noqa: F401
    except ImportError:
        return by_standard_library
    return by_protego


def by_protego(body: bytes, agent: str, url: str) -> RobotsRules:
    """Judge with Protego, which knows wildcards."""
    from protego import Protego

    rules = Protego.parse(_text(body))
    return RobotsRules(bool(rules.can_fetch(url, agent)), _seconds(rules.crawl_delay(agent)))


def by_standard_library(body: bytes, agent: str, url: str) -> RobotsRules:
    """Judge with the standard library, to which a wildcard is a character like any other."""
    from urllib.robotparser import RobotFileParser

    rules = RobotFileParser()
    rules.parse(_text(body).splitlines())
    rules.modified()
    delay = rules.crawl_delay(agent)
    return RobotsRules(rules.can_fetch(agent, url), _seconds(None if delay is None else float(delay)))


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace").removeprefix("\ufeff")


def _seconds(delay: float | None) -> float | None:
    return delay if delay is not None and 0 <= delay <= 1e9 else None
