"""The state of a stopped member, according to its files; they are only read."""

from __future__ import annotations

from dataclasses import dataclass

from engine.replication.majority.applied_mark import PATH as APPLIED_PATH
from engine.replication.majority.applied_mark import AppliedMark, parse_mark
from engine.replication.raft.hard_state import HardState, JoinReason
from engine.replication.raft.raft_state_file import STATE_PATH, read_state
from engine.replication.raft.raft_store import ENTRY_LAYOUT, LOG_PATH, join_reason, old_state, whole_records
from engine.runtime.port import Disk


@dataclass(frozen=True, slots=True)
class MemberFolder:
    """State of a stopped member, as its files say.

    :ivar state: what ``raft/state`` says; None if it says nothing.
    :ivar entry_count: undamaged entries in ``raft/log``.
    :ivar joins: why the member will join its group again when it starts; NONE: it does not have to.
    :ivar is_mark_whole: whether ``raft/applied`` is undamaged; if not, the commit log will be rebuilt.
    """

    state: HardState | None
    entry_count: int
    joins: JoinReason
    is_mark_whole: bool

    @property
    def is_whole(self) -> bool:
        """Return whether none of the member's data is missing. A member that is already joining counts as complete."""
        return self.joins in (JoinReason.NONE, JoinReason.NEW) and self.is_mark_whole


def look_at_member(disk: Disk) -> MemberFolder | None:
    """Read the files of a member; return None if the folder does not belong to a member of a group. Raises
    ``DiskFault``.
    """
    if not disk.list_folder("raft"):
        return None
    content = disk.read_whole(STATE_PATH) if disk.exists(STATE_PATH) else b""
    saved = read_state(content)
    count = checksum = end_checksum = last_term = 0
    if disk.exists(LOG_PATH):
        file = disk.open_append(LOG_PATH)
        try:
            for numbers, _, _, checksum in whole_records(file.read_at, file.size_bytes, ENTRY_LAYOUT):
                count, last_term = count + 1, numbers[1]
                end_checksum = checksum if saved is not None and count == saved[1].log_end else end_checksum
        finally:
            file.close()
    found = saved[1] if saved is not None else old_state(content, count, lambda end: checksum)
    if saved is None:
        end_checksum = checksum
    mark = parse_mark(disk.read_whole(APPLIED_PATH)) if disk.exists(APPLIED_PATH) else AppliedMark()
    applied_index = mark.index if mark is not None else 0
    joins = join_reason(found, count, end_checksum, last_term, applied_index)
    return MemberFolder(found.hard_state if found is not None else None, count, joins, mark is not None)
