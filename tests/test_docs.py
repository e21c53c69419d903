"""The documents agree with the program."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sift.api.v1.search import read
from sift.batch.fields import FIELDS as BATCH_FIELDS
from sift.batch.fields import MOST_URLS
from sift.batch.schema import load_batch
from sift.cli.batch import batch
from sift.cli.flags import FLAGS, flags_of
from sift.cli.status import ExitStatus
from sift.config import Config, all_settings
from sift.fetch.extract.model import WARNINGS
from sift.fetch.fetcher import DEMO_WARNING
from sift.fetch.fields import FIELDS as FETCH_FIELDS
from sift.fetch.schema import load_fetch, unknown_field_warnings
from sift.fields import Field
from sift.search.fields import DATE_FORM, FIELDS, MAX_QUERIES
from sift.sources import DECLARED
from tests.service import ROOT, Service
from tests.vendors import Vendors

SETTINGS = all_settings(DECLARED)
README = (ROOT / "README.md").read_text()
CONTRACT = (ROOT / "docs" / "contract.md").read_text()
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "skill/SKILL.md"]
DOCUMENTS += sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))


def blocks(language: str) -> list[str]:
    """Return the README's code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def section(title: str) -> str:
    """Return the text of a section of the README, without its subsections."""
    (found,) = re.findall(rf"^##+ {re.escape(title)}\n(.*?)(?=^##+ |\Z)", README, re.DOTALL | re.MULTILINE)
    return str(found)


def rows(text: str) -> list[list[str]]:
    """Return the cells of the tables in a text, row by row, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] for line in lines]
    return [
        row for row in cells if not set(row[0]) <= {"-"} and row[0] not in ("variable", "field", "flag", "exit code")
    ]


def test_settings_table_names_every_setting_with_its_default() -> None:
    """README, Settings: the same variables in the same order, the same defaults."""
    documented = [(row[0].strip("`"), row[1].strip("`")) for row in rows(section("Settings"))]
    assert documented == [(setting.name, setting.default or "unset") for setting in SETTINGS]


def test_contract_names_every_setting_with_its_default() -> None:
    """docs/contract.md, Settings: held to the code as the README's table is."""
    table = [row for row in rows(CONTRACT) if row[0].startswith("`SIFT_")]
    assert [(row[0].strip("`"), row[1].strip("`")) for row in table] == [
        (setting.name, setting.default or "unset") for setting in SETTINGS
    ]


# What follows the colon, up to the next mark, is the whole name of a section, or several with commas between.
_REFERENCE = re.compile(r"\bcontract: ([A-Z][\w ]*(?:, [A-Z][\w ]*)*)")


def cited(text: str) -> list[str]:
    """Return the sections of docs/contract.md that a text cites, as it spells them."""
    return [name for names in _REFERENCE.findall(text) for name in names.split(", ")]


def sources_and_documents() -> list[Path]:
    """Return every file that may cite the contract."""
    code = [path for part in ("sift", "tests") for path in sorted((ROOT / part).rglob("*.py"))]
    return [*code, ROOT / "wsgi.py", *(ROOT / name for name in DOCUMENTS)]


NOT_IN_ONE_PLACE = {"Invariants", "Not promised"}  # sections that only refer to others


def test_references_to_the_contract_name_its_sections() -> None:
    """No reference names a section that is misspelt, renamed or removed."""
    sections = set(re.findall(r"^## (.+)$", CONTRACT, re.MULTILINE))
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources_and_documents()
        for name in cited(path.read_text(encoding="utf-8"))
        if name not in sections
    }
    assert sorted(wrong) == []


def test_no_reference_goes_by_number() -> None:
    """Every reference can be followed in this repository: no section numbers, no case ids."""
    number = re.compile(
        "\N{SECTION SIGN}|" + r"\b[BX][0-9]{2,3}\b|\b(?:vendors|firecrawl_v2|engineering)\.md|\bP3\.1\b"
    )
    numbered = {
        f"{path.relative_to(ROOT)}: {found}"
        for path in sources_and_documents()
        for found in number.findall(path.read_text(encoding="utf-8"))
    }
    assert sorted(numbered) == []


