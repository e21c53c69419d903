"""Validation of `POST /v1/search`: from JSON to a SearchRequest, or to one error (contract: Search request)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from marshmallow import ValidationError, fields

from sift import validation
from sift.errors import InvalidQueryError, InvalidSearchError
from sift.fields import Field
from sift.search.domains import normalise_domain
from sift.search.fields import FIELDS, MAX_DOMAINS, MAX_HOST, MAX_QUERIES, is_day
from sift.search.model import Filter, SearchRequest
from sift.search.query import clean_query, has_phrase, normalise_query
from sift.validation import Choice, Number, Strict

_NAMES = tuple(field.name for field in FIELDS)
_FILTERS = tuple(field.name for field in FIELDS if field.group == "filter")
_OTHERS = tuple(field.name for field in FIELDS if field.group == "answer")
_OTHER_NAMES = {other: field.name for field in FIELDS for other in field.other_names}
_BY_NAME = {name: field for field in FIELDS for name in (field.name, *field.other_names)}


def load_search(payload: Mapping[str, Any]) -> SearchRequest:
    """Return a validated request. Raises InvalidQueryError, which takes precedence, or InvalidSearchError."""
    try:
        data, wrong = _SCHEMA.load(payload), set[str]()
    except ValidationError as error:
        data, wrong = error.valid_data, set(error.messages_dict)
    wrong |= _renamed(data, wrong)
    queries = _queries(data)
    wrong |= _conflicts(data, wrong, queries)
    for name in _NAMES:
        if name in wrong:
            raise InvalidSearchError(name)
    filters = {name: data[name] for name in _FILTERS if name in data}
    others = {name: data[name] for name in _OTHERS if name in data}
    return SearchRequest(queries, filter=Filter(**filters), **others)


def unknown_field_warnings(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a warning for each unknown field, at most five, naming the field probably meant."""
    return validation.unknown_field_warnings(payload, _BY_NAME)


class _Domains(fields.Field[Any]):
    """A list of at most MAX_DOMAINS hostnames, which come out normalised, sorted and unique."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or set(map(type, value)) != {str}:
            raise ValidationError("not a list of strings")
        short = len(value) <= MAX_DOMAINS and max(map(len, value)) <= MAX_HOST
        domains = (_domains_again if short else _domains)(tuple(value))
        if domains is None:
            raise ValidationError("not hostnames, or too many")
        return domains


def _domains(entries: tuple[str, ...]) -> tuple[str, ...] | None:
    found = {normalise_domain(entry) for entry in entries}
    return None if None in found or len(found) > MAX_DOMAINS else tuple(sorted(filter(None, found)))


_domains_again = lru_cache(maxsize=128)(_domains)  # an agent sends the same lists with every query


class _Date(Strict):
    """A real day as YYYY-MM-DD."""

    def __init__(self) -> None:
        super().__init__(str)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text: str = super()._deserialize(value, attr, data, **kwargs)
        if not is_day(text):
            raise ValidationError("not a day as YYYY-MM-DD")
        return text


def _rule(field: Field) -> fields.Field[Any]:
    """Return the validation of one field by itself; rules between fields are in `_conflicts`, queries in `_queries`."""
    if field.group == "query":
        return fields.Raw()
    if field.format == "hostname":
        return _Domains()
    if field.choices:
        return Choice(field)
    if field.format == "date":
        return _Date()
    return Strict(bool) if field.type == "boolean" else Number(field)


_SCHEMA = validation.schema("SearchSchema", _BY_NAME, _rule)


def _renamed(data: dict[str, Any], wrong: set[str]) -> set[str]:
    """Give fields their own names; return those that are malformed, or that have two values."""
    found = set()
    for other, name in _OTHER_NAMES.items():
        if other in wrong or (other in data and data.setdefault(name, data[other]) != data[other]):
            found.add(name)
    return found


def _queries(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the distinct queries, in order. Raises InvalidQueryError."""
    single, several = data.get("query"), data.get("queries")
    if several is not None and isinstance(single, str) and not single.strip():
        single = None
    if (single is None) == (several is None):
        raise InvalidQueryError
    if several is None:
        return (clean_query(single),)
    if not isinstance(several, list) or len(several) > MAX_QUERIES:
        raise InvalidQueryError
    asked: dict[str, str] = {}
    for query in map(clean_query, several):
        asked.setdefault(normalise_query(query), query)
    return tuple(asked.values())


def _conflicts(data: Mapping[str, Any], wrong: set[str], queries: tuple[str, ...]) -> set[str]:
    """Return the fields that break a rule between fields; a rule with a malformed field is not checked."""

    def broken(hint: str, fields: set[str], rule: Callable[[], bool]) -> set[str]:
        return {hint} if not fields & wrong and rule() else set()

    def has(name: str) -> bool:
        return name in data

    return (
        broken(
            "include_domains_mode",
            {"include_domains", "include_domains_mode"},
            lambda: has("include_domains_mode") and not has("include_domains"),
        )
        | broken(
            "time_range",
            {"time_range", "start_date", "end_date"},
            lambda: has("time_range") and (has("start_date") or has("end_date")),
        )
        | broken(
            "end_date",
            {"start_date", "end_date"},
            lambda: has("start_date") and has("end_date") and data["end_date"] < data["start_date"],
        )
        | broken(
            "exact_match",
            {"exact_match"},
            lambda: bool(data.get("exact_match")) and not all(map(has_phrase, queries)),
        )
    )
