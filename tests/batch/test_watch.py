"""Noticing that there may be batches (contract: Batch work)."""

from __future__ import annotations

from sift.batch.watch import Watch


class FakeWorkers:
    """Notes what it is told; the first starts fail."""

    def __init__(self, failing: int = 0) -> None:
        self.told: list[str] = []
        self.failing = failing

    def start(self) -> None:
        self.failing -= 1
        if self.failing >= 0:
            raise RuntimeError
        self.told.append("start")

    def wake(self) -> None:
        self.told.append("wake")

    def stop(self) -> None:
        self.told.append("stop")

    def join(self, seconds: float) -> None:
        self.told.append("join")


class Bench:
    """A watch, what it makes, and whether there may be batches."""

    def __init__(self, failing: int = 0) -> None:
        self.workers = FakeWorkers(failing)
        self.may_hold = False
        self.made = 0
        self.watch = Watch(lambda: self.may_hold, self.make)

    def make(self) -> FakeWorkers:
        self.made += 1
        return self.workers


def test_there_are_no_batches_nothing_is_made() -> None:
    """contract: Batch work: what works on batches is not even loaded."""
    bench = Bench()
    for _ in range(3):
        bench.watch.look()
    bench.watch.close()
    assert bench.made == 0


def test_there_may_be_batches_the_workers_start_once() -> None:
    bench = Bench()
    bench.watch.look()
    bench.may_hold = True
    for _ in range(3):
        bench.watch.look()
    assert bench.workers.told == ["start"]


def test_batch_is_submitted_here_nobody_waits_for_the_next_look() -> None:
    bench = Bench()
    bench.watch.look()
    bench.watch.wake()
    bench.watch.wake()
    assert bench.workers.told == ["start", "wake", "wake"]


def test_nobody_looks_nothing_starts() -> None:
    """contract: Operations: an application that nobody serves starts no thread."""
    bench = Bench()
    bench.watch.wake()
    assert bench.made == 0


def test_process_stops_nothing_starts_any_more() -> None:
    bench = Bench()
    bench.watch.look()
    bench.watch.stop()
    bench.watch.wake()
    assert bench.made == 0


def test_process_stops_the_workers_are_told_and_waited_for() -> None:
    bench = Bench()
    bench.may_hold = True
    bench.watch.look()
    bench.watch.stop()
    bench.watch.close()
    assert bench.workers.told == ["start", "stop", "stop", "join"]


def test_no_thread_is_left_the_next_look_tries_again() -> None:
    bench = Bench(failing=1)
    bench.may_hold = True
    bench.watch.look()
    assert bench.workers.told == []
    bench.watch.look()
    assert bench.workers.told == ["start"]
