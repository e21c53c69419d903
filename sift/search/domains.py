"""Domain filters: legal entries, and the hosts they match (contract: Domains, Domain filter)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from sift.search.model import Filter
from sift.search.urls import browser_host

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")


def normalise_domain(text: str) -> str | None:
    """Return a domain entry in lower case without its final dot; None if it is not a hostname."""
    name = text.removesuffix(".")
    # Matched before folding: lower() turns the Kelvin sign into a plain k.
    return name.lower() if len(name) <= 253 and _DOMAIN.fullmatch(name) else None


def host_filter(filter: Filter) -> Callable[[str], bool] | None:
    """Return a predicate of the hosts whose hits may stay; None if all may (R3).

    A restricting include list must match, an exclude list must not; a preference filters nothing.
    """
    restricts = filter.restricts
    if not (restricts or filter.exclude_domains):
        return None
    include, exclude = _endings(filter.include_domains), _endings(filter.exclude_domains)

    def may_stay(host: str) -> bool:
        dotted = f".{host}"
        return (not restricts or dotted.endswith(include)) and not dotted.endswith(exclude)

    return may_stay


@lru_cache(maxsize=32)  # an agent sends the same lists with every query
def _endings(domains: tuple[str, ...]) -> tuple[str, ...]:
    """Return the suffixes, dot included, of the hosts that are one of the domains or below one.

    An entry whose last label is a number is an address, which stands in the one spelling that browsers give it; no host
    but the address itself ends with that.
    """
    hosts = (browser_host(each) if each.rpartition(".")[2][0].isdigit() else each for each in domains)
    return tuple([f".{host}" for host in hosts if host])
