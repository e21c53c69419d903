"""`sift mcp`: Sift's tools for programs that speak the Model Context Protocol (contract: MCP)."""

from __future__ import annotations

import os

import click

from sift.cli.service import DEFAULT_URL
from sift.cli.status import ExitStatus
from sift.cli.terminal import complain, tell

EXTRA = "it needs the extra mcp: pip install 'sift-gateway[mcp]'"


class Address(click.ParamType):  # type: ignore[type-arg] # not generic in older versions of click
    """An address to listen at: `8790`, `127.0.0.1:8790` or `[::1]:8790`."""

    name = "address"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Return host and port; a port alone is one of loopback."""
        if isinstance(value, tuple):
            return value
        host, _, port = str(value).rpartition(":")
        host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        if not (port.isascii() and port.isdigit() and len(port) < 6 and int(port) < 65_536):
            self.fail("is not [HOST:]PORT.", param, ctx)
        return host or "127.0.0.1", int(port)


@click.command(short_help="Serve Sift's tools over MCP.")
@click.option("--http", metavar="[HOST:]PORT", type=Address(), help="Serve Streamable HTTP there, at /mcp, not stdio.")
@click.option(
    "--allow-host",
    "names",
    metavar="NAME",
    multiple=True,
    help="A name under which clients reach it, besides its address and localhost. Repeatable.",
)
def mcp(http: tuple[str, int] | None, names: tuple[str, ...]) -> None:
    """Offer search, fetch and batch as MCP tools: sift_search, sift_fetch, sift_batch.

    It is a client of the service at $SIFT_URL (default: http://127.0.0.1:8787). On stdio every call has the key in
    $SIFT_TOKEN, and the end of stdin ends it. With --http each caller sends its own, as Authorization: Bearer, and
    $SIFT_TOKEN is not read.

    Exit codes: 0 stdin has ended; 1 internal error; 2 wrong usage or settings, or the extra mcp is missing.
    """
    if names and http is None:
        raise click.UsageError("--allow-host goes with --http.")
    try:
        from sift.mcp import server
    except ImportError:
        complain(EXTRA)
        raise click.exceptions.Exit(ExitStatus.USAGE) from None
    from sift.client import SiftClient

    url = os.environ.get("SIFT_URL", "").strip() or DEFAULT_URL
    token = os.environ.get("SIFT_TOKEN", "").strip() if http is None else ""
    client = SiftClient(url, token, os.environ)  # a wrong setting ends it here, and not with the first call
    if http is None:
        server.serve_stdio(client)
        return
    host, port = http
    shown = f"[{host}]" if ":" in host else host
    server.serve_http(
        lambda key: SiftClient(url, key, os.environ),
        *(host, port, names),
        lambda bound: tell(f"listening at http://{shown}:{bound}{server.PATH}"),
    )
