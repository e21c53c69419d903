"""What the demo's module of a vendor exports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sift.demo.index import Index


class Request(NamedTuple):
    """Describe one request; header names in lower case."""

    headers: Mapping[str, str]
    parameters: Mapping[str, str]
    body: bytes


class StandIn(NamedTuple):
    """Describe the stand-in of one vendor.

    method, path: the one request it answers; no two stand-ins have the same path.
    answer: from the index and a request to the status and the body, HTML when it is a string, else JSON.
    """

    method: str
    path: str
    answer: Callable[[Index, Request], tuple[int, object]]
