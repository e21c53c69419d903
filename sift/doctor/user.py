"""Looking at files as the service's user does: root may read what that user may not."""

from __future__ import annotations

import codecs
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def owner_of(path: Path) -> int | None:
    """Return the user who owns a file or directory; None if it cannot be looked at."""
    try:
        return path.stat().st_uid
    except OSError:
        return None


def name_of(uid: int) -> str:
    """Return a user's name; the number if there is none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group_of(uid: int) -> int:
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        return uid


@contextmanager
def acting_as(uid: int) -> Iterator[bool]:
    """Have the rights of another user in the block, as root may; yield whether this process has them.

    No other thread may run meanwhile: the rights are those of the whole process. A user whom the host does not know has
    the group of the same number.
    """
    mine = os.geteuid(), os.getegid(), os.getgroups()
    if uid == mine[0]:
        yield True
        return
    codecs.lookup("utf-8-sig")  # loaded when it is first used, from files that the other user may not be able to read
    try:
        try:
            gid = _group_of(uid)
            os.setgroups(os.getgrouplist(name_of(uid), gid))
            os.setegid(gid)
            os.seteuid(uid)
        except OSError:  # not root, or root without that right
            has_rights = False
        else:
            has_rights = True
        yield has_rights
    finally:
        if os.geteuid() != mine[0]:
            os.seteuid(mine[0])
        if os.getegid() != mine[1]:
            os.setegid(mine[1])
        if os.getgroups() != mine[2]:
            os.setgroups(mine[2])
