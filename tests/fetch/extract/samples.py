"""Documents for tests."""

from __future__ import annotations

import io

from sift.fetch.extract.model import Document

URL = "https://site.example/docs/page.html"
WORDS = "There is enough text in this paragraph for it to be taken as the main part of the page. "
ARTICLE = f"""<!doctype html>
<html lang="en"><head><title>The title</title><meta name="description" content="What it is about">
<meta property="article:published_time" content="2024-05-06T07:08:09Z"><meta name="author" content="Ann Author"></head>
<body><nav><ul><li><a href="/">Home</a><li><a href="/imprint">Imprint</a></ul></nav>
<main><h1>The title<a class="headerlink" href="#title">\N{PILCROW SIGN}</a></h1>
<p>{WORDS * 4}See <a href="other.html">the other page</a> and <a href="#below">below</a>.</p>
<h2>Code</h2>
<p>{WORDS * 2}</p>
<div class="highlight"><pre><span></span><span class="k">def</span> <span class="nf">f</span><span class="p">(</span>x):
    <span class="k">return</span>  x
</pre></div>
<pre>$ plain   text
    in a pre</pre>
<h2>Table</h2>
<table><tr><th>Name</th><th>Value</th></tr><tr><td>alpha</td><td>1</td></tr></table>
<p>{WORDS * 2}</p>
<ul><li>first item</li><li>second item</li></ul></main>
<footer>All rights reserved by nobody.</footer></body></html>"""
SLOW = b"<p>some <q>text</q>, here" * 60_000
"""HTML that takes trafilatura twenty seconds, and the builtin extractor one."""


def html(body: str | bytes, content_type: str = "text/html", charset: str = "") -> Document:
    """Return an HTML document, or one of another type."""
    return Document(body if isinstance(body, bytes) else body.encode(), content_type, charset, URL)


def pdf(pages: int, *, title: str = "", password: str | None = None, drawn: int = 0) -> bytes:
    """Return a PDF of pages that say their number. drawn: the page with a drawing of very many lines, 0 for none."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for number in range(1, pages + 1):
        page = writer.add_blank_page(300, 300)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        content = DecodedStreamObject()
        lines = b"1 0 0 1 2 3 cm " * 200_000 if number == drawn else b""
        content.set_data(f"BT /F1 12 Tf 20 200 Td (This is page {number}) Tj ET ".encode() + lines)
        page[NameObject("/Contents")] = writer._add_object(content)
    if title:
        writer.add_metadata({"/Title": title, "/Author": "Ann"})
    if password is not None:
        writer.encrypt(password, "owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()
