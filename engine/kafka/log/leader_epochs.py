"""Which leader wrote from which offset on (Kafka: ``LeaderEpochFileCache`` over ``LeaderEpochCheckpointFile``).

A text file beside the segments, replaced as a whole: a version, how many lines follow, then ``epoch start-offset``::

    0
    1
    0 0

Where there is one broker there is one leader; the file is what Kafka expects to find, and what it left is kept. Where
there are several, a follower asks its leader by it how far their logs are the same (KIP-101).
"""

from __future__ import annotations

from engine.runtime.port import Disk

FILE_NAME = "leader-epoch-checkpoint"
_VERSION = "0"


class LeaderEpochs:
    """The epochs of one partition."""

    def __init__(self, disk: Disk, folder: str) -> None:
        """What cannot be read counts as not there: it is written anew with the next append."""
        self._disk = disk
        self._path = f"{folder}/{FILE_NAME}"
        self.starts: list[tuple[int, int]] = _parsed(disk.read_whole(self._path)) if disk.exists(self._path) else []

    @property
    def latest(self) -> int:
        """The newest epoch; -1 before the first."""
        return self.starts[-1][0] if self.starts else -1

    def appended(self, epoch: int, offset: int) -> None:
        """The leader of that epoch writes at ``offset``."""
        if epoch > self.latest:
            self.starts.append((epoch, offset))
            self._write()

    def end_of(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(the newest epoch that is not newer than ``epoch``, where it ends); -1, -1: none is, or ``epoch`` is to come.

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
        """What lay before has been deleted."""
        kept = [start for start in self.starts if start[1] > log_start_offset]
        gone = len(self.starts) - len(kept)
        starts = [(self.starts[gone - 1][0], log_start_offset), *kept] if gone else kept
        if starts != self.starts:
            self.starts = starts
            self._write()

    def ends_at(self, log_end_offset: int) -> None:
        """What lay behind has been cut off."""
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
