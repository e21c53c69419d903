"""The answer cache (contract: Cache)."""

from __future__ import annotations

import dataclasses
import random
import sys
import threading
from collections.abc import Iterator

import pytest

from sift.search.model import SearchResult, Sizes, encode
from sift.search.threads import Job
from sift.store.cache import MAX_BODY, SWEEP_ENTRIES, MemoryCache


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


def result(name: str = "a", size: int = 0) -> SearchResult:
    """Make an answer of at least `size` bytes."""
    return SearchResult(encode([{"title": name + "x" * size}]), Sizes(1, 1, 1), sources_ok=("searxng",))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def _switch_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(2e-6)
    yield
    sys.setswitchinterval(interval)


def test_get_key_is_known_answer_is_the_one_stored(clock: Clock) -> None:
    """contract: Cache: an answer is found under its own key alone, as it was stored last."""
    cache = MemoryCache(4, 60, clock)
    cache.put(b"k", result("kept"))
    assert cache.get(b"k") == result("kept")
    assert cache.get(b"other") is None
    cache.put(b"k", result("newer"))
    assert cache.get(b"k") == result("newer")
    assert len(cache) == 1


def test_get_time_is_over_answer_is_gone(clock: Clock) -> None:
    """contract: Cache: `SIFT_CACHE_TTL` seconds from when it was stored, whoever asks in between."""
    cache = MemoryCache(4, 60, clock)
    cache.put(b"k", result())
    clock.time += 59.9
    assert cache.get(b"k") == result()
    clock.time += 0.1
    assert cache.get(b"k") is None
    assert len(cache) == 0


def test_put_again_time_starts_anew(clock: Clock) -> None:
    """contract: Cache: an answer that is stored again is kept for its full time again."""
    cache = MemoryCache(4, 60, clock)
    cache.put(b"k", result())
    clock.time += 50
    cache.put(b"k", result("newer"))
    clock.time += 50
    assert cache.get(b"k") == result("newer")


def test_put_cache_is_full_longest_unused_goes(clock: Clock) -> None:
    """contract: Cache: `SIFT_CACHE_ENTRIES` bounds the entries; the one unused for longest is evicted."""
    cache = MemoryCache(2, 60, clock)
    cache.put(b"a", result("a"))
    cache.put(b"b", result("b"))
    assert cache.get(b"a") == result("a")
    cache.put(b"c", result("c"))
    assert [cache.get(key) is not None for key in (b"a", b"b", b"c")] == [True, False, True]
    assert len(cache) == 2
    clock.time += 60
    assert len(cache) == 0


def test_put_answer_is_large_it_is_not_kept(clock: Clock) -> None:
    """contract: Cache: answers are bounded in size, so that their number bounds memory."""
    cache = MemoryCache(4, 60, clock)
    fits = result(size=MAX_BODY - len(result().results))
    assert len(fits.results) == MAX_BODY
    cache.put(b"k", fits)
    cache.put(b"l", result(size=MAX_BODY - len(result().results) + 1))
    assert cache.get(b"k") == fits
    assert cache.get(b"l") is None


