"""What a server says about when to come back."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after(text: str) -> float | None:
    """Return the seconds that a Retry-After header asks for, as a number or a date; None for neither, or for the past.

    text: the header's value, "" when there is none.
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9]) or None
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    left = (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return left if left > 0 else None
