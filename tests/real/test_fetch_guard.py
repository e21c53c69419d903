"""What a fetch may connect to, tried in an internet that counts every attempt."""

from __future__ import annotations

import pytest

from tests.world.answers import failed, refused
from tests.world.network import OWN
from tests.world.service import ADDED_PORT, DENIED, Inside
from tests.world.steps import article
from tests.world.world import Dial, World

REFUSED = {
    "scheme": """
        file:///etc/passwd FILE:///etc/passwd ftp://good.example.org/ gopher://good.example.org:70/ dict://good.example.org/
        data:text/html,hello javascript:alert(1) jar:http://good.example.org/!/ unix:/run/sift.sock http+unix://run/x
        ws://good.example.org/ blob:http://good.example.org/x view-source:http://good.example.org/ ldap://good.example.org/
        """,
    "port": """
        http://good.example.org:22/ http://good.example.org:25/ http://good.example.org:6379/ http://good.example.org:8080/
        http://8.8.4.4:6379/ https://good.example.org:8443/
        """,
    "address": """
        http://127.0.0.1/ http://127.0.0.1./ http://0.0.0.0/ http://10.0.0.1/ http://172.16.0.1/ http://172.31.255.255/
        http://192.168.0.1/ http://100.64.0.1/ http://198.18.0.1/ http://192.0.2.1/ http://192.88.99.1/ http://224.0.0.1/
        http://255.255.255.255/ http://169.254.169.254/latest/meta-data/ http://169.254.170.2/ http://100.100.100.200/
        http://192.0.0.192/ http://168.63.129.16/ http://[fd00:ec2::254]/ http://[fd20:ce::254]/ http://[::]/ http://[::1]/
        http://[::127.0.0.1]/ http://[64:ff9b::a9fe:a9fe]/ http://[64:ff9b::8.8.8.8]/ http://[64:ff9b:1::a9fe:a9fe]/
        http://[2002:7f00:1::]/ http://[2002:a9fe:a9fe::1]/ http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/
        http://[2001:2::1]/ http://[2001:db8::1]/ http://[3fff::1]/ http://[5f00::1]/ http://[100::1]/ http://[fc00::1]/
        http://[fe80::1]/ http://[fec0::1]/ http://[ff02::1]/ http://4.4.4.4/ http://[2606:4700:4444::1]/
        """,
    "name": """
        http://localhost/ http://LOCALHOST/ http://localhost./ http://foo.localhost/ http://localhost.localdomain/
        http://router/ http://ip6-localhost/ http://db.internal/ http://printer.local/ http://nas.lan/ http://x.home.arpa/
        http://x.onion/ http://metadata.google.internal/ http://x.test/ http://x.invalid/ http://x.example/ http://x.corp/
        """,
    "userinfo": """
        http://good.example.org@127.0.0.1/ http://127.0.0.1@good.example.org/ http://user:pass@good.example.org/
        http://good.example.org:80@127.0.0.1:80/ http://@good.example.org/
        """,
    "form": r"""
        http://good.example.org\@127.0.0.1/ http://127.0.0.1\@good.example.org/ http:\\127.0.0.1\ http:/\127.0.0.1/
        http:///127.0.0.1/ http:127.0.0.1  http://%31%32%37.0.0.1/ http://%6c%6fcalhost/
        http://good.example.org%00.evil.example.org/ http://[::1 http://[v1.a:b]/ http://[127.0.0.1]/
        http://[fe80::1%25eth0]/ http://[fe80::1%eth0]/            http://a..example.org/ http://.example.org/ http://example.org../
        """,
}
# One of the hints; which, the spelling decides.
ODD = """
    http://127.1/ http://127.0.1/ http://2130706433/ http://0x7f000001/ http://0x7f.0.0.1/ http://0177.0.0.1/
    http://017700000001/ http://127.0.0.01/ http://127.000.000.001/ http://0/ http://1.2.3/ http://2852039166/
    http://0xA9FEA9FE/ http://0251.0376.0251.0376/ http://169.254.43518/ http://256.256.256.256/ http://4294967296/
    http://１２７.0.0.1/ http://①②⑦.⓪.⓪.①/ http://127。0。0。1/ http://127．0．0．1/ http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/
    http://１６９.254.169.254/ http://good.example.org:８０/ http://[::ffff:127.0.0.1]/ http://[::ffff:a9fe:a9fe]/
    http://[::ffff:8.8.8.8]/ http://exa\u200bmple.org/ http://exam\u00adple.org/ http://xn--a/ http://-a.example.org/
    http://example.123/ http://example.0x7f/ http://a.b.c.0x7f000001/ http://good.example.org:/ http://good.example.org:0/
    //good.example.org/ good.example.org http://good.example.org:65536/ http://good.example.org:+80/
    http://good.example.org:80aaa/
    """
HINTS = {*REFUSED}


