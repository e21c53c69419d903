"""How many of SearXNG's engines a filter leaves (contract: Recall)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.config import Config
from sift.errors import SourceError
from sift.search.model import Filter
from sift.sources import DECLARED, build_source
from sift.sources.recall import HOUR, Engines, Recall, read_engines, recall_notes
from tests.calls import later
from tests.fakes import PATIENCE, FakeClock
from tests.search.moderate import moderate
from tests.vendors import Vendors
from tests.waiting import wait_for


def engine(*categories: str, dated: object = False, enabled: object = True) -> dict[str, Any]:
    """Return an engine as `/config` lists it."""
    return {"name": "e", "categories": list(categories), "enabled": enabled, "time_range_support": dated}


CONFIG = {
    "engines": [
        engine("general", "web", dated=True),
        engine("general"),
        engine("general", dated=True, enabled=False),
        engine("news", dated=True),
        engine("news"),
        engine("news", "general"),
        engine("images", dated=True),
    ]
}
KNOWN = Engines(6, 3, {"general": 1, "news": 1})


class World:
    """A recall whose clock, thread and instance are the test's."""

    def __init__(self, *answers: Any) -> None:
        self.clock = FakeClock(0.0)
        self.jobs: list[Callable[[], None]] = []
        self.has_threads = True
        self._answers = list(answers)
        self.recall = Recall(self._ask, self.clock, self._start)

    def _ask(self) -> Any:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _start(self, job: Callable[[], None]) -> None:
        if not self.has_threads:
            raise RuntimeError
        self.jobs.append(job)

    def read(self) -> Engines | None:
        """Refresh, let the thread end, and return what is known."""
        self.recall.refresh()
        while self.jobs:
            self.jobs.pop()()
        return self.recall.engines


# --- reading


def test_engines_are_counted_by_what_they_support() -> None:
    """contract: Recall: those that are enabled; the categories that Sift asks for."""
    assert read_engines(CONFIG) == KNOWN


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"engines": None},
        {"engines": {}},
        {"engines": [1, None]},
        {"engines": [engine("news", enabled=0)]},
    ],
)
def test_config_that_does_not_tell_is_nothing(body: Any) -> None:
    """contract: Recall: nonsense is a failure, and a failure is no note."""
    assert read_engines(body) is None


def test_config_without_support_of_ranges_tells_the_categories_alone() -> None:
    """contract: Recall: what is not said is not noted."""
    bare = [{name: row[name] for name in ("categories", "enabled")} for row in CONFIG["engines"]]
    assert read_engines({"engines": bare}) == KNOWN._replace(dated=None)
    assert recall_notes("s", Filter(time_range="day"), KNOWN._replace(dated=None)) == ()


@moderate
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["engines", "enabled", "categories", "time_range_support"]), inner, max_size=4
            )
        ),
    )
)
def test_any_json_is_read_without_an_error(body: Any) -> None:
    """contract: Recall: whatever the instance says."""
    found = read_engines(body)
    assert found is None or found.enabled >= max(found.news, 1)


# --- noting


@pytest.mark.parametrize(
    ("wanted", "notes"),
    [
        (Filter(), []),
        (Filter(topic="finance"), []),
        (Filter(start_date="2026-09-01"), []),
        (Filter(time_range="day"), ["time_range searched 1 of 6 engines"]),
        (Filter(topic="news"), ["topic=news searched 3 of 6 engines"]),
        (
            Filter(topic="news", time_range="day"),
            ["time_range searched 1 of 6 engines", "topic=news searched 3 of 6 engines"],
        ),
    ],
)
def test_note_says_how_many_engines_are_searched(wanted: Filter, notes: list[str]) -> None:
    """contract: Recall: of all that are enabled."""
    assert recall_notes("searxng", wanted, KNOWN) == tuple(f"searxng: {note}" for note in notes)
    assert recall_notes("searxng", wanted, None) == ()


def test_filter_that_leaves_all_engines_is_not_noted() -> None:
    """contract: Recall: only when some are left out; none at all is."""
    both = Filter(topic="news", time_range="day")
    assert recall_notes("s", both, Engines(2, 2, {"general": 0, "news": 2})) == ()
    assert recall_notes("s", both, Engines(1, 0, {"general": 0, "news": 0})) == (
        "s: time_range searched 0 of 1 engines",
        "s: topic=news searched 0 of 1 engines",
    )


# --- when


def test_config_is_read_once_an_hour() -> None:
    """contract: Recall: however many searches there are; a failure is not repeated before."""
    world = World(CONFIG, SourceError("http 404"), CONFIG)
    assert [world.read() for _ in range(3)] == [KNOWN] * 3
    world.clock.tick(HOUR - 1)
    assert world.read() == KNOWN
    world.clock.tick(1)
    assert [world.read() for _ in range(2)] == [None, None]
    world.clock.tick(HOUR)
    assert world.read() == KNOWN


def test_thread_cannot_be_started_nothing_is_known() -> None:
    """contract: Recall: it disturbs no search."""
    world = World(CONFIG)
    world.has_threads = False
    assert world.read() is None


def test_many_searches_at_once_read_it_once() -> None:
    """contract: Recall: once a worker."""
    world = World(CONFIG)
    threads = [threading.Thread(target=world.recall.refresh) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(world.jobs) == 1


# --- SearXNG, over HTTP


def searxng(vendors: Vendors) -> Any:
    """Return the source as the settings make it."""
    config = Config.from_env({**vendors.environ, "SIFT_AUTH": "off", "SIFT_STATE_DIR": "/nowhere"}, DECLARED)
    return build_source(next(each for each in config.sources if each.name == "searxng"), 2)


def test_search_is_noted_once_the_config_is_known(vendors: Vendors) -> None:
    """contract: Recall: read behind a search, which does not wait for it; `prepare` alone reads nothing."""
    vendors.description = CONFIG
    source, wanted = searxng(vendors), Filter(topic="news")
    assert source.prepare("q", wanted).notes == ()
    assert vendors.described == 0
    assert source.search("q", 5, Filter(), deadline=later()).notes == ()
    wait_for(lambda: source._recall.engines is not None)
    expected = ("searxng: topic=news searched 3 of 6 engines",)
    assert source.prepare("q", wanted).notes == expected
    assert source.search("q", 5, wanted, deadline=later()).notes == expected
    assert vendors.described == 1


def test_instance_that_hides_its_config_is_searched_all_the_same(vendors: Vendors) -> None:
    """contract: Recall: a failure is no note."""
    source, wanted = searxng(vendors), Filter(time_range="day")
    for _ in range(2):
        assert source.search("q", 5, wanted, deadline=later()).notes == ()
        wait_for(lambda: vendors.described == 1)
