"""How the fields of a request are described: once, as data.

Validation, the command's flags and all JSON Schemas derive from a description, and the documents are tested against it.
The command loads this for every `--help`, so it imports nothing that is slow to load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a request, with all that a JSON Schema of it needs.

    type: the JSON type. An array holds strings, which format, min_length and max_length then describe.
    text: its purpose, as a sentence without the full stop. Names of other fields are in backticks, so that a flag can
    replace them; a boolean's text is an imperative, so that "Do not" can precede it.
    rule: what must hold besides, other fields considered; "" for nothing.
    group: `query` is searched for, `filter` selects hits, `answer` shapes the answer.
    default: the value that an absent field stands for; None if there is none.
    minimum, maximum: of a number, inclusive. min_length, max_length: code points.
    choices: a closed set of values. aliases: other spellings of choices, each with the choice it stands for.
    other_names: names under which other APIs have the field; they are taken like its own.
    """

    name: str
    type: Literal["string", "integer", "number", "boolean", "array"]
    text: str
    rule: str = ""
    group: Literal["query", "filter", "answer"] = "filter"
    default: Any = None
    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    choices: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    other_names: tuple[str, ...] = ()
    format: Literal["", "date", "hostname"] = ""

    @property
    def sentence(self) -> str:
        """Return the text and the rule as one sentence."""
        return f"{self.text}; {self.rule}." if self.rule else f"{self.text}."


def schema_of(field: Field) -> dict[str, Any]:
    """Return the JSON Schema of a field, in short: without defaults, lower limits and the limits of a list."""
    schema: dict[str, Any] = {"type": field.type, "description": field.text}
    if field.choices:
        schema["enum"] = list(field.choices)
    if field.type == "array":
        schema["items"] = {"type": "string"}
    if field.format == "date":
        schema["format"] = "date"
    if field.maximum is not None:
        schema["maximum"] = field.maximum
    return schema
