"""The whole of it, as tests use it: names, pages, and what was seen of whom."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.waiting import wait_for
from tests.world import certificates, network
from tests.world.certificates import DOMAIN
from tests.world.control import Remote
from tests.world.namespace import Namespace
from tests.world.steps import Steps


class Seen(NamedTuple):
    """One connection to a server, by the address and the port at which it arrived.

    method, target: "" when no request came. headers: in order, names in lower case. sni: the name that the TLS
    handshake asked for. sent: bytes that the server could send, status line and headers included.
    began, ended: when the request came, and when the last byte of the answer left; monotonic seconds.
    """

    address: str
    port: int
    method: str
    target: str
    headers: list[tuple[str, str]]
    sni: str
    sent: int
    began: float
    ended: float

    def header(self, name: str) -> str | None:
        """Return the value of a header, None when it was not sent."""
        return dict(self.headers).get(name)


class Dial(NamedTuple):
    """One attempt to connect."""

    address: str
    port: int


class Side:
    """The servers of one namespace."""

    def __init__(self, namespace: Namespace, remote: Remote) -> None:
        self.namespace = namespace
        self.remote = remote

    def hits(self) -> list[Seen]:
        """Return the connections seen since the test began, in order; those that go on are waited for."""
        raw = self.remote.call("hits")
        keys = ("address", "port", "method", "target", "headers", "sni", "sent", "began", "ended")
        return [Seen(*(hit[key] for key in keys)) for hit in raw]

    def requests(self, path: str | None = None, host: str | None = None) -> list[Seen]:
        """Return the connections on which a request came; path, host: only those for this one."""
        found = [hit for hit in self.hits() if hit.method and path in (None, hit.target)]
        return [hit for hit in found if host in (None, hit.header("host"))]

    def waiting(self, gate: str) -> int:
        """Return how many requests wait at a gate."""
        count: int = self.remote.call("waiting", gate)
        return count

    def open(self, gate: str) -> None:
        """Let the requests at a gate go on."""
        self.remote.call("open", gate)


class World:
    """The inside, the outside, and a directory for what both need. Raises UnavailableError where it cannot be made.

    inside: where Sift belongs. own: what it sees when it connects to its own host. outside: everything else.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._number = itertools.count(1)
        self._gates: list[str] = []

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sift-world-")))
            inside, outside = (self._namespace(stack) for _ in range(2))
            network.join(inside, outside)
            certificates.make(self.directory)
            authorities = (self.directory / f"{name}.pem" for name in ("system", "certifi"))
            network.dress(inside, self.directory, *authorities)
            self.inside = inside
            self.own, self.outside = (
                Side(each, self._serve(stack, each, name)) for each, name in ((inside, "inside"), (outside, "outside"))
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def _namespace(self, stack: ExitStack) -> Namespace:
        namespace = Namespace()
        stack.callback(namespace.close)
        return namespace

    def _serve(self, stack: ExitStack, namespace: Namespace, name: str) -> Remote:
        control = self.directory / f"{name}.sock"
        command = [sys.executable, "-m", "tests.world", name, str(control), str(self.directory)]
        servers = namespace.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        stack.callback(servers.communicate)  # closes its stdin, which ends it
        assert servers.stdout is not None
        assert servers.stdout.readline() == b"ready\n"
        return Remote(control)

    # --- what there is ---

    def host(
        self,
        *addresses: str,
        pages: Mapping[str, Steps] | None = None,
        kind: str = "",
        rounds: Sequence[Sequence[str]] = (),
        turn: str = "last",
        name: str = "",
        **record: Any,
    ) -> str:
        """Return a name that nobody has used, with a public address of its own unless some are given.

        pages: what its server answers. kind: the certificate it shows (`expired`, `wrong`, …). rounds: the addresses of
        one look-up after another, and `turn` what comes after the last. record: what else names.NameServer knows.
        """
        number = next(self._number)
        name = name or f"{kind}{'-' if kind else ''}n{number}.{DOMAIN}"
        if not record:
            record = {"rounds": [*map(list, rounds)] or [addresses or [self.address(number)]], "turn": turn}
        self.outside.remote.call("name", name, record)
        self.serve(name, pages or {})
        return name

    def address(self, number: int | None = None, version: int = 4) -> str:
        """Return a public address that no other name has."""
        number = next(self._number) if number is None else number
        if version == 6:
            return str(IPv6Address("2606:4700::1:0") + number)
        return str(IPv4Address("8.8.16.0") + number)

    def serve(self, host: str, pages: Mapping[str, Steps]) -> None:
        """Let the servers answer for a host, given as in the Host header; `*` is every path but robots.txt."""
        for side in (self.own, self.outside):
            side.remote.call("pages", host, dict(pages))

    def stall(self, address: str, steps: Steps) -> None:
        """Let TLS handshakes at an address get these steps for an answer."""
        self.outside.remote.call("stall", address, steps)

    def gate(self) -> str:
        """Return the name of a gate that nobody has used; it is opened when the test is over."""
        self._gates.append(f"gate {next(self._number)}")
        return self._gates[-1]

    def await_at(self, gate: str, count: int = 1) -> None:
        """Wait until so many requests wait at a gate."""
        wait_for(lambda: self.outside.waiting(gate) >= count)

    # --- what was seen ---

    def dials(self) -> list[Dial]:
        """Return all attempts of the inside to connect, since the test began."""
        return [Dial(*each) for each in self.own.remote.call("dials")]

    def queries(self, name: str | None = None) -> list[tuple[str, str]]:
        """Return the queries for a name, or for all names, since the test began: name and type."""
        found = [(asked, kind) for asked, kind in self.outside.remote.call("queries")]
        return [each for each in found if name in (None, each[0])]

    def begin(self) -> None:
        """Forget what was seen, for the next test."""
        for gate in self._gates:
            self.outside.open(gate)
        self._gates.clear()
        for side in (self.own, self.outside):
            side.hits()
            side.remote.call("forget")
