"""What the validation of every JSON request shares: strict types, absent fields, unknown fields."""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, pre_load

from sift.fields import Field

MAX_FIELD_WARNINGS = 5
_TYPES: dict[str, tuple[type, ...]] = {"boolean": (bool,), "integer": (int,), "number": (int, float)}


def schema(name: str, described: Mapping[str, Field], rule: Callable[[Field], fields.Field[Any]]) -> Schema:
    """Return the schema of a request, which checks each field by itself.

    described: the fields by the names that a request may use. rule: returns the check of one field.
    """
    # The value that, beside null, stands for an absent field.
    empty = {each: {"string": "", "array": []}.get(field.type) for each, field in described.items()}

    class Rules(Schema):
        class Meta:
            unknown = EXCLUDE

        @pre_load
        def omit(self, payload: Mapping[str, Any], **kwargs: Any) -> dict[str, Any]:
            """Drop absent fields: null for any type, "" for a string, [] for a list (contract: Search request)."""
            return {each: value for each, value in payload.items() if value is not None and value != empty.get(each)}

        @post_load
        def as_dict(self, data: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
            return dict(data)

    return Rules.from_dict({each: rule(field) for each, field in described.items()}, name=name)()


def unknown_field_warnings(payload: Mapping[str, Any], known: Mapping[str, object]) -> tuple[str, ...]:
    """Return a warning for each unknown field, at most five, naming the field probably meant."""
    if payload.keys() <= known.keys():
        return ()
    squashed = {_squash(name): name for name in known}
    warnings: list[str] = []
    for name in payload:
        if name in known or len(warnings) == MAX_FIELD_WARNINGS:
            continue
        shown = "".join(char for char in name if unicodedata.category(char) not in ("Cc", "Cf", "Cs"))[:64]
        close = difflib.get_close_matches(_squash(shown), squashed, n=1, cutoff=0.75)
        meant = f" (did you mean {squashed[close[0]]}?)" if close else ""
        warnings.append(f"unknown field ignored: {shown}{meant}")
    return tuple(dict.fromkeys(warnings))


class Strict(fields.Field[Any]):
    """A JSON value of exactly the given types: `true` is not a number, `"yes"` and 1 are not booleans."""

    def __init__(self, *types: type, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._types = types

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if type(value) not in self._types:
            raise ValidationError("wrong type")
        return value


class Number(Strict):
    """A number within the field's bounds; an integer if the field is one."""

    def __init__(self, field: Field) -> None:
        super().__init__(*_TYPES[field.type])
        self._is_whole = field.type == "integer"
        self._low = -math.inf if field.minimum is None else field.minimum
        self._high = math.inf if field.maximum is None else field.maximum

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> float:
        number: float = super()._deserialize(value, attr, data, **kwargs)
        if not self._low <= number <= self._high:  # true for NaN as well, though the parser refuses that
            raise ValidationError("out of range")
        return number if self._is_whole else float(number) or 0.0  # -0.0 is 0


class Choice(Strict):
    """One of the field's choices or their aliases; it comes out as the choice."""

    def __init__(self, field: Field) -> None:
        super().__init__(str)
        self._choices = dict(zip(field.choices, field.choices, strict=True)) | dict(field.aliases)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        chosen = self._choices.get(super()._deserialize(value, attr, data, **kwargs))
        if chosen is None:
            raise ValidationError("not a known value")
        return chosen


def _squash(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
