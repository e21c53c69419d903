"""The fields that Tavily has and Sift has not: what asks for nothing, and the warnings on the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sift.validation import unknown_field_warnings

KEY = "api_key"
"""The caller's key, where no header shows it."""
SEARCH: Mapping[str, tuple[object, ...]] = {
    "search_depth": ("basic",),
    "chunks_per_source": (3,),
    **dict.fromkeys(("include_answer", "include_raw_content", "include_images", "include_image_descriptions"), ()),
    **dict.fromkeys(("include_favicon", "include_usage", "filter_by_published_date", "auto_parameters"), ()),
    **dict.fromkeys(("country", "language", "filter_by_language", "safe_search"), ()),
    **dict.fromkeys(("max_age_hours", "fetch_timeout", "cache_fallback"), ()),
}
"""The ignored fields of a search, each with the values that ask for no more than Sift gives."""
EXTRACT: Mapping[str, tuple[object, ...]] = {
    "extract_depth": ("basic",),
    "chunks_per_source": (3,),
    **dict.fromkeys(("include_images", "include_favicon", "include_usage", "query"), ()),
}
_NOTHING: tuple[object, ...] = (None, False, "", [], {})


def warnings(
    payload: Mapping[str, Any], known: Iterable[str], ignored: Mapping[str, tuple[object, ...]]
) -> tuple[str, ...]:
    """Return a warning for each ignored field that asks for something, then those on unknown fields.

    known: the fields that count. ignored: SEARCH or EXTRACT.
    """
    named = [
        f"{name} ignored"
        for name, harmless in ignored.items()
        if name in payload and payload[name] not in _NOTHING + harmless
    ]
    return (*named, *unknown_field_warnings(payload, dict.fromkeys((*known, *ignored, KEY))))
