"""What every test may use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.vendors import Vendors


@pytest.fixture
def vendors() -> Iterator[Vendors]:
    """Serve the three vendors on loopback."""
    with Vendors() as running:
        yield running