class Sweeping:
    """Run the thread that sweeps in the test's own: each of its pauses moves the clock on."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.started: list[Job] = []
        self.is_refused = False

    def sleep(self, seconds: float) -> None:
        self.clock.time += seconds

    def start(self, job: Job) -> None:
        if self.is_refused:
            raise RuntimeError("can't start new thread")
        self.started.append(job)

    def cache(self, entries: int = 4, ttl: float = 60) -> MemoryCache:
        return MemoryCache(entries, ttl, self.clock, self.sleep, self.start)


def test_put_seconds_are_fewer_than_the_time_to_live_answer_goes_then(clock: Clock) -> None:
    """contract: Cache: an answer is kept to the end of its hour at most, and one of an hour that is over not at all."""
    cache = MemoryCache(4, 60, clock)
    cache.put(b"k", result(), 5)
    cache.put(b"late", result(), 0)
    assert len(cache) == 1
    clock.time += 5
    assert cache.get(b"k") is None


def test_len_some_have_expired_they_are_not_counted(clock: Clock) -> None:
    """contract: Cache: what has expired is no entry, whether anybody asked for it or not."""
    cache = MemoryCache(5000, 60, clock)
    for number in range(1000):
        cache.put(b"%d" % number, result())
    clock.time += 30
    cache.put(b"new", result())
    cache.put(b"7", result())  # kept for its full time again
    clock.time += 30
    assert len(cache) == 2
    assert cache.get(b"7") == cache.get(b"new") == result()


def test_nobody_asks_any_more_expired_answers_leave_memory_within_half_a_minute(clock: Clock) -> None:
    """contract: Cache: a worker without requests drops queries and answers too, and its thread ends with the last."""
    sweeping = Sweeping(clock)
    cache = sweeping.cache(5000)
    for number in range(1000):
        cache.put(b"%d" % number, result())
    stored = clock.time
    (job,) = sweeping.started
    job()  # returns when all are gone
    assert len(cache._answers) == len(cache._answers.expiries) == 0
    assert 60 <= clock.time - stored < 90
    cache.put(b"k", result())
    assert len(sweeping.started) == 2


def test_thousands_have_expired_they_are_dropped_in_small_steps(clock: Clock) -> None:
    """No access waits for the expiry of all (whole caches expire together at the end of an hour)."""
    cache = MemoryCache(5000, 60, clock)
    for number in range(5000):
        cache.put(b"%d" % number, result())
    clock.time += 61
    assert cache.get(b"7") is None
    assert len(cache._answers) == 4999
    assert cache._sweep()
    assert len(cache._answers) == 4999 - SWEEP_ENTRIES


def test_no_thread_can_be_started_nothing_is_kept_until_one_can(clock: Clock) -> None:
    """contract: Cache: on a host out of threads nothing could be dropped in time, so nothing is stored; no error."""
    sweeping = Sweeping(clock)
    cache = sweeping.cache()
    sweeping.is_refused = True
    cache.put(b"k", result())
    assert cache.get(b"k") is None
    sweeping.is_refused = False
    cache.put(b"k", result())
    assert cache.get(b"k") == result()


def test_cache_is_gone_its_thread_ends(clock: Clock) -> None:
    """A thread that sweeps does not keep a cache alive that nobody uses."""
    caches: list[MemoryCache] = []
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        clock.time += seconds
        if len(pauses) == 2:
            caches.clear()

    sweeping = Sweeping(clock)
    caches.append(MemoryCache(4, 60, clock, sleep, sweeping.start))
    caches[0].put(b"k", result())
    sweeping.started[0]()
    assert len(pauses) == 2


def test_stored_answer_cannot_be_changed(clock: Clock) -> None:
    """contract: Cache: nobody who receives an answer can change the stored one."""
    cache = MemoryCache(4, 60, clock)
    cache.put(b"k", result())
    found = cache.get(b"k")
    assert found is not None
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.rerank_ms = 5  # type: ignore[misc]
    found.hits().clear()
    found.hits()[0]["title"] = "changed"
    assert cache.get(b"k") == result()
    assert all(isinstance(value, bytes | tuple | int | None) for value in dataclasses.astuple(found))


@pytest.mark.usefixtures("_switch_often")
def test_threads_hammer_it_no_error_and_it_works_after() -> None:
    """contract: Cache: reads, writes and expiry from 8 threads; afterwards it still stores and serves."""
    ticks = iter(range(10**9))
    cache = MemoryCache(16, 3, lambda: float(next(ticks)))
    errors: list[BaseException] = []
    wrong: list[SearchResult] = []
    start = threading.Barrier(8)
    answers = {b"%d" % number: result(str(number)) for number in range(32)}

    def hammer(seed: int) -> None:
        chance = random.Random(seed)
        start.wait(20)
        try:
            for _ in range(3000):
                key = b"%d" % chance.randrange(32)
                if chance.random() < 0.5:
                    cache.put(key, answers[key])
                elif (found := cache.get(key)) is not None and found is not answers[key]:
                    wrong.append(found)
                assert len(cache) <= 16
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=hammer, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (errors, wrong) == ([], [])
    for key, answer in answers.items():
        cache.put(key, answer)
        assert cache.get(key) is answer


@pytest.mark.parametrize("first", ["get", "put"])
@pytest.mark.parametrize("second", ["get", "put", "len"])
def test_thread_is_in_the_middle_others_wait(first: str, second: str) -> None:
    """contract: Cache: one lock guards every access, reads included (an access reads the clock under the lock)."""
    inside, go_on = threading.Event(), threading.Event()

    def clock() -> float:
        if threading.current_thread().name == "first":
            inside.set()
            go_on.wait(20)
        return 1000.0

    cache = MemoryCache(4, 60, clock)
    cache.put(b"k", result())
    uses = {"get": lambda: cache.get(b"k"), "put": lambda: cache.put(b"k", result()), "len": lambda: len(cache)}
    threads = [threading.Thread(target=uses[use], name=name) for use, name in ((first, "first"), (second, "second"))]
    threads[0].start()
    assert inside.wait(20)
    threads[1].start()
    threads[1].join(0.1)
    assert threads[1].is_alive()
    go_on.set()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_number_of_answers_is_told_whenever_it_changes(clock: Clock) -> None:
    """contract: Metrics: `sift_cache_entries` follows what is stored, evicted and expired."""
    told: list[int] = []
    cache = MemoryCache(2, 60, clock, start=lambda job: None, resized=told.append)
    for key in (b"1", b"2", b"3"):
        cache.put(key, result())
    clock.time += 60
    assert cache.get(b"2") is None
    assert len(cache) == 0
    assert (told[:3], told[3], told[-1]) == ([1, 2, 2], 1, 0)
