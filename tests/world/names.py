"""A name server over UDP, which answers as it is told, differently each time if that is wanted."""

from __future__ import annotations

import socket
import struct
import threading
from ipaddress import ip_address
from typing import Any

A, CNAME, AAAA = 1, 5, 28
_TYPES = {A: "A", AAAA: "AAAA"}
NXDOMAIN = 3


class NameServer:
    """Answer queries for the names of a zone, with a TTL of 0.

    zone: for each name a record. Its `rounds` are lists of addresses, one list a look-up; `turn` says what follows the
    last: `last` (it stays) or `alternate` (the first again). `alias` makes it a CNAME; `hang` leaves queries without
    answer; `rcode` is an error. Names that are not in the zone do not exist.
    queries: each query as [name, type], in order.
    """

    def __init__(self) -> None:
        self.zone: dict[str, dict[str, Any]] = {}
        self.queries: list[list[str]] = []
        self._asked: dict[tuple[str, int], int] = {}

    def serve(self, address: str) -> None:
        """Answer in a thread, at port 53 of an address."""
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind((address, 53))
        threading.Thread(target=self._serve, args=(server,), daemon=True).start()

    def _serve(self, server: socket.socket) -> None:
        while True:
            query, client = server.recvfrom(4096)
            reply = self.reply(query)
            if reply is not None:
                server.sendto(reply, client)

    def reply(self, query: bytes) -> bytes | None:
        """Return the answer to a query, None for none."""
        labels, at = [], 12
        while length := query[at]:
            labels.append(query[at + 1 : at + 1 + length].decode("latin-1"))
            at += 1 + length
        (kind,) = struct.unpack("!H", query[at + 1 : at + 3])
        name, question = ".".join(labels).lower(), query[12 : at + 5]
        self.queries.append([name, _TYPES.get(kind, str(kind))])
        rcode, records = self._look_up(name, kind)
        if rcode is None:
            return None
        header = query[:2] + struct.pack("!HHHHH", 0x8180 | rcode, 1, len(records), 0, 0)
        return header + question + b"".join(records)

    def _look_up(self, name: str, kind: int) -> tuple[int | None, list[bytes]]:
        """Return the error, None for no answer at all, and the records that answer."""
        found = self.zone.get(name)
        if found is None or found.get("rcode"):
            return (found or {}).get("rcode", NXDOMAIN), []
        if found.get("hang"):
            return None, []
        if alias := found.get("alias"):
            rcode, records = self._look_up(alias, kind)
            return rcode, [_record(name, CNAME, _encoded(alias)), *records]
        rounds = found["rounds"]
        turn = self._asked[name, kind] = self._asked.get((name, kind), -1) + 1
        chosen = rounds[turn % len(rounds) if found.get("turn") == "alternate" else min(turn, len(rounds) - 1)]
        addresses = [ip_address(each) for each in chosen]
        wanted = {A: 4, AAAA: 6}.get(kind)
        return 0, [_record(name, kind, each.packed) for each in addresses if each.version == wanted]


def _encoded(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode("latin-1") for label in name.split(".")) + b"\0"


def _record(name: str, kind: int, data: bytes) -> bytes:
    return _encoded(name) + struct.pack("!HHIH", kind, 1, 0, len(data)) + data
