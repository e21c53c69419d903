"""`make man`: write the manual pages of the `sift` command, from its help, to docs/man."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from sift import __version__
from sift.cli import sift
from tests.service import ROOT

DIRECTORY = ROOT / "docs" / "man"
_SPECIAL = re.compile(r"\\|(?<![\w])-|-(?=-)|^[.']", re.MULTILINE)


def pages() -> dict[str, str]:
    """Return every page by the name of its file: one of the command, and one of each command below it."""
    whole = click.Context(sift, info_name="sift", **sift.context_settings)
    found = {"sift.1": page(whole)}
    for name, context in below(whole):
        found[f"sift-{name}.1"] = page(context)
    return found


def page(context: click.Context) -> str:
    """Return the page of a command; a group's has all of its commands, but that of `sift` names them alone."""
    command = context.command
    title = context.command_path.replace(" ", "-")
    lines = [
        f'.TH "{title.upper()}" "1" "" "Sift {__version__}" "Sift"',
        ".SH NAME",
        rf"{escape(title)} \- {escape(command.get_short_help_str(200).rstrip('.'))}",
        ".SH SYNOPSIS",
        *synopsis(context),
        ".SH DESCRIPTION",
        *description(command),
        *options(context, ".SH OPTIONS"),
    ]
    if context.parent is None:
        lines += [".SH COMMANDS"]
        for name, each in below(context):
            lines += [".TP", rf"\fBsift\-{escape(name)}\fP(1)", escape(each.command.get_short_help_str(200))]
        lines += [".SH SEE ALSO", "The README says what each exit code means, and describes the service."]
    else:
        for name, each in below(context):
            lines += [f".SH {escape(name.upper())}", *synopsis(each), ".PP", *description(each.command)]
            lines += options(each, ".PP")
        lines += [".SH SEE ALSO", r"\fBsift\fP(1)"]
    return "\n".join(lines) + "\n"


def below(context: click.Context) -> Iterator[tuple[str, click.Context]]:
    """Yield the commands of a group that are not hidden, by name."""
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None and not found.hidden:
                yield name, click.Context(found, parent=context, info_name=name)


def synopsis(context: click.Context) -> Iterator[str]:
    """Yield how the command is called."""
    pieces = " ".join(context.command.collect_usage_pieces(context))
    yield rf"\fB{escape(context.command_path)}\fP {escape(pieces)}"


def description(command: click.Command) -> Iterator[str]:
    """Yield what the command does, with its examples as they are written."""
    for number, paragraph in enumerate((command.help or "").strip().split("\n\n")):
        is_verbatim = paragraph.startswith("\b")
        text = paragraph.removeprefix("\b").strip("\n")
        yield from [".PP"] if number else []
        yield from [".nf", escape(text), ".fi"] if is_verbatim else [escape(" ".join(text.split()))]


def options(context: click.Context, heading: str) -> list[str]:
    """Return the options, each with what it says of itself."""
    params = [each for each in context.command.get_params(context) if isinstance(each, click.Option)]
    records = [each.get_help_record(context) for each in params]
    lines = [heading] if any(records) else []
    for name, text in filter(None, records):
        lines += [".TP", rf"\fB{escape(name)}\fP", escape(" ".join(text.split()))]
    return lines


def escape(text: str) -> str:
    """Return a text in which nothing is an instruction to roff, and hyphens of options stay hyphens."""
    return _SPECIAL.sub(lambda found: {"\\": r"\e", "-": r"\-"}.get(found[0], rf"\&{found[0]}"), text)


def main() -> None:
    """Write the pages anew."""
    DIRECTORY.mkdir(exist_ok=True)
    for old in DIRECTORY.glob("*.1"):
        old.unlink()
    for name, text in pages().items():
        (DIRECTORY / name).write_text(text)


if __name__ == "__main__":
    main()
