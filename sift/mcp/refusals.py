"""Why a call failed, as one sentence that says what to change and repeats no value (contract: MCP)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sift.cli.refusals import unopened
from sift.cli.service import again
from sift.cli.terminal import printable
from sift.mcp.tools import BATCH, SEARCH, Tool, accepts
from sift.search.fields import MAX_QUERIES, MAX_QUERY

if TYPE_CHECKING:
    from sift.client import Response

NO_JSON = "Change the arguments: they hold a number that is none, or are nested too deeply."
_BUSY = "The service is opening as many pages as it can"
_QUERIES = (
    f"Change `query` or `queries`: one query, or a list of 1 to {MAX_QUERIES}, each of 1 to {MAX_QUERY} characters."
)


def refusal(response: Response, tool: Tool, key: str) -> str:
    """Return why the service refused a call. key: where a valid key belongs."""
    error, hint = response.payload["error"], response.payload["hint"]
    if response.status == 400:
        return _wrong(error, hint, tool)
    if response.status == 401:
        return f"Unauthorized: {key} must hold a valid key."
    if response.status == 403 and error == "forbidden":
        return "Forbidden: without keys the service answers to localhost, addresses and names without a dot only."
    if reason := unopened(error, hint):
        return f"{reason[0].upper()}{reason[1:]}; try another page{again(response)}."
    if response.status == 503 and tool is SEARCH:
        return f"No source answered: {_failures(response)}{again(response) or '; try again later'}."
    said = {
        404: f"{tool.name} is switched off in the service, or its SIFT_URL is not the service's address alone",
        413: "Change the arguments: they are too long",
        429: "As many batches are under way as may be",
        503: "The service's store of batches does not answer" if tool is BATCH else _BUSY,
    }
    found = said.get(response.status) or printable(f"The service answered {response.status}: {error} {hint}").rstrip()
    return f"{found}{again(response)}."


def unreachable(error: Exception) -> str:
    """Return that there is no service, and why. error: of the client, whose texts hold nothing of a request."""
    return f"Sift cannot be reached: {error}; SIFT_URL of the MCP server must be its address."


def _wrong(error: str, hint: str, tool: Tool) -> str:
    if error == "invalid query":
        return _QUERIES
    field = tool.described.get(hint)
    if field is None:
        return "Change the arguments: the service cannot read them."
    return f"Change `{field.name}`: {accepts(field)}."


def _failures(response: Response) -> str:
    """Return what the sources said; warnings about the request itself, which name what it holds, are left out."""
    warnings = response.payload.get("warnings")
    said = [each for each in warnings if isinstance(each, str)] if isinstance(warnings, list) else []
    failed = [printable(each) for each in said if not each.startswith("unknown field")]
    return "; ".join(failed)[:2000] or "none is switched on"
