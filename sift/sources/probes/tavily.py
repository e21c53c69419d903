"""Whether Tavily takes the key, and what is left of its credits: `GET …/usage` costs none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sift.config import SourceConfig
from sift.findings import Finding, caution, fail, ok
from sift.sources.headers import HEADERS
from sift.sources.probes import Ask, unexpected
from sift.sources.tavily import SETTINGS

NAME, URL, KEY, CAP = SETTINGS.name, *map(SETTINGS.variable, ("URL", "API_KEY", "DAILY_CAP"))
_MOST = 10**12  # a longer number is none


def probe(config: SourceConfig, ask: Ask) -> Iterator[Finding]:
    """Yield what Tavily thinks of the key, and whether the daily cap goes with what is left. Raises SourceError."""
    if config.daily_cap == 0:
        yield caution(NAME, f"never called: {CAP} is 0", f"raise {CAP}, or take {KEY} out")
    seen = ask(usage_url(config.url), {**HEADERS, "Authorization": f"Bearer {config.key}"})
    found = seen.json()
    if seen.status == 200 and found.keys() & {"key", "account"}:
        yield _balance(found, config.daily_cap or 0)
    elif seen.status in (401, 403) and "detail" in found:
        yield fail(NAME, "the key is wrong or was revoked", f"set {KEY} to a key of app.tavily.com")
    elif seen.status == 429:
        yield caution(NAME, "asked too often to tell", "run the doctor again in ten minutes")
    else:
        yield unexpected(NAME, URL, seen)


def usage_url(url: str) -> str:
    """Return the address of the usage beside that of the search."""
    return url.partition("?")[0].rstrip("/").rpartition("/")[0] + "/usage"


def _balance(found: dict[str, Any], cap: int) -> Finding:
    """Compare what is left, of the key's limit and of the plan with what is paid beyond it, with the daily cap."""
    used, most = _number(found, "key", "usage"), _number(found, "key", "limit")
    plan, plan_most = _number(found, "account", "plan_usage"), _number(found, "account", "plan_limit")
    paid, paid_most = _number(found, "account", "paygo_usage"), _number(found, "account", "paygo_limit")
    beyond = max(0, (paid_most or 0) - (paid or 0))
    said = [
        f"{spent} of {limit} credits of the {whose} used"
        for whose, spent, limit in (("key", used, most), ("plan", plan, plan_most))
        if spent is not None and limit is not None
    ]
    what = ", ".join(["the key is good", *said])
    left = [] if used is None or most is None else [max(0, most - used)]
    left += [] if plan is None or plan_most is None else [max(0, plan_most - plan) + beyond]
    if not left or min(left) >= cap:
        return ok(NAME, what)
    if min(left) == 0:
        return fail(NAME, f"{what}: none is left", "raise the limit at app.tavily.com, or wait for the next month")
    return caution(
        NAME, f"{what}: fewer are left than {CAP} allows a day", f"lower {CAP}, or raise the limit at Tavily"
    )


def _number(found: dict[str, Any], part: str, name: str) -> int | None:
    about = found.get(part)
    number = about.get(name) if isinstance(about, dict) else None
    if not isinstance(number, int | float) or isinstance(number, bool):
        return None
    return int(number) if 0 <= number < _MOST else None
