"""Which addresses a namespace tries to connect to, seen by the kernel: refused, lost and answered ones alike."""

from __future__ import annotations

import ctypes
import socket
import struct
from contextlib import suppress
from ipaddress import ip_address

NOT_COUNTED = "127.9.9.9"
"""The source of connections that the servers of the tests make themselves."""
_ETH_P_ALL = 0x0003
_SO_ATTACH_FILTER = 26
_OUTGOING = 4
# The first packet of a TCP connection, over IPv4 and IPv6, in the kernel's filter language: code, if true, if false, k.
_FILTER = (
    (0x30, 0, 0, 0),  # load the first byte
    (0x54, 0, 0, 0xF0),
    (0x15, 0, 5, 0x40),  # version 4?
    (0x30, 0, 0, 9),
    (0x15, 0, 9, 6),  # TCP?
    (0xB1, 0, 0, 0),  # the length of the header
    (0x50, 0, 0, 13),
    (0x05, 0, 0, 4),  # to the flags
    (0x15, 0, 5, 0x60),  # version 6?
    (0x30, 0, 0, 6),
    (0x15, 0, 3, 6),  # TCP?
    (0x30, 0, 0, 53),
    (0x54, 0, 0, 0x12),  # SYN and ACK
    (0x15, 1, 0, 0x02),  # SYN alone: take it
    (0x06, 0, 0, 0),
    (0x06, 0, 0, 0x40000),
)


class Dials:
    """Record the connections that are tried from here on.

    The kernel hands over a packet as it is sent, so whatever was tried before a test asks is among the answer.
    """

    def __init__(self) -> None:
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in _FILTER))
        program = struct.pack("HP", len(_FILTER), ctypes.addressof(code))
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
        self._socket.setblocking(False)
        self._seen: dict[tuple[str, int, str, int], None] = {}

    def all(self) -> list[list[object]]:
        """Return each attempt as [address, port], in order. One that was repeated for want of an answer counts once."""
        self._drain()
        return [[address, port] for _, _, address, port in self._seen]

    def forget(self) -> None:
        """Start anew."""
        self._drain()
        self._seen.clear()

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while True:
                packet, (_, _, way, *_) = self._socket.recvfrom(256)
                if way == _OUTGOING and (ends := _ends(packet))[0] != NOT_COUNTED:
                    self._seen[ends] = None


def _ends(packet: bytes) -> tuple[str, int, str, int]:
    if packet[0] >> 4 == 4:
        source, target, rest = packet[12:16], packet[16:20], packet[4 * (packet[0] & 15) :]
    else:
        source, target, rest = packet[8:24], packet[24:40], packet[40:]
    ports = struct.unpack("!HH", rest[:4])
    return str(ip_address(source)), ports[0], str(ip_address(target)), ports[1]
