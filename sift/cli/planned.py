"""What a search would do, as text (contract: Plan, Command line)."""

from __future__ import annotations

from typing import Any

from sift.cli.terminal import printable


def plan_lines(plan: dict[str, Any]) -> list[str]:
    """Return a plan as lines: each source with its calls, filters and notes, then what it may cost and take."""
    lines = ["cached: nobody would be asked"] if plan["cached"] else []
    for each in plan["sources"]:
        lines += _source(each)
    paid = plan["credits"]
    left = [f"{'unknown' if count is None else count} left for {name}" for name, count in paid["left"].items()]
    lines.append("credits: " + ", ".join([f"at most {paid['most']}", *left]))
    return [*map(_line, lines), f"time: at most {plan['worst_case_seconds']} s"]


def _source(each: dict[str, Any]) -> list[str]:
    calls = each["calls"]
    asked = f"{calls} call{'s' * (calls != 1)}" if each["asked"] is True else f"not asked ({each['asked']})"
    notes = [note.removeprefix(f"{each['source']}: ") for note in each["notes"]]
    below = [f"{name}: {how}" for name, how in each["filters"].items()] + [f"note: {note}" for note in notes]
    below += [f"query as cut: {query}" for query in each.get("queries", ())]
    return [f"{each['source']}: {asked}", *(f"\t{line}" for line in below)]


def _line(text: str) -> str:
    """Return a line that is safe to print; a tab at its head becomes an indent."""
    return ("    " if text.startswith("\t") else "") + printable(text)
