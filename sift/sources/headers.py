"""The headers sent to every vendor."""

from __future__ import annotations

from sift import __version__

HEADERS = {
    "User-Agent": f"sift/{__version__}",
    # SearXNG's limiter refuses clients that do not accept HTML or state a language; other vendors do not care.
    "Accept": "application/json, text/html;q=0.5",
    "Accept-Language": "en",
}
