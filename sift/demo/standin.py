"""The interface of a vendor's stand-in module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sift.demo.index import Index


class Request(NamedTuple):
    """One request; header names are in lower case."""

    headers: Mapping[str, str]
    parameters: Mapping[str, str]
    body: bytes


class StandIn(NamedTuple):
    """The stand-in of one vendor.

    method, path: the only request it answers; no two stand-ins share a path.
    answer: return status and body for a request; a string is sent as HTML, anything else as JSON.
    """

    method: str
    path: str
    answer: Callable[[Index, Request], tuple[int, object]]
