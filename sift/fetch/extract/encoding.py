"""Bytes to text: which encoding a body is in."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence

Detect = Callable[[bytes], Sequence[str]]
"""Guesses the encodings of bytes that are no UTF-8, best first."""

# Python knows codecs that are no charsets, some of them slow. These are the web's, by Python's names for them.
_KNOWN = frozenset(
    "utf-8 utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-32-be cp866 koi8-r koi8-u mac-roman mac-cyrillic cp874"
    " cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 iso8859-2 iso8859-3 iso8859-4 iso8859-5"
    " iso8859-6 iso8859-7 iso8859-8 iso8859-9 iso8859-10 iso8859-13 iso8859-14 iso8859-15 iso8859-16 gbk gb18030"
    " big5 big5hkscs euc_jp iso2022_jp shift_jis cp932 euc_kr cp949".split()
)
# Who declares the one on the left means the one on the right, which has more characters.
_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
    "utf_8_sig": "utf-8",
    "utf-8-sig": "utf-8",
}
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,39}", re.ASCII)
# The longer marks first: that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HEAD = 4096
_META = re.compile(rb"""<meta\b[^>]{0,500}?charset\s{0,9}=\s{0,9}["']?\s{0,9}([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""\s{0,99}<\?xml\b[^>]{0,200}?\sencoding\s{0,9}=\s{0,9}["']([A-Za-z0-9._:-]{1,40})""")


def decode(body: bytes, charset: str, detect: Detect | None = None) -> str:
    """Return a body as text: by the declared charset if it is known, by its mark, by its markup, else by a guess."""
    if name := known(charset):
        return body.decode(name, "replace")
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body.decode(name, "replace")
    head = body[:_HEAD]
    declared = _XML.match(head) or _META.search(head)
    if declared and (name := known(declared[1].decode("ascii"))):
        # Markup that can be read as ASCII is not in UTF-16, whatever it says.
        return body.decode("utf-8" if name.startswith(("utf-16", "utf-32")) else name, "replace")
    return _guessed(body, detect)


def known(label: str) -> str:
    """Return Python's name of an encoding on the web, "" for anything else."""
    if not _LABEL.fullmatch(label):
        return ""
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return ""
    name = _MEANT.get(name, name)
    return name if name in _KNOWN else ""


def _guessed(body: bytes, detect: Detect | None) -> str:
    try:
        # A character that the end of the body cuts does not count against UTF-8.
        return codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        pass
    for label in detect(body) if detect else ():
        if name := known(label):
            return body.decode(name, "replace")
    return body.decode("cp1252", "replace")
