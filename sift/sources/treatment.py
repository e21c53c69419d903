"""How a source applies each filter of a request (contract: Plan)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from sift.search.model import Filter

NATIVE = "native"
"""Sent to the vendor, in a parameter of its own."""
APPROXIMATED = "approximated"
"""Sent in the query's text, which the vendor reads as it likes."""
ENFORCED = "enforced"
"""Hits that do not match are dropped here, whatever the vendor did."""
NOT_APPLIED = "not applied"


def treatments(filter: Filter, sent: Mapping[str, str]) -> dict[str, str]:
    """Return how each filter that is set is applied. sent: what the source makes of those that it can use."""
    by_sift = {"include_domains": filter.restricts, "exclude_domains": True}
    used = (each.name for each in fields(filter) if getattr(filter, each.name) != each.default)
    found = {}
    for name in used:
        how = [sent[name]] if name in sent else []
        if by_sift.get(name):
            how.append(ENFORCED)
        found[name] = "+".join(how) or NOT_APPLIED
    return found
