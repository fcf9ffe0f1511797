"""Leader epochs and their first offsets (Kafka: ``LeaderEpochFileCache`` over ``LeaderEpochCheckpointFile``).

A text file next to the segments, replaced as a whole: a version, the number of entries, then ``epoch start-offset``
lines::

    0
    1
    0 0

With one broker there is one leader; the file is what Kafka expects to find, and an existing one is kept. With several,
a follower uses it to ask its leader up to where their logs agree (KIP-101).
"""

from __future__ import annotations

from engine.runtime.port import Disk

FILE_NAME = "leader-epoch-checkpoint"
_VERSION = "0"


class LeaderEpochs:
    """The epochs of one partition."""

    def __init__(self, disk: Disk, folder: str) -> None:
        """Read the file. One that cannot be read counts as missing, and is written again with the next append."""
        self._disk = disk
        self._path = f"{folder}/{FILE_NAME}"
        self.starts: list[tuple[int, int]] = _parsed(disk.read_whole(self._path)) if disk.exists(self._path) else []

    @property
    def latest(self) -> int:
        """Return the newest epoch; -1 before the first."""
        return self.starts[-1][0] if self.starts else -1

    def appended(self, epoch: int, offset: int) -> None:
        """Note that the leader of ``epoch`` writes at ``offset``."""
        if epoch > self.latest:
            self.starts.append((epoch, offset))
            self._write()

    def end_of(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Return the newest epoch that is not newer than ``epoch``, and its end; -1, -1 if there is no such epoch or
        ``epoch`` is in the future.

        Kafka: ``LeaderEpochFileCache.endOffsetFor``.
        """
        if epoch > self.latest:
            return -1, -1
        found, end_offset = -1, log_end_offset
        for number, start_offset in self.starts:
            if number > epoch:
                end_offset = start_offset
                break
            found = number
        return (found, end_offset) if found >= 0 else (-1, -1)

    def begins_at(self, log_start_offset: int) -> None:
        """Drop the epochs before the start offset, whose records have been deleted."""
        kept = [start for start in self.starts if start[1] > log_start_offset]
        gone = len(self.starts) - len(kept)
        starts = [(self.starts[gone - 1][0], log_start_offset), *kept] if gone else kept
        if starts != self.starts:
            self.starts = starts
            self._write()

    def ends_at(self, log_end_offset: int) -> None:
        """Drop the epochs after the end offset, whose records have been cut off."""
        kept = [start for start in self.starts if start[1] < log_end_offset]
        if kept != self.starts:
            self.starts = kept
            self._write()

    def _write(self) -> None:
        lines = [_VERSION, str(len(self.starts)), *(f"{epoch} {offset}" for epoch, offset in self.starts)]
        self._disk.write_whole(self._path, ("\n".join(lines) + "\n").encode())


def _parsed(data: bytes) -> list[tuple[int, int]]:
    try:
        version, count, *lines = data.decode("ascii").split("\n")
        starts = [(int(epoch), int(offset)) for epoch, offset in (line.split(" ") for line in lines[: int(count)])]
    except ValueError:
        return []
    return starts if version == _VERSION and len(starts) == int(count) else []
