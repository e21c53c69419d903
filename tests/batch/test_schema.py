"""The fields of a batch, and their checks (contract: Batch)."""

from __future__ import annotations

from typing import Any

import pytest

from sift.batch.fields import FIELDS
from sift.batch.model import BatchRequest
from sift.batch.schema import load_batch
from sift.errors import InvalidBatchError
from sift.fetch.fields import FIELDS as OF_FETCH

URLS = ("https://a.com/",)
OTHERS = [field for field in FIELDS if field.name != "urls"]


def test_request_has_what_was_asked_for() -> None:
    fields = {"urls": [*URLS], "format": "text", "max_chars": 1000, "max_age": 1.5, "ttl": 3600}
    assert load_batch(fields, "fleet") == BatchRequest(URLS, "text", 1000, 1.5, 3600)


def test_defaults_are_those_of_the_descriptions() -> None:
    """contract: Batch: as in the table."""
    empty: dict[str, Any] = {field.name: None for field in OTHERS}
    for payload in ({"urls": URLS}, {"urls": URLS, **empty}):
        found = load_batch({**payload, "urls": [*URLS]}, "fleet")
        assert {field.name: getattr(found, field.name) for field in OTHERS} == {
            field.name: field.default for field in OTHERS
        }


@pytest.mark.parametrize(
    "field", [field for field in OTHERS if field.minimum is not None], ids=lambda field: field.name
)
def test_number_is_taken_up_to_its_bounds(field: Any) -> None:
    for value in (field.minimum, field.maximum):
        assert getattr(load_batch({"urls": [*URLS], field.name: value}, "fleet"), field.name) == value
    for value in (field.minimum - 1, field.maximum + 1, True, "5", [5]):
        with pytest.raises(InvalidBatchError, match=field.name):
            load_batch({"urls": [*URLS], field.name: value}, "fleet")


def test_format_max_chars_and_max_age_are_those_of_a_fetch() -> None:
    """contract: Batch, Fetch: one description, but for the default of `max_chars`."""
    of_fetch = {field.name: field for field in OF_FETCH}
    for field in FIELDS:
        if field.name in of_fetch:
            other = of_fetch[field.name]
            assert (field.minimum, field.maximum, field.choices) == (other.minimum, other.maximum, other.choices)


def test_first_wrong_field_is_named() -> None:
    wrong: dict[str, Any] = {field.name: {} for field in FIELDS}
    for name in [field.name for field in FIELDS]:
        with pytest.raises(InvalidBatchError, match=name):
            load_batch(wrong, "fleet")
        wrong[name] = [*URLS] if name == "urls" else None
