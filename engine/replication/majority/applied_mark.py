"""File ``raft/applied``: how far the entries of the group are durably in the commit log and the tables.

After a start a member does not know what is committed until it hears from a leader, and its commit log may end with
messages that it appended as a leader and that no other member received. Whatever is after the mark is dropped then, and
is applied again from the Raft log.
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
    """A position up to which the entries of the group are applied and durable.

    :ivar index: index of the last applied entry.
    :ivar log_end_offset: end of the commit log after that entry.
    :ivar settled_offset: everything that a leader writes about messages before this offset is in the log and the
        tables.
    """

    index: int = 0
    log_end_offset: int = 0
    settled_offset: int = 0


def load_mark(disk: Disk) -> AppliedMark:
    """Return the mark that was saved last. In an empty folder, save and return the first one. If the file is damaged,
    the commit log is rebuilt from the first entry of the Raft log. Raises :class:`NotOfThisGroup`, ``DiskFault``.
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
    """Parse what :func:`save_mark` writes, also without the checksum, which older versions did not write. Return None
    for any other content.
    """
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
    """Replace the file durably. Raises ``DiskFault``."""
    disk.write_whole(PATH, dumps_pretty_json({**asdict(mark), _CHECKSUM: _checksum(mark)}))
