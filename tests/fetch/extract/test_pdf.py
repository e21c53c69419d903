"""PDFs (contract: Page text)."""

from __future__ import annotations

import pytest

pytest.importorskip("pypdf", reason="the extra `pdf` is not installed")

from pypdf.errors import PyPdfError

from sift.fetch.extract.pdf import UnreadablePDFError, extract
from tests.fetch.extract.samples import pdf


def test_pdf_becomes_its_text_with_what_it_declares() -> None:
    """contract: Page text. Page by page."""
    found = extract(pdf(3, title="A\u200b title"))
    assert found.content == "This is page 1\n\nThis is page 2\n\nThis is page 3"
    assert (found.title, found.author, found.extractor, found.warnings) == ("A title", "Ann", "pdf", ())


def test_pdf_of_too_many_pages_is_cut_and_says_so() -> None:
    """contract: Page text. At most 200 pages."""
    found = extract(pdf(201))
    assert found.warnings == ("pdf: first 200 pages",)
    assert found.content.endswith("This is page 200")


def test_pdf_that_takes_too_long_is_cut_and_says_so() -> None:
    """contract: Page text. The pages that were read in time are what there is."""
    times = iter([0.0, 1.0, 2.0, 3.0, 4.0])
    found = extract(pdf(9), clock=lambda: next(times), seconds=2)
    assert found.warnings == ("pdf: first 3 pages",)


def test_page_that_takes_too_long_costs_no_page_before_it() -> None:
    """contract: Page text. A plot of a hundred thousand points ends the reading, and the text before it is kept."""
    found = extract(pdf(4, drawn=3), seconds=0.2)
    assert found.content == "This is page 1\n\nThis is page 2"
    assert found.warnings == ("pdf: first 2 pages",)
    with pytest.raises(UnreadablePDFError):
        extract(pdf(2, drawn=1), seconds=0.2)


def test_pdf_with_an_empty_password_is_read_and_one_with_another_is_not() -> None:
    """contract: Page text. Many are only marked as not to be changed."""
    assert extract(pdf(1, password="")).content == "This is page 1"
    with pytest.raises(UnreadablePDFError):
        extract(pdf(1, password="secret"))


@pytest.mark.parametrize("body", [b"", b"%PDF-1.7", b"%PDF-1.7\n" + b"\0" * 1000, pdf(2)[:300]])
def test_pdf_that_is_broken_raises(body: bytes) -> None:
    """contract: Page text. There is no text to be had."""
    with pytest.raises((PyPdfError, ValueError)):
        extract(body)
