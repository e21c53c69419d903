"""Clients of a loopback vendor, for the tests of the wire."""

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
    """Return a client for the vendor on a loopback port."""
    return Endpoint(f"{scheme}://127.0.0.1:{port}/tavily/search", headers, connections=connections)


def named(*addresses: tuple[str, int], family: int = socket.AF_INET) -> Endpoint:
    """Return a client for a vendor whose host name has these addresses."""
    found = [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address) for address in addresses]
    resolver = Resolver(lambda *_, **__: found)
    return Endpoint("http://vendor.example/tavily/search", {}, connections=1, resolver=resolver)


def get(client: Endpoint, deadline: float) -> Any:
    return client.get_json({"q": SECRET}, deadline=deadline)


def post(client: Endpoint, deadline: float) -> Any:
    return client.post_json({"query": SECRET}, deadline=deadline)


def failure(vendors: Vendors, behaviour: Behaviour) -> SourceError:
    """Return the error of one POST to a vendor with this behaviour."""
    vendors.behaviour["tavily"] = behaviour
    client = endpoint(vendors.port)
    return failure_of(lambda: post(client, later()))


def answer(vendors: Vendors, behaviour: Behaviour) -> Any:
    """Return the answer to one POST to a vendor with this behaviour."""
    vendors.behaviour["tavily"] = behaviour
    client = endpoint(vendors.port)
    return outcome_of(lambda: post(client, later()))


def keep(whole: bytes) -> Behaviour:
    """Send bytes as they are, leaving the connection open."""

    def behave(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(whole)
        return True

    return behave
