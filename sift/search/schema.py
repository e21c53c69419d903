"""The edge of `POST /v1/search`: from JSON to a SearchRequest, or to the one error that names a field (§2)."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date
from functools import lru_cache
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, pre_load, validate

from sift.errors import InvalidQueryError, InvalidSearchError
from sift.search.domains import normalise_domain
from sift.search.model import Filter, SearchRequest, unique
from sift.search.query import clean_query, has_phrase, normalise_query

MAX_QUERIES = 4
MAX_DOMAINS = 20
MAX_HOST = 254  # characters, a final dot included
MAX_FIELD_WARNINGS = 5

_TIME_RANGES = {name: name for name in ("day", "week", "month", "year")} | {
    "d": "day",
    "w": "week",
    "m": "month",
    "y": "year",
}
# The order in which a wrong field is named when several are (contract §4).
_PRECEDENCE = (
    "include_domains",
    "exclude_domains",
    "include_domains_mode",
    "time_range",
    "start_date",
    "end_date",
    "topic",
    "min_score",
    "exact_match",
    "k",
    "rerank",
    "digest",
)
_STRINGS = ("query", "include_domains_mode", "time_range", "start_date", "end_date", "topic")
_LISTS = ("queries", "include_domains", "exclude_domains")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def load_search(payload: Mapping[str, Any]) -> SearchRequest:
    """Validate the fields of a request. Raises InvalidQueryError or InvalidSearchError; queries win (§2.1)."""
    try:
        data, wrong = _SCHEMA.load(payload), set[str]()
    except ValidationError as error:
        data, wrong = error.valid_data, set(error.messages_dict)
    queries = _queries(data)
    wrong |= _conflicts(data, wrong, queries)
    for field in _PRECEDENCE:
        if field in wrong:
            raise InvalidSearchError(field)
    filters = {name: data[name] for name in Filter.__dataclass_fields__ if name in data}
    others = {name: data[name] for name in ("k", "rerank", "digest") if name in data}
    return SearchRequest(queries, filter=Filter(**filters), **others)


def unknown_field_warnings(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the fields that are ignored, with the one that was probably meant; at most five (contract §4)."""
    if payload.keys() <= _SCHEMA.fields.keys():
        return ()
    known = {_squash(name): name for name in _SCHEMA.fields}
    warnings: list[str] = []
    for name in payload:
        if name in _SCHEMA.fields or len(warnings) == MAX_FIELD_WARNINGS:
            continue
        shown = "".join(char for char in name if unicodedata.category(char) not in ("Cc", "Cf", "Cs"))[:64]
        close = difflib.get_close_matches(_squash(shown), known, n=1, cutoff=0.75)
        meant = f" (did you mean {known[close[0]]}?)" if close else ""
        warnings.append(f"unknown field ignored: {shown}{meant}")
    return unique(tuple(warnings))


class _Strict(fields.Field[Any]):
    """Take a JSON value of exactly the given types: `true` is no number, `"yes"` and 1 are no booleans."""

    def __init__(self, *types: type, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._types = types

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if type(value) not in self._types:
            raise ValidationError("wrong type")
        return value


class _Domains(fields.Field[Any]):
    """Take a list of hostnames; give them normalised, sorted and unique, 20 at most (§2.2)."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or set(map(type, value)) != {str}:
            raise ValidationError("not a list of strings")
        short = len(value) <= MAX_DOMAINS and max(map(len, value)) <= MAX_HOST
        domains = (_domains_again if short else _domains)(tuple(value))
        if domains is None:
            raise ValidationError("not up to 20 hostnames")
        return domains


def _domains(entries: tuple[str, ...]) -> tuple[str, ...] | None:
    found = {normalise_domain(entry) for entry in entries}
    return None if None in found or len(found) > MAX_DOMAINS else tuple(sorted(filter(None, found)))


_domains_again = lru_cache(maxsize=128)(_domains)  # agents send the same lists with every query


class _Score(_Strict):
    """Take 0 or a number above 0 and up to 1."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> float:
        number = super()._deserialize(value, attr, data, **kwargs)
        if not 0 <= number <= 1:  # also false for an infinity; NaN never gets past the parser
            raise ValidationError("not from 0 to 1")
        return float(number) or 0.0  # -0.0 is 0


class _Choice(_Strict):
    """Take one of some strings, exactly; give the value it stands for."""

    def __init__(self, choices: Mapping[str, str]) -> None:
        super().__init__(str)
        self._choices = choices

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        chosen = self._choices.get(super()._deserialize(value, attr, data, **kwargs))
        if chosen is None:
            raise ValidationError("not a known value")
        return chosen


class _Date(_Strict):
    """Take a real day as YYYY-MM-DD in ASCII digits; date.fromisoformat alone takes week dates too (B046)."""

    def __init__(self) -> None:
        super().__init__(str)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text: str = super()._deserialize(value, attr, data, **kwargs)
        try:
            if not _DATE.fullmatch(text):
                raise ValueError
            date.fromisoformat(text)
        except ValueError:
            raise ValidationError("not a day as YYYY-MM-DD") from None
        return text


class SearchSchema(Schema):
    """Hold one rule a field; rules between fields are in `_conflicts`, those of queries in `_queries`."""

    class Meta:
        unknown = EXCLUDE

    query = fields.Raw()
    queries = fields.Raw()
    k = _Strict(int, validate=validate.Range(1, 50))
    rerank = _Strict(bool)
    digest = _Strict(bool)
    include_domains = _Domains()
    exclude_domains = _Domains()
    include_domains_mode = _Choice({"restrict": "restrict", "prefer": "prefer"})
    time_range = _Choice(_TIME_RANGES)
    start_date = _Date()
    end_date = _Date()
    topic = _Choice({name: name for name in ("general", "news", "finance")})
    exact_match = _Strict(bool)
    min_score = _Score(int, float)

    @pre_load
    def _omit(self, payload: Mapping[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Drop what means omitted: null everywhere, "" for a string, [] for a list (contract §4)."""
        return {
            name: value
            for name, value in payload.items()
            if not (
                value is None
                or (value == "" and isinstance(value, str) and name in _STRINGS)
                or (value == [] and name in _LISTS)
            )
        }

    @post_load
    def _as_dict(self, data: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return dict(data)


_SCHEMA = SearchSchema()


def _queries(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the different queries, in order. Raises InvalidQueryError."""
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
    """Name the fields that break a rule between fields. A rule is asked only when none of its fields is malformed."""

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


def _squash(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
