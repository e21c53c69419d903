"""The description of the request's fields is complete and agrees with the records."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from sift.fields import Field
from sift.search.fields import FIELDS
from sift.search.model import Filter, SearchRequest

NAMES = [field.name for field in FIELDS]
SETTABLE = [field for field in FIELDS if field.group != "query"]


@pytest.mark.parametrize("field", SETTABLE, ids=lambda field: str(field.name))
def test_default_of_a_field_is_the_default_of_its_record(field: Field) -> None:
    """An absent field means the same in the description and in the record."""
    record = Filter() if field.group == "filter" else SearchRequest(("q",))
    assert getattr(record, field.name) == field.default


def test_every_attribute_of_the_records_is_described() -> None:
    """Every filter that the engine knows can be requested, and every field described is one it knows."""
    described = {group: {field.name for field in FIELDS if field.group == group} for group in ("filter", "answer")}
    assert described["filter"] == {each.name for each in fields(Filter)}
    assert described["answer"] == {each.name for each in fields(SearchRequest)} - {"queries", "filter"}


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: str(field.name))
def test_field_is_described_with_all_its_limits(field: Field) -> None:
    """A JSON Schema derived from it refuses what the service refuses: every number, text and list has bounds."""
    if field.type in ("integer", "number"):
        assert field.minimum is not None
        assert field.maximum is not None
        assert field.minimum <= field.default <= field.maximum
    elif field.type == "array":
        assert field.max_items
        assert field.max_length
    elif field.type == "string":
        assert field.choices or field.format or field.max_length
    assert not field.choices or field.default in (None, *field.choices)
    assert {choice for _, choice in field.aliases} <= set(field.choices)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: str(field.name))
def test_sentence_of_a_field_is_one_and_names_fields_only(field: Field) -> None:
    """Help and documents use it verbatim, with other fields' names replaced by flags."""
    assert re.fullmatch(r"[A-Z][^.]+\.", field.sentence)
    assert set(re.findall(r"`(.*?)`", field.sentence)) <= set(NAMES) - {field.name}


def test_fields_are_described_once() -> None:
    """Two descriptions of one field could disagree, and a name stands for one field."""
    names = [*NAMES, *(other for field in FIELDS for other in field.other_names)]
    assert len(names) == len(set(names))
