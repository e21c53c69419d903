"""`make versions`: what it runs, on which Pythons, and what the lowest dependencies are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.versions import ROOT, Declared, Found, Run, candidates, declared, find, lowest, main, runs

DECLARED = declared((ROOT / "setup.cfg").read_text())


def script(path: Path, text: str) -> str:
    """Write a program in the place of a Python."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_every_dependency_and_test_tool_has_a_lower_bound() -> None:
    """setup.cfg: what is declared is what was tested; a version without a lower bound is neither."""
    constraints = lowest(DECLARED.needed + DECLARED.tools)
    assert len(constraints) == len(DECLARED.needed) + len(DECLARED.tools)
    assert "urllib3==2.8" in constraints


def test_extras_that_the_unit_tests_need_are_tried_with_their_lowest_versions() -> None:
    """setup.cfg: an extra that names others of Sift's own stands for what those need."""
    config = "[metadata]\nname = x\nclassifiers =\n[options]\ninstall_requires =\n[options.extras_require]\n"
    config += "one =\n    a>=1\ntwo =\n    x[one]\n    b>=2\nunit =\n    x[two,one]\n    y[one]>=3\n"
    assert declared(config).tools == ("a>=1", "b>=2", "a>=1", "y[one]>=3")
    assert any(tool.startswith("trafilatura>=") for tool in DECLARED.tools)


def test_lowest_of_a_range_is_its_lower_bound() -> None:
    """The constraints are derived from setup.cfg, never repeated."""
    assert lowest(["a>=1.2", "b-c>=2.0.1,<3"]) == ("a==1.2", "b-c==2.0.1")


@pytest.mark.parametrize("requirement", ["a", "a<2", "a==1", "a>1", "a>=1,!=1.1", "a>=1;python_version<'3.12'"])
def test_requirement_without_a_plain_lower_bound_is_refused(requirement: str) -> None:
    """A requirement whose lowest version cannot be read is named, not left out."""
    with pytest.raises(ValueError, match=f"^no lower bound: {re.escape(requirement)}$"):
        lowest(["fine>=1", requirement])


def test_declared_pythons_are_the_ones_that_run() -> None:
    """setup.cfg: the classifiers name each Python that is tested."""
    assert DECLARED.pythons == ("3.11", "3.12", "3.13")


def test_python_of_the_name_does_not_run_next_place_is_taken(tmp_path: Path) -> None:
    """pyenv puts a program on PATH for a version that is not switched on: it says so and fails."""
    for name in ("shim", "other", "real"):
        (tmp_path / name).mkdir()
    shim = script(tmp_path / "shim" / "python3.12", "echo 3.12.0; exit 127")
    other = script(tmp_path / "other" / "python3.12", "echo 3.11.9")
    real = script(tmp_path / "real" / "python3.12", "echo 3.12.4")
    assert find("3.12", [str(tmp_path / "absent"), shim, other, real]) == (real, "3.12.4")
    assert find("3.12", [str(tmp_path / "absent"), shim, other]) is None


def test_places_are_those_of_path_then_pyenvs(tmp_path: Path) -> None:
    """A Python that the system has is taken before one of pyenv's."""
    for version in ("3.12.1", "3.13.0"):
        folder = tmp_path / "versions" / version / "bin"
        folder.mkdir(parents=True)
        (folder / f"python{version.rpartition('.')[0]}").touch()
    assert list(candidates("3.12", "/one:/two", tmp_path)) == [
        "/one/python3.12",
        "/two/python3.12",
        str(tmp_path / "versions/3.12.1/bin/python3.12"),
    ]


def test_plan_is_newest_on_each_python_and_lowest_on_the_default() -> None:
    """Each run has an environment of its own; only the last one has constraints."""
    known = Declared(("3.11", "3.12"), ("a>=1,<2",), ("t>=3",))
    planned = runs(known, [Found("p11", "3.11.2"), Found("p12", "3.12.1")], Found("p11", "3.11.2"))
    assert [(run.python, run.constraints) for run in planned] == [
        ("p11", ()),
        ("p12", ()),
        ("p11", ("a==1", "t==3")),
    ]
    assert len({run.venv for run in planned}) == 3


@pytest.mark.parametrize(("step", "code"), [("install", 1), ("test", 1), ("none", 0)])
def test_one_run_fails_the_others_run_and_the_exit_code_tells(
    step: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """One failure fails the whole, and the last lines say of each run how it went."""
    here = {python: Found(f"python{python}", f"{python}.1") for python in DECLARED.pythons if python != "3.13"}
    installed: list[Run] = []
    tested: list[Run] = []

    def install(run: Run) -> bool:
        installed.append(run)
        return step != "install" or not run.constraints

    def test(run: Run) -> bool:
        tested.append(run)
        return step != "test" or not run.constraints

    assert main(here.get, install, test) == code
    failed = [run for run in installed if code and run.constraints]
    assert len(failed) == code
    assert len(tested) == len(installed) - (step == "install")
    lines = capsys.readouterr().out.splitlines()
    assert lines[: len(installed)] == [f"{run.title}: {'FAILED' if run in failed else 'passed'}" for run in installed]
    assert lines[len(installed) :] == ["Python 3.13: not found"]
