"""The builtin extractor (contract: Page text)."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sift.fetch.extract.builtin import extract, without_hidden
from sift.fetch.extract.model import TIMEOUT
from tests.search.moderate import moderate

URL = "https://site.example/docs/page.html"
MARKDOWN = [
    ("<h1>A</h1><h3>B</h3><p>c", "# A\n\n### B\n\nc"),
    ("<p>one<p>two<div>three</div>four", "one\n\ntwo\n\nthree\n\nfour"),
    ("a <b>bold</b>\n  word", "a bold word"),
    ("un<i>bro</i>ken", "unbroken"),
    ("one<br>two", "one\ntwo"),
    ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e", "- a\n- b\n  - c\n- d\n\ne"),
    ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
    ("<ul><li><p>a</p><p>b</p></ul>", "- a\n  b"),
    ("<dl><dt>term<dd>what it is</dl>", "term\n\nwhat it is"),
    ("<blockquote>a<p>b</blockquote>c", "> a\n\n> b\n\nc"),
    ("<a href=x>l [1]</a>", "[l (1)](https://site.example/docs/x)"),
    ("<a href='/a(b)'>l</a>", "[l](https://site.example/a%28b%29)"),
    ("<a href=x></a><a href='#y'>y</a><a href='javascript:z'>z</a>", "yz"),
    ("<a href=x><h2>T</h2></a>", "## T"),
    ("<h2><a href=x>T</a></h2>", "## [T](https://site.example/docs/x)"),
    ("use <code>a  b</code> now", "use `a b` now"),
    ("<pre>  a\n\tb</pre>", "```\n  a\n        b\n```"),
    ("<pre><code>if <b>x</b>&lt;y:<br>  ```</code></pre>", "````\nif x<y:\n  ```\n````"),
    ("<table><tr><th>A<th>B<tr><td>1<td>2|3</table>", "| A | B |\n| --- | --- |\n| 1 | 2\\|3 |"),
    ("<table><tr><td><p>a</p><p>b</p><td>c</table>", "| a b | c |\n| --- | --- |"),
    ("<table><tr><td>menu<td><h1>T</h1><p>text</table>", "menu\n\n# T\n\ntext"),
    ("<table><tr><td>a<table><tr><td>1<td>2</table>b</table>", "a\n\n| 1 | 2 |\n| --- | --- |\n\nb"),
    ("<table><tr><td>a<tr><td>b</table>", "a\nb"),
    ("<head><title>T</title></head>a", "a"),
    ("<title>T</title><p>a", "a"),
    ("<head><p>a", "a"),
    ("<nav>n</nav><div role=navigation>n<div>n</div></div><footer>f</footer><aside>s</aside><button>b</button>a", "a"),
    ("<div class='x NavHeader'>n</div><table id=footer><tr><td>f</table><p class=footnote>a", "a"),
    ("<nav>never closed<main>a</main>", "a"),
    ("<p hidden>h</p><input hidden>a", "a"),
    ("a<script>if (a<b) '</p>'</script><style>p{}</style><svg><text>x</text></svg>b", "ab"),
    ("a<!-- <p>x --><!-- -->b<!doctype html><?php x ?>c", "abc"),
    ("a<script>never closed <p>b", "a"),
    ("a<!-- never closed <p>b", "a"),
    ("a < b &amp; c &lt;d&gt; &#x41;", "a < b & c <d> A"),
    ("a <b class='x", "a"),
    ("&#" + "9" * 5000 + ";", "\N{REPLACEMENT CHARACTER};"),
    ("x<<!-- -->!--y", "x< !--y"),
    ("\u202epay\u200bment", "payment"),
]


@pytest.mark.parametrize(("markup", "markdown"), MARKDOWN)
def test_markup_becomes_markdown(markup: str, markdown: str) -> None:
    """contract: Page text. Headings, lists, links, code and tables as text, and nothing that is not shown."""
    assert extract(markup, URL, "markdown").content == markdown


def test_text_has_no_marks_of_markdown() -> None:
    """contract: Page text. The format `text`."""
    markup = "<h1>A</h1><a href=x>l</a> <code>c</code><pre> p\n  q</pre><table><tr><td>1<td>2</table><ul><li>i</ul>"
    assert extract(markup, URL, "text").content == "A\n\nl c\n\n p\n  q\n\n1 | 2\n\n- i"


def test_part_that_a_page_marks_as_its_main_one_is_taken() -> None:
    """contract: Page text. If there is something in it."""
    words = "words " * 60
    assert extract(f"<p>menu<main><p>{words}</main><p>foot", URL, "text").content == words.strip()
    assert extract(f"<p>{words}<main><p>none</main>", URL, "text").content == f"{words}\n\nnone".replace(" \n", "\n")
    many = f"<article>{words}</article>between<article>{words}</article>"
    assert extract(many, URL, "text").content == f"{words.strip()}\n\n{words.strip()}"


def test_page_tells_about_itself() -> None:
    """contract: Page text. The same declarations as with trafilatura."""
    head = "<html lang=de><title>T &amp; U</title><meta name=author content=Ann><meta name=description content=D>"
    linked = '<script type="application/ld+json">{"@type": "Article", "datePublished": "2024-05-06"}</script>'
    found = extract(f"{head}{linked}<h1>H</h1>", URL, "text")
    told = (found.title, found.author, found.lang, found.description, found.published_date)
    assert told == ("T & U", "Ann", "de", "D", "2024-05-06")
    assert extract("<h1>H</h1>", URL, "text").title == "H"


def test_base_element_changes_links() -> None:
    """contract: Page text. Links are as a browser would follow them."""
    markup = "<base href='/base/'><a href=x>l</a>"
    assert extract(markup, URL, "markdown").content == "[l](https://site.example/base/x)"


def test_page_that_takes_too_long_is_cut_and_says_so() -> None:
    """contract: Page text. What was read in time is better than nothing."""
    times = iter(range(100))
    found = extract("<p>word" * 200_000, URL, "text", clock=lambda: next(times), seconds=2)
    assert found.warnings == (TIMEOUT,)
    assert 0 < found.content.count("word") < 200_000


HOSTILE = {
    "bold": "<b>a</b>",
    "deep": "<div>",
    "mixed": "<i><b><a href=x><ul><li><blockquote><table><tr><td>",
    "comments": "<!-- >",
    "declarations": "<!x",
    "sections": "<![CDATA[ >",
    "closing": "</",
    "tags": "<a",
    "quotes": "<a x='\"",
    "attributes": "<a x=1 ",
    "scripts": "<script>",
    "script ends": "<script></scrip>",
    "instructions": "<? ",
    "entities": "&amp",
    "less": "<",
    "rows": "<tr><td>x",
    "fences": "<pre>`",
    "titles": "<title>",
    "navigation": "<nav><main>",
}


def calls(markup: str) -> int:
    """Count the Python functions that an extraction calls."""
    count = 0

    def step(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(step)
    try:
        extract(markup, URL, "markdown", clock=lambda: 0.0)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_steps_grow_no_faster_than_the_page(piece: str) -> None:
    """contract: Page text. Linear, whatever is repeated and however deep it gets."""
    once, twice = calls(piece * 2_000), calls(piece * 4_000)
    assert twice <= 2.1 * once + 200


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_parser_sees_nothing_that_it_reads_again_and_again(piece: str) -> None:
    """contract: Page text. Comments, declarations and tags without an end make `html.parser` quadratic."""
    left = without_hidden(piece * 1_000)
    assert "<!" not in left
    assert "<?" not in left
    tail = left[left.rfind(">") + 1 :]
    assert not any(f"<{start}" in tail for start in "/abi!?")


@moderate
@given(
    st.one_of(
        st.text(),
        st.text(alphabet="<>!/-abp &#x;\"'=[]?"),
        st.lists(st.sampled_from([*HOSTILE.values(), ">", "x", "-->", "]]>"])).map("".join),
    )
)
@example("<![a")
@example("<<!-- -->!-- ")
@example("<!<!-->")
def test_no_text_makes_it_raise(text: str) -> None:
    """contract: Page text. It is what remains when everything else has failed."""
    extract(text, URL, "markdown")
    extract(text, URL, "text")


@moderate
@given(st.binary())
def test_no_bytes_make_it_raise(body: bytes) -> None:
    """contract: Page text. Nor does a page in no encoding at all."""
    extract(body.decode("cp1252", "replace"), URL, "markdown")
