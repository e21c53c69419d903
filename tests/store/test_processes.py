"""Several processes on one store, some of which are stopped or killed (contract: Credits, Store)."""

from __future__ import annotations

import json
import signal
import subprocess
from itertools import pairwise
from typing import Any

import pytest

from sift.batch.model import Outcome
from tests.store.engines import NOON, Clock, Engine, submission
from tests.store.processes import start
from tests.waiting import wait_until

# Works until nothing is left, with the real clocks. A visit is said with when it began and ended.
WORK = """
jobs = open_jobs(kind, place, gap=rest["gap"], lease=rest["lease"])
pause = threading.Event()
def work(owner):
    while (due := jobs.due()) is not None:
        claim = jobs.claim(owner)
        if claim is None:
            pause.wait(min(max(due, 0.002), 0.05))
            continue
        began = time.monotonic()
        pause.wait(0.005)
        ended = time.monotonic()
        say(claim.host, began, ended, claim.url, jobs.finish(claim, Outcome("ok", result=claim.url.encode())))
threads = [threading.Thread(target=work, args=(f"{os.getpid()}-{n}",)) for n in range(rest["threads"])]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def lines(process: subprocess.Popen[str]) -> list[Any]:
    """Return what a process has still to say, until its end."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    with process.stdout as said:
        found = [json.loads(each) for each in said if each.endswith("]\n")]
    process.wait(60)
    return found


def line(process: subprocess.Popen[str]) -> Any:
    """Return the next line of a process."""
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def go(process: subprocess.Popen[str]) -> None:
    """Let a process that waits for a line go on."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_many_workers_claim_at_once_never_two_on_a_host_and_never_under_the_gap(engine: Engine) -> None:
    """contract: Store: 24 threads in 4 processes on 5 hosts; each URL is opened once."""
    gap, jobs = 0.1, engine.jobs()
    receipts = [jobs.submit(submission(*(f"h{n % 5}.example/{batch}/{n}" for n in range(20)))) for batch in range(3)]
    workers = [start(engine, WORK, gap=gap, lease=20.0, threads=6) for _ in range(4)]
    visits = [visit for worker in workers for visit in lines(worker)]
    assert [worker.returncode for worker in workers] == [0] * 4
    assert len(visits) == len({url for _, _, _, url, _ in visits}) == 60
    assert all(counted for *_, counted in visits)
    for host in {visit[0] for visit in visits}:
        times = sorted(visit[1:3] for visit in visits if visit[0] == host)
        assert all(began - ended >= gap for (_, ended), (began, _) in pairwise(times)), host
    for receipt in receipts:
        status = jobs.status("ann", receipt.id)
        assert status is not None
        assert (status.state, status.ok) == ("done", 20)


def test_workers_are_killed_again_and_again_every_url_ends_once(engine: Engine) -> None:
    """contract: Store: kill -9 in the middle of the work, of one that works alone; the next takes over."""
    jobs = engine.jobs()
    receipt = jobs.submit(submission(*(f"h{n}.example/" for n in range(40))))
    counted: list[str] = []
    for seen in (1, 7, 4):
        with start(engine, WORK, gap=0.0, lease=0.3, threads=4) as worker:
            for _ in range(seen):
                counted.append(line(worker)[3])
            worker.send_signal(signal.SIGKILL)
            counted += [url for *_, url, counts in lines(worker) if counts]
    last = start(engine, WORK, gap=0.0, lease=0.3, threads=4)
    counted += [url for *_, url, counts in lines(last) if counts]
    assert len(counted) == len({*counted})
    page = jobs.page("ann", receipt.id, limit=50)
    assert page is not None
    assert page.state == "done"
    assert [(item.state, item.result) for item in page.items] == [("ok", item.url.encode()) for item in page.items]
    assert {*counted} <= {item.url for item in page.items}


HOLD = """
jobs = open_jobs(kind, place, Clock())
claim = jobs.claim("held")
say(claim.url)
sys.stdin.readline()
say(jobs.finish(claim, Outcome("ok", result=b"late")))
"""


def test_worker_is_stopped_past_its_lease_its_late_finish_is_refused(engine: Engine, clock: Clock) -> None:
    """contract: Store: SIGSTOP; another takes over, and what the first one brings later changes nothing."""
    jobs = engine.jobs(clock)
    receipt = jobs.submit(submission("a.example/1"))
    with start(engine, HOLD) as worker:
        assert line(worker) == ["https://a.example/1"]
        worker.send_signal(signal.SIGSTOP)
        assert jobs.claim("w") is None
        clock.advance(21.1)
        claim = jobs.claim("w")
        assert claim is not None
        worker.send_signal(signal.SIGCONT)
        go(worker)
        assert line(worker) == [False]
        assert jobs.finish(claim, Outcome("ok", result=b"in time"))
        worker.wait(20)
    page = jobs.page("ann", receipt.id)
    assert page is not None
    assert page.items[0].result == b"in time"


def test_worker_is_killed_another_takes_over_after_the_lease(engine: Engine, clock: Clock) -> None:
    """contract: Store: without a restart elsewhere, and not before."""
    jobs = engine.jobs(clock)
    jobs.submit(submission("a.example/1"))
    with start(engine, HOLD) as worker:
        line(worker)
        worker.kill()
    clock.advance(20.9)
    assert jobs.claim("w") is None
    clock.advance(0.2)
    claim = jobs.claim("w")
    assert claim is not None
    assert claim.attempt == 2


FORK = """
clock = Clock()
jobs, ledger = open_jobs(kind, place, clock), open_ledger(kind, place, {"tavily": 5}, NOON)
def use(owner):
    assert jobs.claim(owner) is not None
    assert ledger.reserve("tavily", deadline=time.monotonic() + 20)
