"""File ``raft/state``: term, vote, whether the member is joining, and up to where it has acknowledged its log.

It holds two copies, each with a checksum and in a sector of its own, written and flushed together. A flipped bit
damages at most one of them, and so does a power cut, since a disk writes a sector whole or not at all. The newer one
counts. Two slots written in turn would be weaker: if the newest were damaged, the one before it would be read, as if
the last vote had never been given.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from engine.replication.raft.hard_state import HardState, JoinReason
from engine.runtime.port import Disk

STATE_PATH = "raft/state"
STATE_FILE_BYTES = 4_096
#: Positions of the copies; a sector has 512 or 4,096 bytes.
COPIES_AT = (0, 2_048)
_MAGIC = b"RST2"
#: Magic, number of the write, term, number of the joining, its reason, log's end: index, checksum; length of the vote.
_LAYOUT = struct.Struct(">4sQQQBQIB")
_CHECKSUM = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class SavedState:
    """The state as it is saved.

    :ivar log_end: the entries up to this index are durable, and may have been acknowledged.
    :ivar log_checksum: checksum of the last of them and, through the chain, of all before it.
    """

    hard_state: HardState
    log_end: int = 0
    log_checksum: int = 0


def encode_copy(number: int, saved: SavedState) -> bytes:
    """Encode the state as one copy of the file; ``number`` is the number of this write."""
    state, name = saved.hard_state, saved.hard_state.voted_for.encode()
    fields = (number, state.term, state.joining, state.reason, saved.log_end, saved.log_checksum, len(name))
    record = _LAYOUT.pack(_MAGIC, *fields) + name
    return record + _CHECKSUM.pack(zlib.crc32(record))


def decode_copy(data: bytes) -> tuple[int, SavedState] | None:
    """Return number and state of a copy; None if it is damaged or was never written."""
    if len(data) < _LAYOUT.size or not data.startswith(_MAGIC):
        return None
    _, number, term, joining, reason, log_end, log_checksum, name_length = _LAYOUT.unpack_from(data)
    end = _LAYOUT.size + name_length
    if data[end : end + _CHECKSUM.size] != _CHECKSUM.pack(zlib.crc32(data[:end])):
        return None
    name = data[_LAYOUT.size : end].decode()
    return number, SavedState(HardState(term, name, joining, JoinReason(reason)), log_end, log_checksum)


def read_state(content: bytes) -> tuple[int, SavedState] | None:
    """Return the newer undamaged copy in a file, with its number; None if both are damaged or missing."""
    copies = [decode_copy(content[at : at + COPIES_AT[1]]) for at in COPIES_AT]
    return max((copy for copy in copies if copy is not None), key=lambda copy: copy[0], default=None)


class StateFile:
    """Replace the file durably by one that says ``saved``, and keep it up to date. Raises ``DiskFault``.

    :param number: number of the copies that were in the old file.
    """

    def __init__(self, disk: Disk, number: int, saved: SavedState) -> None:
        self._number = number + 1
        copy = encode_copy(self._number, saved)
        disk.write_whole(STATE_PATH, copy.ljust(COPIES_AT[1], b"\0") + copy.ljust(COPIES_AT[1], b"\0"))
        self._file = disk.open_file(STATE_PATH, STATE_FILE_BYTES)

    def write(self, saved: SavedState) -> None:
        """Write both copies; they are durable after :meth:`flush`."""
        self._number += 1
        copy = encode_copy(self._number, saved)
        for at in COPIES_AT:
            self._file.write_at(at, copy)

    async def flush(self) -> None:
        """Make the copies durable."""
        await self._file.flush(0, STATE_FILE_BYTES)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
