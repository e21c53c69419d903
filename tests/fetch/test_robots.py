"""robots.txt (RFC 9309; contract: Robots)."""

from __future__ import annotations

from typing import Any

import pytest

from sift.errors import ExtractError, FetchError
from sift.fetch.extract.model import RobotsRules
from sift.fetch.robots import KEPT, KEPT_AFTER_FAILURE, MAX_BODY, SECONDS, Robots
from tests.fetch.web import FakeReply, FakeWeb, Step, moved

PAGE = "https://a.com/x"
ROBOTS = "https://a.com/robots.txt"
GONE = "https://gone.com/robots.txt"
ALLOWED = RobotsRules(allowed=True, delay=None)


class Reader:
    """Says what it is told, and notes what it was given."""

    def __init__(self, says: RobotsRules | Exception = ALLOWED) -> None:
        self.says = says
        self.given: list[tuple[bytes, str, str]] = []

    def robots(self, body: bytes, agent: str, url: str, *, deadline: float) -> RobotsRules:
        """Return or raise what it says."""
        self.given.append((body, agent, url))
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


class Clock:
    """A clock that tests set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def text(content: bytes = b"User-agent: *\nDisallow: /x") -> FakeReply:
    """Return a robots.txt."""
    return FakeReply(200, {"content-type": "text/plain"}, content)


def asked(answer: Step, reader: Reader | None = None, clock: Clock | None = None) -> tuple[Robots, FakeWeb, Any]:
    """Return robots.txt files of a web where the host has this one."""
    web = FakeWeb({ROBOTS: answer, GONE: FetchError("fetch failed", "dns")})
    return Robots(web, reader or Reader(), clock or Clock()), web, web.guard.target(PAGE)  # type: ignore[arg-type]


@pytest.mark.parametrize("allowed", [True, False])
def test_text_is_given_to_the_reader_whose_word_counts(allowed: bool) -> None:
    reader = Reader(RobotsRules(allowed, 2.0))
    robots, _, target = asked(text(), reader)
    assert robots.verdict(target, 2000) == RobotsRules(allowed, 2.0)
    assert reader.given == [(b"User-agent: *\nDisallow: /x", "Sift", PAGE)]


@pytest.mark.parametrize(
    ("status", "allowed"), [(404, True), (403, True), (401, True), (304, True), (500, False), (503, False)]
)
def test_status_decides_when_there_is_no_text(status: int, allowed: bool) -> None:
    """RFC 9309, 2.3.1.3 and 2.3.1.4: unavailable allows all, a server out of order nothing."""
    robots, _, target = asked(FakeReply(status))
    assert robots.verdict(target, 2000).allowed is allowed


def test_empty_text_allows_all_and_needs_no_reader() -> None:
    reader = Reader(RobotsRules(allowed=False, delay=None))
    robots, _, target = asked(text(b""), reader)
    assert robots.verdict(target, 2000).allowed is True
    assert reader.given == []


@pytest.mark.parametrize("hint", ["dns", "connect", "tls", "address"])
def test_host_cannot_be_had_the_failure_is_the_pages_own(hint: str) -> None:
    """contract: Robots: then it is not its robots.txt that says no."""
    robots, _, target = asked(FetchError("fetch failed", hint))
    with pytest.raises(FetchError) as caught:
        robots.verdict(target, 2000)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    "answer",
    [
        FetchError("fetch failed", "bad response"),
        moved("http://127.0.0.1/robots.txt"),
        moved(GONE),
    ],
)
def test_robots_txt_is_broken_or_late_or_leads_astray_nothing_is_allowed(answer: Step) -> None:
    """contract: Robots: only the host itself is asked to be there; where it redirects to is its own affair."""
    robots, _, target = asked(answer)
    assert robots.verdict(target, 2000).allowed is False


def test_robots_txt_has_three_seconds_of_its_own() -> None:
    robots, web, target = asked(text())
    robots.verdict(target, 2000)
    assert web.calls[0].deadline == Clock.now + SECONDS
    robots, web, target = asked(text())
    robots.verdict(target, Clock.now + 1)
    assert web.calls[0].deadline == Clock.now + 1


def test_fetch_itself_is_out_of_time_it_is_a_timeout() -> None:
    """contract: Robots: a deadline that passes anywhere is the fetch's timeout."""
    clock = Clock()

    def late() -> FakeReply:
        clock.now += 5
        raise FetchError("fetch timeout")

    robots, _, target = asked(late, clock=clock)
    with pytest.raises(FetchError, match="fetch timeout"):
        robots.verdict(target, Clock.now + 2)


