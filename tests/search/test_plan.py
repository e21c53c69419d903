"""What a request would do, held to what it then does (contract: Plan)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sift.search.engine import Engine
from sift.search.model import Answer, Filter, SearchRequest, Unavailable
from sift.search.plan import Plan
from sift.search.protocols import Source
from sift.sources.brave import Brave
from sift.sources.searxng import Searxng
from sift.sources.tavily import Tavily
from sift.store.cache import MemoryCache
from tests.fakes import FakeCache, FakeClock, FakeLedger, engine_of
from tests.search.moderate import moderate
from tests.sources.filters import FILTERS
from tests.vendors import BODIES, hit


class Wire:
    """A vendor's end of the wire: answers every call, and keeps what was sent."""

    def __init__(self, name: str) -> None:
        self.sent: list[Mapping[str, Any]] = []
        self.fails = False
        self._body = BODIES[name]([hit("https://docs.example/1")])

    def get_json(self, parameters: Mapping[str, str], *, deadline: float, fresh: bool = False) -> Any:
        """Answer a GET."""
        self.sent.append(parameters)
        return self._body

    def post_json(self, body: Mapping[str, Any], *, deadline: float, fresh: bool = False) -> Any:
        """Answer a POST."""
        self.sent.append(body)
        return self._body


NAMES = ("searxng", "brave_llm", "tavily")


class World:
    """The three vendors' own sources on such wires, with a cap of `left` for Tavily."""

    def __init__(self, left: int | None, *, is_broken: bool = False, resting: tuple[str, ...] = ()) -> None:
        self.wires = {name: Wire(name) for name in NAMES}
        wire: Any = self.wires
        sources: list[Source] = [
            Searxng(wire["searxng"], 8.0, now=FakeClock()),
            Brave(wire["brave_llm"], 5.0),
            Tavily(wire["tavily"], 9.0),
        ]
        self.ledger = FakeLedger({} if left is None else {"tavily": left}, is_broken=is_broken)
        self.cache = FakeCache()
        self.clock = FakeClock(0.0)
        self.engine = engine_of(
            *sources, ledger=self.ledger, cache=self.cache, clock=self.clock, breaker_failures=1, breaker_seconds=60
        )
        for name in resting:
            breaker = self.engine._calls._breakers[name]
            permit: Any = breaker.admit()
            breaker.failed(permit, counts=True)

    def texts(self, name: str) -> list[str]:
        """Return the queries that a vendor was sent."""
        return [str(sent.get("q", sent.get("query"))) for sent in self.wires[name].sent]


def own(name: str, warnings: tuple[str, ...]) -> list[str]:
    """Return the warnings of a source."""
    return [warning for warning in warnings if warning.startswith(f"{name}: ")]


words = st.integers(1, 120).map(lambda count: " ".join(["word"] * count))
queries = st.one_of(
    words,
    words.map(lambda text: f'"{text}"'),
    st.sampled_from(['a "b" c', "!news x", "two  blanks", "word  " * 59 + "word", "x" * 401, '"' + "y" * 500 + '"']),
)


@st.composite
def requests(draw: st.DrawFn) -> SearchRequest:
    """Draw a valid request."""
    wanted = draw(st.sampled_from(FILTERS))
    texts = st.just('find "this phrase" now') | queries.filter(lambda query: query.count('"') == 2)
    found = draw(
        st.lists(
            texts if wanted.exact_match else queries, min_size=1, max_size=4, unique_by=lambda q: " ".join(q.split())
        )
    )
    return SearchRequest(tuple(found), explain=draw(st.booleans()), filter=wanted)


