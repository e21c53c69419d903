"""Validation of `POST /v1/fetch`: from JSON to a FetchRequest, or to one error (contract: Fetch)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError, fields

from sift import validation
from sift.errors import InvalidFetchError
from sift.fetch.fields import FIELDS
from sift.fetch.model import FetchRequest
from sift.fields import Field

_BY_NAME = {field.name: field for field in FIELDS}


def load_fetch(payload: Mapping[str, Any]) -> FetchRequest:
    """Return a validated request; the URL is judged later. Raises InvalidFetchError."""
    try:
        data, wrong = _SCHEMA.load(payload), set[str]()
    except ValidationError as error:
        data, wrong = error.valid_data, set(error.messages_dict)
    if "url" not in data:
        wrong.add("url")
    for name in _BY_NAME:
        if name in wrong:
            raise InvalidFetchError(name)
    return FetchRequest(**data)


def unknown_field_warnings(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a warning for each unknown field, at most five, naming the field probably meant."""
    return validation.unknown_field_warnings(payload, _BY_NAME)


def _rule(field: Field) -> fields.Field[Any]:
    if field.choices:
        return validation.Choice(field)
    return validation.Strict(str) if field.type == "string" else validation.Number(field)


_SCHEMA = validation.schema("FetchSchema", _BY_NAME, _rule)
