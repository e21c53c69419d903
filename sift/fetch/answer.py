"""A page as `POST /v1/fetch` and the results of a batch give it (contract: Fetch)."""

from __future__ import annotations

from typing import Any

from sift.fetch.cut import cut
from sift.fetch.model import FetchRequest, Page


def envelope(wanted: FetchRequest, page: Page, warnings: tuple[str, ...] = (), *, is_cached: bool) -> dict[str, Any]:
    """Return the answer, keys in the contract's order; what the page does not declare is left out.

    warnings: on the request, after those on the page.
    """
    text = page.text
    content, following = cut(text.content, wanted.start, wanted.max_chars)
    declared = {
        "title": text.title,
        "author": text.author,
        "published_date": text.published_date,
        "lang": text.lang,
    }
    return {
        "url": wanted.url,
        "final_url": page.url,
        "status": page.status,
        "content_type": page.content_type,
        **{name: value for name, value in declared.items() if value},
        "format": wanted.format,
        "content": content,
        "chars": len(text.content),
        "start": wanted.start,
        **({} if following is None else {"next_start": following}),
        "extractor": text.extractor,
        "cached": is_cached,
        "fetched_at": page.fetched_at,
        "sizes": page.sizes._asdict(),
        "warnings": page.warnings + warnings,
    }
