"""Fakes of what the engine needs from outside: sources, clock, ledger, cache. All are thread-safe."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sift.api.services import Services
from sift.auth.caller import LOCAL, Caller
from sift.errors import UnauthorizedError
from sift.log import JsonLog
from sift.observe import Observer
from sift.search.calls import Calls
from sift.search.engine import Engine
from sift.search.model import (
    Answer,
    CallerClass,
    Content,
    Filter,
    Prepared,
    RawHit,
    RawHits,
    Row,
    SearchRequest,
    SearchResult,
    Skip,
    SourceOut,
    Unavailable,
)
from sift.search.protocols import Cache, Ledger, LedgerError, LedgerLostError, Source
from sift.search.threads import Job, Threads
from sift.search.urls import read_url

DAY = "2026-09-29"
NOON = 1_790_683_200.0  # 2026-09-29T12:00:00Z
PATIENCE = 20.0
"""Seconds after which a test gives up on another thread; a passing test never waits this long."""


class Asked(NamedTuple):
    """One call of a source."""

    query: str
    k: int
    filter: Filter
    deadline: float
    fresh: bool


Step = SourceOut | Exception | Callable[[], SourceOut]


class FakeSource:
    """Answer calls with the given steps, one after another; the last one repeats.

    A step is an answer, an error to raise, or a function that returns the answer. by_query: steps for certain queries.
    """

    def __init__(
        self,
        name: str,
        *steps: Step,
        by_query: Mapping[str, Step] | None = None,
        timeout: float = PATIENCE,
        reranked: bool = True,
    ) -> None:
        self.name = name
        self.timeout = timeout
        self.reranked = reranked
        self.calls: list[Asked] = []
        self.skipped: Skip | None = None
        self._steps = list(steps)
        self._by_query = dict(by_query or {})
        self._lock = threading.Lock()

    @property
    def queries(self) -> list[str]:
        """The queries asked, in order of arrival."""
        return [call.query for call in self.calls]

    def skip(self) -> Skip | None:
        """Return what the test has set."""
        return self.skipped

    def prepare(self, query: str, filter: Filter) -> Prepared:
        """Return the query as it is."""
        return Prepared(query)

    def treats(self, filter: Filter) -> dict[str, str]:
        """Apply nothing."""
        return {}

    def search(self, query: str, k: int, filter: Filter, *, deadline: float, fresh: bool = False) -> SourceOut:
        """Play the next step."""
        with self._lock:
            self.calls.append(Asked(query, k, filter, deadline, fresh))
            step = self._by_query.get(query)
            if step is None:
                step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, SourceOut) else step()


class Gate:
    """A step that blocks until the test opens it; `entered` is set once the call has arrived."""

    def __init__(self, then: SourceOut | Exception) -> None:
        self.entered = threading.Event()
        self._opened = threading.Event()
        self._then = then

    def open(self) -> None:
        """Let the call continue."""
        self._opened.set()

    def __call__(self) -> SourceOut:
        self.entered.set()
        assert self._opened.wait(PATIENCE), "the test never opened the gate"
        if isinstance(self._then, Exception):
            raise self._then
        return self._then


class FakeThreads(Threads):
    """Run jobs in the test's own thread, at once or later.

    wanted: "now", "late" (after the request has stopped waiting: `before_late` moves its clock on), or "none", as on a
    host that allows no more threads.
    """

    def __init__(self, before_late: Callable[[], object] = lambda: None) -> None:
        super().__init__(0)
        self.wanted = "now"
        self.late: list[Callable[[], object]] = []
        self._before_late = before_late

    def run(self, job: Job, ended: Job) -> bool:
        """Run a job, keep it, or refuse it."""
        if self.wanted == "now":
            job()
            ended()
        elif self.wanted == "late":
            self.late.append(lambda: (job(), ended()))
            self._before_late()
        return self.wanted != "none"


class FakeClock:
    """A clock that only a test moves."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def tick(self, seconds: float) -> None:
        """Advance the clock."""
        self.now += seconds


class FakeLedger:
    """Count credits in memory; a source that is not in `left` has no cap.

    is_broken: every access for a capped source fails. is_lost: it fails for good.
    rival: credits that another request takes just after each reading of what is left.
    """

    def __init__(self, left: Mapping[str, int] | None = None, *, is_broken: bool = False, rival: int = 0) -> None:
        self.credits = dict(left or {})
        self.is_broken = is_broken
        self.rival = rival
        self.is_lost = False
        self.reserved: list[str] = []
        self.settled: list[tuple[str, str, int]] = []
        self.has_settled = threading.Event()
        self._lock = threading.Lock()

    def left(self, name: str) -> int | None:
        """Return the credits left."""
        if self.is_lost and name in self.credits:
            raise LedgerLostError
        if self.is_broken and name in self.credits:
            raise LedgerError
        with self._lock:
            found = self.credits.get(name)
            if found is not None:
                self.credits[name] = max(0, found - self.rival)
            return found

    def balance(self, name: str) -> int | None:
        """Return the credits left."""
        if (self.is_broken or self.is_lost) and name in self.credits:
            raise LedgerError
        with self._lock:
            return self.credits.get(name)

    def reserve(self, name: str, *, deadline: float) -> str | None:
        """Take one credit."""
        if self.is_broken and name in self.credits:
            raise LedgerError
        with self._lock:
            if name not in self.credits:
                return ""
            if self.credits[name] == 0:
                return None
            self.credits[name] -= 1
            self.reserved.append(name)
            return DAY

    def settle(self, name: str, day: str, credits: int) -> None:
        """Book the cost of a call."""
        with self._lock:
            if day:
                self.settled.append((name, day, credits))
                self.credits[name] -= credits - 1
        self.has_settled.set()


