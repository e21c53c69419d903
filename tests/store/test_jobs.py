"""Batches in the store, on both engines (contract: Store)."""

from __future__ import annotations

import re
import threading
import traceback
from dataclasses import replace
from typing import Any

import pytest

from sift.batch.model import BATCH_SECONDS, Claim, Outcome
from sift.batch.protocols import Jobs
from sift.errors import BatchLimitError, IdempotencyError, StoreError
from tests.store.engines import Clock, Engine, submission

SECRET = "a.example/secret"
OK = Outcome("ok", result=b"text")


@pytest.fixture
def jobs(engine: Engine, clock: Clock) -> Jobs:
    return engine.jobs(clock)


def claimed(jobs: Jobs, owner: str = "w") -> Claim:
    """Claim an item that must be there."""
    claim = jobs.claim(owner)
    assert claim is not None
    return claim


def states(jobs: Jobs, batch: str, caller: str = "ann") -> list[str]:
    page = jobs.page(caller, batch, limit=50)
    assert page is not None
    return [item.state for item in page.items]


# Submitting


def test_batch_is_kept_its_numbers_are_those_of_its_places(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: a receipt, and a status that adds up."""
    receipt = jobs.submit(submission("a.example/1", "a.example/2", "a.example/1#end", ttl=7200.0))
    assert re.fullmatch("b_[a-z2-7]{26}", receipt.id)
    assert (receipt.total, receipt.duplicates, receipt.replayed) == (3, 1, False)
    assert (receipt.created_at, receipt.expires_at) == (clock.now, clock.now + 7200)
    status = jobs.status("ann", receipt.id)
    assert status is not None
    assert (status.state, status.total, status.ok, status.failed, status.pending) == ("queued", 3, 0, 0, 3)
    assert status.finished_at is None


def test_url_is_there_twice_it_is_opened_once_and_answered_at_both_places(jobs: Jobs) -> None:
    """contract: Store: one fetch for one canonical key; each place has its own URL."""
    receipt = jobs.submit(submission("a.example/1", "b.example/2", "a.example/1#end"))
    for owner in ("v", "w"):
        assert jobs.finish(claimed(jobs, owner), OK)
    assert jobs.due() is None
    page = jobs.page("ann", receipt.id)
    assert page is not None
    assert [(item.index, item.url, item.state, item.result) for item in page.items] == [
        (0, "https://a.example/1", "ok", b"text"),
        (1, "https://b.example/2", "ok", b"text"),
        (2, "https://a.example/1#end", "ok", b"text"),
    ]
    status = jobs.status("ann", receipt.id)
    assert status is not None
    assert (status.state, status.ok, status.pending) == ("done", 3, 0)


def test_items_wait_those_that_run_or_have_ended_are_not_among_them(jobs: Jobs) -> None:
    """contract: Metrics: of all callers; a URL that is there twice waits once."""
    assert jobs.waiting() == 0
    jobs.submit(submission("a.example/1", "b.example/1", "c.example/1", "a.example/1"))
    jobs.submit(replace(submission("d.example/1"), caller="bob"))
    assert jobs.waiting() == 4
    claim = claimed(jobs)
    assert jobs.waiting() == 3
    assert jobs.finish(claim, Outcome("ok"))
    assert jobs.waiting() == 3
    assert jobs.retry(claimed(jobs), 5)
    assert jobs.waiting() == 3


def test_key_comes_again_the_first_answer_comes_again(engine: Engine, clock: Clock) -> None:
    """contract: Store: the same key and body make one batch, also over another process."""
    request = submission("a.example/1", key="k", body="one", invalid='[{"index": 1}]')
    first = engine.jobs(clock).submit(request)
    second = engine.jobs(clock).submit(request)
    assert second.replayed
    assert (second.id, second.total, second.invalid, second.expires_at) == (
        first.id,
        first.total,
        '[{"index": 1}]',
        first.expires_at,
    )
    assert len(engine.jobs(clock).list("ann")) == 1


def test_key_comes_with_another_body_it_is_refused(jobs: Jobs) -> None:
    """contract: Store: a key stands for one request; another caller's key is another key."""
    jobs.submit(submission("a.example/1", key="k", body="one"))
    with pytest.raises(IdempotencyError):
        jobs.submit(submission("a.example/1", key="k", body="two"))
    assert not jobs.submit(submission("a.example/1", key="k", body="two", caller="bob")).replayed


def test_key_of_an_expired_batch_is_free(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: a key lives as long as its batch, whether that was swept or not."""
    first = jobs.submit(submission("a.example/1", key="k", body="one", ttl=3600.0))
    clock.advance(3600)
    second = jobs.submit(submission("a.example/1", key="k", body="two"))
    assert not second.replayed
    assert second.id != first.id


def test_eight_submit_at_once_with_one_key_one_batch(engine: Engine, clock: Clock) -> None:
    """contract: Store: repeats that overlap are one batch."""
    request, made = submission("a.example/1", "b.example/1", key="k", body="one"), list[Any]()
    start = threading.Barrier(8)

    def ask(jobs: Jobs) -> None:
        start.wait(20)
        made.append(jobs.submit(request))

    several = [engine.jobs(clock) for _ in range(2)]
    threads = [threading.Thread(target=ask, args=(several[each % 2],)) for each in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(made) == 8
    assert len({receipt.id for receipt in made}) == 1
    assert sorted(receipt.replayed for receipt in made) == [False] + [True] * 7
    assert len(several[0].list("ann")) == 1


@pytest.mark.parametrize(("cls", "limit"), [("restricted", 2), ("fleet", 10)])
def test_caller_has_enough_batches_another_is_refused_until_one_ends(jobs: Jobs, cls: str, limit: int) -> None:
    """contract: Store: active batches are bounded by the class, for each caller."""
    made = [jobs.submit(submission(f"a.example/{n}", cls=cls)) for n in range(limit)]
    with pytest.raises(BatchLimitError) as refused:
        jobs.submit(submission("a.example/more", cls=cls))
    assert 1 <= refused.value.retry_after <= 30
    jobs.submit(submission("a.example/1", caller="bob", cls=cls))
    assert jobs.cancel("ann", made[0].id)
    jobs.submit(submission("a.example/more", cls=cls))


def test_batches_at_once_at_the_limit_no_more_than_it(engine: Engine, clock: Clock) -> None:
    """contract: Store: the bound holds for submissions that overlap."""
    start, refused = threading.Barrier(6), list[bool]()

    def ask(jobs: Jobs, n: int) -> None:
        start.wait(20)
        try:
            jobs.submit(submission(f"a.example/{n}", cls="restricted"))
        except BatchLimitError:
            refused.append(True)

    several = [engine.jobs(clock) for _ in range(2)]
    threads = [threading.Thread(target=ask, args=(several[n % 2], n)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(refused) == 4
    assert len(several[0].list("ann")) == 2


def test_text_cannot_be_written_it_is_refused_and_not_shown(jobs: Jobs) -> None:
    """contract: Store: half of a surrogate pair; nothing of the batch is kept, and the next one is."""
    with pytest.raises(StoreError) as caught:
        jobs.submit(submission(f"{SECRET}\ud800"))
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert jobs.list("ann") == ()
    assert jobs.submit(submission("a.example/1"))


# Reading


def test_results_come_in_the_order_of_the_request_page_after_page(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: whatever order items end in."""
    receipt = jobs.submit(submission(*(f"h{n}.example/" for n in range(5))))
    for claim in reversed([claimed(jobs, f"w{n}") for n in range(4)]):
        assert jobs.finish(claim, Outcome("ok", result=claim.host.encode()))
    seen, offset = list[Any](), 0
    while offset is not None:
        page = jobs.page("ann", receipt.id, offset=offset, limit=2)
        assert page is not None
        seen += [(item.index, item.state, item.result) for item in page.items]
        offset = page.next_offset
    assert seen == [*((n, "ok", f"h{n}.example".encode()) for n in range(4)), (4, "queued", None)]
    assert page.state == "running"


def test_page_is_full_of_bytes_the_rest_is_on_the_next(jobs: Jobs) -> None:
    """contract: Store: a page ends before its bound in bytes; one long result stands alone."""
    receipt = jobs.submit(submission(*(f"h{n}.example/" for n in range(4))))
    for n, size in enumerate((10, 50, 200, 10)):
        assert jobs.finish(claimed(jobs, f"w{n}"), Outcome("ok", result=b"x" * size))
    pages, offset = list[list[int]](), 0
    while offset is not None:
        page = jobs.page("ann", receipt.id, offset=offset, size=100)
        assert page is not None
        pages.append([item.index for item in page.items])
        offset = page.next_offset
    assert pages == [[0, 1], [2], [3]]


def test_one_state_is_asked_for_offsets_count_it_alone(jobs: Jobs) -> None:
    """contract: Store: `only` filters before pages are cut."""
    receipt = jobs.submit(submission(*(f"h{n}.example/" for n in range(5))))
    for n in range(4):
        outcome = OK if n % 2 else Outcome("failed", "fetch failed", "connect")
        assert jobs.finish(claimed(jobs, f"w{n}"), outcome)
    first, second = (jobs.page("ann", receipt.id, only="ok", limit=1, offset=offset) for offset in (0, 1))
    assert first is not None
    assert second is not None
    assert [item.index for item in first.items + second.items] == [1, 3]
    assert (first.next_offset, second.next_offset) == (1, None)
    failed = jobs.errors("ann", receipt.id)
    assert failed is not None
    assert [(item.index, item.error, item.hint) for item in failed] == [
        (0, "fetch failed", "connect"),
        (2, "fetch failed", "connect"),
    ]


def test_batch_is_anothers_it_does_not_exist(jobs: Jobs) -> None:
    """contract: Store: foreign, unknown and expired batches are alike, for reads and writes."""
    receipt = jobs.submit(submission("a.example/1"))
    for caller, batch in (("bob", receipt.id), ("ann", "b_" + "a" * 26)):
        assert jobs.status(caller, batch) is None
        assert jobs.page(caller, batch) is None
        assert jobs.errors(caller, batch) is None
        assert not jobs.cancel(caller, batch)
        assert not jobs.purge(caller, batch)
    assert jobs.list("bob") == ()
    assert states(jobs, receipt.id) == ["queued"]


def test_callers_batches_are_listed_the_newest_first(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: a caller sees its own, and no more than numbers."""
    made = []
    for n in range(3):
        made.append(jobs.submit(submission(f"a.example/{n}")).id)
        clock.advance(1)
    jobs.submit(submission("b.example/", caller="bob"))
    assert [status.id for status in jobs.list("ann")] == made[::-1]


# Claiming


def test_claim_says_all_that_a_worker_needs(jobs: Jobs) -> None:
    """contract: Store: the request's fields come with each item."""
    receipt = jobs.submit(submission("a.example/1", cls="restricted", format="text", max_chars=1234, max_age=5.0))
    claim = claimed(jobs)
    assert (claim.batch, claim.index, claim.url, claim.host) == (receipt.id, 0, "https://a.example/1", "a.example")
    assert (claim.caller, claim.cls, claim.format, claim.max_chars, claim.max_age) == (
        "ann",
        "restricted",
        "text",
        1234,
        5.0,
    )
    assert (claim.attempt, claim.seconds) == (1, BATCH_SECONDS)
    assert states(jobs, receipt.id) == ["running"]


def test_host_is_taken_nobody_else_gets_it(engine: Engine, clock: Clock) -> None:
    """contract: Store: one at a time, over all processes."""
    mine, other = engine.jobs(clock), engine.jobs(clock)
    mine.submit(submission("a.example/1", "a.example/2"))
    assert mine.claim("v") is not None
    assert other.claim("w") is None


def test_gap_is_counted_from_the_end_of_a_visit(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: a second between the end of one and the start of the next."""
    jobs.submit(submission("a.example/1", "a.example/2"))
    claim = claimed(jobs)
    clock.advance(5)
    assert jobs.finish(claim, OK)
    clock.advance(0.9)
    assert jobs.claim("w") is None
    assert jobs.due() == pytest.approx(0.1)
    clock.advance(0.2)
    assert jobs.claim("w") is not None


@pytest.mark.parametrize(("delay", "gap"), [(4.0, 4.0), (60.0, 10.0), (0.2, 1.0)])
def test_host_asks_for_a_delay_it_is_kept_within_bounds(jobs: Jobs, clock: Clock, delay: float, gap: float) -> None:
    """contract: Store: robots.txt may ask for up to ten seconds, for no less than one; later visits keep to it."""
    jobs.submit(submission(*(f"a.example/{n}" for n in range(4))))
    assert jobs.finish(claimed(jobs), Outcome("ok", delay=delay))
    for end in (lambda claim: jobs.finish(claim, OK), lambda claim: jobs.retry(claim, 0.0)):
        assert jobs.due() == pytest.approx(gap)
        clock.advance(gap + 0.01)
        assert end(claimed(jobs))
    assert jobs.due() == pytest.approx(gap)


def test_callers_share_the_workers_turn_by_turn(jobs: Jobs) -> None:
    """contract: Store: three URLs do not wait for another caller's hundred."""
    jobs.submit(submission(*(f"a{n}.example/" for n in range(100))))
    for _ in range(2):
        claimed(jobs, "early")
    jobs.submit(submission(*(f"b{n}.example/" for n in range(3)), caller="bob"))
    order = [claimed(jobs, f"w{n}").caller for n in range(8)]
    assert order.count("bob") == 3


def test_callers_share_a_host_turn_by_turn(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: nor where both want the same host."""
    jobs.submit(submission(*(f"a.example/{n}" for n in range(50))))
    jobs.submit(submission(*(f"a.example/b{n}" for n in range(3)), caller="bob"))
    order = []
    for _ in range(8):
        claim = claimed(jobs)
        order.append(claim.caller)
        assert jobs.finish(claim, OK)
        clock.advance(1.01)
    assert order.count("bob") == 3


def test_caller_has_several_batches_they_are_one_queue(jobs: Jobs) -> None:
    """contract: Store: who splits a hundred URLs into ten batches gets no more turns."""
    for each in range(5):
        jobs.submit(submission(*(f"a{each}{n}.example/" for n in range(10))))
    jobs.submit(submission(*(f"b{n}.example/" for n in range(10)), caller="bob"))
    order = [claimed(jobs, f"w{n}").caller for n in range(20)]
    assert order.count("bob") == 10


# Leases


def test_lease_is_renewed_it_lasts(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: an item may take longer than a lease."""
    jobs.submit(submission("a.example/1"))
    claim = claimed(jobs, "v")
    for _ in range(5):
        clock.advance(15)
        assert jobs.renew("v", claim.host)
        assert jobs.claim("w") is None
    assert not jobs.renew("w", claim.host)
    assert jobs.finish(claim, OK)


def test_lease_runs_out_another_worker_takes_over_and_the_late_finish_is_refused(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: a worker that is gone costs the lease; one that comes back changes nothing."""
    receipt = jobs.submit(submission("a.example/1"))
    late = claimed(jobs, "v")
    clock.advance(20.9)
    assert jobs.claim("w") is None  # the visit may have lasted until the lease ended
    clock.advance(0.2)
    claim = claimed(jobs, "w")
    assert (claim.index, claim.attempt) == (0, 2)
    assert not jobs.renew("v", claim.host)
    assert not jobs.finish(late, Outcome("ok", result=b"late"))
    assert not jobs.retry(late, 0.0)
    assert not jobs.give_back(late)
    assert states(jobs, receipt.id) == ["running"]
    assert jobs.claim("x") is None  # the host is still the second worker's
    assert jobs.finish(claim, Outcome("ok", result=b"in time"))
    page = jobs.page("ann", receipt.id)
    assert page is not None
    assert (page.items[0].result, page.items[0].attempts) == (b"in time", 2)


def test_same_worker_claims_again_its_first_claim_is_void(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: what counts is the claim, not the worker's name."""
    jobs.submit(submission("a.example/1"))
    late = claimed(jobs, "v")
    clock.advance(21.1)
    claim = claimed(jobs, "v")
    assert not jobs.finish(late, OK)
    assert jobs.finish(claim, OK)


def test_host_goes_to_another_item_meanwhile_the_late_finish_is_refused(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: also when not the item itself was taken over, but its host."""
    receipt = jobs.submit(submission("a.example/1"))
    late = claimed(jobs, "v")
    jobs.submit(submission("a.example/b", caller="bob"))
    clock.advance(21.1)
    taken = [claimed(jobs, "w")]
    assert not jobs.finish(late, OK)
    clock.advance(5)
    assert jobs.finish(taken[0], OK)
    clock.advance(1.01)
    taken.append(claimed(jobs, "w"))
    assert jobs.finish(taken[1], OK)
    assert {claim.caller for claim in taken} == {"ann", "bob"}
    assert states(jobs, receipt.id) == ["ok"]


def test_finish_comes_twice_the_second_is_refused(jobs: Jobs) -> None:
    """contract: Store: an item ends once."""
    receipt = jobs.submit(submission("a.example/1"))
    claim = claimed(jobs)
    assert jobs.finish(claim, OK)
    assert not jobs.finish(claim, Outcome("failed", "fetch failed"))
    assert states(jobs, receipt.id) == ["ok"]


def test_item_is_tried_again_not_before_its_time(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: other items of the host need not wait for it."""
    jobs.submit(submission("a.example/1", "a.example/2"))
    assert jobs.retry(claimed(jobs), 10.0)
    clock.advance(1.01)
    claim = claimed(jobs)
    assert claim.index == 1
    assert jobs.finish(claim, OK)
    assert jobs.due() == pytest.approx(10 - 1.01)
    clock.advance(10)
    claim = claimed(jobs)
    assert (claim.index, claim.attempt) == (0, 2)


def test_wait_of_a_retry_is_bounded(jobs: Jobs) -> None:
    """contract: Store: a minute at most, whatever Retry-After says."""
    jobs.submit(submission("a.example/1"))
    assert jobs.retry(claimed(jobs), 5000.0)
    assert jobs.due() == pytest.approx(60)


def test_work_is_given_back_the_attempt_does_not_count(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: a stop costs the others a gap, and no lease."""
    receipt = jobs.submit(submission("a.example/1"))
    claim = claimed(jobs)
    assert jobs.give_back(claim)
    assert not jobs.finish(claim, OK)
    assert states(jobs, receipt.id) == ["queued"]
    clock.advance(1.01)
    assert claimed(jobs).attempt == 1


# Ending


def test_batch_is_cancelled_while_it_runs_what_is_done_stays(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: the worker learns it at the next renewal, and its host is free a second later."""
    receipt = jobs.submit(submission("a.example/1", "b.example/1", "b.example/2"))
    done, running = claimed(jobs, "v"), claimed(jobs, "w")
    assert jobs.finish(done, OK)
    assert jobs.cancel("ann", receipt.id)
    assert jobs.cancel("ann", receipt.id)
    assert states(jobs, receipt.id) == ["ok", "cancelled", "cancelled"]
    status = jobs.status("ann", receipt.id)
    assert status is not None
    assert (status.state, status.ok, status.failed, status.pending) == ("cancelled", 1, 0, 2)
    assert status.finished_at == clock.now
    assert not jobs.renew("w", running.host)
    assert not jobs.finish(running, OK)
    jobs.submit(submission("b.example/3"))
    assert jobs.claim("x") is None
    clock.advance(1.01)
    assert jobs.claim("x") is not None


def test_batch_is_through_cancelling_changes_nothing(jobs: Jobs) -> None:
    """contract: Store: what was answered once stays answered."""
    receipt = jobs.submit(submission("a.example/1"))
    jobs.finish(claimed(jobs), OK)
    assert jobs.cancel("ann", receipt.id)
    status = jobs.status("ann", receipt.id)
    assert status is not None
    assert status.state == "done"
    assert states(jobs, receipt.id) == ["ok"]


def test_batch_is_purged_nothing_is_left(engine: Engine, jobs: Jobs) -> None:
    """contract: Store: everything goes at once, and a worker that had some of it changes nothing."""
    receipt = jobs.submit(submission("a.example/1", "b.example/1", key="k"))
    claim = claimed(jobs)
    assert jobs.purge("ann", receipt.id)
    assert not jobs.purge("ann", receipt.id)
    assert not jobs.finish(claim, OK)
    assert jobs.claim("w") is None
    for table in ("batches", "items", "places"):
        assert engine.rows(f"SELECT * FROM sift_{table}") == []


@pytest.mark.parametrize("read", ["status", "list", "errors", "sweep", "cancel"])
def test_batch_takes_too_long_it_ends_and_the_rest_failed(jobs: Jobs, clock: Clock, read: str) -> None:
    """contract: Store: after fifteen minutes, whoever looks first; what ran then is refused."""
    receipt = jobs.submit(submission("a.example/1", "a.example/2", "b.example/1"))
    assert jobs.finish(claimed(jobs, "v"), OK)
    running = claimed(jobs, "w")
    clock.advance(BATCH_SECONDS)
    assert jobs.claim("x") is None
    assert jobs.due() is None
    for call in {"sweep": [jobs.sweep], "list": [lambda: jobs.list("ann")]}.get(
        read, [lambda: getattr(jobs, read)("ann", receipt.id)]
    ):
        call()
    failed = jobs.errors("ann", receipt.id)
    assert failed is not None
    assert [(item.index, item.error, item.hint) for item in failed] == [
        (1, "fetch timeout", "deadline"),
        (2, "fetch timeout", "deadline"),
    ]
    status = jobs.status("ann", receipt.id)
    assert status is not None
    assert (status.state, status.ok, status.failed, status.finished_at) == ("done", 1, 2, clock.now)
    assert not jobs.finish(running, OK)


def test_batch_takes_too_long_and_nobody_looked_its_last_result_is_refused(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: the end does not depend on who looks first; the host is free after its gap all the same."""
    receipt = jobs.submit(submission("a.example/1"))
    claim = claimed(jobs, "v")
    clock.advance(BATCH_SECONDS)
    assert not jobs.renew("v", claim.host)
    assert not jobs.finish(claim, OK)
    assert states(jobs, receipt.id) == ["failed"]
    jobs.submit(submission("a.example/2"))
    clock.advance(1.01)
    assert jobs.claim("w") is not None


def test_batch_has_ended_it_is_told_once(engine: Engine, clock: Clock) -> None:
    """contract: Store: one record a batch, whichever process asks; numbers and no URL."""
    mine, other = engine.jobs(clock), engine.jobs(clock)
    mine.submit(submission("a.example/1", "b.example/1", "a.example/1#x"))
    assert mine.ended() == ()
    first, second = claimed(mine, "v"), claimed(mine, "w")
    clock.advance(1.5)
    assert mine.finish(first, OK)
    assert mine.ended() == ()
    assert other.finish(second, Outcome("failed", "fetch failed", "dns"))
    clock.advance(10)
    told = other.ended()
    assert [tuple(each) for each in told] == [("ann", 3, 2, 1, 1500)]
    assert mine.ended() == other.ended() == ()


def test_batch_expires_it_is_gone_and_its_rows_with_the_sweep(engine: Engine, jobs: Jobs, clock: Clock) -> None:
    """contract: Store: results are kept as long as was asked for, and no longer."""
    receipt = jobs.submit(submission("a.example/1", ttl=3600.0))
    jobs.finish(claimed(jobs), OK)
    kept = jobs.submit(submission("b.example/1", ttl=7200.0))
    clock.advance(3599)
    jobs.sweep()
    assert states(jobs, receipt.id) == ["ok"]
    clock.advance(1)
    assert jobs.status("ann", receipt.id) is None
    assert [status.id for status in jobs.list("ann")] == [kept.id]
    jobs.sweep()
    assert engine.rows("SELECT id FROM sift_batches") == [(kept.id,)]
    for table in ("items", "places"):
        assert engine.rows(f"SELECT batch FROM sift_{table}") == [(kept.id,)]


def test_host_is_forgotten_when_nobody_waits_for_it(engine: Engine, jobs: Jobs, clock: Clock) -> None:
    """contract: Store: no name of a host outlives its use by much; one that is waited for stays."""
    jobs.submit(submission("a.example/1", "b.example/1", "b.example/2"))
    for owner in ("v", "w"):
        jobs.finish(claimed(jobs, owner), OK)
    jobs.sweep()
    assert sorted(engine.rows("SELECT host FROM sift_hosts")) == [("a.example",), ("b.example",)]
    clock.advance(100)
    jobs.sweep()
    assert engine.rows("SELECT host FROM sift_hosts") == [("b.example",)]
    assert jobs.claim("w") is not None


# Clocks


def test_clock_is_set_back_work_goes_on_after_a_lease(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: a killed worker's host does not wait for the old time to come again."""
    receipt = jobs.submit(submission("a.example/1", "a.example/2", "b.example/1", ttl=3600.0))
    alive = claimed(jobs, "v")
    jobs.retry(claimed(jobs, "w"), 30.0)
    clock.step(-86_400)
    jobs.sweep()
    assert jobs.claim("x") is None  # whoever has the host may still be there
    assert jobs.renew("v", alive.host)
    clock.advance(31.1)  # nobody renews any more
    jobs.sweep()
    assert claimed(jobs, "x").host == "a.example"
    clock.advance(31)
    assert {claimed(jobs, "y").host, claimed(jobs, "z").host} == {"a.example", "b.example"}
    clock.advance(BATCH_SECONDS)
    status = jobs.status("ann", receipt.id)
    assert status is not None
    assert (status.state, status.failed) == ("done", 3)
    clock.advance(3600)
    assert jobs.status("ann", receipt.id) is None


def test_clock_is_set_ahead_each_item_ends_once(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: at worst a batch ends early; nothing is counted twice."""
    receipt = jobs.submit(submission("a.example/1", "b.example/1", ttl=86_400.0))
    claim = claimed(jobs)
    clock.step(3600)
    jobs.finish(claim, OK)
    jobs.sweep()
    while (another := jobs.claim("w")) is not None:
        jobs.finish(another, OK)
    status = jobs.status("ann", receipt.id)
    assert status is not None
    assert (status.state, status.ok + status.failed) == ("done", 2)


def test_lifetime_is_that_of_the_request_after_a_clock_that_was_ahead(jobs: Jobs, clock: Clock) -> None:
    """contract: Store: a clock that was a year ahead keeps nothing for a year."""
    clock.step(86_400 * 365)
    receipt = jobs.submit(submission("a.example/1", ttl=3600.0))
    clock.step(-86_400 * 365)
    jobs.sweep()
    clock.advance(3600)
    assert jobs.status("ann", receipt.id) is None
