"""File ``raft/applied``: how far the entries of the group are durably in commit log and tables.

After a start a member does not know what is committed until it hears of a leader, and its commit log may end with what
it appended as a leader and nobody else got. What lies behind the mark is given up then, and comes again out of the
Raft log.
"""

from __future__ import annotations

import logging
import zlib
from dataclasses import asdict, dataclass, fields

from engine.protocol.errors import MalformedBody
from engine.protocol.json_form.json_text import dumps_pretty_json, loads_json
from engine.replication.majority.errors import NotOfThisGroup
from engine.runtime.port import Disk

PATH = "raft/applied"
_CHECKSUM = "checksum"

_log = logging.getLogger("glassmq.replication")


@dataclass(frozen=True, slots=True)
class AppliedMark:
    """:ivar index: of the last entry.

    :ivar log_end_offset: where the commit log ends with it.
    :ivar settled_offset: whatever a leader writes about the messages before it, is in log and tables.
    """

    index: int = 0
    log_end_offset: int = 0
    settled_offset: int = 0


def load_mark(disk: Disk) -> AppliedMark:
    """What was saved last; in an empty folder the first one, which is saved. Where the file is damaged, the commit log
    is rebuilt out of the Raft log, from its first entry on. Raises :class:`NotOfThisGroup`, ``DiskFault``.
    """
    if not disk.exists(PATH):
        if disk.list_folder("commitlog"):
            raise NotOfThisGroup(
                "this folder holds messages that did not come through a group's log: begin with an empty one"
            )
        save_mark(disk, AppliedMark())
    mark = parse_mark(disk.read_whole(PATH))
    if mark is None:
        _log.warning("%s is damaged: the commit log is rebuilt from raft/log", PATH)
    return mark or AppliedMark()


def parse_mark(content: bytes) -> AppliedMark | None:
    """None: it is not what :func:`save_mark` writes. Older versions wrote no checksum."""
    try:
        found = loads_json(content)
    except MalformedBody:
        return None
    if not isinstance(found, dict):
        return None
    checksum = found.pop(_CHECKSUM, None)
    if list(found) != [field.name for field in fields(AppliedMark)]:
        return None
    if not all(type(value) is int and value >= 0 for value in found.values()):
        return None
    mark = AppliedMark(**found)
    return mark if checksum in (None, _checksum(mark)) else None


def _checksum(mark: AppliedMark) -> int:
    return zlib.crc32(f"{mark.index} {mark.log_end_offset} {mark.settled_offset}".encode())


def save_mark(disk: Disk, mark: AppliedMark) -> None:
    """Replace the file, durably. Raises ``DiskFault``."""
    disk.write_whole(PATH, dumps_pretty_json({**asdict(mark), _CHECKSUM: _checksum(mark)}))