@pytest.mark.parametrize("hint", REFUSED)
def test_url_that_its_text_forbids_is_refused_without_a_look_up(hint: str, sift: Inside, world: World) -> None:
    """contract: Guard: the answer says exactly why, and neither a name server nor anybody else hears of it."""
    urls = REFUSED[hint].split()
    assert {url: refused(sift.fetch(url)) for url in urls} == dict.fromkeys(urls, hint)
    assert refused(sift.fetch(urls[0], "restricted")) == hint
    assert world.queries() == []
    assert world.dials() == []


def test_odd_spelling_of_an_address_is_refused_without_a_look_up(sift: Inside, world: World) -> None:
    """contract: Guard: the system's resolver would turn each of these into an address."""
    for url in ODD.split():
        assert refused(sift.fetch(url)) in HINTS, url
    for text in (
        "http://good.example.org/\r\nX: y",
        "http://exa\tmple.org/",
        " http://good.example.org/",
        "\x01http://a.b/",
    ):
        assert refused(sift.fetch(text)) == "form", text
    assert world.queries() == []
    assert world.dials() == []


@pytest.mark.parametrize(
    "suffix", ["#@127.0.0.1", "?@127.0.0.1", ":80/", ":00080/", "/%0d%0aHost:%20x", ":443/", f":{ADDED_PORT}/"]
)
def test_url_that_only_looks_odd_is_opened(suffix: str, sift: Inside, world: World) -> None:
    """contract: Guard: the host is the one before `#` and `?`; ports may have zeros; escapes stay what they are."""
    host = world.host()
    port = 443 if ":443" in suffix else ADDED_PORT if f"{ADDED_PORT}" in suffix else 80
    scheme = "https" if port == 443 else "http"
    sift.page(f"{scheme}://{host}{suffix}")
    assert [(hit.port, hit.method) for hit in world.outside.hits()] == [(port, "GET")] * 2
    assert world.outside.hits()[1].header("host") == (f"{host}:{port}" if port == ADDED_PORT else host)
    if "%0d" in suffix:
        assert [hit.target for hit in world.outside.hits()] == ["/robots.txt", "/%0D%0AHost:%20x"]


@pytest.mark.parametrize("address", ["172.32.0.1", "100.63.255.255", "100.128.0.1", "8.8.8.8", "2606:4700:4700::1111"])
def test_public_address_beside_a_forbidden_range_is_opened(address: str, sift: Inside, world: World) -> None:
    """contract: Guard: not more is refused than has to be; a literal address is dialled as it is."""
    literal = f"[{address}]" if ":" in address else address
    world.serve(literal, {"*": article()})
    assert sift.page(f"http://{literal}/", max_age=0)["final_url"] == f"http://{literal}/"
    assert {hit.address for hit in world.outside.requests("/")} == {address}
    assert world.queries() == []


@pytest.mark.parametrize(
    ("host", "final"),
    [
        ("аpple.com", "xn--pple-43d.com"),
        ("faß.de", "xn--fa-hia.de"),
        ("bücher.example.com", "xn--bcher-kva.example.com"),
        ("UPPER.example.com.", "upper.example.com"),
    ],
)
def test_international_name_is_opened_in_its_ascii_form(host: str, final: str, sift: Inside, world: World) -> None:
    """contract: Guard: everything is judged, looked up and shown in ASCII."""
    world.host(name=final)
    assert sift.page(f"http://{host}/", max_age=0)["final_url"] == f"http://{final}/"
    assert {name for name, _ in world.queries()} == {final}
    assert {hit.header("host") for hit in world.outside.hits()} == {final}


@pytest.mark.parametrize(
    "bad",
    [
        "10.0.0.1",
        "127.0.0.1",
        "169.254.169.254",
        "169.254.170.2",
        "192.168.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.0",
        "::1",
        "::ffff:169.254.169.254",
        "::ffff:127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b::808:808",
        "2002:a9fe:a9fe::1",
        "fd00:ec2::254",
        "fe80::1",
        *DENIED,
    ],
)
def test_name_that_leads_inside_is_refused_and_nothing_is_dialled(bad: str, sift: Inside, world: World) -> None:
    """contract: Guard: every answer of a name server must pass; one bad one refuses the name."""
    alone, good = world.host(bad), (world.address(), world.address(version=6))
    for host in (
        alone,
        world.host(good[0], bad),
        world.host(bad, good[1]),
        world.host(*good, bad),
        world.host(alias=world.host(alias=alone)),
    ):
        assert failed(sift.fetch(f"http://{host}/")) == "address"
        assert failed(sift.fetch(f"https://{host}/", "restricted")) == "unreachable"
        assert world.queries(host)
    assert world.dials() == []
    assert world.own.hits() == world.outside.hits() == []