class FakeCache:
    """Keep every answer for ever. seconds: for how long the last one was to be kept."""

    seconds = 0.0

    def __init__(self) -> None:
        self.answers: dict[bytes, SearchResult] = {}
        self._lock = threading.Lock()

    def get(self, key: bytes) -> SearchResult | None:
        """Return an answer."""
        with self._lock:
            return self.answers.get(key)

    def put(self, key: bytes, result: SearchResult, seconds: float) -> None:
        """Store an answer."""
        with self._lock:
            self.answers[key], self.seconds = result, seconds

    def __len__(self) -> int:
        return len(self.answers)


def read_row(row: Row) -> Content:
    """Read a row as `raw` makes it."""
    return Content(row["title"], tuple(row["texts"]), row["date"], row["score"])


def raw(url: str, text: str = "Text.", *, title: str = "Title", score: float = 0.5, published_date: str = "") -> RawHit:
    """Make a hit as a source returns it."""
    address = read_url(url)
    assert address is not None, url
    row = {"url": url, "title": title, "texts": (text,), "date": published_date, "score": score}
    return RawHit(address, row, read_row)


def raw_hits(*hits: RawHit | str) -> RawHits:
    """Make the hits of a source from hits or bare URLs."""
    made = [raw(hit) if isinstance(hit, str) else hit for hit in hits]
    return RawHits(tuple(hit.address for hit in made), tuple(hit.row for hit in made), read_row)


def out(*hits: RawHit | str, notes: tuple[str, ...] = (), found: int | None = None, **fields: Any) -> SourceOut:
    """Make a source's answer from hits or bare URLs."""
    made = raw_hits(*hits)
    usable = len(made) if found is None else found
    return SourceOut(hits=made, found=usable, notes=notes, **{"sent": usable, **fields})


def engine_of(
    *sources: Source,
    cache: Cache | None = None,
    caching: bool = True,
    ledger: Ledger | None = None,
    observer: Observer | None = None,
    now: Callable[[], float] | None = None,
    clock: Callable[[], float] | None = None,
    **options: Any,
) -> Engine:
    """Make an engine whose clocks stand still at noon. options: passed to `Calls`."""
    clocks: Any = {"now": now or FakeClock(), "clock": clock or FakeClock(0.0), "observer": observer}
    calls = Calls(sources, FakeLedger() if ledger is None else ledger, **{"threads": 8, **clocks, **options})
    return Engine(calls, (FakeCache() if cache is None else cache) if caching else None, **clocks)


def find(engine: Engine, *queries: str, caller_class: CallerClass = "fleet", **fields: Any) -> Answer | Unavailable:
    """Search with the given queries and the fields of a SearchRequest."""
    return engine.search(SearchRequest(queries or ("q",), **fields), caller_class)


def ask(engine: Engine, *queries: str, **fields: Any) -> Answer:
    """Search, and return the answer; fail if there is none."""
    found = find(engine, *queries, **fields)
    assert isinstance(found, Answer), found
    return found


def urls(answer: Answer) -> list[str]:
    """Return the URLs of an answer, in order."""
    return [hit["url"] for hit in answer.result.hits()]


def page(number: int | str) -> str:
    """Return the URL of a page."""
    return f"https://docs.example/{number}"


def three(**steps: Any) -> list[FakeSource]:
    """Make three sources, each with a hit of its own unless a step is given under its name."""
    return [FakeSource(name, steps.get(name, out(page(name)))) for name in ("s1", "s2", "s3")]


def unavailable(engine: Engine, *queries: str, **fields: Any) -> Unavailable:
    """Search, and return the failure; fail if there is an answer."""
    found = find(engine, *queries, **fields)
    assert isinstance(found, Unavailable), found
    return found


def summary(answer: Answer) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return who answered, who failed, and every warning."""
    result = answer.result
    return result.sources_ok, result.sources_failed, result.warnings + result.skips


def in_parallel(calls: int, call: Callable[[int], Any]) -> list[Any]:
    """Run `call` in that many threads at once; return what each returned or raised."""
    results: list[Any] = [None] * calls
    start = threading.Barrier(calls)

    def run(index: int) -> None:
        start.wait(PATIENCE)
        try:
            results[index] = call(index)
        except Exception as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a thread is stuck"
    return results


def services_of(
    engine: Engine,
    *,
    callers: Mapping[str, Caller] | None = None,
    lines: list[bytes] | None = None,
    notices: tuple[str, ...] = (),
    fetcher: Any = None,
) -> Services:
    """Make the services of an application. callers: by Authorization header; None makes every caller `local`."""

    def identify(header: str | None) -> Caller:
        if callers is None:
            return LOCAL
        caller = callers.get(header or "")
        if caller is None:
            raise UnauthorizedError
        return caller

    return Services(
        engine=engine,
        identify=identify,
        refused=lambda peer: None,
        log=JsonLog("debug", write=(lines if lines is not None else []).append),
        cache_stats=lambda: {"entries": 0, "hit_rate": 0.0},
        credits=dict,
        since="2026-09-29T12:00:00Z",
        notices=notices,
        fetcher=fetcher,
    )
