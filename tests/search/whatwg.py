"""A small model of WHATWG URL parsing, independent of sift.search.urls.

It reads hosts with Python's own IDNA 2003 codec, so it holds only for characters that IDNA 2003 and UTS 46 map alike;
tests generate no others (no ß, ς or joiners).
"""

from __future__ import annotations

import socket
from encodings import idna
from urllib.parse import unquote_to_bytes

_DOTS = "\u3002\uff0e\uff61"
_FORBIDDEN = set('\x00\t\n\r #/:<>?@[\\]^|%\x7f"') - {'"'} | {chr(code) for code in range(0x20)}


def goes_to(url: str) -> str | None:
    """Return the ASCII host a browser connects to for an absolute http(s) URL; None if there is none.

    A host that no resolver can query (an empty label, one over 63 characters) counts as refused.
    """
    url = url.strip("".join(map(chr, range(0x21))))
    url = url.translate({ord(char): None for char in "\t\n\r"})
    scheme, colon, rest = url.partition(":")
    if not colon or scheme.lower() not in ("http", "https") or not scheme.isascii():
        return None
    rest = rest.lstrip("/\\")
    end = min((rest.index(char) for char in "/\\?#" if char in rest), default=len(rest))
    host = rest[:end].rpartition("@")[2]
    if host.startswith("["):
        host, bracket, port = host.partition("]")
        if not bracket or (port and not port.startswith(":")):
            return None
        port = port[1:]
    else:
        host, _, port = host.partition(":")
    if port and not (port.isascii() and port.isdigit() and int(port) <= 65535):
        return None
    return _ipv6(host[1:]) if host.startswith("[") else _domain(host)


def _ipv6(text: str) -> str | None:
    try:
        packed = socket.inet_pton(socket.AF_INET6, text)
    except (OSError, ValueError):
        return None
    return "[" + packed.hex(":", 2) + "]"


def _domain(host: str) -> str | None:
    try:
        decoded = unquote_to_bytes(host).decode("utf-8")
    except UnicodeError:
        return None
    for dot in _DOTS:
        decoded = decoded.replace(dot, ".")
    labels = []
    for label in decoded.split("."):
        try:
            labels += [label.lower()] if label.isascii() else idna.nameprep(label).split(".")
        except UnicodeError:
            return None
    try:
        ascii_labels = [label if label.isascii() else idna.ToASCII(label).decode() for label in labels]
    except UnicodeError:
        return None
    if len(ascii_labels) > 1 and not ascii_labels[-1]:
        ascii_labels.pop()
    name = ".".join(ascii_labels)
    if any(char in _FORBIDDEN for char in name) or any(not 0 < len(label) < 64 for label in ascii_labels):
        return None
    if _number(ascii_labels[-1]) is not None or ascii_labels[-1].isdigit():
        return _ipv4(ascii_labels)
    return name if len(name) < 254 else None


def _number(text: str) -> int | None:
    if not text:
        return None
    base = 10
    if text.startswith("0x"):
        text, base = text[2:], 16
    elif text.startswith("0") and len(text) > 1:
        text, base = text[1:], 8
    if not text:
        return 0
    digits = "0123456789abcdef"[:base]
    return int(text, base) if all(char in digits for char in text) else None


def _ipv4(parts: list[str]) -> str | None:
    numbers = [_number(part) for part in parts]
    if len(numbers) > 4 or None in numbers:
        return None
    *first, last = [number or 0 for number in numbers]
    if any(number > 255 for number in first) or last >= 256 ** (4 - len(first)):
        return None
    value = last + sum(number << 8 * (3 - place) for place, number in enumerate(first))
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))
