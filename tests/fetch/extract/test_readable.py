"""The main text by trafilatura (contract: Page text)."""

from __future__ import annotations

import pytest

pytest.importorskip("trafilatura", reason="the extra `fetch` is not installed", exc_type=ImportError)

from sift.fetch.extract.readable import detect, extract
from tests.fetch.extract.samples import ARTICLE, URL, WORDS


def markdown(markup: str) -> str:
    """Return the text of a page as Markdown."""
    found = extract(markup, URL, "markdown")
    assert found
    return found.content


def page(inside: str) -> str:
    """Return a page with something between two paragraphs."""
    return f"<!doctype html><html><body><article><p>{WORDS * 4}</p>{inside}<p>{WORDS * 4}</p></article></body></html>"


def test_main_part_stays_and_what_surrounds_it_goes() -> None:
    """contract: Page text. Navigation and footers are not what a page says."""
    content = markdown(ARTICLE)
    assert content.startswith("# The title\n\nThere is enough text")
    assert "Imprint" not in content
    assert "All rights reserved" not in content


def test_headings_lists_and_tables_are_kept() -> None:
    """contract: Page text. As Markdown."""
    content = markdown(ARTICLE)
    assert "\n## Code\n" in content
    assert "- first item\n- second item" in content
    assert "| Name | Value |\n|---|---|\n| alpha | 1 |" in content


def test_relative_link_is_made_absolute_against_the_page() -> None:
    """contract: Page text. Not against the host alone."""
    assert "[the other page](https://site.example/docs/other.html)" in markdown(ARTICLE)


def test_link_within_the_page_is_text_and_a_permalink_is_nothing() -> None:
    """contract: Page text. Neither leads an agent anywhere."""
    content = markdown(ARTICLE)
    assert "and below." in content
    assert "\N{PILCROW SIGN}" not in content


def test_base_element_changes_links() -> None:
    """contract: Page text. As a browser would follow them."""
    content = markdown(page("<base href='/base/'><p>Some words and <a href=x>a link</a>.</p>"))
    assert "[a link](https://site.example/base/x)" in content


@pytest.mark.parametrize(
    "block",
    [
        "<pre>a   b\n    c</pre>",
        "<pre><code class='language-sh'>a   b\n    c</code></pre>",
        "<div class=highlight><pre><span></span><span>a</span>   <span><b>b</b></span>\n    c\n</pre></div>",
        "<pre>a   b<br>    c</pre>",
    ],
)
def test_each_kind_of_code_block_is_fenced_with_its_white_space(block: str) -> None:
    """contract: Page text. However a page colours its code."""
    assert "```\na   b\n    c\n```" in markdown(page(block))


def test_text_has_no_marks_of_markdown() -> None:
    """contract: Page text. The format `text`, in which code keeps its white space too."""
    found = extract(ARTICLE, URL, "text")
    assert found
    assert found.content.startswith("The title\nThere is enough")
    assert "(https:" not in found.content
    assert "```" not in found.content
    assert "$ plain   text\n    in a pre" in found.content


def test_page_tells_about_itself() -> None:
    """contract: Page text. Only what it declares."""
    found = extract(ARTICLE, URL, "text")
    assert found
    told = (found.title, found.author, found.published_date, found.lang, found.description)
    assert told == ("The title", "Ann Author", "2024-05-06", "en", "What it is about")


def test_date_in_the_url_or_the_text_is_no_declaration() -> None:
    """contract: Page text. No heuristics for dates."""
    found = extract(page("<p>Published on 6 May 2024, updated 2024-05-07.</p>"), f"{URL}/2024/05/06/", "text")
    assert found
    assert found.published_date == ""


def test_section_is_not_dropped_for_the_name_of_its_anchor() -> None:
    """contract: Page text. Its name repeats its heading and says nothing of what it is for."""
    heading = "<h2>Multiple unrelated errors, comments</h2>"
    section = f"<section id='multiple-unrelated-errors-comments'>{heading}<p>{WORDS * 3}Kept.</p></section>"
    assert "Kept." in markdown(page(section))


def test_html_is_cleaned_and_given_when_asked_for() -> None:
    """contract: Scrape. The readable part alone."""
    found = extract(ARTICLE, URL, "markdown", html=True)
    assert found
    assert found.html.startswith("<html>\n  <body><h1>The title</h1>")
    assert '<a href="https://site.example/docs/other.html">' in found.html
    assert "Imprint" not in found.html
    plain = extract(ARTICLE, URL, "markdown")
    assert plain
    assert plain.html == ""
    assert plain.content == found.content


@pytest.mark.parametrize(
    "markup", ["", " ", "x", "<!doctype html><html></html>", "<html><body><script>x</script></body></html>"]
)
def test_page_without_text_gives_nothing(markup: str) -> None:
    """contract: Page text. The builtin extractor has the next try."""
    found = extract(markup, URL, "markdown")
    assert found is None or not found.content


def test_encoding_is_detected() -> None:
    """contract: Page text. When nothing declares it."""
    assert detect(("Привет, мир. Как дела? " * 50).encode("cp1251"))[0] in ("cp1251", "windows-1251")


@pytest.mark.parametrize(
    ("markup", "markdown"),
    [
        ("Call read_the_book a[0] of [1].", "Call read_the_book a[0] of [1]."),
        ("_Not_ __init__ [t](u) [x]: y", r"\_Not\_ \_\_init\_\_ \[t\](u) \[x\]: y"),
        (r"Or x\_y.", r"Or x\\\_y."),
        (r"A <code>c\_d \[1\]</code> there.", r"A `c\_d \[1\]` there."),
        ("<a href='/f_g'>l_m [3]</a> is it.", r"[l_m \[3\]](https://site.example/f_g) is it."),
    ],
)
def test_what_is_no_markdown_is_not_escaped(markup: str, markdown: str) -> None:
    """contract: Page text. A name is found under its own spelling; what would be Markdown stays what it is."""
    found = extract(f"<article><p>{WORDS * 4}</p><p>{markup}</p></article>", URL, "markdown")
    assert found is not None
    assert found.content.split("\n\n")[-1] == markdown


def test_escape_in_a_block_of_code_is_part_of_it() -> None:
    """contract: Page text. Programs keep every character."""
    code = r"a\_b = c\[0\]"
    found = extract(f"<article><p>{WORDS * 4}</p><pre>x\n{code}</pre><p>a_b {WORDS}</p></article>", URL, "markdown")
    assert found is not None
    assert code in found.content
    assert "\na_b There" in found.content