@moderate
@given(
    requests(),
    st.none() | st.integers(0, 4),
    st.booleans(),
    st.sets(st.sampled_from(NAMES)),
    st.sampled_from(["empty", "asked", "asked while resting"]),
)
@example(SearchRequest(("a", "b")), 1, False, set(), "empty")
@example(SearchRequest(('"' + "y" * 500 + '"', '"z"'), filter=Filter(exact_match=True)), 1, False, set(), "empty")
def test_plan_is_what_the_search_then_does(
    request: SearchRequest, left: int | None, is_broken: bool, resting: set[str], cached: str
) -> None:
    """contract: Plan: for any request and any state of cap, ledger, breakers and cache.

    Who is asked and who is not and why, the texts, the calls, the credits, the notes, whether the answer is cached.
    """
    world = World(left, is_broken=is_broken, resting=tuple(resting))
    if cached == "asked":  # by all sources, when all was well
        before = World(None if left is None else 9)
    else:
        before = World(left, is_broken=is_broken, resting=tuple(resting))
    if cached != "empty":
        before.engine.search(request, "fleet")
    world.cache.answers = before.cache.answers
    plan = world.engine.plan(request, "fleet")
    assert not any(wire.sent for wire in world.wires.values())
    assert (world.ledger.reserved, world.ledger.settled) == ([], [])
    assert world.engine.plan(request, "fleet") == plan
    left_before = world.ledger.credits.get("tavily")
    found = world.engine.search(request, "fleet")
    result = found.result if isinstance(found, Answer) else None
    warnings = result.warnings + result.skips if result else found.warnings  # type: ignore[union-attr]
    assert plan.cached == (found.cache == "hit")
    for each in plan.sources:
        texts = world.texts(each.source)
        assert each.calls == len(texts)
        assert (each.asked is True) == bool(texts)
        if each.source != "searxng":  # its text may have `site:` in front
            assert list(each.queries or texts) == texts
            assert bool(each.queries) == any("query cut" in note for note in each.notes if texts)
        said = {*each.notes} if each.asked in (True, "cached") else {*each.notes, f"{each.source}: {each.asked}"}
        assert sorted(said) == sorted(own(each.source, warnings))
    spent = 0 if left_before is None else left_before - world.ledger.credits["tavily"]
    assert sum(each.credits for each in plan.sources) == spent
    assert isinstance(found, Unavailable) == (not plan.cached and not any(each.calls for each in plan.sources))


def planned(*queries: str, left: int | None = 5, **fields: Any) -> Plan:
    """Return the plan of a request in a world where all is well."""
    return World(left).engine.plan(SearchRequest(queries, **fields), "fleet")


def test_text_that_is_cut_stands_with_its_source() -> None:
    """contract: Plan: the text as it would be sent, only where one is cut."""
    searxng, brave, tavily = planned("word " * 59 + "word").sources
    assert searxng.queries == tavily.queries == ()
    assert brave.queries == (" ".join(["word"] * 50),)
    assert brave.notes == ("brave_llm: query cut to 50 words",)


def test_worst_case_is_the_slowest_source_of_each_query() -> None:
    """contract: Plan: one query after another, the sources of one at the same time; only those that are asked."""
    assert planned("a", "b").seconds == 18
    assert planned("a", "b", left=1).seconds == 9 + 8
    assert planned("a", left=0).seconds == 8


def test_credits_at_most_are_those_of_capped_sources() -> None:
    """contract: Plan: a source without a cap costs none; the cap may end before the queries."""
    assert [each.credits for each in planned("a", "b").sources] == [0, 0, 2]
    assert [each.credits for each in planned("a", "b", left=None).sources] == [0, 0, 0]
    stopped = planned("a", "b", left=1).sources[2]
    assert (stopped.asked, stopped.calls, stopped.credits, stopped.notes) == (True, 1, 1, ("tavily: daily cap",))


def test_plan_of_a_cached_answer_asks_nobody_and_keeps_its_notes() -> None:
    """contract: Plan: `cached`, 0 credits, no time, and the notes that the cached answer will show."""
    world = World(5)
    request = SearchRequest(("a",), filter=Filter(topic="finance"))
    world.engine.search(request, "fleet")
    plan = world.engine.plan(request, "fleet")
    assert (plan.cached, plan.seconds, plan.left) == (True, 0, {"tavily": 4})
    assert {(each.asked, each.calls, each.credits) for each in plan.sources} == {("cached", 0, 0)}
    assert plan.sources[0].notes == ("searxng: topic ignored (no finance category)",)


