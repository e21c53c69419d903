"""URLs and addresses, by group, with what must become of them.

URLS_REFUSED: a group, the text, and the hint of its refusal; hosts that are refused are in `hosts`. PASSED: a group, a
URL, and what it is rebuilt as. REDIRECTS_…: where the page at BASE sends its reader. ANSWERS: what a name service says
of a host, and whether it may.
"""

from __future__ import annotations

import socket
from typing import NamedTuple

from sift.wire.resolver import Address


class Refused(NamedTuple):
    """A text that must be refused before anything is looked up."""

    group: str
    text: str
    hint: str


class Passed(NamedTuple):
    """A URL that must pass, and its rebuilt form."""

    group: str
    url: str
    rebuilt: str


class Answer(NamedTuple):
    """The addresses of a host, and whether they may be tried."""

    group: str
    addresses: tuple[str, ...]
    may: bool


def refused(group: str, hint: str, texts: str) -> list[Refused]:
    """Return the vectors of a group; `texts` has blanks between them."""
    return [Refused(group, text, hint) for text in texts.split(" ")]


def passed(group: str, *urls: tuple[str, str]) -> list[Passed]:
    """Return the vectors of a group: URLs, each with its rebuilt form."""
    return [Passed(group, *pair) for pair in urls]


def looked_up(*addresses: str) -> list[Address]:
    """Return what a look-up gives for a host with these addresses."""
    return [
        Address(socket.AF_INET6, (address, 443, 0, 0)) if ":" in address else Address(socket.AF_INET, (address, 443))
        for address in addresses
    ]


LONG = ".".join(["a" * 63] * 3)
"""Three labels, as long as they may be."""

URLS_REFUSED = [
    *refused(
        "slashes",
        "form",
        "http:\\\\127.0.0.1\\ http:/\\127.0.0.1/ http:///127.0.0.1/ http:127.0.0.1 http:/127.0.0.1 "
        "https:good.com http: http://good.com/\\evil http://good.com/?\\ http://good.com/#\\ HTTP:good.com",
    ),
    *refused(
        "schemes",
        "scheme",
        "//good.com/ good.com good.com:80/ /path ?q #f ://good.com : 127.0.0.1 file:///etc/passwd "
        "FILE:///etc/passwd ftp://good.com/ gopher://good.com/_x dict://good.com/ data:text/html,x "
        "javascript:alert(1) jar:http://good.com!/ unix:/run/x.sock http+unix://%2Frun%2Fx.sock/ "
        "ws://good.com/ wss://good.com/ blob:http://good.com/x view-source:http://good.com/ "
        "ldap://good.com/ httpx://good.com/ h\u200bttp://good.com/ http\u017f://good.com/ "
        "\uff48ttp://good.com/ url:http://good.com/ feed:http://good.com/ http\uff1a//good.com/ "
        "%68ttp://good.com/",
    ),
    *refused(
        "control characters",
        "form",
        "http://good.com/\r\nHost:evil.com http://good.com\r\n/ http://go\tod.com/ http://good.com/\x00 "
        "http://good\x00.com/ \x01http://good.com/ http://good.com/\ud800 http://\udfff.com/ "
        "http://good.com/\x7f http://good.com/#\n ht\ntp://good.com/ http://good.com/\x1f",
    ),
    *(
        Refused("blanks", url, "form")
        for url in ("", " ", " http://good.com/", "http://good.com/ ", "http://good.com/?a b")
    ),
    *(Refused("length", f"http://good.com/{rest}", "form") for rest in ("a" * 4081, "#" + "a" * 4080, "\u00e9" * 700)),
    Refused("length", "x" * 5000, "form"),
]

