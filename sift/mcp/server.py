"""The MCP server on the official SDK, over stdio and Streamable HTTP (contract: MCP)."""

from __future__ import annotations

import logging
import signal
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import anyio
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import (
    INVALID_PARAMS,
    CallToolResult,
    ListToolsResult,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as Described

from sift import __version__
from sift.client import SiftClient
from sift.errors import ConfigError
from sift.mcp.calls import Answer, answer
from sift.mcp.threads import Threads, portal_of
from sift.mcp.tools import TOOLS, Tool

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_STOP = 1  # seconds that calls under way may take when the server is told to stop

Connect = Callable[[str], SiftClient]
"""Returns a client with this key, none for ""."""


def build(threads: Threads, client_of: Callable[[Any], SiftClient], key: str) -> Any:
    """Return the server. client_of: returns the client for a call, from its context. key: where a key belongs."""
    listed = ListToolsResult(tools=[_described(tool) for tool in TOOLS.values()])

    async def list_tools(context: Any, params: Any) -> Any:
        return listed

    async def call_tool(context: Any, params: Any) -> Any:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"unknown tool; there are {', '.join(TOOLS)}")
        try:
            asked = params.arguments or {}
            found = await answer(tool, asked, lambda: client_of(context), threads.run, threads.start, key=key)
        except Exception as error:  # its text may hold anything: the type says enough
            found = Answer(f"Sift's MCP server failed: {type(error).__name__}.", is_error=True)
        return CallToolResult(content=[TextContent(type="text", text=found.text)], is_error=found.is_error)

    return Server("sift", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


def bearer(headers: Mapping[str, str]) -> str:
    """Return the token of an Authorization header, "" without one."""
    scheme, _, token = headers.get("authorization", "").strip().replace("\t", " ").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def security(host: str, names: tuple[str, ...]) -> Any:
    """Return the SDK's check of Host and Origin. names: under which the server is reached besides its own address."""
    hosts = dict.fromkeys([*LOOPBACK, f"[{host}]" if ":" in host else host, *names])
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{name}{port}" for name in hosts for port in ("", ":*")],
        allowed_origins=[
            f"{scheme}://{name}{end}" for name in hosts for scheme in ("http", "https") for end in ("", ":*")
        ],
    )


def serve_stdio(client: SiftClient) -> None:
    """Serve one client on stdin and stdout until stdin ends; a signal ends the process at once."""
    quiet()
    # A thread that waits for stdin cannot be interrupted: Ctrl-C would have to wait for the next line.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    async def serve(threads: Threads) -> None:
        server = build(threads, lambda context: client, "SIFT_TOKEN of the MCP server")
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(portal_of, serve)


def serve_http(connect: Connect, host: str, port: int, names: tuple[str, ...], ready: Callable[[int], None]) -> None:
    """Serve any number of clients over Streamable HTTP, each with its own key, until a signal comes.

    port: 0 for a free one. ready: is told the port when connections are taken. Raises ConfigError for an address that
    cannot be had.
    """
    # Imported late: stdio has no use for it.
    import uvicorn

    quiet()

    def client_of(context: Any) -> SiftClient:
        return connect(bearer(context.request.headers))

    async def serve(threads: Threads) -> None:
        app = build(threads, client_of, "the `Authorization: Bearer` header").streamable_http_app(
            streamable_http_path=PATH, json_response=True, stateless_http=True, transport_security=security(host, names)
        )
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_STOP,
        )
        try:
            listener = config.bind_socket()
        except SystemExit:  # uvicorn has said why to a log that nobody reads
            raise ConfigError("--http must be an address of this host, and a port that is free and allowed") from None
        listener.listen(config.backlog)
        ready(listener.getsockname()[1])
        await uvicorn.Server(config).serve(sockets=[listener])

    anyio.run(portal_of, serve)


def quiet() -> None:
    """Have nothing logged and no warning shown in this process: the SDK's may hold what a client sent."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")


def _described(tool: Tool) -> Any:
    return Described(
        name=tool.name,
        description=tool.text,
        input_schema=tool.schema,
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=True),
    )
