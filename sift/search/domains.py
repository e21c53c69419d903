"""Domain filters: what a legal entry is, and which hosts it matches (contract: Domains, Domain filter)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from sift.search.model import Filter
from sift.search.urls import browser_host

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")


def normalise_domain(text: str) -> str | None:
    """Give a domain entry in lower case without trailing dot; None when it is no hostname.

    ASCII is checked before folding: Python's lower() turns the Kelvin sign into a plain k.
    """
    name = text.removesuffix(".")
    return name.lower() if len(name) <= 253 and _DOMAIN.fullmatch(name) else None


def host_filter(filter: Filter) -> Callable[[str], bool] | None:
    """Make the rule that hits must pass, from host to "may stay"; None when every host may (R3).

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


@lru_cache(maxsize=32)  # the same lists come with every query of an agent
def _endings(domains: tuple[str, ...]) -> tuple[str, ...]:
    """Give what a host ends with, after a dot, when it is one of the domains or under one.

    An entry that is a number is an address, and a browser has one spelling for all of an address' spellings; no host
    but the address itself ends with one.
    """
    hosts = (browser_host(each) if each.rpartition(".")[2][0].isdigit() else each for each in domains)
    return tuple([f".{host}" for host in hosts if host])