PASSED = [
    *passed(
        "edges",
        ("http://172.32.0.1", "http://172.32.0.1/"),
        ("http://100.63.255.255/", "http://100.63.255.255/"),
        ("http://100.128.0.1/", "http://100.128.0.1/"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("http://8.8.8.8./", "http://8.8.8.8/"),
        ("https://[2606:4700:4700::1111]/", "https://[2606:4700:4700::1111]/"),
        ("https://[2606:4700:4700:0:0:0:0:1111]:443/", "https://[2606:4700:4700::1111]/"),
        ("https://[2A00:1450::8.8.8.8]/", "https://[2a00:1450::808:808]/"),
        ("https://[2a00:1450::5efe:808:808]/", "https://[2a00:1450::5efe:808:808]/"),
    ),
    *passed(
        "Unicode",
        ("http://\u0430pple.com", "http://xn--pple-43d.com/"),
        ("http://fa\xdf.de", "http://xn--fa-hia.de/"),
        ("http://b\xfccher.example.com/", "http://xn--bcher-kva.example.com/"),
        ("http://M\xdcNCHEN.de\u3002/", "http://xn--mnchen-3ya.de/"),
        ("http://mu\u0308nchen.de/", "http://xn--mnchen-3ya.de/"),
        ("http://XN--MNCHEN-3YA.de/", "http://xn--mnchen-3ya.de/"),
        ("http://\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444/", "http://xn--e1afmkfd.xn--p1ai/"),
        ("http://\U0001f600.com/", "http://xn--e28h.com/"),
        ("http://\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.com/", "http://xn--mgba3gch31f060k.com/"),
        ("http://\uff47\uff4f\uff4f\uff44.com/", "http://good.com/"),
        ("http://8\uff0e8\uff0e8\uff0e8/", "http://8.8.8.8/"),
        ("http://\u0967.\u0967/", "http://xn--e4b.xn--e4b/"),
    ),
    *passed(
        "names",
        ("http://127.0.0.1.nip.io/", "http://127.0.0.1.nip.io/"),
        ("http://localtest.me/", "http://localtest.me/"),
        ("http://localhost.com/", "http://localhost.com/"),
        ("http://notlocal.example.com/", "http://notlocal.example.com/"),
        ("http://xlocalhost.xlocal.me/", "http://xlocalhost.xlocal.me/"),
        ("http://GOOD.Com./", "http://good.com/"),
        ("http://_a_.b__c.1d.3com.com/", "http://_a_.b__c.1d.3com.com/"),
        ("http://r3---sn-4g5e6.good.com/", "http://r3---sn-4g5e6.good.com/"),
        ("http://0x7f.com/", "http://0x7f.com/"),
        ("http://123.456.a1/", "http://123.456.a1/"),
        (f"http://{'a' * 63}.com/", f"http://{'a' * 63}.com/"),
        (f"http://{LONG}.{'a' * 57}.com./", f"http://{LONG}.{'a' * 57}.com/"),
    ),
    *passed(
        "marks",
        ("http://good.com#@127.0.0.1", "http://good.com/"),
        ("http://good.com?@127.0.0.1", "http://good.com/?@127.0.0.1"),
        ("http://good.com/@127.0.0.1:80", "http://good.com/@127.0.0.1:80"),
        ("http://good.com/;a=1;b", "http://good.com/;a=1;b"),
        ("http://good.com//127.0.0.1/", "http://good.com//127.0.0.1/"),
        ("http://good.com/http://127.0.0.1/", "http://good.com/http://127.0.0.1/"),
        ("http://good.com?", "http://good.com/?"),
        ("http://good.com/?a?b#c?d#e", "http://good.com/?a?b"),
    ),
    *passed(
        "ports",
        ("http://good.com:00080/", "http://good.com/"),
        ("https://good.com:443/", "https://good.com/"),
        ("https://good.com:80/", "https://good.com:80/"),
        ("http://good.com:443/", "http://good.com:443/"),
        (f"http://good.com:{'0' * 3000}80/", "http://good.com/"),
    ),
    *passed(
        "schemes",
        ("HTTP://good.com", "http://good.com/"),
        ("hTTpS://good.com/A", "https://good.com/A"),
    ),
    *passed(
        "escapes",
        ("http://good.com/%0d%0aX", "http://good.com/%0D%0AX"),
        ("http://good.com/%ff%FE?%c3%28", "http://good.com/%FF%FE?%C3%28"),
        ("http://good.com/100%?50%&%g1%1", "http://good.com/100%25?50%25&%25g1%251"),
        ("http://good.com/%41%7e%2F", "http://good.com/%41%7E%2F"),
        ("http://good.com/\xe9?\xe9=\u20ac#\xe9", "http://good.com/%C3%A9?%C3%A9=%E2%82%AC"),
        ('http://good.com/"<>[]^`{|}', "http://good.com/%22%3C%3E%5B%5D%5E%60%7B%7C%7D"),
        ('http://good.com/?"<>[]^`{|}', "http://good.com/?%22%3C%3E%5B%5D%5E%60%7B%7C%7D"),
        ("http://good.com/\x85\u2028\u3000", "http://good.com/%C2%85%E2%80%A8%E3%80%80"),
        ("http://good.com/-._~!$&'()*+,;=:@", "http://good.com/-._~!$&'()*+,;=:@"),
    ),
    *passed(
        "dot segments",
        ("http://good.com/a/./b/../c", "http://good.com/a/c"),
        ("http://good.com/../../etc/passwd", "http://good.com/etc/passwd"),
        ("http://good.com/a/%2e%2E/%2e/b/.%2e", "http://good.com/"),
        ("http://good.com/a/..", "http://good.com/"),
        ("http://good.com/a/.", "http://good.com/a/"),
        ("http://good.com/..//x", "http://good.com//x"),
        ("http://good.com/.../.a/a./..b?/../.", "http://good.com/.../.a/a./..b?/../."),
    ),
    *passed(
        "length",
    ),
]
PASSED.append(Passed("length", f"http://good.com/{'a' * 4080}", f"http://good.com/{'a' * 4080}"))

BASE = "https://good.com/a/b?c=/d/e"
REDIRECTS_REFUSED = [
    *refused(
        "inside",
        "address",
        "https://127.0.0.1/ https://169.254.169.254/latest/meta-data/ //10.0.0.1/ "
        "https://[::ffff:127.0.0.1]/ //[::1]/ https://[64:ff9b::a9fe:a9fe]/",
    ),
    *refused(
        "inside",
        "name",
        "//internal/ https://localhost/ //metadata.google.internal",
    ),
    *refused(
        "schemes",
        "scheme",
        "file:///etc/passwd gopher://good.com/ javascript:alert(1) good.com:443/x a:b",
    ),
    *refused(
        "out of TLS",
        "scheme",
        "http://good.com/ HTTP://good.com/a/b?c=/d/e http://good.com:443/",
    ),
    *refused(
        "ports",
        "port",
        "https://good.com:6379/ //good.com:22/ //good.com:/",
    ),
    *refused(
        "user",
        "userinfo",
        "https://good.com@127.0.0.1/ //u:p@good.com/ //@good.com",
    ),
    *refused(
        "form",
        "form",
        "https:\\\\127.0.0.1/ /\\127.0.0.1/ \\\\127.0.0.1 /a\r\nb \t//127.0.0.1/ ///127.0.0.1/ "
        "https:///127.0.0.1 https:c // /\ud800 //127.1/",
    ),
    *(Refused("form", location, "form") for location in (" /a", "/a b", "/" + "a" * 4096)),
]
REDIRECTS_PASSED = [
    *passed(
        "absolute",
        ("https://other.com:443", "https://other.com/"),
        ("HTTPS://Other.com/x#y", "https://other.com/x"),
    ),
    *passed(
        "host",
        ("//other.com", "https://other.com/"),
        ("//8.8.8.8/x", "https://8.8.8.8/x"),
    ),
    *passed(
        "path",
        ("/x/../y?z", "https://good.com/y?z"),
        ("x", "https://good.com/a/x"),
        ("./x?y#z", "https://good.com/a/x?y"),
        ("../../../x", "https://good.com/x"),
        ("..", "https://good.com/"),
        ("@127.0.0.1", "https://good.com/a/@127.0.0.1"),
        ("./a:b", "https://good.com/a/a:b"),
    ),
    *passed(
        "query",
        ("?x", "https://good.com/a/b?x"),
    ),
    *passed(
        "same page",
        ("", "https://good.com/a/b?c=/d/e"),
        ("#x", "https://good.com/a/b?c=/d/e"),
    ),
    *passed(
        "escapes",
        ("/\xfc\u20ac", "https://good.com/%C3%BC%E2%82%AC"),
        ("/%0d%0aSet-Cookie:x", "https://good.com/%0D%0ASet-Cookie:x"),
        ("//b\xfccher.com/", "https://xn--bcher-kva.com/"),
    ),
]

GOOD4, GOOD6 = "93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"
ANSWERS = [
    Answer("public", (GOOD4,), True),
    Answer("public", (GOOD6, GOOD4), True),
    Answer("public", ("::ffff:8.8.8.8",), True),
    Answer("public", (), True),
    Answer("inside", ("10.0.0.1",), False),
    Answer("inside", ("127.0.0.1",), False),
    Answer("inside", ("169.254.169.254",), False),
    Answer("inside", ("192.168.1.1",), False),
    Answer("inside", ("0.0.0.0",), False),
    Answer("inside", ("::1",), False),
    Answer("inside", ("::ffff:169.254.169.254",), False),
    Answer("inside", ("::ffff:a00:1",), False),
    Answer("inside", ("64:ff9b::a9fe:a9fe",), False),
    Answer("inside", ("fe80::1%eth0",), False),
    Answer("inside", (f"{GOOD6}%eth0",), False),
    Answer("one of several", (GOOD4, "10.0.0.1"), False),
    Answer("one of several", ("10.0.0.1", GOOD4), False),
    Answer("one of several", (GOOD4, GOOD6, GOOD4, GOOD6, GOOD4, "127.0.0.1"), False),
    Answer("one of several", (GOOD6, "::ffff:127.0.0.1"), False),
    Answer("no address", ("good.com",), False),
    Answer("no address", ("",), False),
    Answer("no address", ("2130706433",), False),
]
