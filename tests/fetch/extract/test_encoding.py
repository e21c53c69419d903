"""Which encoding a body is in (contract: Page text)."""

from __future__ import annotations

import codecs

import pytest

from sift.fetch.extract.encoding import decode, known

META = b'<html><head><meta charset="%s"></head>'


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("UTF-8", "utf-8"),
        ("utf8", "utf-8"),
        ("latin1", "cp1252"),
        ("ISO-8859-1", "cp1252"),
        ("us-ascii", "cp1252"),
        ("windows-1251", "cp1251"),
        ("Shift_JIS", "cp932"),
        ("gb2312", "gb18030"),
        ("euc-jp", "euc_jp"),
    ],
)
def test_label_of_the_web_is_known_by_what_it_means(label: str, name: str) -> None:
    """contract: Page text. As browsers do, Latin-1 is read as windows-1252, and so on."""
    assert known(label) == name


@pytest.mark.parametrize(
    "label",
    [
        "",
        "base64",
        "zlib",
        "rot13",
        "unicode_escape",
        "idna",
        "punycode",
        "utf-7",
        "x" * 99,
        "a\0b",
        "../x",
        "undefined",
    ],
)
def test_label_of_what_is_no_charset_is_not_known(label: str) -> None:
    """contract: Page text. A label comes from the page; Python's codecs that inflate or interpret are not for it."""
    assert known(label) == ""


def test_charset_of_http_comes_first() -> None:
    """contract: Page text. HTTP, then the byte order mark, then the markup."""
    assert decode(b"\xe4" + META % b"utf-8", "windows-1251").startswith("д")
    assert decode(codecs.BOM_UTF8 + "ä".encode() + META % b"windows-1251", "").startswith("\ufeffä")
    assert decode(META % b"windows-1251" + b"\xe4", "no-such").endswith("д")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_mark_is_heeded(encoding: str) -> None:
    """contract: Page text. UTF-16 needs no declaration."""
    assert decode("ä日本".encode(encoding), "").lstrip("\ufeff") == "ä日本"


@pytest.mark.parametrize(
    "head",
    [
        b"<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>",
        b"<?xml version='1.0' encoding='koi8-r'?>",
        b'<META CHARSET = "KOI8-R" >',
    ],
)
def test_markup_declares_the_encoding(head: bytes) -> None:
    """contract: Page text. In HTML by a `meta` element, in XML by its declaration."""
    assert decode(head + "мир".encode("koi8-r"), "").endswith("мир")


def test_markup_that_claims_utf_16_in_ascii_is_utf_8() -> None:
    """contract: Page text. A declaration that could not have been read is wrong."""
    assert decode(META % b"utf-16" + "ä".encode(), "").endswith("ä")


def test_body_without_any_declaration_is_utf_8_else_what_is_detected_else_windows_1252() -> None:
    """contract: Page text. The order of guesses."""
    assert decode("ä".encode(), "") == "ä"
    assert decode(b"\xe4!", "", lambda body: ["no-such", "cp1251"]) == "д!"
    assert decode(b"\xe4!", "", lambda body: []) == "ä!"
    assert decode(b"\xe4!", "") == "ä!"


def test_utf_8_that_is_cut_within_a_character_is_utf_8() -> None:
    """contract: Page text. A body that was cut at its limit may end anywhere."""
    assert decode("äöü".encode()[:-1], "") == "äö"


def test_wrong_bytes_are_replaced() -> None:
    """contract: Page text. A declared encoding is used even where the body breaks it."""
    assert decode(b"a\xff", "utf-8") == "a\N{REPLACEMENT CHARACTER}"
