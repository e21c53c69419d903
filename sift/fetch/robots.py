"""robots.txt: whether a page may be fetched by a program that nobody watches (RFC 9309; contract: Robots)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

from cachetools import LRUCache

from sift.errors import ExtractError, FetchError
from sift.fetch.extract.model import RobotsRules
from sift.fetch.page import REDIRECTS, redirect
from sift.fetch.web import Web, failed
from sift.flight import SingleFlight
from sift.guard.url import Target
from sift.wire.body import read_upto
from sift.wire.call import Call

SECONDS = 3.0
"""Wall time for a robots.txt, its redirects included."""
MAX_REDIRECTS = 5
MAX_BODY = 500 * 1024
AGENT = "Sift"
"""The product token that a robots.txt may name."""
KEPT = 24 * 3600.0
KEPT_AFTER_FAILURE = 60.0
"""Seconds for which an answer holds; a host that was out of order is asked again soon."""
MAX_MEMORY = 16 * 1024 * 1024
_HOST_FAILURES = frozenset({"address", "dns", "connect", "tls"})
"""What says that the host itself cannot be had; the page's own answer then, not its robots.txt's."""


class Reader(Protocol):
    """What can read a robots.txt; it is hostile like every page."""

    def robots(self, body: bytes, agent: str, url: str, *, deadline: float) -> RobotsRules:
        """Return what it says of a URL. Raises TimeoutError, ExtractError."""


class Rules(NamedTuple):
    """The robots.txt of an origin: its text, or when there is none, whether all or nothing is allowed."""

    text: bytes = b""
    allows_rest: bool = True
    until: float = 0.0


class Robots:
    """The robots.txt files of all hosts, each fetched through the guard and kept for a day.

    clock: monotonic seconds.
    """

    def __init__(self, web: Web, reader: Reader, clock: Callable[[], float] = time.monotonic) -> None:
        self._web = web
        self._reader = reader
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: LRUCache[str, Rules] = LRUCache(MAX_MEMORY, lambda rules: len(rules.text) + 1024)
        self._flights: SingleFlight[Rules] = SingleFlight()

    def verdict(self, target: Target, deadline: float) -> RobotsRules:
        """Return what the host's robots.txt says of a page.

        Raises FetchError when the host cannot be had at all, and at the deadline.
        """
        rules = self._rules(target, deadline)
        if not rules.text:
            return RobotsRules(rules.allows_rest, None)
        try:
            return self._reader.robots(rules.text, AGENT, target.url, deadline=deadline)
        except TimeoutError:
            raise FetchError("fetch timeout") from None
        except ExtractError:
            return RobotsRules(allowed=False, delay=None)

    def _rules(self, target: Target, deadline: float) -> Rules:
        key = target.origin
        with self._lock:
            rules = self._kept.get(key)
        if rules is not None and self._clock() < rules.until:
            return rules
        try:
            rules, _ = self._flights.run(key.encode(), lambda: self._fetch(target, deadline), deadline - self._clock())
        except TimeoutError:
            raise FetchError("fetch timeout") from None
        except FetchError as error:
            if error.state == "fetch timeout" and self._clock() < deadline:  # another caller's, who had less time
                return self._rules(target, deadline)
            raise
        return rules

    def _fetch(self, target: Target, deadline: float) -> Rules:
        own = min(deadline, self._clock() + SECONDS)
        try:
            rules = self._read(target, own)
        except FetchError as error:
            if Call(deadline, self._clock).is_over():
                raise FetchError("fetch timeout") from None
            if error.state == "busy" or error.hint in _HOST_FAILURES:
                raise
            rules = Rules(allows_rest=False)
        seconds = KEPT if rules.allows_rest else KEPT_AFTER_FAILURE
        rules = rules._replace(until=self._clock() + seconds)
        with self._lock:
            self._kept[target.origin] = rules
        return rules

    def _read(self, target: Target, deadline: float) -> Rules:
        """Return the rules of an origin. Raises FetchError; its hint names the host only for the first request."""
        at = self._web.guard.redirect(target, "/robots.txt")
        for hop in range(MAX_REDIRECTS + 1):
            call = Call(deadline, self._clock)
            try:
                with self._web.get(at, call) as reply:
                    location = reply.headers.get("location")
                    if reply.status in REDIRECTS and location is not None:
                        at = redirect(self._web, at, location)
                        continue
                    if 200 <= reply.status < 300:
                        return Rules(read_upto(reply, MAX_BODY, MAX_BODY, lambda _: (MAX_BODY, MAX_BODY)).body)
                    return Rules(allows_rest=reply.status < 500)
            except (OSError, ValueError) as error:
                raise failed(error, call) from None
            except FetchError as error:
                if hop:  # the host itself is there
                    raise FetchError("fetch failed", "bad response") from None
                if error.state == "fetch timeout" and not call.sent:  # it is not: there was nobody to ask
                    raise FetchError("fetch failed", "connect") from None
                raise
        return Rules()  # RFC 9309, section 2.3.1.2: after five redirects as if there were none
