"""The number of examples that property tests try."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# SIFT_TEST_EXAMPLES=10000 searches longer.
moderate = settings(
    max_examples=int(os.environ.get("SIFT_TEST_EXAMPLES", "100")),
    suppress_health_check=[HealthCheck.too_slow],
)
