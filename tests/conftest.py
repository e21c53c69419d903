"""What every test may use."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.postgres import Server, missing
from tests.vendors import Vendors

# A machine that does something else for half a second makes no example wrong.
settings.register_profile("sift", deadline=None)
settings.load_profile("sift")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """Run a PostgreSQL; skip where there is none."""
    if reason := missing():
        pytest.skip(reason)
    with Server() as running:
        yield running


@pytest.fixture
def vendors() -> Iterator[Vendors]:
    """Serve the three vendors on loopback."""
    with Vendors() as running:
        yield running


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Return an event that lets vendors go which hold a connection; set when the test is over."""
    event = threading.Event()
    yield event
    event.set()
