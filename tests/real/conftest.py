"""One real service shared by the tests of this directory, which leave its state as it is."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from tests.real.programs import bearer, new_key
from tests.service import Service
from tests.vendors import Vendors, for_all


class Tokens(NamedTuple):
    """A token of each class."""

    fleet: str
    restricted: str


class Running(NamedTuple):
    """The service, its vendors and its callers' tokens."""

    service: Service
    vendors: Vendors
    tokens: Tokens

    @property
    def fleet(self) -> dict[str, str]:
        """Return the header of a fleet caller."""
        return bearer(self.tokens.fleet)


@pytest.fixture(scope="session")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    path = tmp_path_factory.mktemp("shared")
    tokens = Tokens(
        new_key(path / "state", "the fleet", "fleet"), new_key(path / "state", "the restricted", "restricted")
    )
    with Vendors() as vendors:
        # No breaker and no cap: a vendor that one test breaks must be queried again by the next.
        settings = {"SIFT_AUTH": "keys", "SIFT_BREAKER_FAILURES": "0", **for_all("DAILY_CAP", "1000000")}
        with Service(path, vendors.environ | settings) as service:
            yield Running(service, vendors, tokens)


@pytest.fixture
def running(_shared: Running) -> Running:
    """Return the shared service, with its vendors reset."""
    _shared.vendors.restore()
    return _shared


_number = itertools.count(1)


@pytest.fixture(scope="session")
def fresh() -> Callable[[], str]:
    """Return a function that makes queries no cache can hold."""
    return lambda: f"words number {next(_number)}"
