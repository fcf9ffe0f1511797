"""File ``raft/state``: term, vote, whether the member joins, and up to where it has acknowledged its log.

It holds two copies, each with a checksum and in a sector of its own, written and flushed together: a flipped bit takes
one of them at most, and so does a power cut, since a disk writes a sector whole or not at all. The newer one counts.
Two slots written in turns would be less: a damaged newest one would read as the one before, that is as a vote that
was never given.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from engine.replication.raft.hard_state import HardState, JoinReason
from engine.runtime.port import Disk

STATE_PATH = "raft/state"
STATE_FILE_BYTES = 4_096
#: Where the copies are; a sector has 512 bytes or 4,096.
COPIES_AT = (0, 2_048)
_MAGIC = b"RST2"
#: Magic, number of the write, term, number of the joining, its reason, log's end: index, checksum; length of the vote.
_LAYOUT = struct.Struct(">4sQQQBQIB")
_CHECKSUM = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class SavedState:
    """:ivar log_end: the entries up to this index are durable, and may have been acknowledged.

    :ivar log_checksum: of the last of them, and by the chain of all before it.
    """

    hard_state: HardState
    log_end: int = 0
    log_checksum: int = 0


def encode_copy(number: int, saved: SavedState) -> bytes:
    """One copy, the ``number``-th that is written."""
    state, name = saved.hard_state, saved.hard_state.voted_for.encode()
    fields = (number, state.term, state.joining, state.reason, saved.log_end, saved.log_checksum, len(name))
    record = _LAYOUT.pack(_MAGIC, *fields) + name
    return record + _CHECKSUM.pack(zlib.crc32(record))


def decode_copy(data: bytes) -> tuple[int, SavedState] | None:
    """Its number and what it says; None: it is damaged, or was never written."""
    if len(data) < _LAYOUT.size or not data.startswith(_MAGIC):
        return None
    _, number, term, joining, reason, log_end, log_checksum, name_length = _LAYOUT.unpack_from(data)
    end = _LAYOUT.size + name_length
    if data[end : end + _CHECKSUM.size] != _CHECKSUM.pack(zlib.crc32(data[:end])):
        return None
    name = data[_LAYOUT.size : end].decode()
    return number, SavedState(HardState(term, name, joining, JoinReason(reason)), log_end, log_checksum)


def read_state(content: bytes) -> tuple[int, SavedState] | None:
    """The newer of the whole copies in a file, with its number; None: there is none."""
    copies = [decode_copy(content[at : at + COPIES_AT[1]]) for at in COPIES_AT]
    return max((copy for copy in copies if copy is not None), key=lambda copy: copy[0], default=None)


class StateFile:
    """Replaces the file by one that says ``saved``, durably, and keeps it up to date. Raises ``DiskFault``.

    :param number: of the copies that were there.
    """

    def __init__(self, disk: Disk, number: int, saved: SavedState) -> None:
        self._number = number + 1
        copy = encode_copy(self._number, saved)
        disk.write_whole(STATE_PATH, copy.ljust(COPIES_AT[1], b"\0") + copy.ljust(COPIES_AT[1], b"\0"))
        self._file = disk.open_file(STATE_PATH, STATE_FILE_BYTES)

    def write(self, saved: SavedState) -> None:
        """Write both copies; durable after :meth:`flush`."""
        self._number += 1
        copy = encode_copy(self._number, saved)
        for at in COPIES_AT:
            self._file.write_at(at, copy)

    async def flush(self) -> None:
        """Make them durable."""
        await self._file.flush(0, STATE_FILE_BYTES)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
