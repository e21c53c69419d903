"""`make versions`: run the unit tests on each declared Python that is here, and with the lowest declared dependencies.

Needs the standard library alone: it makes the environments in which everything else is installed.
"""

from __future__ import annotations

import configparser
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EXTRA = "unit"
# What starts whole programs or many services, or builds a wheel; `make test` runs these, and one version is enough.
# A path that is missing here only makes the run longer.
LEFT_OUT = (
    *("tests/real", "tests/browser", "tests/faults", "tests/contract", "tests/bench", "tests/soak"),
    *("tests/api/test_access.py", "tests/api/test_privacy.py", "tests/test_packaging.py"),
    *("tests/store/test_crews.py", "tests/store/test_processes.py", "tests/store/test_jobs_model.py"),
)
_OWN_EXTRAS = re.compile(r"([A-Za-z0-9._-]+)\[([a-z0-9,-]+)\]")
_HAS_BOUND = re.compile(r"([A-Za-z0-9._-]+)(?:\[[a-z0-9,-]+\])?>=([0-9][0-9A-Za-z.]*)(?:,<[0-9.]+)?")
# Debian splits ensurepip off: a Python without it cannot make an environment.
_ASK_VERSION = "import ensurepip, platform; print(platform.python_version())"


class Declared(NamedTuple):
    """What setup.cfg says: `pythons` such as "3.11", `needed` and `tools` as requirements."""

    pythons: tuple[str, ...]
    needed: tuple[str, ...]
    tools: tuple[str, ...]


class Found(NamedTuple):
    """A Python on this machine: its program, and its whole version, such as "3.11.2"."""

    place: str
    version: str


class Run(NamedTuple):
    """One run of the tests: the environment's directory, its Python, and the constraints, none for the newest."""

    venv: Path
    python: str
    title: str
    constraints: tuple[str, ...] = ()


def declared(setup: str) -> Declared:
    """Return what the text of a setup.cfg declares."""
    config = configparser.RawConfigParser()
    config.read_string(setup)
    return Declared(
        tuple(re.findall(r"^Programming Language :: Python :: (\d+\.\d+)$", config["metadata"]["classifiers"], re.M)),
        tuple(config["options"]["install_requires"].split()),
        tuple(_extra(config, EXTRA)),
    )


def _extra(config: configparser.RawConfigParser, name: str) -> Iterator[str]:
    """Yield the requirements of an extra, those of Sift's other extras that it names included."""
    for requirement in config["options.extras_require"][name].split():
        own = _OWN_EXTRAS.fullmatch(requirement)
        if own and own[1] == config["metadata"]["name"]:
            for other in own[2].split(","):
                yield from _extra(config, other)
        else:
            yield requirement


def lowest(requirements: Iterable[str]) -> tuple[str, ...]:
    """Return `name==X` for each `name>=X` or `name>=X,<Y`. Raises ValueError for a requirement of another form."""
    matches = [(each, _HAS_BOUND.fullmatch(each)) for each in requirements]
    unbound = [each for each, match in matches if not match]
    if unbound:
        raise ValueError(f"no lower bound: {', '.join(unbound)}")
    return tuple(f"{match[1]}=={match[2]}" for _, match in matches if match)


def candidates(python: str, path: str, pyenv: Path) -> Iterator[str]:
    """Yield where a Python such as "3.12" may be: in each directory of PATH, then among pyenv's."""
    for directory in path.split(os.pathsep):
        yield str(Path(directory) / f"python{python}")
    yield from sorted(map(str, pyenv.glob(f"versions/{python}.*/bin/python{python}")))


def find(python: str, places: Iterable[str]) -> Found | None:
    """Return the first place with a Python that runs, None when there is none.

    A program of that name is not enough: pyenv puts one on PATH for versions that are not switched on.
    """
    for place in places:
        try:
            said = subprocess.run([place, "-c", _ASK_VERSION], capture_output=True, text=True, check=False, timeout=60)
        except OSError:
            continue
        version = said.stdout.strip()
        if said.returncode == 0 and version.startswith(f"{python}."):
            return Found(place, version)
    return None


def runs(known: Declared, found: Iterable[Found], default: Found) -> list[Run]:
    """Plan a run on each Python found, with the newest versions, and one on the default with the lowest."""
    newest = [Run(ROOT / f".venv-{version}", place, f"Python {version}, newest") for place, version in found]
    place, version = default
    constraints = lowest(known.needed + known.tools)
    return [*newest, Run(ROOT / f".venv-{version}-lowest", place, f"Python {version}, lowest", constraints)]


def inside(run: Run, *arguments: str) -> list[str]:
    """Return the command that runs a module with the environment's Python."""
    return [str(run.venv / "bin" / "python"), "-m", *arguments]


def install(run: Run) -> bool:
    """Make the environment, or bring one from an earlier run up to date; tell whether that went well."""
    constraints = run.venv / "constraints.txt"
    command = inside(run, "pip", "install", "--quiet", "--disable-pip-version-check")
    command += ["--upgrade", "--upgrade-strategy", "eager", "--constraint", str(constraints)]
    if subprocess.run([run.python, "-m", "venv", run.venv], check=False).returncode:
        return False
    constraints.write_text("".join(f"{line}\n" for line in run.constraints))
    return subprocess.run([*command, "--editable", f".[{EXTRA}]"], check=False, cwd=ROOT).returncode == 0


def test(run: Run) -> bool:
    """Return whether the tests pass in a run's environment, and print what they said once they are through."""
    command = inside(run, "pytest", "-q", "-p", "no:cacheprovider", *(f"--ignore={path}" for path in LEFT_OUT))
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=ROOT, errors="replace"
    )
    print(f"\n{run.title}\n{done.stdout}", flush=True)
    return done.returncode == 0


def locate(python: str) -> Found | None:
    """Find a Python on this machine: the one that runs this, else by PATH or pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser()
    return find(python, [sys.executable, *candidates(python, os.environ["PATH"], pyenv)])


def main(
    locate: Callable[[str], Found | None] = locate,
    install: Callable[[Run], bool] = install,
    test: Callable[[Run], bool] = test,
) -> int:
    """Run everything, say what ran and what was not found, and return the exit code."""
    known = declared((ROOT / "setup.cfg").read_text())
    found = {python: locate(python) for python in known.pythons}
    own = Found(sys.executable, platform.python_version())
    planned = runs(known, [each for each in found.values() if each], own)
    # One after another: they all write the metadata of an editable installation into the checkout.
    ready = [run for run in planned if install(run)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = {run for run, good in zip(ready, pool.map(test, ready), strict=True) if good}
    for run in planned:
        print(f"{run.title}: {'passed' if run in passed else 'FAILED'}")
    for python in [python for python, place in found.items() if not place]:
        print(f"Python {python}: not found")
    return 0 if passed == set(planned) else 1


if __name__ == "__main__":
    sys.exit(main())
