"""The load generator: asyncio clients that send prepared bytes, in a closed loop, an open loop or a burst.

Targets alternate in short rounds, in reverse order every second time, so that ratios stay valid on a busy machine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from tests.bench.client import Client, Target
from tests.bench.processes import cpu_seconds

PATIENCE = 20.0
"""Seconds that a round may overrun before it counts as not measurable."""


class NotMeasuredError(Exception):
    """Raised when a row cannot be measured: a service did not start, or answers were wrong."""


@dataclass
class Round:
    """The results of a target in one round. latencies: seconds, unsorted. cpu: seconds of the service's processes."""

    seconds: float = 0.0
    cpu: float = 0.0
    latencies: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Answers per second."""
        return len(self.latencies) / self.seconds

    @property
    def cpu_each(self) -> float:
        """CPU seconds per request."""
        return self.cpu / len(self.latencies)

    def quantile(self, part: float) -> float:
        """Return a quantile of the latencies, in seconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


class _Session:
    """The connections of a target, kept over all its rounds."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.idle: list[Client] = []
        self.busy = 0
        self.bad = 0
        self.round = Round()
        self.more: Callable[[], bool] = lambda: False

    def client(self) -> Client:
        """Return the idle connection used last, or a new one."""
        while self.idle:
            client = self.idle.pop()
            if not client.closed:
                return client
        return Client(self.target, self._answered)

    def send(self, due: float) -> None:
        """Send one request on an idle connection."""
        self.busy += 1
        self.client().send(due)

    def _answered(self, client: Client, good: bool) -> None:
        if client.stale:
            self.client().send(client.due)
            return
        if good:
            self.round.latencies.append(time.perf_counter() - client.due)
        else:
            self.bad += 1
        self.idle.append(client)
        if self.more():
            self.client().send(time.perf_counter())
        else:
            self.busy -= 1

    async def settle(self) -> None:
        """Wait for all answers. Raises NotMeasuredError when any was wrong or never came."""
        end = time.perf_counter() + PATIENCE
        while self.busy and time.perf_counter() < end:
            await asyncio.sleep(0.002)
        if self.busy or self.bad or not self.round.latencies:
            raise NotMeasuredError(f"{self.target.name}: {self.bad} wrong answers, {self.busy} missing")


Pattern = Callable[[_Session], Awaitable[None]]


def closed(connections: int, seconds: float) -> Pattern:
    """Return a pattern that keeps so many requests in flight, each followed by the next once answered."""

    async def run(session: _Session) -> None:
        end = time.perf_counter() + seconds
        session.more = lambda: time.perf_counter() < end
        for _ in range(connections):
            session.send(time.perf_counter())
        await asyncio.sleep(seconds)
        await session.settle()

    return run


def open_loop(rate: float, seconds: float) -> Pattern:
    """Return a pattern that sends at a fixed rate, answered or not; queueing shows in the latency."""

    async def run(session: _Session) -> None:
        session.more = lambda: False
        start = time.perf_counter()
        for number in range(int(rate * seconds)):
            due = start + number / rate
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            session.send(due)
        await session.settle()

    return run


def burst(size: int) -> Pattern:
    """Return a pattern that sends `size` requests at once."""

    async def run(session: _Session) -> None:
        session.more = lambda: False
        now = time.perf_counter()
        for _ in range(size):
            session.send(now)
        await session.settle()

    return run


def interleave(targets: Sequence[Target], pattern: Pattern, rounds: int, warm: Pattern | None) -> list[list[Round]]:
    """Run the targets alternately; return the rounds of each, in the order of `targets`. Raises NotMeasuredError."""
    return asyncio.run(_interleave(targets, pattern, rounds, warm))


async def _interleave(
    targets: Sequence[Target], pattern: Pattern, rounds: int, warm: Pattern | None
) -> list[list[Round]]:
    sessions = [_Session(target) for target in targets]
    done: dict[str, list[Round]] = {target.name: [] for target in targets}
    try:
        for session in sessions if warm else ():
            await _run(session, warm or pattern)
        for number in range(rounds):
            for session in sessions if number % 2 == 0 else reversed(sessions):
                done[session.target.name].append(await _run(session, pattern))
    finally:
        for session in sessions:
            for client in session.idle:
                client.close()
    return list(done.values())


async def _run(session: _Session, pattern: Pattern) -> Round:
    session.round, session.bad = Round(), 0
    cpu, start = cpu_seconds(session.target.pid), time.perf_counter()
    await pattern(session)
    session.round.seconds = time.perf_counter() - start
    session.round.cpu = cpu_seconds(session.target.pid) - cpu
    return session.round


class Ratio(NamedTuple):
    """The median of the ratios per round, and their extremes."""

    value: float
    low: float
    high: float


def ratio(measured: Sequence[Round], against: Sequence[Round], of: Callable[[Round], float]) -> Ratio:
    """Return the ratio of two targets, compared round by round."""
    ratios = [of(one) / of(other) for one, other in zip(measured, against, strict=True)]
    return Ratio(median(ratios), min(ratios), max(ratios))
