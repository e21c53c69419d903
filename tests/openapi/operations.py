"""One operation of the document, from what is said of its route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.openapi.errors import Wrong, responses
from tests.openapi.shapes import Schema

JSON = "application/json"


class Try(NamedTuple):
    """An example that a reader can try: what it shows, what is sent, what is answered (None for what no body shows)."""

    text: str
    sent: Any
    answer: Any


class Route(NamedTuple):
    """What is said of a route.

    tag: its group. answer: the schema of what it answers with success. takes: that of its body, None for none.
    tries: examples by name; those of routes without a body are answers alone.
    tool: the name under which agents have it, "" for none. open: whether it needs no key.
    also: other responses, in OpenAPI's form. media: the type of the answer. key_in_body: whether the key may be there.
    """

    path: str
    method: str
    tag: str
    text: str
    answer: Schema
    errors: Sequence[Wrong] = ()
    takes: Schema | None = None
    tries: Mapping[str, Try] = {}
    parameters: Sequence[Mapping[str, Any]] = ()
    tool: str = ""
    open: bool = False
    status: int = 200
    also: Mapping[str, Any] = {}
    media: str = JSON
    key_in_body: bool = False
    more: str = ""


def operation(route: Route) -> dict[str, Any]:
    """Return the operation of a route in OpenAPI's form."""
    made: dict[str, Any] = {"tags": [route.tag], "summary": route.text}
    if route.more:
        made["description"] = route.more
    if route.tool:
        made["operationId"] = route.tool
    if route.open:
        made["security"] = []
    elif route.key_in_body:
        made["security"] = [{"key": []}, {}]
    if route.parameters:
        made["parameters"] = [dict(each) for each in route.parameters]
    answers = {name: {"summary": each.text, "value": each.answer} for name, each in route.tries.items()}
    if route.takes is not None:
        sent = {name: {"summary": each.text, "value": each.sent} for name, each in route.tries.items()}
        made["requestBody"] = {"required": True, "content": {JSON: {"schema": route.takes, "examples": sent}}}
    content = {"schema": route.answer} | ({"examples": answers} if answers else {})
    made["responses"] = {
        str(route.status): {"description": "Success.", "content": {route.media: content}},
        **route.also,
        **responses(*route.errors),
    }
    return made


def path_id() -> dict[str, Any]:
    """Return the parameter that names a batch."""
    return {
        "name": "id",
        "in": "path",
        "required": True,
        "description": "The batch's id.",
        "schema": {"type": "string"},
        "example": "b_abcdefghijklmnopqrstuvwxyz",
    }


def whole(name: str, text: str, low: int, high: int, default: int) -> dict[str, Any]:
    """Return a parameter of the query string that is a whole number."""
    return {
        "name": name,
        "in": "query",
        "description": text,
        "schema": {"type": "integer", "minimum": low, "maximum": high, "default": default},
        "example": default,
    }


def idempotency(name: str) -> dict[str, Any]:
    """Return the header that makes a request safe to repeat."""
    return {
        "name": name,
        "in": "header",
        "description": "The same key with the same body makes no second batch.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    }