def test_references_are_found_as_they_are_written() -> None:
    """One section, several, one that no punctuation ends; and a word that is not a reference."""
    one, several, unended = "HTTP calls", "Merge, Credits", "Notes"
    text = f"contract: {one}: text (contract: {several}). A contract: no. As contract: {unended} says"
    assert cited(text) == ["HTTP calls", "Merge", "Credits", "Notes says"]


def test_every_invariant_has_a_test_that_carries_its_id() -> None:
    """docs/contract.md, Invariants: each has a proof that `grep -rn "R5:" tests` finds, and no other id is used."""
    named = re.findall(r"^\| (R[0-9]) \|", CONTRACT, re.MULTILINE)
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    carried = re.findall(r'^ +"""((?:R[0-9][:,] )+)', tests, re.MULTILINE)
    assert set(named) == set(re.findall("R[0-9]", " ".join(carried)))


def test_no_document_names_a_setting_that_does_not_exist() -> None:
    """No document misspells a variable."""
    known = {setting.name for setting in SETTINGS} | {"SIFT_URL", "SIFT_TOKEN"}
    for name in DOCUMENTS:
        text = (ROOT / name).read_text()
        found = set(re.findall(r"\bSIFT_[A-Z_]+[A-Z]", text))
        assert {each for each in found if not each.startswith("SIFT_EXAMPLE")} <= known, name


def test_every_field_of_a_request_is_documented() -> None:
    """README, The request: each field has a row in its table, and no row is of another field."""
    tables = {"query": "The request", "answer": "The request", "filter": "Filters"}
    for title in set(tables.values()):
        documented = [name for row in rows(section(title)) for name in re.findall(r"`(\w+)`", row[0])]
        assert sorted(documented) == sorted(field.name for field in FIELDS if tables[field.group] == title)


def limits(field: Field) -> list[str]:
    """Return what a document must say of a field: type, limits, choices, and a default that is not "off"."""
    if field.name == "queries":
        said = [f"{field.min_items}–{field.max_items} such strings"]
    elif field.type == "array":
        said = [f"up to {field.max_items} {field.format}s"]
    elif field.type in ("integer", "number"):
        said = [f"{field.minimum}–{field.maximum}"]
    elif field.type == "boolean":
        said = [f"`{str(not field.default).lower()}`"]
    elif field.format == "date":
        said = ["`YYYY-MM-DD`"]
    else:
        said = [f"a string of up to {field.max_length} characters"] if field.max_length else []
    said += [f"`{word}`" for word in (*field.choices, *dict(field.aliases))]
    if field.choices and field.default:
        return [*said, f"`{field.default}` (default)"]
    return [*said, f"default {field.default}".replace("True", "`true`")] if field.default else said


EFFECTIVE = [field for field in FIELDS if field.name != "digest"]  # which has no effect, whatever its value


@pytest.mark.parametrize("field", EFFECTIVE, ids=lambda field: str(field.name))
def test_limits_of_every_field_are_documented(field: Field) -> None:
    """README, The request and Filters: every limit is stated, and no other number."""
    (row,) = [row for row in rows(section("The request") + section("Filters")) if f"`{field.name}`" in row[0]]
    assert [words for words in limits(field) if words not in row[1]] == []
    assert set(re.findall(r"\d+", row[1])) == set(re.findall(r"\d+", " ".join(limits(field))))


@pytest.mark.parametrize("name", FLAGS)
def test_flag_of_every_field_is_documented_with_its_values(name: str) -> None:
    """README, The command: the flag's row names the field and lists a closed set's values."""
    (field,) = [field for field in FIELDS if field.name == name]
    (row,) = [row for row in rows(section("The command")) if re.search(rf"`{FLAGS[name]}[ `]", row[0])]
    assert f"`{name}" in row[1]
    assert r"\|".join(field.choices) in row[0]
    assert field.format != "date" or f"{FLAGS[name]} {DATE_FORM}" in row[0]


@pytest.mark.parametrize("field", FETCH_FIELDS, ids=lambda field: str(field.name))
def test_limits_of_every_field_of_a_fetch_are_documented(field: Field) -> None:
    """README, Opening pages: as for a search, every limit is stated, and no other number."""
    (row,) = [row for row in rows(section("Opening pages")) if row[0] == f"`{field.name}`"]
    assert [words for words in limits(field) if words not in row[1]] == []
    assert set(re.findall(r"\d+", row[1])) == set(re.findall(r"\d+", " ".join(limits(field))))


