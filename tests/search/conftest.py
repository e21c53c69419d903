"""Fixtures of the engine's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes import Gate


@pytest.fixture
def gates() -> Iterator[list[Gate]]:
    """Collect gates, and open them all at the end so that no pool thread is left blocked."""
    made: list[Gate] = []
    yield made
    for gate in made:
        gate.open()
