"""The flags that set a field of a request, generated from `sift.search.fields`, `sift.fetch.fields` and
`sift.batch.fields`.

A value that no request may hold is refused here, before anything is sent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from click.types import StringParamType

from sift.fields import Field
from sift.search.fields import DATE_FORM, FIELDS, is_day

Command = TypeVar("Command", bound=Callable[..., Any])

# Fields whose flag is not just their name with dashes.
_NAMES = {
    "include_domains": "--include-domain",
    "exclude_domains": "--exclude-domain",
    "include_domains_mode": "--domains-mode",
    "query": "QUERY",
    "queries": "--queries-file",
    "url": "URL",
    "urls": "URL",
}
_NO_FLAG = {"query", "queries", "url", "urls", "digest"}  # the last has no effect, the others are no plain options
_NOTES = {"min_score": " Only Tavily has such scores."}
_METAVARS = {
    "hostname": "HOST",
    "date": DATE_FORM,
    "integer": "N",
    "number": "X",
    "max_age": "S",
    "timeout": "S",
    "ttl": "S",
}


class Day(StringParamType):
    """A calendar day as the service takes it; click's own DateTime also takes 2026-9-1."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text; fail unless it is a calendar day."""
        text = super().convert(value, param, ctx)
        return text if is_day(text) else self.fail(f"{text!r} is not a day as {DATE_FORM}.", param, ctx)


class Word(click.Choice):  # type: ignore[type-arg] # not generic in older versions of click
    """A word of a closed set; aliases are accepted, but neither listed nor completed."""

    def __init__(self, field: Field) -> None:
        super().__init__(field.choices)
        self._aliases = dict(field.aliases)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word, an alias resolved; fail unless it is in the set."""
        return str(super().convert(self._aliases.get(value, value), param, ctx))


class Score(click.FloatRange):
    """A number in a range. click's own range accepts NaN, which JSON cannot represent."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; fail unless it is in the range."""
        number = super().convert(value, param, ctx)
        return self.fail(f"{value!r} is not a number.", param, ctx) if math.isnan(number) else number


def flag(field: Field) -> str:
    """Return the flag that sets a field; a boolean's flag sets the opposite of its default."""
    prefix = "--no-" if field.default is True else "--"
    return _NAMES.get(field.name, prefix + field.name.replace("_", "-"))


def flags_of(fields: Sequence[Field]) -> dict[str, str]:
    """Return the flags of those fields that have one, by name."""
    return {field.name: flag(field) for field in fields if field.name not in _NO_FLAG}


FLAGS = flags_of(FIELDS)
"""The flags of `sift search`."""


def field_flags(fields: Sequence[Field]) -> Callable[[Command], Command]:
    """Return a decorator that adds to a command the flags of fields: those that shape the answer, then the filters."""
    settable = [field for field in fields if field.name not in _NO_FLAG]
    shown = sorted(settable, key=lambda field: field.group == "filter")

    def add(command: Command) -> Command:
        for field in reversed(shown):  # decorators are applied from the last to the first
            long = flag(field)
            # A name of one letter: whoever knows other commands types one dash.
            names = (long[1:], long) if len(field.name) == 1 else (long,)
            command = click.option(*names, field.name, **_settings(field, fields))(command)
        return command

    return add


def takes(name: str, fields: Sequence[Field] = FIELDS) -> str:
    """Return what a field takes, and the rules between fields that involve it, in terms of flags."""
    field = next(each for each in fields if each.name == name)
    return "; ".join(filter(None, (_value(field), _with_flags(field.rule, fields))))


def _settings(field: Field, fields: Sequence[Field]) -> dict[str, Any]:
    settings: dict[str, Any] = {"help": _help(field, fields)}
    if field.type == "boolean":
        return settings | {"flag_value": not field.default, "type": bool, "default": None}
    settings |= {"type": _type(field), "multiple": field.type == "array"}
    if not field.choices:
        settings["metavar"] = _METAVARS.get(field.name) or _METAVARS[field.format or field.type]
    if field.default:  # shown, never sent: the service applies it
        settings["show_default"] = str(field.default)
    return settings


def _type(field: Field) -> click.ParamType[Any]:
    if field.choices:
        return Word(field)
    if field.type == "integer":
        return click.IntRange(field.minimum, field.maximum)
    if field.type == "number":
        return Score(field.minimum, field.maximum)
    return Day() if field.format == "date" else click.STRING


def _help(field: Field, fields: Sequence[Field]) -> str:
    sentence = _with_flags(field.sentence, fields)
    if field.default is True:
        sentence = f"Do not {sentence[0].lower()}{sentence[1:]}"
    if field.type == "array":
        sentence += f" Repeatable, {field.max_items} at most."
    return sentence + _NOTES.get(field.name, "")


def _value(field: Field) -> str:
    if field.type == "boolean":
        return "no value"
    if field.choices:
        *most, last = field.choices
        return f"{', '.join(most)} or {last}"
    if field.format == "hostname":
        return f"a host name such as openai.com, at most {field.max_items}"
    if field.format == "date":
        return DATE_FORM
    if field.type == "array":
        return f"{field.min_items} to {field.max_items}"
    if field.type == "string":
        return f"at most {field.max_length} characters"
    kind = "a whole number" if field.type == "integer" else "a number"
    return f"{kind} from {field.minimum} to {field.maximum}"


def _with_flags(text: str, fields: Sequence[Field]) -> str:
    """Replace field names in backquotes by their flags."""
    flags = {field.name: flag(field) for field in fields}
    return re.sub(r"`(\w+)`", lambda match: flags[match[1]], text)
