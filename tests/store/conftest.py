"""The engines of the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.engines import Clock, Engine, PostgresEngine, SqliteEngine


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Return each of the engines, with nothing in it."""
    made: Engine
    if request.param == "sqlite":
        made = SqliteEngine(tmp_path / "state")
    else:
        made = PostgresEngine(request.getfixturevalue("postgres").room())
    yield made
    made.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()
