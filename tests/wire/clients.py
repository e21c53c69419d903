"""Clients of a vendor on loopback, for the tests of what goes over the wire."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from sift.errors import SourceError
from sift.wire.endpoint import Endpoint
from sift.wire.resolver import Resolver
from tests.calls import SECRET, failure_of, later, outcome_of
from tests.vendors import Behaviour, Seen, Vendors

OK = b"HTTP/1.1 200 OK\r\n"
GOOD = {"results": []}


def endpoint(port: int, headers: Mapping[str, str] = {}, *, scheme: str = "http", connections: int = 4) -> Endpoint:
    """Return a client of the vendor that listens on a port."""
    return Endpoint(f"{scheme}://127.0.0.1:{port}/tavily/search", headers, connections=connections)


def named(*addresses: tuple[str, int], family: int = socket.AF_INET) -> Endpoint:
    """Return a client of a vendor whose host has these addresses."""
    found = [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address) for address in addresses]
    resolver = Resolver(lambda *_, **__: found)
    return Endpoint("http://vendor.example/tavily/search", {}, connections=1, resolver=resolver)


def get(client: Endpoint, deadline: float) -> Any:
    return client.get_json({"q": SECRET}, deadline=deadline)


def post(client: Endpoint, deadline: float) -> Any:
    return client.post_json({"query": SECRET}, deadline=deadline)


def failure(vendors: Vendors, behaviour: Behaviour) -> SourceError:
    """Return the error of one POST to a vendor that behaves so."""
    vendors.behaviour["tavily"] = behaviour
    client = endpoint(vendors.port)
    return failure_of(lambda: post(client, later()))


def answer(vendors: Vendors, behaviour: Behaviour) -> Any:
    """Return what one POST to a vendor that behaves so returns."""
    vendors.behaviour["tavily"] = behaviour
    client = endpoint(vendors.port)
    return outcome_of(lambda: post(client, later()))


def keep(whole: bytes) -> Behaviour:
    """Send bytes as they are, and keep the connection."""

    def behave(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(whole)
        return True

    return behave
