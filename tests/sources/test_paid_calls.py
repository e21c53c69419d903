"""The cost of calls, and that none is repeated: engine, source and ledger together (contract: Credits)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sift.config import Config
from sift.search.calls import Calls
from sift.search.engine import Engine
from sift.search.model import SearchRequest, Unavailable
from sift.sources import DECLARED, build_source
from sift.store.sqlite.ledger import SqliteLedger
from tests.calls import drip, send
from tests.vendors import Behaviour, Seen, Vendors, reply, tavily_body, usual

FOUR = SearchRequest(("one", "two", "three", "four"))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    made = SqliteLedger(tmp_path / "ledger.sqlite3", {"tavily": 10})
    yield made
    made._close()


def engine(vendors: Vendors, ledger: SqliteLedger, name: str, **settings: str) -> Engine:
    """Return an engine with one source."""
    config = Config.from_env({**vendors.environ, "HOME": "/", **settings}, DECLARED)
    sources = [build_source(each, 8) for each in config.sources if each.name == name]
    return Engine(Calls(sources, ledger, threads=8, breaker_failures=0), None)


def search(asked: Engine, request: SearchRequest) -> tuple[str, ...]:
    """Search, and return the warnings."""
    found = asked.search(request, "fleet")
    return found.warnings if isinstance(found, Unavailable) else found.result.warnings


@pytest.mark.parametrize("name", ["searxng", "brave_llm", "tavily"])
def test_request_has_four_queries_a_vendor_is_asked_one_after_another(
    vendors: Vendors, ledger: SqliteLedger, name: str
) -> None:
    """contract: Several queries: a call starts only when the one before is answered."""
    order: list[str] = []

    def behave(connection: socket.socket, seen: Seen) -> object:
        order.append("asked")
        threading.Event().wait(0.02)
        order.append("answered")
        return usual(name)(connection, seen)

    vendors.behaviour[name] = behave
    assert search(engine(vendors, ledger, name), FOUR) == ()
    assert order == ["asked", "answered"] * 4


def test_vendor_drops_the_connection_one_post_and_one_credit(vendors: Vendors, ledger: SqliteLedger) -> None:
    """contract: HTTP calls: no call is repeated; a retry would be billed again."""
    vendors.behaviour["tavily"] = send()
    assert search(engine(vendors, ledger, "tavily"), SearchRequest(("one",))) == ("tavily: unreachable",)
    assert len(vendors.seen) == 1
    assert ledger.spent("tavily") == 1


@pytest.mark.parametrize(
    ("behaviour", "warning"),
    [
        (reply({}, 500), "tavily: http 500"),
        (reply(b"<html>"), "tavily: bad response"),
        (send(), "tavily: unreachable"),
    ],
)
def test_call_fails_after_it_was_sent_credit_is_kept(
    vendors: Vendors, ledger: SqliteLedger, behaviour: Behaviour, warning: str
) -> None:
    """contract: Credits: failures that the vendor may bill are counted, each of them."""
    vendors.behaviour["tavily"] = behaviour
    assert search(engine(vendors, ledger, "tavily"), FOUR) == (warning,)
    assert ledger.spent("tavily") == 4


def test_call_times_out_after_it_was_sent_credit_is_kept(
    vendors: Vendors, ledger: SqliteLedger, release: threading.Event
) -> None:
    """contract: Credits: a call whose answer came too late is counted."""
    vendors.behaviour["tavily"] = drip(release, b"HTTP/1.1 200 OK\r\n", b"X: x\r\n")
    asked = engine(vendors, ledger, "tavily", SIFT_TAVILY_TIMEOUT="1")
    assert search(asked, SearchRequest(("one",))) == ("tavily: timeout",)
    assert ledger.spent("tavily") == 1


def test_call_was_never_sent_credit_comes_back(vendors: Vendors, ledger: SqliteLedger) -> None:
    """contract: Credits: a refused connection costs nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    asked = engine(vendors, ledger, "tavily", SIFT_TAVILY_URL=f"http://127.0.0.1:{port}/search")
    assert search(asked, FOUR) == ("tavily: unreachable",)
    assert ledger.spent("tavily") == 0


def test_vendor_states_a_price_it_is_booked(vendors: Vendors, ledger: SqliteLedger) -> None:
    """contract: Credits: `usage.credits` is booked, so the cap is reached earlier."""
    vendors.behaviour["tavily"] = reply(tavily_body([], usage={"credits": 4}))
    asked = engine(vendors, ledger, "tavily")
    assert search(asked, FOUR) == ()
    assert len(vendors.seen) == 3  # 4, 8, 12: then the cap of 10
    assert ledger.spent("tavily") == 12
