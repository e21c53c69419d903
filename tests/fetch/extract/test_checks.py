"""The answers of children, checked (contract: Page text). Rubbish in them is also sent by real children elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from sift.errors import ExtractError
from sift.fetch.extract.checks import to_extract, to_rules
from sift.fetch.extract.frames import BadFrameError, Frame
from sift.fetch.extract.jobs import to_frame
from sift.fetch.extract.model import LITTLE_TEXT, WARNINGS, Extract, RobotsRules, pdf_cut


def test_extract_that_a_child_sends_is_the_one_that_arrives() -> None:
    """contract: Page text. Every field of it."""
    extract = Extract("text", "pdf", "T", "A", "2024-05-06", "de-AT", "D", "<p>", (LITTLE_TEXT, pdf_cut(200)))
    frame = to_frame(extract)
    assert to_extract(frame._replace(header={**frame.header, "warnings": list(extract.warnings)})) == extract


@pytest.mark.parametrize("warning", [*WARNINGS, "pdf: first 1 pages", "pdf: first 200 pages"])
def test_each_warning_of_the_list_passes(warning: str) -> None:
    """contract: Page text. The list is closed."""
    assert to_extract(Frame({"extractor": "pdf", "warnings": [warning]})).warnings == (warning,)


@pytest.mark.parametrize(
    "fields",
    [
        {"extractor": None},
        {"extractor": ["pdf"]},
        {"warnings": "x"},
        {"warnings": [LITTLE_TEXT] * 99},
        {"warnings": [[LITTLE_TEXT]]},
        {"warnings": ["pdf: first 201 pages"]},
        {"warnings": ["pdf: first 0x1 pages"]},
        {"published_date": "20240506"},
        {"published_date": "2024-5-6"},
        {"lang": "<b>"},
        {"author": None},
        {"description": "x" * 5001},
    ],
)
def test_field_of_a_wrong_form_is_refused(fields: dict[str, Any]) -> None:
    """contract: Page text. Types, sizes, closed lists."""
    with pytest.raises(BadFrameError):
        to_extract(Frame({"extractor": "pdf", **fields}))


@pytest.mark.parametrize("check", [to_extract, to_rules])
def test_child_that_found_nothing_says_so(check: Any) -> None:
    """contract: Page text. That is an answer: the child is sound."""
    with pytest.raises(ExtractError):
        check(Frame({"failed": True}))


@pytest.mark.parametrize(("delay", "given"), [(None, None), (0, 0.0), (2.5, 2.5)])
def test_rules_that_a_child_sends_are_those_that_arrive(delay: float | None, given: float | None) -> None:
    """contract: Robots. With or without a delay."""
    assert to_rules(Frame({"allowed": True, "delay": delay})) == RobotsRules(allowed=True, delay=given)


@pytest.mark.parametrize(
    "header",
    [{}, {"allowed": 1}, {"allowed": "yes"}]
    + [{"allowed": True, "delay": delay} for delay in (True, "1", -1, float("nan"), float("inf"), [], 10**400)],
)
def test_rules_of_a_wrong_form_are_refused(header: dict[str, Any]) -> None:
    """contract: Robots. Above all, nothing but `true` allows."""
    with pytest.raises(BadFrameError):
        to_rules(Frame(header))