@pytest.mark.parametrize("field", FETCH_FIELDS, ids=lambda field: str(field.name))
def test_contract_has_the_bounds_of_every_field_of_a_fetch(field: Field) -> None:
    """docs/contract.md, Fetch: the same bounds and defaults, with commas in large numbers."""
    table = CONTRACT.partition("\n## Fetch\n")[2].partition("\n## ")[0]
    row = next(row for row in rows(table) if row[0] == f"`{field.name}`")
    bounds = [] if field.minimum is None else [f"{field.minimum:,} to {field.maximum:,}"]
    assert [words for words in (*bounds, *(f"`{each}`" for each in field.choices)) if words not in row[2]] == []
    assert (row[1], row[3].strip("`")) == (
        field.type,
        "–" if field.default is None else f"{field.default:,}" if field.type != "string" else field.default,
    )


@pytest.mark.parametrize("field", BATCH_FIELDS, ids=lambda field: str(field.name))
def test_fields_of_a_batch_are_documented_with_their_bounds(field: Field) -> None:
    """README, Batches, and docs/contract.md, Batch: the same bounds and defaults."""
    (row,) = [row for row in rows(section("Batches")) if row[0] == f"`{field.name}`"]
    table = CONTRACT.partition("\n## Batch\n")[2].partition("\n## ")[0]
    stated = next(row for row in rows(table) if row[0] == f"`{field.name}`")
    if field.name == "urls":
        bounds, said = (
            [f"{field.min_items} to {field.max_items} strings"],
            [f"{field.min_items}–{field.max_items} strings"],
        )
        bounds.append(f"`restricted` {MOST_URLS['restricted']}")
        said.append(f"up to {MOST_URLS['restricted']}")
    else:
        bounds = [] if field.minimum is None else [f"{field.minimum:,} to {field.maximum:,}"]
        bounds += [f"`{each}`" for each in field.choices]
        said = limits(field)
    assert [words for words in said if words not in row[1]] == []
    assert [words for words in bounds if words not in stated[2]] == []
    default = "–" if field.default is None else field.default if field.choices else f"{field.default:,}"
    assert (stated[1], stated[3].strip("`")) == (field.type, default)


def test_flags_of_fetch_are_documented_with_their_values() -> None:
    """README, The command for pages: the flags of `sift fetch --help`, all of them and no others."""
    listed = subprocess.run(
        [Path(sys.executable).with_name("sift"), "fetch", "--help"], capture_output=True, text=True, check=True
    ).stdout
    table = rows(section("The command for pages"))
    documented = {flag for row in table for flag in re.findall(r"--[a-z-]+", row[0])}
    assert documented == set(re.findall(r"^ +(?:-h, )?(--[a-z-]+)", listed, re.MULTILINE))
    for name, flag in flags_of(FETCH_FIELDS).items():
        (field,) = [field for field in FETCH_FIELDS if field.name == name]
        (row,) = [row for row in table if row[0].startswith(f"`{flag} ")]
        assert row[1] == f"`{name}`"
        assert r"\|".join(field.choices) in row[0]


