"""Feeds and other XML (contract: Page text)."""

from __future__ import annotations

import pytest

from sift.fetch.extract.feed import extract, is_html
from sift.fetch.extract.model import TIMEOUT

URL = "https://site.example/feed.xml"
RSS = """<?xml version="1.0"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>News &amp; more</title>
<link>https://site.example/</link><description>All the news</description>
<item><title>First &lt;b&gt;item&lt;/b&gt;</title><link>/first</link><pubDate>Mon, 06 May 2024 07:08:09 GMT</pubDate>
<description><![CDATA[<p>What <a href="more">happened</a>.</p><script>x</script>]]></description></item>
<item><description>No title</description><content:encoded>ignored</content:encoded></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title type="html">Blog</title>
<link rel="self" href="/self"/><entry><title>Post</title><link rel="enclosure" href="/x.mp3"/><link href="/post"/>
<updated>2024-05-07T00:00:00Z</updated><published>2024-05-06T00:00:00Z</published><author><name>Ann</name></author>
<content type="html">&lt;p&gt;Text&lt;/p&gt;</content></entry></feed>"""


def test_rss_becomes_its_entries() -> None:
    """contract: Page text. Title, day, link and summary of each."""
    found = extract(RSS, URL, "markdown")
    assert (found.title, found.description, found.extractor) == ("News & more", "All the news", "plain")
    assert found.content == (
        "## First item\n2024-05-06\nhttps://site.example/first\n\nWhat [happened](https://site.example/more).\n\n"
        "## (no title)\n\nNo title"
    )


def test_atom_becomes_its_entries() -> None:
    """contract: Page text. The link is the one to the entry, the day that of its publication."""
    found = extract(ATOM, URL, "text")
    assert found.title == "Blog"
    assert found.content == "Post\n2024-05-06\nhttps://site.example/post\n\nText"


@pytest.mark.parametrize(
    "text",
    [
        "<a>\n  <b/>\n</a>",
        "<rss><channel>",
        "<rss version='2'>& broken",
        "<!DOCTYPE x [<!ENTITY a 'b'>]><rss><channel><item><title>&a;</title></item></channel></rss>",
    ],
)
def test_xml_that_is_no_feed_stays_as_it_is(text: str) -> None:
    """contract: Page text. Neither is what cannot be read as one, or declares entities."""
    found = extract(text, URL, "markdown")
    assert (found.content, found.extractor) == (text, "plain")


def test_feed_that_breaks_off_has_the_entries_so_far() -> None:
    """contract: Page text. A body may have been cut at its limit."""
    found = extract(RSS[: RSS.index("No title")], URL, "markdown")
    assert found.content.startswith("## First item")


def test_feed_that_takes_too_long_is_cut_and_says_so() -> None:
    """contract: Page text. The entries that were read in time are what there is."""
    times = iter([0.0, 1.0, 3.0])
    found = extract(RSS, URL, "text", clock=lambda: next(times), seconds=2)
    assert found.warnings == (TIMEOUT,)
    assert found.content.startswith("First item")
    assert "No title" not in found.content


def test_xhtml_is_a_page() -> None:
    """contract: Page text. Whatever its type says."""
    assert is_html('<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">')
    assert not is_html(RSS)
