"""How the two namespaces are joined, what is where, and which files of `/etc` the inside sees."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import certifi

from tests.world.namespace import Namespace, UnavailableError

NAME_SERVER = "9.9.9.1"
OWN = ("9.9.9.2", "2620:fe::2", "9.9.9.3", "2620:fe::3", "8.8.15.15")
"""The public addresses of the host that Sift runs on. The kernel connects to some of them from another one."""
OWN_PRIVATE = ("10.77.0.1", "169.254.169.254")
"""Addresses that the host of Sift has itself; all others, private ones too, are outside."""
GATEWAYS = (NAME_SERVER, "2620:fe::1")
BLACK_HOLES = ("1.1.0.0/16", "2606:4700:dead::/48")
"""What is sent to these is lost without a word."""
_NSSWITCH = "passwd: files\ngroup: files\nhosts: files dns\n"
_HOSTS = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n"
_RESOLV = f"nameserver {NAME_SERVER}\noptions attempts:1 timeout:3\n"


def join(inside: Namespace, outside: Namespace) -> None:
    """Join two namespaces: all addresses but its own lie outside of the first one. Raises UnavailableError."""
    try:
        inside.run("ip", "link", "add", "world0", "type", "veth", "peer", "name", "world1", "netns", f"{outside.pid}")
    except subprocess.CalledProcessError as error:
        raise UnavailableError(f"no pair of network devices can be made: {error.stderr.strip()}") from None
    if not Path("/proc/sys/net/ipv6").exists():
        raise UnavailableError("the system has no IPv6")
    inside.script(
        "echo inside >/proc/sys/kernel/hostname",  # one with a dot would bring a domain that is searched, too
        "echo 0 >/proc/sys/net/ipv6/conf/world0/disable_ipv6 || true",
        # Small buffers: what a server could send tells then what was read.
        "echo 4096 65536 131072 >/proc/sys/net/ipv4/tcp_rmem || true",
        "ip link set lo up",
        *(f"ip address add {address}/24 dev world0" for address in OWN if address.startswith("9.9.9.")),
        *(f"ip address add {address}/64 dev world0 nodad" for address in OWN if ":" in address),
        *(f"ip address add {address}/32 dev lo" for address in (OWN[-1], *OWN_PRIVATE)),
        "ip link set world0 up",
        *(f"ip route add default via {gateway}" for gateway in GATEWAYS),
    )
    outside.script(
        "echo 0 >/proc/sys/net/ipv6/conf/world1/disable_ipv6 || true",
        "ip link set lo up",
        f"ip address add {GATEWAYS[0]}/24 dev world1",
        f"ip address add {GATEWAYS[1]}/64 dev world1 nodad",
        "ip link set world1 up",
        # Every address is one of its own, but those of the first namespace.
        *(f"ip route add {address}/32 dev world1 table local" for address in OWN if address.startswith("9.9.9.")),
        "ip route add local default dev lo table local",
        "ip -6 route add local default dev lo table 100",
        "ip -6 rule add pref 40000 lookup 100",
        *(f"ip route add blackhole {where} table local" for where in BLACK_HOLES if ":" not in where),
        *(f"ip -6 route add blackhole {where}" for where in BLACK_HOLES if ":" in where),
    )


def dress(inside: Namespace, directory: Path, system_authority: Path, certifi_authority: Path) -> None:
    """Give a namespace a name server, and certificate authorities of its own. Nobody else sees these files."""
    paths = ssl.get_default_verify_paths()
    system = Path(paths.cafile or paths.openssl_cafile)
    if not system.exists():
        raise UnavailableError(f"the system's certificate authorities are not in {system}")
    files = {"resolv.conf": _RESOLV, "nsswitch.conf": _NSSWITCH, "hosts": _HOSTS}
    for name, text in files.items():
        (directory / name).write_text(text)
    seen = {Path("/etc") / name: directory / name for name in files}
    seen |= {system: system_authority, Path(certifi.where()): certifi_authority}
    inside.script(
        *(f"mount --bind '{mine}' '{path.resolve()}'" for path, mine in seen.items()),
        # A cache of names or a resolver of the machine would answer from another network.
        *(f"test ! -d {path} || mount -t tmpfs none {path}" for path in ("/run/nscd", "/run/systemd/resolve")),
    )