def test_flags_of_batch_submit_are_documented_with_their_values() -> None:
    """README, The command for batches: the flags of `sift batch submit --help`, all of them and no others."""
    listed = subprocess.run(
        [Path(sys.executable).with_name("sift"), "batch", "submit", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    table = section("The command for batches").partition("| `sift batch …`")[0]
    documented = {flag for row in rows(table) for flag in re.findall(r"--[a-z-]+", row[0])}
    assert documented == set(re.findall(r"^ +(?:-h, )?(--[a-z-]+)", listed, re.MULTILINE))


def test_every_command_for_batches_is_documented() -> None:
    """README, The command for batches: each with its flags."""
    table = section("The command for batches").partition("| `sift batch …`")[2]
    documented = {row[0].strip("`").split()[0] for row in rows(table) if row[0].startswith("`")}
    assert documented == set(batch.commands) - {"submit"}


@pytest.mark.parametrize("warning", sorted({*WARNINGS, DEMO_WARNING, "page cut at 5 MiB", "pdf: first <n> pages"}))
def test_every_warning_of_a_fetch_is_documented(warning: str) -> None:
    """README and docs/contract.md: each is in a table, with what it means; variants share the beginning."""
    for text, filler in ((section("Opening pages"), ""), (CONTRACT, "… ")):
        first = [row[0] for row in rows(text) if row[0].startswith("`") and len(row) == 2]
        head, paren, variant = warning.partition(" (")
        short = f"`{filler}({variant}`"
        assert any(f"`{warning}`" in cell or (paren and f"`{head} (" in cell and short in cell) for cell in first)


def test_queries_file_is_documented_with_its_limits() -> None:
    """README, The command: as many queries as the service takes."""
    (row,) = [row for row in rows(section("The command")) if "--queries-file" in row[0]]
    assert f"1–{MAX_QUERIES} strings" in row[1]


def test_filter_table_has_a_column_for_every_source() -> None:
    """README, Filters: native, enforced or noted, for each of the sources."""
    (head,) = [line for line in section("Filters").splitlines() if line.startswith("| field")]
    columns = [cell.strip() for cell in head.strip("|").split("|")][2:]
    assert sorted(columns) == sorted(each.title for each in DECLARED)
    assert all(len(row) == 2 + len(columns) and all(row) for row in rows(section("Filters")))


def test_every_flag_of_search_is_documented() -> None:
    """README, The command: the flags of `sift search --help`, all of them and no others."""
    listed = subprocess.run(
        [Path(sys.executable).with_name("sift"), "search", "--help"], capture_output=True, text=True, check=True
    ).stdout
    flags = set(re.findall(r"^ +(?:-[a-z], )?(--[a-z-]+)", listed, re.MULTILINE))
    documented = {flag for row in rows(section("The command")) for flag in re.findall(r"--[a-z-]+", row[0])}
    assert documented == flags


def test_exit_codes_are_documented() -> None:
    """README, The command: every code but the shells' own one for Ctrl-C."""
    documented = {int(row[0]) for row in rows(section("The command")) if row[0].isdigit()}
    assert documented == set(ExitStatus) - {ExitStatus.INTERRUPTED}


def test_json_and_yaml_examples_parse() -> None:
    """README: every example is what it says it is."""
    assert [json.loads(block) for block in blocks("json")]
    assert [yaml.safe_load(block) for block in blocks("yaml")]


@pytest.mark.parametrize(
    ("name", "language"),
    [("sift.service", "ini"), ("sift-worker.conf", "ini"), ("nginx.conf", "nginx"), ("sift.nft", "nft")],
)
def test_files_to_deploy_are_those_shown(name: str, language: str) -> None:
    """README, Running it for real: what is shown is what is installed."""
    assert (ROOT / "deploy" / name).read_text() in blocks(language)


def test_configuration_that_is_shown_is_in_a_file_to_deploy() -> None:
    """README: whatever is shown of nginx, nftables and systemd is installed as it is."""
    files = {file.read_text() for file in (ROOT / "deploy").iterdir() if file.is_file()}
    assert {block for language in ("ini", "nginx", "nft") for block in blocks(language)} <= files


@pytest.mark.skipif(not shutil.which("nft") or os.geteuid() != 0, reason="no nft (Debian: nftables), or not root")
def test_nftables_rules_are_valid(tmp_path: Path) -> None:
    """deploy/sift.nft: nft takes it, for a user who exists here."""
    rules = (ROOT / "deploy" / "sift.nft").read_text()
    assert '"sift"' in rules
    (tmp_path / "sift.nft").write_text(rules.replace('"sift"', "65534"))
    done = subprocess.run(["nft", "-c", "-f", tmp_path / "sift.nft"], capture_output=True, text=True, check=False)
    if "Operation not permitted" in done.stderr:
        pytest.skip("nft may not ask the kernel here")
    assert (done.returncode, done.stderr) == (0, "")


def example_environment() -> str:
    """Return what deploy/sift.env.example must be: every setting, commented out, with its default and description."""
    head = "# Settings of Sift with their defaults, one per line. Uncomment what you change; README.md says more.\n"
    workers = "\n# the number of workers, gunicorn's own variable\n#WEB_CONCURRENCY=1\n"
    return head + "".join(f"\n# {each.help}\n#{each.name}={each.default}\n" for each in SETTINGS) + workers


def test_example_environment_has_every_setting() -> None:
    """deploy/sift.env.example: in the order of the README's table, as the code describes them."""
    assert (ROOT / "deploy" / "sift.env.example").read_text() == example_environment()


def test_example_environment_uncommented_is_the_default() -> None:
    """deploy/sift.env.example: each line is a setting once its mark is taken off."""
    lines = re.findall(r"^#(\w+)=(.*)$", example_environment(), re.MULTILINE)
    demo = {"HOME": "/nonexistent", "SIFT_DEMO": "on"}
    assert Config.from_env(dict(lines) | demo, DECLARED) == Config.from_env(demo, DECLARED)


def request_bodies(path: str) -> list[str]:
    """Return the bodies of the README's curl examples for a path."""
    commands = [line for block in blocks("bash") for line in block.splitlines() if line.startswith("curl ")]
    return [words[words.index("-d") + 1] for words in map(shlex.split, commands) if words[2].endswith(path)]


@pytest.mark.parametrize("body", request_bodies("/v1/search"))
def test_request_examples_are_valid(body: str) -> None:
    """README: the service takes each, without a warning."""
    assert read(body.encode()).warnings == ()


@pytest.mark.parametrize("body", request_bodies("/v1/fetch"))
def test_examples_of_a_fetch_are_valid(body: str) -> None:
    """README, Opening pages: the service takes each, without a warning."""
    assert load_fetch(json.loads(body)).url.startswith("https://")
    assert unknown_field_warnings(json.loads(body)) == ()


@pytest.mark.parametrize("body", request_bodies("/v1/batch"))
def test_examples_of_a_batch_are_valid(body: str) -> None:
    """README, Batches: the service takes each."""
    assert len(load_batch(json.loads(body), "restricted").urls) == 2


def links(name: str) -> list[str]:
    """Return the links of a document that stay within the project."""
    found = re.findall(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$", (ROOT / name).read_text(), re.MULTILINE)
    return [one or other for one, other in found if "://" not in (one or other)]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    """No link goes to a missing file or heading."""
    for link in links(name):
        path, _, anchor = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}, link


def test_files_that_contributing_names_exist() -> None:
    """CONTRIBUTING, Where a rule lives: every path is one."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = {path for path in re.findall(r"`((?:sift|tests|docs|\.ci)/[\w./]*)`", text) if "example" not in path}
    assert len(named) > 20
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_where_a_rule_lives_has_every_section_of_the_contract() -> None:
    """CONTRIBUTING, Where a rule lives: a rule's file is found under the section that states the rule."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text.partition("## Where a rule lives")[2].partition("\n## ")[0]
    listed = [name for row in rows(table) for name in row[0].split(", ") if name and name != "section"]
    stating = [name for name in re.findall(r"^## (.+)$", CONTRACT, re.MULTILINE) if name not in NOT_IN_ONE_PLACE]
    assert listed == stating


def test_targets_that_documents_name_exist() -> None:
    """Every `make …` of a document is a target."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        target
        for name in DOCUMENTS
        for target in re.findall(r"(?:^|`)make ([a-z]+)\b", (ROOT / name).read_text(), re.MULTILINE)
    }
    assert {"run", "test", "gate"} <= named <= targets


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Service(tmp_path_factory.mktemp("demo"), {"SIFT_DEMO": "on"}) as service:
        yield service


def first_commands() -> list[str]:
    """Return the commands that a reader tries first."""
    (block,) = [block for block in blocks("bash") if "context manager" in block]
    return block.splitlines()


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed (Debian: curl)")
def test_first_curl_command_finds_documentation(demo: Service) -> None:
    """README, Try it: what it prints first is Python's page on the subject."""
    (command,) = [line for line in first_commands() if line.startswith("curl ")]
    words = shlex.split(command.replace("localhost:8787", f"127.0.0.1:{demo.port}"))
    answer = json.loads(subprocess.run(words, capture_output=True, check=True, timeout=60).stdout)
    assert answer["results"][0]["url"].startswith("https://docs.python.org/3/")
    assert "context" in answer["results"][0]["title"].lower()
    assert len(answer["results"]) == 8


def test_first_cli_command_finds_documentation(demo: Service, tmp_path: Path) -> None:
    """README, Try it: the same with the command."""
    done = first_sift_command("search", demo, tmp_path)
    assert "https://docs.python.org/3/" in done.stdout


def test_first_fetch_command_shows_documentation(demo: Service, tmp_path: Path) -> None:
    """README, Try it: a page that the search finds, from what comes with Sift; a warning says so."""
    done = first_sift_command("fetch", demo, tmp_path)
    assert "https://docs.python.org/3/reference/datamodel.html" in done.stdout.splitlines()[:2]
    assert "context manager" in done.stdout
    assert f"warning: {DEMO_WARNING}\n" in done.stderr


def first_sift_command(name: str, demo: Service, home: Path) -> subprocess.CompletedProcess[str]:
    """Run the command of that name that a reader tries first."""
    (command,) = [line for line in first_commands() if line.startswith(f".venv/bin/sift {name}")]
    words = shlex.split(command)
    words[0] = str(Path(sys.executable).with_name("sift"))
    environ = {"SIFT_URL": demo.url, "HOME": str(home)}
    return subprocess.run(words, env=environ, capture_output=True, text=True, check=True, timeout=60)


def test_example_answer_has_the_fields_of_a_real_one(demo: Service) -> None:
    """README, The answer: keys and their order, and the table beside it."""
    example = json.loads(blocks("json")[0])
    real = demo.search("context manager")
    assert list(example) == list(real)
    assert list(example["results"][0]) == list(real["results"][0])
    assert list(example["sizes"]) == list(real["sizes"])
    documented = {
        field for row in rows(section("The answer")) for field in re.findall(r"`(?:results\[\]\.)?(\w+)`", row[0])
    }
    assert {*real, *real["results"][0], "published_date"} - {"results"} <= documented


def test_example_page_has_the_fields_of_a_real_one(demo: Service) -> None:
    """README, Opening pages: keys and their order; an author and a date are left out as that page has none."""
    (example,) = [json.loads(block) for block in blocks("json") if '"final_url"' in block]
    (body,) = request_bodies("/v1/fetch")
    real = demo.post("/v1/fetch", json.loads(body)).json()
    assert list(example) == list(real)
    assert list(example["sizes"]) == list(real["sizes"])
    assert real["warnings"] == [DEMO_WARNING]


def test_example_record_of_a_fetch_has_the_fields_of_a_real_one(demo: Service) -> None:
    """README, Health, status, logs: the same for both classes."""
    (record,) = [json.loads(block) for block in blocks("json") if '"event": "fetch"' in block]
    demo.post("/v1/fetch", {"url": "http://localhost/"})
    assert list(demo.records("fetch")[-1]) == list(record)


def test_example_log_record_has_the_fields_of_a_real_one(demo: Service) -> None:
    """README, Health, status, logs: a restricted caller's record, field by field."""
    (record,) = [json.loads(block) for block in blocks("json") if '"event": "search"' in block]
    demo.search("anything")
    fleet_only = {"n_queries", "filters", "rerank_ms"}
    assert [name for name in demo.records()[-1] if name not in fleet_only] == list(record)


def test_example_status_has_the_fields_of_a_real_one(tmp_path: Path) -> None:
    """README, Health, status, logs: the fields and their order, those of a capped source too."""
    (example,) = [json.loads(block) for block in blocks("json") if '"sources": [\n' in block]
    with Vendors() as vendors, Service(tmp_path, vendors.environ) as service:
        real = service.get("/v1/status").json()
    assert list(example) == list(real)
    for of in (lambda source: tuple(source), lambda source: tuple(source.get("credits", ()))):
        assert set(map(of, example["sources"])) == set(map(of, real["sources"]))
    assert list(example["cache"]) == list(real["cache"])


def test_every_warning_that_occurs_is_documented() -> None:
    """README, Warnings: each text in the source has its row."""
    text = section("Warnings")
    source = "\n".join(path.read_text() for path in (ROOT / "sift" / "sources").glob("*.py"))
    reasons = set(re.findall(r'SourceError\("([a-z ]+)"', source))
    notes = set(re.findall(r'^ +"([a-z][a-z_ ()]+)": ', source, re.MULTILINE)) - {"include_answer"}
    assert reasons >= {"bad response", "no engine answered"}
    notes = {note for note in notes if " " in note}
    assert notes >= {"extra include_domains dropped"}
    assert [words for words in sorted(reasons | notes) if words not in text] == []
    assert [words for words in sorted(reasons | notes) if words not in CONTRACT] == []
