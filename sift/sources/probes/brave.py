"""Whether Brave takes the key: asked without a query, it refuses, and says for which reason. That costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sift.config import SourceConfig
from sift.findings import Finding, caution, fail, ok
from sift.sources.brave import SETTINGS
from sift.sources.headers import HEADERS
from sift.sources.probes import Ask, unexpected

NAME, URL, KEY = SETTINGS.name, SETTINGS.variable("URL"), SETTINGS.variable("API_KEY")
_FOUND = {
    (422, "VALIDATION"): ok(NAME, "the key is good"),
    (422, "SUBSCRIPTION_TOKEN_INVALID"): fail(
        NAME, "the key is wrong or was revoked", f"set {KEY} to a key of api-dashboard.search.brave.com"
    ),
    (404, "SUBSCRIPTION_NOT_FOUND"): fail(
        NAME, "the key has no subscription", "subscribe at api-dashboard.search.brave.com, to a plan with LLM Context"
    ),
    (429, "QUOTA_LIMITED"): caution(
        NAME, "the month's quota is used up", "raise it at Brave, or wait for the next month"
    ),
    (429, "RATE_LIMITED"): caution(NAME, "too many requests in this second to tell", "run the doctor again"),
}


def probe(config: SourceConfig, ask: Ask) -> Iterator[Finding]:
    """Yield what Brave thinks of the key. Raises SourceError."""
    seen = ask(config.url, {**HEADERS, "X-Subscription-Token": config.key})
    code = _code(seen.json())
    if found := _FOUND.get((seen.status, code)):
        yield found
    elif code and seen.status in (400, 401, 403):
        yield fail(
            NAME, f"Brave refuses the key (http {seen.status})", f"set {KEY} to a key whose plan has LLM Context"
        )
    else:
        yield unexpected(NAME, URL, seen)


def _code(body: dict[str, Any]) -> str:
    """Return the word for an error, which is documented in a list and comes alone."""
    found = body.get("error")
    listed = body.get("errors")
    if isinstance(listed, list) and listed:
        found = found or listed[0]
    code = found.get("code") if isinstance(found, dict) else None
    return code if isinstance(code, str) else ""
