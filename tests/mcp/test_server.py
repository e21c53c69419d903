"""What of the server needs no connection; whole ones are in tests/real/test_mcp.py (contract: MCP)."""

from __future__ import annotations

import asyncio
import threading

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from sift.mcp.server import bearer, security
from sift.mcp.threads import Threads, portal_of


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer sift_a_b", "sift_a_b"),
        ("bearer \t sift_a_b ", "sift_a_b"),
        ("Basic sift_a_b", ""),
        ("sift_a_b", ""),
        ("", ""),
    ],
)
def test_token_is_that_of_the_header_alone(header: str, token: str) -> None:
    """contract: MCP, Callers: the scheme in any case."""
    assert bearer({"authorization": header} if header else {}) == token


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "0.0.0.0", "192.0.2.7"])
def test_host_check_is_on_wherever_the_server_listens(host: str) -> None:
    """contract: MCP: the SDK's own turns it off for addresses that are not loopback."""
    made = security(host, ("mcp.example",))
    assert made.enable_dns_rebinding_protection
    assert {"127.0.0.1:*", "localhost", "[::1]:*", "mcp.example", "mcp.example:*"} <= set(made.allowed_hosts)
    assert "https://mcp.example" in made.allowed_origins
    assert "*" not in made.allowed_hosts


def test_cancelled_call_is_not_waited_for() -> None:
    """contract: MCP: its place is taken until the service has answered."""
    release, began = threading.Event(), threading.Event()

    def work() -> str:
        began.set()
        release.wait(20)
        return "late"

    async def serve(threads: Threads) -> None:
        task = asyncio.get_running_loop().create_task(threads.run(work))
        while not began.is_set():
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        asked: list[str] = []
        waiting = asyncio.get_running_loop().create_task(threads.run(lambda: asked.append("next") or "next"))
        for _ in range(100):
            await asyncio.sleep(0)
        assert asked == []
        release.set()
        assert await waiting == "next"

    async def main() -> None:
        await portal_of(serve, 1)

    asyncio.run(main())


def test_what_a_call_raises_reaches_its_caller() -> None:
    """contract: MCP: and no other output."""

    async def serve(threads: Threads) -> None:
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 // 0)

    asyncio.run(portal_of(serve))
