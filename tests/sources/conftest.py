"""What the tests of the vendors may use."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Give an event that lets vendors go which hold a connection; set when the test is over."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "NETRC", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
