"""Completion in real shells, set up as the README says."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
ASK = {
    # bash has no way to ask for completions in a script but the function that `complete` names.
    "bash": 'COMP_WORDS=(sift search x --topic ""); COMP_CWORD=4; _sift_completion sift; echo "${COMPREPLY[@]}"',
    "fish": 'complete -C "sift search x --topic "',
}


def setup(shell: str) -> str:
    """Return the line that the README tells the users of a shell to add to its start-up file."""
    (line,) = re.findall(rf"^\| {shell} \| `([^`]+)` \|", README, re.MULTILINE)
    return str(line).replace(r"\|", "|")


@pytest.mark.parametrize("shell", ASK)
def test_shell_completes_values_as_the_readme_says(shell: str, environ: dict[str, str]) -> None:
    """README, The command: the line for the start-up file is enough."""
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not installed (Debian: {shell})")
    quiet = {"bash": "--norc", "fish": "--no-config"}[shell]
    done = subprocess.run(
        [program, quiet, "-c", f"{setup(shell)}\n{ASK[shell]}"],
        env=environ,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == b""
    assert sorted(done.stdout.decode().split()) == ["finance", "general", "news"]


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed (Debian: zsh)")
def test_zsh_completes_values_as_the_readme_says(open_terminal: Callable[..., Any]) -> None:
    """README, The command: zsh completes at its prompt only."""
    terminal = open_terminal("-f", "-i", program="zsh", PS1="ready> ")
    terminal.read("ready> ")
    terminal.write(f"{setup('zsh')}; echo set-$((1 + 1))\n")
    terminal.read("set-2")
    terminal.write("sift search x --topic fin\t")
    assert "finance" in terminal.read("finance")
    terminal.write("\x15exit\n")  # Ctrl-U takes the line back
    terminal.close()


def test_path_of_a_queries_file_is_completed_by_the_shell(run: Any) -> None:
    """contract: Command line: where a file is expected the shell offers files."""
    done = run(_SIFT_COMPLETE="bash_complete", COMP_WORDS="sift search --queries-file q", COMP_CWORD="3")
    assert done.stdout == "file,q\n"
    for flag in ("--urls-file", "--from-search"):
        done = run(_SIFT_COMPLETE="bash_complete", COMP_WORDS=f"sift batch submit {flag} q", COMP_CWORD="4")
        assert done.stdout == "file,q\n"
