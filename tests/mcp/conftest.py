"""The stand-in for the service that the command's tests have, and calls of tools without the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from sift.client import Response, SiftClient
from sift.mcp.calls import Answer, answer
from sift.mcp.tools import TOOLS
from tests.cli.conftest import Service, service

__all__ = ["service"]

KEY = "SIFT_TOKEN of the MCP server"
Call = Callable[..., Answer]


async def at_once(work: Callable[[], Response]) -> Response:
    """Make a call in this thread: nothing else is to be served."""
    return work()


@pytest.fixture
def call(service: Service) -> Call:
    """Return a function that calls a tool. url, token: of another service. ticks: what the clock says, in turn."""

    def ask(name: str, url: str = service.url, token: str = "sift_key", ticks: float = 0, **arguments: Any) -> Answer:
        times = iter(float(number) * ticks for number in range(1000))
        return asyncio.run(
            answer(
                TOOLS[name],
                arguments,
                lambda: SiftClient(url, token),
                at_once,
                lambda work: None,
                key=KEY,
                clock=lambda: next(times),
            )
        )

    return ask
