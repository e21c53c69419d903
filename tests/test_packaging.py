"""What `pip install` installs: the command, the service and the demo, and nothing of the tests."""

from __future__ import annotations

import configparser
import email
import re
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from sift import __version__
from sift.api.page import FILES
from tests.service import ROOT, Service
from tests.vendors import NAMES


def pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pip quietly."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel from a copy of the sources; a build in the checkout would leave files there."""
    path = tmp_path_factory.mktemp("wheel")
    source = path / "source"
    shutil.copytree(ROOT / "sift", source / "sift", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", source / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs", source / "docs")
    for name in ("setup.cfg", "pyproject.toml", "wsgi.py", "README.md"):
        shutil.copy(ROOT / name, source)
    built = pip("wheel", "--no-deps", "--wheel-dir", str(path), str(source))
    if built.returncode and re.search("No matching distribution|ConnectionError|NewConnection", built.stderr):
        pytest.skip("the build backend cannot be installed here")
    assert built.returncode == 0, built.stderr
    (found,) = path.glob("*.whl")
    return found


def test_wheel_holds_the_package_and_the_entry_point_alone(wheel: Path) -> None:
    """The wheel holds every module of the package, the files that it serves, `wsgi` beside it, and no test."""
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "sift").rglob("*.py")} | {"wsgi.py"}
    served = {f"sift/api/page/{name}" for name in FILES.values()} | {"sift/api/openapi.json"}
    manual = {name for name in names if ".data/data/share/man/man1/" in name}
    assert {Path(name).name for name in manual} == {path.name for path in (ROOT / "docs/man").glob("*.1")}
    assert {name for name in names - manual if ".dist-info/" not in name} == modules | served


def test_wheel_metadata(wheel: Path) -> None:
    """Name, version, Python, dependencies and the README as its description."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
    assert (metadata["Name"], metadata["Version"], metadata["Requires-Python"]) == (
        "sift-gateway",
        __version__,
        ">=3.11",
    )
    needed = [value for value in metadata.get_all("Requires-Dist") or () if "extra ==" not in value]
    names = {re.split(r"[<>=!~ ]", value)[0].lower() for value in needed}
    assert names == {
        *("cachetools", "certifi", "click", "flask", "gunicorn", "idna", "marshmallow", "requests", "urllib3"),
        "werkzeug",
    }
    assert "# Sift" in str(metadata.get_payload())


def test_every_third_party_import_is_declared() -> None:
    """What the package imports is a declared dependency, not what another one brings."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")

    def declared(lines: str) -> set[str]:
        return {re.split(r"[<>=]", line)[0] for line in lines.split("\n") if line}

    def imported(paths: list[Path]) -> set[str]:
        source = "\n".join(path.read_text() for path in paths)
        names = set(re.findall(r"^\s*(?:from|import) ([a-z0-9_]+)", source, re.MULTILINE))
        return names - set(sys.stdlib_module_names) - {"sift", "_typeshed"}

    paths, extracting = list((ROOT / "sift").rglob("*.py")), ROOT / "sift" / "fetch" / "extract"
    storing = {*(ROOT / "sift" / "store" / "postgres").iterdir(), ROOT / "sift" / "store" / "open.py"}
    scraping = {ROOT / "sift" / "metrics" / "exposition.py"}
    serving = {*(ROOT / "sift" / "mcp").iterdir()}
    base, extras = declared(config["options"]["install_requires"]), config["options.extras_require"]
    special = storing | scraping | serving
    assert imported([path for path in paths if extracting not in path.parents and path not in special]) <= base
    assert imported(sorted(storing & {*paths})) <= base | {"psycopg"}
    assert imported(sorted(serving & {*paths})) == declared(extras["mcp"])
    assert "psycopg[binary]" in declared(extras["postgres"])
    assert imported(sorted(scraping)) == declared(extras["metrics"])
    extra = declared(extras["fetch"]) | declared(extras["pdf"]) | declared(extras["metrics"]) | {"psycopg"}
    assert imported(paths) <= base | extra | declared(extras["mcp"])


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a clean environment that shares this one's dependencies but not the checkout."""
    path = tmp_path_factory.mktemp("installed")
    venv.create(path, symlinks=True, with_pip=False)
    packages = path / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    # A directory added by a .pth has its own .pth files ignored, so the editable checkout stays out.
    (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    done = pip("--python", str(path), "install", "--no-deps", "--no-index", "--ignore-installed", str(wheel))
    assert done.returncode == 0, done.stderr
    return path


def test_installed_command_says_its_version(installed: Path, tmp_path: Path) -> None:
    """The console script exists and runs the wheel's code."""
    done = subprocess.run(
        [installed / "bin" / "sift", "--version"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == f"sift {__version__}\n"
    where = subprocess.run(
        [installed / "bin" / "python", "-c", "import sift; print(sift.__file__)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert Path(where.stdout.strip()).is_relative_to(installed)


class Installed(Service):
    """The documented command, run from an installed wheel in a directory outside the checkout."""

    def __init__(self, python: Path, tmp_path: Path) -> None:
        super().__init__(tmp_path, {"SIFT_DEMO": "on"}, ["--chdir", str(tmp_path)])
        self.command[0] = str(python)


def test_installed_service_answers(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """README, Running it for real: `gunicorn -c python:sift.gunicorn_conf wsgi:app` works in any directory."""
    monkeypatch.setattr("tests.service.ROOT", tmp_path)  # the working directory of the service
    with Installed(installed / "bin" / "python", tmp_path) as service:
        answer = service.search("context manager")
    assert answer["results"]
    assert answer["sources_ok"] == [*NAMES]


def test_debian_script_runs_the_readmes_command_and_nothing_else() -> None:
    """`.ci/run` ends in the README's test command, after the versions; it is executable and stops at an error."""
    script = ROOT / ".ci" / "run"
    lines = script.read_text().splitlines()
    assert script.stat().st_mode & 0o111
    assert lines[0] == "#!/usr/bin/env bash"
    assert "set -eu -o pipefail" in lines
    (command,) = re.findall(r"^(make test)\b", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert [line.split("<")[0].strip() for line in lines[-2:]] == ["make versions", command]
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0


def test_version_is_the_changelogs_newest() -> None:
    """The version of a release is the same everywhere."""
    headings = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert next(heading for heading in headings if heading != "Unreleased") == __version__
