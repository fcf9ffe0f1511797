"""File ``abort``: it exists while a store runs, so a start that finds it knows of a crash. RocketMQ's is empty.

This one also says in which run of the machine the store runs, and up to where its log is known to be on the disk. So a
start can tell a killed process, which loses nothing of what it had written, from a crash of the machine, which may lose
sectors of what was not flushed.
"""

from __future__ import annotations

from engine.protocol.errors import ProtocolError
from engine.protocol.json_form.json_fields import get_integer, get_text
from engine.protocol.json_form.json_text import dumps_json, loads_json_object
from engine.runtime.port import Disk

PATH = "abort"


class AbortFile:
    """The file of one store."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    @property
    def exists(self) -> bool:
        """Whether a store runs, or the last one did not shut down."""
        return self._disk.exists(PATH)

    def write(self, flushed_offset: int) -> None:
        """Note that a store runs whose log is on the disk up to ``flushed_offset``. Raises ``DiskFault``."""
        self._disk.write_whole(PATH, dumps_json({"bootId": self._disk.boot_id, "flushedOffset": flushed_offset}))

    def flushed_before_machine_crash(self) -> int | None:
        """Up to where the log was known to be on the disk when the machine crashed; None: it did not crash, or there is
        nothing to tell it by. Raises ``DiskFault``.
        """
        try:
            content = loads_json_object(self._disk.read_whole(PATH), PATH)
            boot_id, flushed_offset = get_text(content, "bootId"), get_integer(content, "flushedOffset")
        except ProtocolError:
            return None  # RocketMQ's, which is empty
        is_same_run = not boot_id or not self._disk.boot_id or boot_id == self._disk.boot_id
        return None if is_same_run else flushed_offset

    def remove(self) -> None:
        """The store has shut down. Raises ``DiskFault``."""
        self._disk.remove(PATH)
