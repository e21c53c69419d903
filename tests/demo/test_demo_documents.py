"""The documents: addresses, titles and passages."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sift.demo.documents import PAGES, PASSAGE_SIZE, distribution_passages, passages, topic_passages

DOCS = "https://docs.python.org/3/"
COMPOUND = 'Compound statements\n*******************\n\nIntro.\n\n\nThe *x* "with" statement\n======\n\nBody.\n'
WITH = 'The *x* "with" statement\n******\n\nBody.\n'


def distribution(folder: Path, metadata: str, file: str = "METADATA") -> importlib.metadata.Distribution:
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(metadata, encoding="utf-8")
    return importlib.metadata.PathDistribution(folder)


def test_passages_of_this_machine_are_short_titled_and_addressed() -> None:
    """contract: Demo: real text, with docs.python.org addresses and project URLs."""
    found = list(passages())
    assert all(passage.title and 0 < len(passage.text) <= PASSAGE_SIZE for passage in found)
    urls = {passage.url for passage in found}
    assert all(urlsplit(url).scheme in ("http", "https") and urlsplit(url).hostname for url in urls)
    assert {
        f"{DOCS}reference/compound_stmts.html#with",
        f"{DOCS}reference/datamodel.html#context-managers",
        f"{DOCS}library/stdtypes.html#string-methods",
    } <= urls
    assert any(passage.title.startswith("requests: ") for passage in found)


def test_every_topic_label_stands_on_one_page() -> None:
    """contract: Demo: a label has one docs.python.org address."""
    labels = " ".join(PAGES.values()).split()
    assert len(labels) == len(set(labels))


def test_section_that_is_a_topic_too_is_kept_once_under_its_label() -> None:
    """contract: Demo: `compound` holds `with` again, which must not be found twice."""
    found = list(topic_passages({"compound": COMPOUND, "with": WITH}))
    assert [passage.url for passage in found] == [
        f"{DOCS}reference/compound_stmts.html#compound",
        f"{DOCS}reference/compound_stmts.html#with",
    ]
    assert found[1].title == 'The x "with" statement - Python documentation'


def test_section_without_label_gets_the_anchor_of_its_title() -> None:
    """contract: Demo: addresses lead to the section quoted."""
    found = list(topic_passages({"compound": COMPOUND}))
    assert found[1].url == f"{DOCS}reference/compound_stmts.html#the-x-with-statement"


def test_unknown_topic_leads_to_the_search_page() -> None:
    """contract: Demo: a topic of a newer Python has an address that is true, if vague."""
    found = list(topic_passages({"new thing": "New thing\n*********\n\nBody.\n"}))
    assert [passage.url for passage in found] == [f"{DOCS}search.html?q=new+thing"]


@pytest.mark.parametrize(
    ("fields", "url"),
    [
        ("Home-page: https://h.example/\nProject-URL: Documentation, https://d.example/", "https://h.example/"),
        ("Project-URL: Source, https://src.example/\nProject-URL: Homepage, https://h.example", "https://h.example"),
        ("Home-page: UNKNOWN\nProject-URL: Source Code, https://src.example/x", "https://src.example/x"),
    ],
)
def test_distribution_url_is_the_projects_own(tmp_path: Path, fields: str, url: str) -> None:
    """contract: Demo: distributions carry their project URLs."""
    metadata = f"Metadata-Version: 2.1\nName: thing\nSummary: Does it.\n{fields}\n\nLong text."
    found = list(distribution_passages([distribution(tmp_path / "thing.dist-info", metadata)]))
    assert {(passage.url, passage.title) for passage in found} == {(url, "thing: Does it.")}


@pytest.mark.parametrize(
    "fields",
    [
        "Project-URL: Funding, https://money.example/",
        "Home-page: ftp://files.example/",
        "Home-page: https://[broken",
        "",
    ],
)
def test_distribution_without_project_url_is_left_out(tmp_path: Path, fields: str) -> None:
    """contract: Demo: a hit needs an address, and none is made up."""
    metadata = f"Metadata-Version: 2.1\nName: thing\nSummary: Does it.\n{fields}\n\nLong text."
    assert list(distribution_passages([distribution(tmp_path / "thing.dist-info", metadata)])) == []


def test_description_loses_its_badges_and_keeps_its_text(tmp_path: Path) -> None:
    """contract: Demo: passages are readable."""
    body = "Thing\n=====\n\n.. image:: x.png\n   :target: y\n\n[![b](c)](d)\n\nReal text.\n\n```\ncode()\n```\n"
    found = list(
        distribution_passages(
            [distribution(tmp_path / "t.dist-info", f"Name: t\nHome-page: https://t.example/\n\n{body}")]
        )
    )
    text = "\n".join(passage.text for passage in found)
    assert "Real text." in text
    assert "code()" in text
    assert not any(mark in text for mark in ("===", ".. image", ":target:", "[![", "```"))


def test_old_metadata_with_description_as_a_field_is_read(tmp_path: Path) -> None:
    """contract: Demo: the descriptions of installed distributions, egg-info ones too."""
    fields = "Name: old\nHome-page: https://o.example/\nSummary: S\nDescription: First line"
    metadata = f"{fields}\n        \n        Second line\nPlatform: any\n"
    found = list(distribution_passages([distribution(tmp_path / "old.egg-info", metadata, "PKG-INFO")]))
    assert "Second line" in found[0].text
    assert "Platform" not in found[0].text


def test_broken_distributions_are_skipped_and_repeats_kept_once(tmp_path: Path) -> None:
    """contract: Demo: one broken installation hides no other."""
    bad = tmp_path / "bad.dist-info"
    bad.mkdir()
    (bad / "METADATA").write_bytes(b"Name: bad\xff\n\n")
    empty = tmp_path / "empty.dist-info"
    empty.mkdir()
    good = distribution(tmp_path / "good.dist-info", "Name: good\nHome-page: https://g.example/\n\nText")
    broken = [importlib.metadata.PathDistribution(folder) for folder in (bad, empty)]
    assert [passage.title for passage in distribution_passages([*broken, good, good])] == ["good"]
