"""What every test may use."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.postgres import Server, missing
from tests.vendors import Vendors

# A shell starts what it runs in the background with Ctrl-C ignored, which every program that a test interrupts would
# inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
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
