"""A place of its own on the server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres import Server
from tests.store.engines import PostgresEngine


@pytest.fixture
def engine(postgres: Server) -> Iterator[PostgresEngine]:
    made = PostgresEngine(postgres.room())
    yield made
    made.close()
