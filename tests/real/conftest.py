"""One real service shared by the tests of this directory, which leave its state as it is."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from tests.real.programs import bearer, new_key
from tests.service import Service
from tests.vendors import Vendors, for_all
from tests.world.namespace import UnavailableError
from tests.world.service import Inside
from tests.world.world import World


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


@pytest.fixture(scope="session")
def _world() -> Iterator[World]:
    with ExitStack() as stack:
        try:
            made = stack.enter_context(World())
        except UnavailableError as error:
            pytest.skip(str(error))
        yield made


@pytest.fixture
def world(_world: World) -> World:
    """Return the internet of the tests, where nothing has been seen yet. Skip where it cannot be made."""
    _world.begin()
    return _world


@pytest.fixture(scope="session")
def _inside(_world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with Inside(_world, tmp_path_factory.mktemp("inside")) as service:
        yield service


@pytest.fixture
def sift(world: World, _inside: Inside) -> Inside:
    """Return the service in that internet which the tests share; hosts are new in each test."""
    return _inside
