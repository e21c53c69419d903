"""The smallest server that the MCP SDK makes: one tool, which answers at once. `python -m tests.bench.mcp_smallest`."""

from __future__ import annotations

from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

LISTED = ListToolsResult(tools=[Tool(name="echo", input_schema={"type": "object"})])


async def _list(context: Any, params: Any) -> ListToolsResult:
    return LISTED


async def _call(context: Any, params: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=params.arguments["query"])])


async def _serve() -> None:
    server = Server("smallest", on_list_tools=_list, on_call_tool=_call)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(_serve)
