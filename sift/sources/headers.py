"""The headers that every vendor gets."""

from __future__ import annotations

from sift import __version__

HEADERS = {
    "User-Agent": f"sift/{__version__}",
    # SearXNG's limiter refuses clients that do not take HTML or name no language; the other vendors do not mind.
    "Accept": "application/json, text/html;q=0.5",
    "Accept-Language": "en",
}
