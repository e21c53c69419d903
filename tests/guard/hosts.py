"""Hosts, with user, port and whatever else is taken for one, that must be refused by the text alone."""

from __future__ import annotations

from tests.guard.vectors import LONG, Refused, refused

HOSTS_REFUSED = [
    *refused(
        "old spellings of IPv4",
        "form",
        "127.1 127.0.1 2130706433 0x7f000001 0x7f.0.0.1 0x7f.1 0177.0.0.1 017700000001 00000177.0.0.1 "
        "127.0.0.01 0 1.2.3 127.000.000.001 2852039166 0xA9FEA9FE 0251.0376.0251.0376 169.254.43518 "
        "256.256.256.256 425.510.425.510 4294967296 0x100000000 0x 0X7F.0X0.0X0.0X1 1.1.1.0x1 1.1.1.1.1 "
        "1.1.1.01 1.1.1. 1.1..1 127.0.0.1.. 1e3 0b1 0o177.0.0.1",
    ),
    *refused(
        "denied IPv4",
        "address",
        "127.0.0.1 127.0.0.1. 127.255.255.255 0.0.0.0 10.0.0.1 172.16.0.1 172.31.255.255 192.168.0.1 "
        "100.64.0.1 198.18.0.1 198.19.255.255 192.0.2.1 198.51.100.1 203.0.113.1 192.88.99.1 224.0.0.1 "
        "239.255.255.250 240.0.0.1 255.255.255.255 192.31.196.1 192.52.193.1 192.175.48.1 169.254.0.1",
    ),
    *refused(
        "metadata",
        "address",
        "169.254.169.254 169.254.170.2 169.254.169.253 100.100.100.200 192.0.0.192 168.63.129.16 "
        "[fd00:ec2::254] [fd20:ce::254] [fe80::a9fe:a9fe]",
    ),
    *refused(
        "metadata",
        "name",
        "metadata.google.internal METADATA.google.Internal. instance-data.ec2.internal",
    ),
    *refused(
        "IPv6",
        "address",
        "[::] [::1] [0:0:0:0:0:0:0:1] [::127.0.0.1] [::7f00:1] [::8.8.8.8] [::ffff:127.0.0.1] "
        "[::ffff:7f00:1] [::FFFF:7F00:1] [0:0:0:0:0:ffff:7f00:0001] [::ffff:169.254.169.254] "
        "[::ffff:8.8.8.8] [::ffff:808:808] [::ffff:0:127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] "
        "[64:ff9b::8.8.8.8] [64:ff9b:1::a9fe:a9fe] [2002:7f00:1::] [2002:a9fe:a9fe::1] "
        "[2001:0:4136:e378:8000:63bf:3fff:fdd2] [2001:0:7f00:1::] [2001:2::1] [2001:10::1] [2001:20::1] "
        "[2001:db8::1] [3fff::1] [5f00::1] [100::1] [fc00::1] [fe80::1] [fec0::1] [ff02::1] [ff0e::1] "
        "[2620:4f:8000::1] [4000::1] [1fff:ffff::1] [2001:db8::127.0.0.1] [2a00:1450::5efe:10.0.0.1] "
        "[2a00:1450::200:5efe:7f00:1]",
    ),
    *refused(
        "form of IPv6",
        "form",
        "[fe80::1%25eth0] [fe80::1%eth0] [::1 [v1.a:b] [127.0.0.1] [] [::1]x x[::1] [[::1]] [::1][::1] "
        "[:::1] [12345::1] [::1.2.3] [::ffff:127.0.0.01] [::ffff:0x7f.0.0.1] [2606:4700:4700::1111.] "
        "[good.com] [\uff12606:4700:4700::1111] [2606:4700:4700::1111/64] [::1].",
    ),
    *refused(
        "form of IPv6",
        "port",
        "::1 ::1] \uff3b::1\uff3d 2606:4700:4700::1111",
    ),
    *refused(
        "local names",
        "name",
        "localhost LOCALHOST localhost. foo.localhost a.b.LocalHost. localhost.localdomain localdomain "
        "ip6-localhost router com db.internal printer.local nas.lan x.home x.home.arpa home.arpa x.onion "
        "x.i2p x.corp x.intranet x.test x.invalid x.example a_b.example",
    ),
    *refused(
        "width",
        "address",
        "\uff11\uff12\uff17.0.0.1 \u2460\u2461\u2466.\u24ea.\u24ea.\u2460 127\u30020\u30020\u30021 "
        "127\uff0e0\uff0e0\uff0e1 127\uff610\uff610\uff611 127.0.0.1\u3002 \xb9\xb2\u2077.0.0.1 "
        "\uff11\uff16\uff19.254.169.254 \U0001d7cf\U0001d7ce.0.0.1",
    ),
    *refused(
        "width",
        "form",
        "\uff11\uff12\uff17.1 \u2488\u2488\u2488\u2488 0\uff587f000001 127\u30020\u3002\u30021 "
        "\u0661\u0662\u0667.0.0.1",
    ),
    *refused(
        "width",
        "name",
        "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3 localhost\u3002 "
        "\uff2c\uff2f\uff23\uff21\uff2c\uff28\uff2f\uff33\uff34 \u2113ocalhost local\u210eo\u017ft "
        "x.\u24d8nternal x\uff0elocal",
    ),
    *refused(
        "mapped to syntax",
        "form",
        "good.com\uff0f127.0.0.1 good.com\uff1a80 user\uff20good.com good.com\uff1f good.com\uff03 "
        "\u2100.com a\uff3cb.com good\uff05.com good.com\xa0 a\u3000b.com \u2048.com a\u2024b.com\u2025 "
        "\uff3ba.com",
    ),
    *refused(
        "deleted by mapping",
        "form",
        "exa\u200bmple.com exam\xadple.com local\xadhost 127.0.0.1\u200b exa\u2060mple.com "
        "exa\ufeffmple.com exa\ufe0fmple.com exa\u034fmple.com m\xfc\xadnchen.de exa\u2064mple.com "
        "exa\U000e0100mple.com exa\u180bmple.com",
    ),
    *refused(
        "joiners",
        "form",
        "exa\u200dmple.com exa\u200cmple.com \u200d.com good.com\u200d a.\u200cb.com 127.0.0.1\u200d "
        "127\u200d.0.0.1 xn--example-j06c.com",
    ),
    *refused(
        "direction and control",
        "form",
        "exa\u202emple.com exa\u200emple.com exa\x85mple.com exa\ufffdmple.com exa\ufffemple.com "
        "exa\U000e0041mple.com \u0301a.com exa\ue000mple.com",
    ),
    *refused(
        "Punycode",
        "name",
        "xn--a",
    ),
    *refused(
        "Punycode",
        "form",
        "xn--a.com xn--.com www.xn--0.de xn--abc-.com xn--localhost-.com xn--99999999.com xn--\xfc.com "
        "\uff58\uff4e--a.com xn--zca.com.xn--a.de xn--example-.com good.xn--a xn--mnchen-3yA1.de "
        "xn--exmple-xub.com xn--a-0hb.com.xn-- xn--11111.com",
    ),
    *refused(
        "bad names",
        "form",
        "a..b.com .example.com example.com.. .. . -a.example.com a-.example.com "
        "example.123 example.0x7f a.b.c.0x7f000001 example.1com example.-com example.com- example._com "
        "exa!mple.com exa'mple.com a,b.com a;b.com a&b.com a*b.com (a).com a~b.com a+b.com a=b.com "
        '"a".com <a>.com a|b.com a^b.com {a}.com a`b.com $a.com',
    ),
    *refused(
        "user",
        "userinfo",
        "good.com@127.0.0.1 127.0.0.1@good.com user:pass@good.com @good.com :@good.com "
        "good.com:80@127.0.0.1:80 good.com%2f@127.0.0.1 a@b@good.com user@ @",
    ),
    *refused(
        "user",
        "form",
        "good.com%40127.0.0.1",
    ),
    *refused(
        "slashes",
        "form",
        "good.com\\@127.0.0.1 127.0.0.1\\@good.com \\127.0.0.1 /127.0.0.1/ /",
    ),
    *refused(
        "marks",
        "address",
        "127.0.0.1#@good.com 127.0.0.1?@good.com 127.0.0.1/;good.com",
    ),
    *refused(
        "marks",
        "form",
        "?good.com #good.com :80 :443",
    ),
    *refused(
        "escaped host",
        "form",
        "%31%32%37.0.0.1 %6c%6fcalhost good.com%00.evil.com %67ood.com good.com% good%2ecom good.com%2f "
        "good.com:%38%30 good.com%3a80 %5b::1%5d",
    ),
    *refused(
        "ports",
        "port",
        "good.com:0 good.com:00 good.com:22 good.com:25 good.com:6379 good.com:8080 good.com:65536 "
        "good.com:65616 good.com:+80 good.com:-80 good.com:80aaa good.com: good.com:80:80 "
        "good.com:\uff18\uff10 good.com:\u0668\u0660 good.com:8\u20600 good.com:0x50 good.com:8_0 "
        "good.com:80.0 [2606:4700:4700::1111]: good.com:\xb2",
    ),
    *refused(
        "ports",
        "form",
        "good.com:8\t0",
    ),
    *(
        Refused("bad names", host, "form")
        for host in ("a" * 64 + ".com", f"{LONG}.{'a' * 58}.com", "\u00fc" * 60 + ".com")
    ),
    *(
        Refused("bad names", host, "form")
        for host in ("a" * 3000 + ".com", "a." * 2000, "\u00fc" * 3000, "\ufdfa" * 1000)
    ),
    *(
        Refused("blanks", host, "form")
        for host in ("1.1.1.1 &@2.2.2.2# @3.3.3.3", "good.com: 80", "good.com:80 ", "a b.com")
    ),
    Refused("slashes", "", "form"),
    Refused("ports", "good.com:" + "9" * 4000, "port"),
]
"""Each is put behind `http://`."""