@pytest.mark.parametrize("before", [0, 1])
def test_fetch_is_out_of_time_behind_a_redirect_it_is_a_timeout_too(before: int) -> None:
    """contract: Robots: not what the robots.txt is taken for that was not had."""
    clock = Clock()

    def late() -> FakeReply:
        clock.now += 5
        raise FetchError("fetch timeout")

    web = FakeWeb({ROBOTS: moved("/r") if before else late, "https://a.com/r": late})
    with pytest.raises(FetchError, match="fetch timeout"):
        Robots(web, Reader(), clock).verdict(web.guard.target(PAGE), clock.now + 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("sent", [False, True])
def test_host_is_silent_until_the_time_of_robots_is_over_it_forbids_only_if_it_was_asked(sent: bool) -> None:
    """contract: Robots: a host to which no connection comes about says nothing, and so does not say no."""
    clock = Clock()

    def late() -> FakeReply:
        web.calls[-1].sent = sent
        clock.now += SECONDS
        raise FetchError("fetch timeout")

    robots, web, target = asked(late, clock=clock)
    if sent:
        assert robots.verdict(target, clock.now + 10).allowed is False
        return
    for _ in range(2):  # and nothing is kept of it
        with pytest.raises(FetchError) as caught:
            robots.verdict(target, clock.now + 10)
        assert (caught.value.state, caught.value.hint) == ("fetch failed", "connect")


def test_redirects_are_followed_five_times_and_then_there_is_none() -> None:
    """RFC 9309, 2.3.1.2."""
    hops = {f"https://a.com/r{number}": moved(f"/r{number + 1}") for number in range(9)}
    reader = Reader(RobotsRules(allowed=False, delay=None))
    web = FakeWeb({ROBOTS: moved("/r5"), **hops, "https://a.com/r9": text()})
    assert Robots(web, reader, Clock()).verdict(web.guard.target(PAGE), 2000).allowed is False  # type: ignore[arg-type]
    web = FakeWeb({ROBOTS: moved("/r4"), **hops, "https://a.com/r9": text()})
    assert Robots(web, reader, Clock()).verdict(web.guard.target(PAGE), 2000).allowed is True  # type: ignore[arg-type]


def test_text_over_the_limit_is_cut_there() -> None:
    """RFC 9309, 2.5: at least 500 KiB are read."""
    reader = Reader()
    robots, _, target = asked(text(b"#" * (MAX_BODY + 5)), reader)
    robots.verdict(target, 2000)
    assert len(reader.given[0][0]) == MAX_BODY


def test_text_is_asked_for_once_a_day_and_a_failure_is_asked_again_soon() -> None:
    clock = Clock()
    robots, web, target = asked(text, clock=clock)
    robots.verdict(target, 10**9)
    clock.now += KEPT - 1
    robots.verdict(target, 10**9)
    assert len(web.asked) == 1
    clock.now += 1
    web.answers[ROBOTS] = lambda: FakeReply(500)
    assert robots.verdict(target, 10**9).allowed is False
    assert len(web.asked) == 2
    clock.now += KEPT_AFTER_FAILURE
    web.answers[ROBOTS] = text
    assert robots.verdict(target, 10**9).allowed is True
    assert len(web.asked) == 3


def test_origins_have_each_their_own() -> None:
    robots, web, target = asked(text)
    robots.verdict(target, 2000)
    robots.verdict(web.guard.target("http://a.com/x"), 2000)
    assert web.asked == [ROBOTS, "http://a.com/robots.txt"]


def test_text_cannot_be_parsed_nothing_is_allowed() -> None:
    robots, _, target = asked(text(), Reader(ExtractError()))
    assert robots.verdict(target, 2000).allowed is False


def test_parsing_is_out_of_time_it_is_a_timeout() -> None:
    robots, _, target = asked(text(), Reader(TimeoutError()))
    with pytest.raises(FetchError, match="fetch timeout"):
        robots.verdict(target, 2000)
