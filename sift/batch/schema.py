"""Validation of `POST /v1/batch`: from JSON to a BatchRequest, or to one error (contract: Batch)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError, fields

from sift import validation
from sift.batch.fields import FIELDS, MOST_URLS
from sift.batch.model import BatchRequest
from sift.errors import InvalidBatchError
from sift.fields import Field

_BY_NAME = {field.name: field for field in FIELDS}


def load_batch(payload: Mapping[str, Any], cls: str) -> BatchRequest:
    """Return a validated request of a caller of this class; its URLs are judged later. Raises InvalidBatchError."""
    try:
        data, wrong = _SCHEMA.load(payload), set[str]()
    except ValidationError as error:
        data, wrong = error.valid_data, set(error.messages_dict)
    if not 1 <= len(data.get("urls", ())) <= MOST_URLS[cls]:
        wrong.add("urls")
    for name in _BY_NAME:
        if name in wrong:
            raise InvalidBatchError(name)
    return BatchRequest(**data)


def load_urls(value: object, cls: str) -> tuple[str, ...]:
    """Return the URLs of a caller of this class, unjudged. Raises InvalidBatchError."""
    return load_batch({"urls": value}, cls).urls


def unknown_field_warnings(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a warning for each unknown field, at most five, naming the field probably meant."""
    return validation.unknown_field_warnings(payload, _BY_NAME)


class _Strings(validation.Strict):
    """A list of strings, of any length."""

    def __init__(self) -> None:
        super().__init__(list)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> tuple[str, ...]:
        members = super()._deserialize(value, attr, data, **kwargs)
        if not all(type(member) is str for member in members):
            raise ValidationError("wrong type")
        return tuple(members)


def _rule(field: Field) -> fields.Field[Any]:
    if field.type == "array":
        return _Strings()
    return validation.Choice(field) if field.choices else validation.Number(field)


_SCHEMA = validation.schema("BatchSchema", _BY_NAME, _rule)
