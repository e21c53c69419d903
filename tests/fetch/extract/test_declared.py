"""What a page says about itself (contract: Page text)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sift.fetch.extract.declared import Declarations


def date_of(**meta: str) -> str:
    """Return the date of a page that declares one thing by a `meta` element."""
    declarations = Declarations()
    declarations.meta(meta)
    return declarations.metadata()["published_date"]


def linked(*documents: Any) -> Declarations:
    """Return the declarations of a page with JSON-LD."""
    declarations = Declarations()
    for document in documents:
        declarations.json_ld(document if isinstance(document, str) else json.dumps(document))
    return declarations


@pytest.mark.parametrize(
    "meta",
    [
        {"property": "article:published_time", "content": "2024-02-29T23:00:00-05:00"},
        {"name": "citation_publication_date", "content": "2024/02/29"},
        {"name": "DC.date.issued", "content": " 2024-02-29 "},
        {"itemprop": "datePublished", "content": "20240229"},
        {"name": "date", "content": "2024-02-29 12:00"},
    ],
)
def test_declared_date_is_given_as_its_day(meta: dict[str, str]) -> None:
    """contract: Page text. The day as the page writes it, in whatever zone that is."""
    assert date_of(**meta) == "2024-02-29"


@pytest.mark.parametrize(
    "meta",
    [
        {"property": "article:modified_time", "content": "2024-02-29"},
        {"name": "last-modified", "content": "2024-02-29"},
        {"http-equiv": "date", "content": "yesterday"},
        {"name": "date", "content": "2023-02-29"},
        {"name": "date", "content": "29.02.2024"},
        {"name": "date", "content": "2024-02-291"},
        {"name": "date", "content": "2024"},
        {"name": "copyright", "content": "2024-02-29"},
        {"name": "date"},
    ],
)
def test_date_that_is_not_declared_is_not_given(meta: dict[str, str]) -> None:
    """contract: Page text. A change, a year, a date that does not exist: dates are never guessed."""
    assert date_of(**meta) == ""


def test_time_element_counts_only_as_the_date_of_publication() -> None:
    """contract: Page text. Any other time on a page is somebody else's."""
    declarations = Declarations()
    declarations.time({"datetime": "2020-01-01"})
    assert declarations.metadata()["published_date"] == ""
    declarations.time({"datetime": "2024-01-02", "itemprop": "datePublished"})
    assert declarations.metadata()["published_date"] == "2024-01-02"


def test_json_ld_of_an_article_tells_date_and_authors() -> None:
    """contract: Page text. At the top, in a list or in the graph."""
    article = {"@type": ["NewsArticle"], "datePublished": "2024-05-06T07:08:09Z", "author": [{"name": " Ann "}, "Bob"]}
    for document in (article, [{"@type": "Person"}, article], {"@graph": [article]}):
        found = linked(document).metadata()
        assert (found["published_date"], found["author"]) == ("2024-05-06", "Ann, Bob")


def test_json_ld_of_several_articles_tells_nothing() -> None:
    """contract: Page text. The dates of a list of teasers are not the page's."""
    articles = [{"@type": "Article", "datePublished": f"2024-05-0{day}", "author": f"A{day}"} for day in (1, 2)]
    found = linked(articles).metadata()
    assert (found["published_date"], found["author"]) == ("", "")


@pytest.mark.parametrize(
    "document",
    ["", "{", "[" * 100_000, '"x"', "1", "null", [1, [2], None], {"@graph": 1}, {"@type": {"a": 1}}, {"@type": 5}]
    + [{"@type": "Article", "datePublished": value, "author": value} for value in (1, None, [], {}, [[]], {"name": 3})]
    + ['{"@type": "Article", "datePublished": "2024-01-01", "x": "' + "x" * 300_000 + '"}'],
)
def test_json_ld_of_any_form_is_survived(document: Any) -> None:
    """contract: Page text. It is as hostile as the rest of the page."""
    found = linked(document).metadata()
    assert (found["published_date"], found["author"]) == ("", "")


def test_title_is_the_one_for_sharing_else_the_documents_else_the_heading() -> None:
    """contract: Page text. The first of each counts."""
    declarations = Declarations()
    declarations.heading("heading")
    assert declarations.metadata()["title"] == "heading"
    declarations.title(" a \n title ")
    declarations.title("another")
    assert declarations.metadata()["title"] == "a title"
    declarations.meta({"property": "og:title", "content": "shared\u200b"})
    declarations.meta({"property": "og:title", "content": "later"})
    assert declarations.metadata()["title"] == "shared"


def test_author_is_a_name_and_no_link() -> None:
    """contract: Page text. Some pages declare the author's page."""
    declarations = Declarations()
    declarations.meta({"property": "article:author", "content": "https://social.example/ann"})
    assert declarations.metadata()["author"] == ""
    declarations.meta({"name": "Author", "content": "Ann"})
    assert declarations.metadata()["author"] == "Ann"


@pytest.mark.parametrize(
    ("tag", "lang"), [("en", "en"), ("de_AT", "de-AT"), ("zh-Hant-TW", "zh-Hant-TW"), ("x y", ""), ("<b>", "")]
)
def test_language_is_a_tag(tag: str, lang: str) -> None:
    """contract: Page text. What is no tag is left out."""
    declarations = Declarations()
    declarations.language(tag)
    assert declarations.metadata()["lang"] == lang


def test_description_is_one_line() -> None:
    """contract: Page text. As declared, folded."""
    declarations = Declarations()
    declarations.meta({"name": "description", "content": " a\n  b "})
    assert declarations.metadata()["description"] == "a b"
