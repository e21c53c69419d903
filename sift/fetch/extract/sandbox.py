"""What Linux can take from a process for good: files it may write, programs, connections, other processes.

Landlock needs no privileges. A process that has entered a domain of it may also not look into one outside: the
service's environment in /proc, with its keys, is closed to a child whose extractor a page has taken over.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import NamedTuple

_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # the same numbers on every architecture
_NO_NEW_PRIVILEGES = 38
_VERSION = 1
_CAPABILITIES = 0x2008_0522
_MAY_READ_ALL = 1 << 2  # CAP_DAC_READ_SEARCH: root may run code from somebody's private directory


class Rights(NamedTuple):
    """What a ruleset denies, as Landlock's bits: to files, to the network, and to processes outside."""

    files: int
    network: int
    scope: int


# Of the bits for files 2 and 3 are reading, which extractors need: their modules are loaded as pages ask for them.
_READING = 0b1100
# By version of Landlock: how many rights it knows of each kind.
_KNOWN = {1: (13, 0, 0), 2: (14, 0, 0), 3: (15, 0, 0), 4: (15, 2, 0), 5: (16, 2, 0), 6: (16, 2, 2)}


def rights(version: int) -> Rights | None:
    """Return all that this version of Landlock can deny, reading excepted; None where there is no Landlock."""
    if version < 1:
        return None
    files, network, scope = ((1 << count) - 1 for count in _KNOWN[min(version, max(_KNOWN))])
    return Rights(files & ~_READING, network, scope)


def offered() -> Rights | None:
    """Return what this system can deny; None where there is no Landlock."""
    libc = ctypes.CDLL(None, use_errno=True)
    return rights(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION))


def enter() -> bool:
    """Give up for good what no extractor needs; return whether the system could take it, which not every one can.

    From then on the process writes no file, starts no program, opens and takes no TCP connection, signals nobody
    outside, and does not look into another process.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0:  # root's capabilities open what Landlock has closed; whoever is not root has none
        kept = struct.pack("6I", _MAY_READ_ALL, _MAY_READ_ALL, 0, 0, 0, 0)
        libc.capset(struct.pack("Ii", _CAPABILITIES, 0), kept)
    denied = offered()
    if denied is None:
        return False
    attributes = struct.pack("QQQ", *denied)
    # An older kernel refuses a longer record only where what it does not know is not zero.
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0 or libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return False
    entered = libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return bool(entered)
