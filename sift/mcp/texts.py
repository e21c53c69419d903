"""Answers as text for a model: notes first, bounded, and what was cut is said (contract: MCP)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from sift.cli.explained import account, why
from sift.cli.refusals import unopened
from sift.cli.terminal import Screen, printable, printable_lines

LIMIT = 40_000
"""Characters of an answer at most."""
_NOTES = 4000  # characters that notes may take
_ROOM = 200  # characters for saying what was cut
_POSING = re.compile(r"(?m)^(?=[0-9]+\. |Note: |\[Cut: )")
_SCREEN = Screen(LIMIT, 0, has_styles=False, has_colour=False, ellipsis="…")

Item = dict[str, Any]


def search_text(payload: Item) -> str:
    """Return a search's answer: its notes, then its hits, numbered; with `explain` why each is there, and the rest."""
    notes, hits = _notes(payload["warnings"]), payload["results"]
    if not hits:
        return _joined([*notes, "No hits."])
    tail = ["\n".join(account(payload["explain"])).strip()] if isinstance(payload.get("explain"), dict) else []
    heads = [_head(number, hit) for number, hit in enumerate(hits, 1)]
    room = LIMIT - _ROOM - sum(map(_length, [*notes, *tail]))
    kept = _fitting(heads, room)
    snippets = [printable(str(hit.get("snippet") or "")) for hit in hits[:kept]]
    most = level([len(snippet) for snippet in snippets], room - sum(map(_length, heads[:kept])))
    blocks = [
        f"{head}\n{_shortened(snippet, most)}".strip() for head, snippet in zip(heads[:kept], snippets, strict=True)
    ]
    said = []
    if any(len(snippet) > most for snippet in snippets):
        said.append(f"snippets are cut at {most} characters; a smaller k leaves more of each")
    if kept < len(hits):
        said.append(f"{len(hits) - kept} of {len(hits)} hits are left out; ask for fewer with k")
    return _joined([*notes, *blocks, *tail, *([f"[Cut: {'; '.join(said)}.]"] if said else [])])


def page_text(page: Item, start: int = 0) -> str:
    """Return a page: its notes, title, URL, date and text. start: the character at which the text begins."""
    notes, head = _notes(page["warnings"]), _page_head(page)
    room = LIMIT - _ROOM - sum(map(_length, [*notes, head]))
    return _joined([*notes, head, *_piece(page, start, room)])


def batch_text(items: Sequence[Item], warnings: Iterable[str], *, waited: float) -> str:
    """Return the pages of a batch in the order in which they were asked for, each with its share of the room.

    items: with `url`, `state` and, as it is known, `result`, or `error` and `hint`. waited: seconds.
    """
    opened, left = _count(items, "ok"), _count(items, "queued", "running")
    said = f"{opened} of {len(items)} pages opened."
    if left:
        said += f" {left} not ready after {waited:.0f} s: call sift_batch again with their URLs."
    heads = [f"{number}. {_item_head(item)}" for number, item in enumerate(items, 1)]
    notes = _notes(warnings)
    room = LIMIT - sum(map(_length, [*notes, said])) - _ROOM
    kept = _fitting(heads, room, beside=_ROOM)
    if kept < len(items):
        said += f" The last {len(items) - kept} are left out: ask for fewer at a time."
    contents = [_own(item["result"]["content"]) if item["state"] == "ok" else "" for item in items[:kept]]
    most = level([len(content) for content in contents], room - sum(_length(head) + _ROOM for head in heads[:kept]))
    blocks = [
        _joined([head, *(_piece(item["result"], 0, most) if item["state"] == "ok" else [])])
        for head, item in zip(heads[:kept], items, strict=False)
    ]
    return _joined([*notes, said, *blocks])


def level(lengths: Sequence[int], room: int) -> int:
    """Return how many characters each text may have at most, so that all together fit into the room."""
    left = room
    for place, length in enumerate(sorted(lengths)):
        share = max(left, 0) // (len(lengths) - place)
        if length > share:
            return share
        left -= length
    return max(lengths, default=0)


def _notes(warnings: Iterable[str]) -> list[str]:
    """Return a note for each warning, in one block; the last ones are left out where they are too long."""
    lines: list[str] = []
    for warning in warnings:
        line = f"Note: {printable(warning)}"
        if sum(map(_length, [*lines, line])) > _NOTES:
            lines.append("Note: further notes are left out.")
            break
        lines.append(line)
    return ["\n".join(lines)] if lines else []


def _head(number: int, hit: Item) -> str:
    date, source = _shown(hit, "published_date"), _shown(hit, "source")
    lines = [f"{number}. {_shown(hit, 'title')}", _shown(hit, "url"), " · ".join(filter(None, (date, source)))]
    return "\n".join(filter(None, [*lines, *why(hit, _SCREEN)]))


def _page_head(page: Item) -> str:
    url = _shown(page, "final_url")
    return "\n".join(filter(None, [_shown(page, "title") or url, url, _shown(page, "published_date")]))


def _item_head(item: Item) -> str:
    url = printable(item["url"])
    if item["state"] == "ok":
        return "\n".join([_page_head(item["result"]), *_notes(item["result"]["warnings"])])
    if item["state"] == "failed":
        reason = unopened(str(item.get("error")), str(item.get("hint"))) or "the service could not open it"
        return f"{url}\nNot opened: {reason}."
    return f"{url}\n{'Cancelled.' if item['state'] == 'cancelled' else 'Not ready yet.'}"


def _piece(page: Item, start: int, room: int) -> list[str]:
    """Return as much of a page's text as there is room for, and how to read on where there is more."""
    content, following, total = page["content"], page.get("next_start"), page["chars"]
    shown = _own(content)
    end = len(content)
    while len(shown) > max(room, 0):
        end = _line_end(content, end - max(len(shown) - room, 1))
        shown, following = _own(content[:end]), start + end
    if not content and following is None:
        return [f"No text from there on: it has {total} characters." if total else "No text."]
    more = [] if following is None else [f"[Cut: the text has {total} characters; start={following} reads on.]"]
    return [text for text in (shown, *more) if text]


def _own(content: str) -> str:
    """Return a page's text as it is shown: no line of it begins as this module's own do."""
    return _POSING.sub(" ", printable_lines(content))


def _line_end(text: str, most: int) -> int:
    """Return where a line ends, or else a word, behind the first half of these characters; all of them if none does."""
    low, high = max(most, 0) // 2, max(most, 0)
    return max(text.rfind("\n", low, high), text.rfind(" ", low, high), 0) or high


def _fitting(blocks: Sequence[str], room: int, beside: int = 0) -> int:
    """Return how many of the first blocks fit, one at least. beside: characters that each needs besides its own."""
    used = 0
    for count, block in enumerate(blocks):
        used += _length(block) + beside
        if used > room:
            return max(count, 1)
    return len(blocks)


def _joined(blocks: Iterable[str]) -> str:
    return "\n\n".join(filter(None, blocks))[:LIMIT]


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: max(most - 1, 0)].rstrip() + "…" if most > 0 else ""


def _length(block: str) -> int:
    return len(block) + 2  # and what separates it from the next


def _count(items: Iterable[Item], *states: str) -> int:
    return sum(item["state"] in states for item in items)


def _shown(item: Item, name: str) -> str:
    value = item.get(name)
    return printable(value) if isinstance(value, str) else ""
