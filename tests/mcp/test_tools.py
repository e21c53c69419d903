"""The tools and their schemas (contract: MCP)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sift.batch.fields import FIELDS as OF_BATCH
from sift.fetch.fields import FIELDS as OF_FETCH
from sift.fields import Field
from sift.mcp.tools import BATCH, FETCH, SEARCH, TOOLS, Tool, accepts
from sift.search.fields import FIELDS as OF_SEARCH

MOST = 3100
"""Characters of the list. As it is, cl100k makes 698 tokens of it; see docs/decisions.md."""


def listed() -> str:
    """Return what a model is told of the tools, as JSON."""
    tools = [{"name": each.name, "description": each.text, "inputSchema": each.schema} for each in TOOLS.values()]
    return json.dumps(tools, separators=(",", ":"))


def test_descriptions_of_all_tools_stay_short() -> None:
    """contract: MCP: every conversation pays for them."""
    assert len(listed()) < MOST


@pytest.mark.parametrize(("tool", "fields"), [(SEARCH, OF_SEARCH), (FETCH, OF_FETCH), (BATCH, OF_BATCH)])
def test_schema_has_every_field_of_the_request_but_two(tool: Tool, fields: tuple[Field, ...]) -> None:
    """contract: MCP: the arguments are those of v1, less `rerank` and `digest`, and described in the same words."""
    wanted = {field.name: field for field in fields if field.name not in ("rerank", "digest")}
    properties: dict[str, Any] = tool.schema["properties"]
    assert list(properties) == list(wanted)
    for name, field in wanted.items():
        schema = properties[name]
        assert (schema["type"], schema["description"]) == (field.type, field.text)
        assert schema.get("enum", []) == list(field.choices)
        assert schema.get("maximum") == field.maximum


def test_schema_demands_what_no_call_can_do_without() -> None:
    """contract: MCP: a search has one of two arguments, which no schema says that all clients read."""
    assert [tool.schema.get("required") for tool in TOOLS.values()] == [None, ["url"], ["urls"]]


@pytest.mark.parametrize("tool", TOOLS.values())
def test_what_each_argument_accepts_is_said(tool: Tool) -> None:
    """contract: MCP: a refusal says what to change."""
    for field in tool.fields:
        assert accepts(field).startswith(("a ", "at most ", "true", *field.choices))