def test_plan_without_a_readable_ledger_asks_no_paid_source() -> None:
    """contract: Plan: a call would not be made uncounted; what is left is unknown."""
    plan = World(5, is_broken=True).engine.plan(SearchRequest(("a",)), "fleet")
    assert plan.sources[2].asked == "daily cap unavailable"
    assert plan.left == {"tavily": None}


TREATED = [
    ({"time_range": "day"}, "native", "not applied", "native"),
    ({"start_date": "2026-09-01"}, "not applied", "not applied", "native"),
    ({"topic": "news"}, "native", "not applied", "native"),
    ({"topic": "finance"}, "not applied", "not applied", "native"),
    ({"exact_match": True}, "approximated", "not applied", "native"),
    ({"min_score": 0.5}, "not applied", "not applied", "enforced"),
    ({"include_domains": ("a.example",)}, "approximated+enforced", "enforced", "native+enforced"),
    ({"include_domains": ("gov",)}, "approximated+enforced", "enforced", "enforced"),
    ({"exclude_domains": ("a.example",)}, "enforced", "enforced", "native+enforced"),
    ({"exclude_domains": ("gov",)}, "enforced", "enforced", "enforced"),
]


@pytest.mark.parametrize(("fields", *NAMES), TREATED)
def test_filters_say_how_each_source_applies_them(
    fields: dict[str, Any], searxng: str, brave_llm: str, tavily: str
) -> None:
    """contract: Plan: native, approximated, enforced by Sift, or not applied."""
    (name,) = fields
    found = planned('"a"', filter=Filter(**fields)).sources
    assert [each.filters for each in found] == [{name: how} for how in (searxng, brave_llm, tavily)]


def test_preference_is_tavilys_alone() -> None:
    """contract: Plan: a preference is enforced by nobody."""
    preferring = Filter(include_domains=("a.example",), include_domains_mode="prefer")
    not_applied = {"include_domains": "not applied", "include_domains_mode": "not applied"}
    native = {"include_domains": "native", "include_domains_mode": "native"}
    assert [each.filters for each in planned("a", filter=preferring).sources] == [not_applied, not_applied, native]


NOTED = {
    "include_domains": "include_domains_mode=prefer not applied",
    "include_domains_mode": "include_domains_mode=prefer not applied",
    "start_date": "start_date/end_date not applied",
    "end_date": "start_date/end_date not applied",
}


def test_filter_that_is_not_applied_is_noted_and_no_other() -> None:
    """contract: Plan, Notes: the words of the plan and the notes of the search say the same, for all filters."""
    for wanted in FILTERS:
        for each in planned('"a"', filter=wanted).sources:
            noted = {note.partition(": ")[2] for note in each.notes}
            unapplied = {name for name, how in each.filters.items() if how == "not applied"}
            due = {NOTED.get(name, f"{name} not applied") for name in unapplied}
            if wanted.topic == "finance" and each.source == "searxng":
                due = due - {"topic not applied"} | {"topic ignored (no finance category)"}
            if each.source == "tavily" and unapplied:
                due = {"include_domains without a dot not sent"}
            more = {"extra include_domains dropped", "include_domains without a dot not sent"}
            assert noted - more == due - more, (wanted, each)


def test_plan_leaves_the_engines_own_state_alone() -> None:
    """contract: Plan: no event is reported, and a real cache answers as before."""

    class Loud:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    observer: Any = Loud()
    world = World(5)
    engine = Engine(world.engine._calls, MemoryCache(4, 60), observer=observer)
    assert engine.plan(SearchRequest(("a",)), "fleet").cached is False
