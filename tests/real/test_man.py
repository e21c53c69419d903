"""The manual pages, as `man` shows them (contract: Operations)."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from sift.cli import sift
from tests import man
from tests.real.programs import SIFT


def test_pages_are_those_of_the_help() -> None:
    """README, The command: `make man` has been run since the help last changed."""
    kept = {path.name: path.read_text() for path in man.DIRECTORY.glob("*.1")}
    assert kept == man.pages()
    assert {f"sift-{name}.1" for name in sift.commands} | {"sift.1"} == set(kept)


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff (Debian: groff-base)")
@pytest.mark.parametrize("name", sorted(man.pages()))
def test_page_is_good_roff_and_has_every_flag(name: str) -> None:
    """README, The command: no warning, and what `--help` lists."""
    path = man.DIRECTORY / name
    done = subprocess.run(
        ["groff", "-man", "-Tascii", "-P-cbou", "-ww", "-rLL=200n", path], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    *_, command = name.removesuffix(".1").split("-")
    arguments = [] if command == "sift" else [command]
    listed = subprocess.run([SIFT, *arguments, "--help"], capture_output=True, text=True, check=True).stdout
    shown = " ".join(done.stdout.split())
    for line in listed.splitlines():
        flag = line.split()[0].rstrip(",") if line.startswith("  -") else ""
        assert flag in shown
    assert "\\" not in shown.replace("\\n", "")