use("parent")
child = os.fork()
if not child:
    status = 1
    try:
        use("child")
        status = 0
    finally:
        os._exit(status)
_, status = os.waitpid(child, 0)
use("parent again")
say(status, ledger.spent("tavily"))
"""


def test_process_forks_child_and_parent_have_connections_of_their_own(engine: Engine, clock: Clock) -> None:
    """contract: Store: no connection is used across a fork, nor ended by the child's end."""
    engine.jobs(clock).submit(submission("a.example/1", "b.example/1", "c.example/1"))
    process = start(engine, FORK)
    assert lines(process) == [[0, 3]]
    assert process.returncode == 0


TAKE = """
ledger = open_ledger(kind, place, {"tavily": rest["cap"]}, NOON)
def take():
    for _ in range(2 * rest["cap"]):
        try:
            if ledger.reserve("tavily", deadline=time.monotonic() + 10) is None:
                return
        except LedgerError:
            continue
        say("taken")
say("ready")
sys.stdin.readline()
threads = [threading.Thread(target=take) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


TAKEN = '["taken"]\n'


def takers(engine: Engine, cap: int) -> list[subprocess.Popen[str]]:
    """Start four processes that ask for credits, all at once."""
    made = [start(engine, TAKE, cap=cap) for _ in range(4)]
    assert [line(each) for each in made] == [["ready"]] * 4
    for each in made:
        go(each)
    return made


@pytest.mark.parametrize("kills", [0, 2])
def test_many_ask_for_credits_and_some_are_killed_the_cap_is_exact(engine: Engine, clock: Clock, kills: int) -> None:
    """contract: Credits: 4 processes of 8 threads; what a killed one took stays taken, granted <= cap <= counted."""
    cap = 300
    processes = takers(engine, cap)
    granted = 0
    for taker in processes[:kills]:
        assert taker.stdout is not None
        granted += sum(taker.stdout.readline() == TAKEN for _ in range(5))  # fewer when the others were quicker
        taker.kill()
    granted += sum(len(lines(taker)) for taker in processes)
    assert [taker.returncode for taker in processes[kills:]] == [0] * (4 - kills)
    counted = engine.ledger(clock, {"tavily": cap}).spent("tavily")
    assert granted <= cap <= counted
    assert counted == cap
    assert granted >= cap - 8 * kills  # each thread of a killed one may not have said so
    assert clock.now == NOON


def test_processes_make_the_tables_at_once_one_store(engine: Engine, clock: Clock) -> None:
    """contract: Store: the first use of several processes makes one ledger, which nobody takes for another."""
    assert sum(len(lines(taker)) for taker in takers(engine, 20)) == 20
    assert wait_until(lambda: engine.ledger(clock, {"tavily": 20}).left("tavily") == 0)
