"""What models send where a value of another type is meant, read leniently: at this edge only (contract: MCP)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from sift.fields import Field
from sift.mcp.tools import LEFT_OUT, Tool

_WHOLE = re.compile(r"\s*([+-]?[0-9]{1,15})(?:\.0{1,15})?\s*")
_NUMBER = re.compile(r"\s*[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?\s*")
_BOOLEANS = {"true": True, "false": False}


def body_of(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of the service's request. What has no meaning of its own is passed on as it is.

    Raises ValueError, without a word of the arguments, for what is no JSON.
    """
    known = tool.described
    body = {
        name: coerced(value, known[name]) if name in known else value
        for name, value in arguments.items()
        if name not in LEFT_OUT
    }
    try:
        json.dumps(body, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ValueError("no JSON") from None
    return body


def coerced(value: Any, field: Field) -> Any:
    """Return the value of the field's type that is meant; the value itself where that is unclear."""
    if field.type == "integer":
        return _integer(value)
    if field.type == "number" and isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value) if "." in value else int(value)
    if field.type == "boolean" and isinstance(value, str):
        return _BOOLEANS.get(value.strip().lower(), value)
    if field.type == "array" and isinstance(value, str):
        return _list(value)
    return value


def _integer(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    whole = _WHOLE.fullmatch(value) if isinstance(value, str) else None
    return int(whole[1]) if whole else value


def _list(text: str) -> list[Any]:
    """Return the list that a text holds as JSON; else a list of that text, empty where it is blank."""
    if text.lstrip().startswith("["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, list):
            return found
    return [text] if text.strip() else []
