"""What a server says about when to come back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from sift.wire.retry import retry_after


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7.0), (" 120 ", 120.0), ("0", None), ("", None), ("-1", None), ("1.5", None), ("soon", None), ("²", None)],
)
def test_number_is_seconds_and_all_else_says_nothing(text: str, seconds: float | None) -> None:
    assert retry_after(text) == seconds


def test_date_counts_from_now_unless_it_is_past() -> None:
    now = datetime.now(UTC)
    seconds = retry_after(format_datetime(now + timedelta(hours=1)))
    assert seconds is not None
    assert 3500 < seconds <= 3600
    assert retry_after(format_datetime(now - timedelta(hours=1))) is None
