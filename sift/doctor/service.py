"""The service that runs: whether it answers, as what, and what its sources did for a search (contract: Doctor)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from sift import __version__
from sift.findings import Finding, caution, fail, ok

CHECK, SEARCH = "service", "search"
_STATES = {
    "failing": "its last call failed",
    "resting": "it is skipped after failures in a row",
    "capped": "it is at its cap",
}
_AGAIN = "systemctl restart sift"


def not_there(reason: str, *, was_named: bool) -> Finding:
    """Return that no service answers. was_named: whether SIFT_URL says where it must be."""
    if was_named:
        return fail(CHECK, f"no service: {reason}", "start it, or correct SIFT_URL")
    return caution(CHECK, f"no service: {reason}", "start it (systemctl start sift); SIFT_URL says where else it is")


def refused(status: int, hint: str, *, has_token: bool) -> Finding:
    """Return what it means that a service does not tell its status."""
    if status == 401 and has_token:
        return fail(CHECK, "it answers, and refuses SIFT_TOKEN", "set SIFT_TOKEN to a usable key: sift key list")
    if status == 401:
        return ok(CHECK, "it answers; with SIFT_TOKEN of class fleet its status would follow")
    if status == 403 and hint == "class":
        return ok(CHECK, "it answers, and SIFT_TOKEN is good; with class fleet its status would follow")
    if status == 403:
        return fail(CHECK, "without keys it answers to localhost and addresses only", "set SIFT_URL to such a one")
    if status == 404:
        return fail(CHECK, "what answers has no /v1/status", "set SIFT_URL to the service's address alone, without /v1")
    return fail(CHECK, f"it answers, and its status fails with http {status}", "look at the service's log")


def check_status(status: Mapping[str, Any], version: str = __version__) -> list[Finding]:
    """Return what a running service says of itself and its sources. Every field may be anything."""
    running = str(status.get("version", "unknown"))
    sources = [each for each in _list(status.get("sources")) if isinstance(each, dict)]
    if running == version:
        found = [ok(CHECK, f"Sift {version} answers, with {len(sources)} source{'s' * (len(sources) != 1)}")]
    else:
        found = [caution(CHECK, f"it runs Sift {running}, and this is {version}", _AGAIN)]
    if status.get("demo") is True:
        found.append(caution(CHECK, "it answers from the bundled demo", f"set a source and SIFT_DEMO=off; {_AGAIN}"))
    for each in sources:
        if (state := str(each.get("state"))) in _STATES:
            last = each.get("last_failure")
            why = f" ({last['reason']})" if isinstance(last, dict) and "reason" in last and state != "capped" else ""
            cure = "raise the cap, or wait for midnight UTC" if state == "capped" else "see the vendor's own line here"
            found.append(caution(CHECK, f"{each.get('name')}: {_STATES[state]}{why}", cure))
    return found


def check_search(answer: Mapping[str, Any]) -> list[Finding]:
    """Return every source's share in an explained answer."""
    explain = answer.get("explain")
    asked = _list(explain.get("sources") if isinstance(explain, dict) else None)
    results = [each for each in _list(answer.get("results")) if isinstance(each, dict)]
    shares = Counter(
        name
        for hit in results
        for name in {str(each.get("source")) for each in _list(hit.get("why")) if isinstance(each, dict)}
    )
    head = f"{len(results)} hits{' (kept ones)' if answer.get('cached') is True else ''}"
    found = [
        ok(SEARCH, head)
        if results
        else caution(SEARCH, "no hits", "see the sources below, and the notes of sift search")
    ]
    return found + [_share(each, shares, len(results)) for each in asked if isinstance(each, dict)]


def _share(asked: Mapping[str, Any], shares: Counter[str], count: int) -> Finding:
    name, outcome, hits = (str(asked.get(key)) for key in ("source", "outcome", "hits"))
    if outcome != "ok":
        return fail(SEARCH, f"{name}: {outcome}", "see the vendor's own line here, and Warnings in the README")
    cost = asked.get("credits")
    paid = f", {cost} credit{'s' * (cost != 1)}" if cost else ""
    what = f"{name}: {hits} hits in {asked.get('ms')} ms{paid}; {shares[name]} of the {count} shown"
    return ok(SEARCH, what)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
