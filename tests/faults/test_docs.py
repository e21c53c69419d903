"""docs/faults.md names a test for every promise, and the tests exist."""

from __future__ import annotations

import ast
import re

from tests.service import ROOT

PAGE = ROOT / "docs" / "faults.md"
# Of the tests with an internet of their own those in which somebody is hostile, or fails.
HOSTILE = ("guard", "limits", "many", "redirects", "refusals", "robots", "surroundings", "tls", "world")
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_page_names_tests_that_exist() -> None:
    """A promise whose test was renamed or dropped is no promise."""
    named = _NAMED.findall(PAGE.read_text(encoding="utf-8"))
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert name in functions, f"{file}::{name}"
    assert len(named) > 30


def test_every_row_of_the_page_has_its_test() -> None:
    """No row promises something that nothing proves."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    promises = [row for row in rows if not row.startswith("| promise") and not set(row) <= set("| -")]
    assert promises
    assert [row for row in promises if not _NAMED.search(row)] == []


def test_every_fault_test_is_on_the_page() -> None:
    """What is proved is also said."""
    named = set(_NAMED.findall(PAGE.read_text(encoding="utf-8")))
    files = [
        *(ROOT / "tests/faults").glob("test_*.py"),
        *(ROOT / f"tests/real/test_fetch_{each}.py" for each in HOSTILE),
        ROOT / "tests/api/test_privacy.py",
        ROOT / "tests/api/test_access.py",
        ROOT / "tests/real/test_batch_work.py",
        ROOT / "tests/real/test_stores.py",
        ROOT / "tests/store/test_crews.py",
        ROOT / "tests/store/test_processes.py",
    ]
    found = {
        (str(file.relative_to(ROOT)), node.name)
        for file in files
        if file.name != "test_docs.py"
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    assert sorted(found - named) == []
