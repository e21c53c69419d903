"""The description of a fetch's fields is complete and agrees with the record."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import get_args

import pytest

from sift.client import FETCH_TIMEOUT
from sift.fetch.extract.model import Format
from sift.fetch.fields import FIELDS
from sift.fetch.model import FetchRequest
from sift.fields import Field

NOT_ASKED = {"html"}  # what only `/v2/scrape` asks for
SETTABLE = [field for field in FIELDS if field.name != "url"]


@pytest.mark.parametrize("field", SETTABLE, ids=lambda field: str(field.name))
def test_default_of_a_field_is_the_default_of_its_record(field: Field) -> None:
    """contract: Fetch: an absent field means the same in the description and in the record."""
    assert getattr(FetchRequest("https://a.example/"), field.name) == field.default


def test_every_attribute_of_the_record_is_described() -> None:
    """contract: Fetch: what can be asked is described, and what is described can be asked."""
    assert {field.name for field in FIELDS} == {each.name for each in fields(FetchRequest)} - NOT_ASKED


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: str(field.name))
def test_field_is_described_with_all_its_limits(field: Field) -> None:
    """contract: Fetch: every number, text and choice has bounds, and the default is within them."""
    if field.type == "string":
        assert field.choices or field.max_length
        assert not field.choices or field.default in field.choices
    else:
        assert field.minimum is not None
        assert field.maximum is not None
        assert field.minimum <= field.default <= field.maximum
    assert re.fullmatch(r"[A-Z][^.]+\.", field.sentence)


def test_formats_are_those_of_the_extractor() -> None:
    """contract: Fetch: what can be asked for is what can be written."""
    (field,) = [field for field in FIELDS if field.name == "format"]
    assert field.choices == get_args(Format)


def test_client_waits_as_long_as_the_default_says() -> None:
    """contract: Fetch command: the client's deadline follows from the service's default."""
    (field,) = [field for field in FIELDS if field.name == "timeout"]
    assert field.default == FETCH_TIMEOUT
