"""Credits, on both engines alike (contract: Credits)."""

from __future__ import annotations

import threading
import time

import pytest

from sift.store.open import CreditLedger
from sift.store.sheet import Totals
from tests.store.engines import Clock, Engine


def later() -> float:
    return time.monotonic() + 20


def take(ledger: CreditLedger, times: int = 1) -> int:
    """Ask for credits; return how many were granted."""
    return sum(ledger.reserve("tavily", deadline=later()) is not None for _ in range(times))


def test_reserve_up_to_the_cap_and_no_further(engine: Engine, clock: Clock) -> None:
    """contract: Credits: one credit a call, none beyond the cap; spent and left agree throughout."""
    ledger = engine.ledger(clock, {"tavily": 3})
    assert (ledger.spent("tavily"), ledger.left("tavily")) == (0, 3)
    for spent in (1, 2, 3):
        assert ledger.reserve("tavily", deadline=later()) == "2026-09-29"
        assert (ledger.spent("tavily"), ledger.left("tavily")) == (spent, 3 - spent)
    assert ledger.reserve("tavily", deadline=later()) is None
    assert (ledger.spent("tavily"), ledger.left("tavily")) == (3, 0)
    assert ledger.resets_at() == "2026-09-30T00:00:00Z"


def test_source_without_a_cap_and_one_with_none_left_at_all(engine: Engine, clock: Clock) -> None:
    """contract: Credits: neither asks the store."""
    ledger = engine.ledger(clock, {"tavily": 0})
    assert (ledger.left("searxng"), ledger.left("tavily")) == (None, 0)
    assert ledger.reserve("searxng", deadline=later()) == ""
    assert ledger.reserve("tavily", deadline=later()) is None


@pytest.mark.parametrize(("credits", "spent"), [(1, 1), (0, 0), (7, 7)])
def test_settle_books_what_the_call_cost(engine: Engine, clock: Clock, credits: int, spent: int) -> None:
    """contract: Credits: the credit becomes the price; a call that was never sent is refunded."""
    ledger, other = (engine.ledger(clock, {"tavily": 5}) for _ in range(2))
    day = ledger.reserve("tavily", deadline=later())
    assert day
    ledger.settle("tavily", day, credits)
    assert ledger.spent("tavily") == other.spent("tavily") == spent
    assert ledger.left("tavily") == max(0, 5 - spent)


def test_count_never_falls_below_zero(engine: Engine, clock: Clock) -> None:
    """contract: Credits: whatever is given back."""
    ledger = engine.ledger(clock, {"tavily": 2})
    day = ledger.reserve("tavily", deadline=later())
    assert day
    for _ in range(3):
        ledger.settle("tavily", day, 0)
    assert ledger.spent("tavily") == 0


def test_another_process_takes_the_rest_it_shows_with_the_next_credit(engine: Engine, clock: Clock) -> None:
    """contract: Credits: the credits left may be out of date; only taking one decides. A refund is seen."""
    mine, other = (engine.ledger(clock, {"tavily": 3}) for _ in range(2))
    assert mine.left("tavily") == 3
    assert take(other, 3) == 3
    assert mine.left("tavily") == 3
    assert take(mine) == 0
    assert mine.left("tavily") == 0
    other.settle("tavily", "2026-09-29", 0)
    assert mine.left("tavily") == 1


def test_days_and_clocks(engine: Engine, clock: Clock) -> None:
    """contract: Credits: a fresh count at midnight UTC; none for a clock that is set back; a far day does not count."""
    ledger = engine.ledger(clock, {"tavily": 3})
    assert take(ledger, 2) == 2
    clock.step(-86_400)
    assert take(ledger, 3) == 1
    clock.step(86_400)
    assert ledger.spent("tavily") == 2
    clock.advance(43_200)
    assert ledger.reserve("tavily", deadline=later()) == "2026-09-30"
    clock.step(86_400 * 300)
    assert take(ledger, 5) == 3
    clock.step(-86_400 * 300)
    assert ledger.spent("tavily") == 1


def test_threads_ask_at_once_cap_is_exact(engine: Engine, clock: Clock) -> None:
    """contract: Credits: 24 threads of two ledgers at once and a cap of 5 are 5 credits."""
    ledgers, start, taken = [engine.ledger(clock, {"tavily": 5}) for _ in range(2)], threading.Barrier(24), list[bool]()

    def ask(ledger: CreditLedger) -> None:
        start.wait(20)
        taken.append(take(ledger) == 1)

    threads = [threading.Thread(target=ask, args=(ledgers[n % 2],)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (len(taken), sum(taken)) == (24, 5)


def test_use_is_counted_beside_the_credits_for_all_processes(engine: Engine, clock: Clock) -> None:
    """contract: Usage: paid calls with their credit, the others as they are booked; only days that are asked for."""
    one, other = (engine.ledger(clock, {"tavily": 5}) for _ in range(2))
    assert (one.balance("tavily"), one.balance("searxng")) == (5, None)
    assert take(one, 3) == 3
    one.settle("tavily", "2026-09-29", 0)
    one.settle("tavily", "2026-09-29", 4)
    assert (one.balance("tavily"), other.balance("tavily")) == (0, 0)
    for number, ledger in enumerate((one, other, other)):  # the last books again, as after an answer that did not come
        counts = {"searxng": (2, 0, 0, 0), "tavily": (0, 0, 0, 1)}
        ledger.book_usage(Totals(f"sheet{min(number, 1)}", "2026-09-29", counts))
    other.book_usage(Totals("late", "2026-09-28", {"searxng": (0, 3, 0, 0)}))
    other.book_usage(Totals("late", "2026-09-28", {"searxng": (0, 7, 0, 0)}))
    other.book_usage(Totals("old", "2026-01-01", {"searxng": (9, 0, 0, 0)}))
    today = [("2026-09-29", "searxng", 4, 0, 0, 0, 0), ("2026-09-29", "tavily", 2, 5, 0, 0, 2)]
    assert [tuple(each) for each in one.usage(1)] == today
    assert [tuple(each) for each in other.usage(90)] == [*today, ("2026-09-28", "searxng", 0, 0, 7, 0, 0)]