def test_mapped_address_is_judged_as_the_one_that_it_stands_for(sift: Inside, world: World) -> None:
    """contract: Guard: the kernel connects such an address over IPv4, which is what counts."""
    good = world.address()
    sift.page(f"http://{world.host(f'::ffff:{good}', pages={'/': article()})}/")
    assert {hit.address for hit in world.outside.hits()} == {good}
    assert failed(sift.fetch(f"http://{world.host(f'::ffff:{OWN[0]}')}/")) == "address"
    assert world.own.requests() == []


def test_names_that_pass_as_text_and_lead_to_loopback_die_at_the_look_up(sift: Inside, world: World) -> None:
    """contract: Guard: such names are public on purpose, so no list of names can know them."""
    for name, address in (("127.0.0.1.nip.io", "127.0.0.1"), ("localtest.me", "127.0.0.1"), ("a.lvh.me", "::1")):
        world.host(address, name=name)
        assert failed(sift.fetch(f"http://{name}/")) == "address"
    assert world.dials() == []


@pytest.mark.parametrize("turn", ["last", "alternate"])
@pytest.mark.parametrize("look_up", [1, 2, 3])
def test_name_that_is_rebound_is_refused_as_soon_as_it_is_bad(
    turn: str, look_up: int, sift: Inside, world: World
) -> None:
    """contract: Guard: each connection has its own look-up, is judged by it, and goes where it said."""
    good = world.address()
    host = world.host(rounds=[*[[good]] * look_up, ["169.254.169.254"]], turn=turn)
    statuses = [sift.fetch(f"http://{host}/{n}", max_age=0).status for n in range(4)]
    assert 502 in statuses
    assert {dial.address for dial in world.dials()} <= {good}
    assert {hit.address for hit in world.outside.hits()} <= {good}
    assert world.own.hits() == []


def test_name_that_is_rebound_between_hops_is_refused_at_the_second(sift: Inside, world: World) -> None:
    """contract: Guard: a redirect to the same host is a new connection, and looked up and judged as one."""
    good = world.address()
    # The first look-up is that of robots.txt, the second that of the page.
    host = world.host(rounds=[[good], [good], ["10.77.0.1"]])
    world.serve(host, {"/": [{"send": f"HTTP/1.1 302 Found\r\nLocation: http://{host}/two\r\n\r\n"}]})
    assert failed(sift.fetch(f"http://{host}/")) == "address"
    assert [hit.target for hit in world.outside.hits()] == ["/robots.txt", "/"]
    assert {dial.address for dial in world.dials()} == {good}


def test_address_that_was_judged_is_the_one_that_is_dialled(sift: Inside, world: World) -> None:
    """contract: Guard: no second look-up decides, not even between two public addresses."""
    first, *others = (world.address() for _ in range(6))
    host = world.host(rounds=[[each] for each in (first, *others)])
    sift.page(f"http://{host}/", max_age=0)
    sift.page(f"http://{host}/", max_age=0)
    hits = world.outside.requests()
    look_ups = [kind for _, kind in world.queries(host)].count("A")
    assert [hit.address for hit in hits] == [first, *others][:look_ups]
    assert len(hits) == look_ups == 3  # robots.txt, which is kept, and the page twice


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_public_address_of_this_host_is_not_talked_to(own: str, scheme: str, sift: Inside, world: World) -> None:
    """contract: Guard: what listens on it may trust connections from this host; not a byte is sent."""
    literal = f"[{own}]" if ":" in own else own
    assert failed(sift.fetch(f"{scheme}://{literal}/")) == "address"
    assert failed(sift.fetch(f"{scheme}://{world.host(own)}/", "restricted")) == "unreachable"
    assert world.own.requests() == []
    assert not [hit.sni for hit in world.own.hits() if hit.sni]


def test_own_address_among_others_is_not_talked_to(sift: Inside, world: World) -> None:
    """contract: Guard: the connection decides, so the name's other address may be tried, but not this one."""
    host = world.host(OWN[0], pages={"*": article()})
    world.host(name=host, rounds=[[OWN[0], OWN[1]]])
    assert failed(sift.fetch(f"http://{host}/")) == "address"
    assert world.own.requests() == []


def test_many_addresses_are_tried_no_more_than_four_times(sift: Inside, world: World) -> None:
    """contract: Guard: two hundred answers are no reason for two hundred connections, nor for a long wait."""
    host = world.host(*(f"1.1.7.{n}" for n in range(200)))
    reply = sift.fetch(f"http://{host}/", timeout=1)
    assert reply.status in (502, 504)
    assert 1 <= len(world.dials()) <= 4
    assert len({*world.dials()}) == len(world.dials())


def test_addresses_that_do_not_answer_leave_time_for_one_that_does(sift: Inside, world: World) -> None:
    """contract: Guard: the time is shared out among the addresses."""
    good = world.address()
    host = world.host("1.1.7.7", good)
    reply = sift.fetch(f"http://{host}/", timeout=4)
    assert reply.status == 200, reply
    assert Dial(good, 80) in world.dials()
    assert {hit.address for hit in world.outside.hits()} == {good}
