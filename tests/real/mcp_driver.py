"""Runs in another Python environment: its MCP SDK's client, one JSON line in, one JSON line out."""

import asyncio
import importlib.metadata
import json
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

VERSION = importlib.metadata.version("mcp")


@asynccontextmanager
async def over_http(url: str, headers: dict):
    if VERSION.startswith("1."):
        from mcp.client.streamable_http import streamablehttp_client

        async with streamablehttp_client(url, headers=headers) as (read, write, _):
            yield read, write
    else:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,  # its own 5 s are for a machine with time
            streamable_http_client(url, http_client=http) as (read, write, *_),
        ):
            yield read, write


@asynccontextmanager
async def opened(path: str):
    with Path(path).open("a") as file:
        yield file


@asynccontextmanager
async def session_of(transport, revision: str):
    """Connect: by the handshake that all revisions up to 2025-11-25 know, or as the newest revision does."""
    if revision == "handshake":
        async with transport as (read, write), ClientSession(read, write) as session:
            begun = (await session.initialize()).model_dump(by_alias=True)
            yield session, begun["protocolVersion"]
    else:
        from mcp.client import Client

        async with Client(transport, mode="auto") as client:
            yield client, client.protocol_version


async def call(calls: list, revision="handshake", command=None, env=None, errlog=None, url="", headers=None) -> dict:
    async with AsyncExitStack() as stack:
        if command:
            log = await stack.enter_async_context(opened(errlog))
            transport = stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=env), errlog=log)
        else:
            transport = over_http(url, headers or {})
        session, protocol = await stack.enter_async_context(session_of(transport, revision))
        listed = (await session.list_tools()).model_dump(by_alias=True, exclude_none=True)
        answers = []
        for name, arguments in calls:
            try:
                answers.append((await session.call_tool(name, arguments)).model_dump(by_alias=True, exclude_none=True))
            except Exception as error:  # the kind of error is the result
                answers.append({"error": error.error.code, "message": error.error.message})
        return {"protocol": protocol, "tools": listed["tools"], "answers": answers}


print(json.dumps({"version": VERSION}), flush=True)
for line in sys.stdin:
    print(json.dumps(asyncio.run(call(**json.loads(line)))), flush=True)
