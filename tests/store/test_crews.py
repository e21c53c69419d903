"""Crews of several processes on one store, some of which are stopped or killed (contract: Batch work)."""

from __future__ import annotations

import signal

from tests.store.engines import Engine, submission
from tests.store.processes import start
from tests.store.test_processes import go, line, lines
from tests.waiting import wait_for

# A crew with a lease of a second and a half. It says when it opens a page, and ends it when it is told to.
CREW = """
from sift.batch.crew import Crew
from sift.fetch.model import Failed, Fetched
from tests.api.fetching import page
jobs = open_jobs(kind, place, gap=0.1, lease=1.5)
gate = threading.Event()
class Opener:
    def fetch(self, request, caller, cls, is_given_up):
        say("opened", request.url)
        while not gate.wait(0.02):
            if is_given_up():
                say("given up")
                return Fetched(Failed("fetch timeout"), "miss", 0.0)
        return Fetched(page(), "miss", 0.0)
crew = Crew(2, lambda: jobs, Opener, lease=1.5, renew_every=rest["renew_every"])
crew.start()
sys.stdin.readline()
gate.set()
sys.stdin.readline()
crew.stop()
crew.join(20)
"""
OPENED = ["opened", "https://a.example/"]


def attempts(engine: Engine, batch: str) -> tuple[str, int]:
    """Return state and attempts of the first item of a batch."""
    page = engine.jobs().page("ann", batch)
    assert page is not None
    return page.items[0].state, page.items[0].attempts


def test_page_takes_longer_than_the_lease_it_is_renewed(engine: Engine) -> None:
    """contract: Batch work: another crew that waits for the host all the time never gets it."""
    batch = engine.jobs().submit(submission("a.example/")).id
    first = start(engine, CREW, renew_every=0.2)
    assert line(first) == OPENED
    other = start(engine, CREW, renew_every=0.2)
    (began,) = engine.rows("SELECT lease_until FROM sift_hosts")[0]
    wait_for(lambda: engine.rows("SELECT lease_until FROM sift_hosts")[0][0] > began + 2 * 1.5)
    go(first)
    wait_for(lambda: attempts(engine, batch) == ("ok", 1))
    assert lines(other) == []
    assert lines(first) == []


def test_crew_is_killed_another_takes_over_after_the_lease(engine: Engine) -> None:
    """contract: Batch work: kill -9, without a restart."""
    batch = engine.jobs().submit(submission("a.example/")).id
    other = None
    with start(engine, CREW, renew_every=0.2) as killed:
        assert line(killed) == OPENED
        other = start(engine, CREW, renew_every=0.2)
        killed.send_signal(signal.SIGKILL)
    assert line(other) == OPENED
    go(other)
    wait_for(lambda: attempts(engine, batch) == ("ok", 2))
    lines(other)


def test_crew_is_stopped_past_its_lease_its_page_is_given_up(engine: Engine) -> None:
    """contract: Batch work: SIGSTOP; another crew has the host when the first one wakes up, and keeps it."""
    batch = engine.jobs().submit(submission("a.example/")).id
    first = start(engine, CREW, renew_every=0.2)
    assert line(first) == OPENED
    first.send_signal(signal.SIGSTOP)
    other = start(engine, CREW, renew_every=0.2)
    assert line(other) == OPENED
    first.send_signal(signal.SIGCONT)
    assert line(first) == ["given up"]
    assert attempts(engine, batch) == ("running", 2)
    go(other)
    wait_for(lambda: attempts(engine, batch) == ("ok", 2))
    lines(first)
    lines(other)
