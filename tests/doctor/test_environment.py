"""Files of settings (contract: Doctor)."""

from __future__ import annotations

import pytest

from sift.doctor.environment import parse
from tests.service import ROOT


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=1", "1"),
        ("  A = 1 ", "1"),
        ("A=", ""),
        ("A=one two", "one two"),
        ('A="one  two "', "one  two "),
        ("A='one \"x\"'", 'one "x"'),
        (r'A="a \"b\" \\ \n"', r'a "b" \ \n'),
        ("A=x=y", "x=y"),
        ("A='", "'"),
        ("A=http://h/#x", "http://h/#x"),
    ],
)
def test_line_is_read_as_systemd_reads_it(line: str, value: str) -> None:
    """contract: Doctor: `NAME=value`, perhaps in quotes."""
    assert parse(f"# A=9\n; A=9\n\n{line}\n") == ({"A": value}, [])


def test_line_that_is_none_is_named_by_its_number_alone() -> None:
    """contract: Doctor: what is in the file may be a key."""
    read, found = parse("A=1\nexport B=zebra\nzebra\n=zebra\n2C=zebra\nD=4\n")
    assert read == {"A": "1", "D": "4"}
    assert [each.what.split(" ")[1] for each in found] == ["2", "3", "4", "5"]
    assert {each.level for each in found} == {"fail"}
    assert "zebra" not in str(found)


def test_example_of_the_settings_is_read_whole() -> None:
    """contract: Doctor: the file that an operator starts with."""
    text = (ROOT / "deploy/sift.env.example").read_text().replace("\n#SIFT", "\nSIFT")
    read, found = parse(text)
    assert found == []
    assert read["SIFT_THREADS"] == "64"
