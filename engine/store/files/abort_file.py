"""The file ``abort``: it exists while a store runs, so a start that finds it knows of a crash. RocketMQ's is empty.

This one also names the boot of the machine in which the store runs, and the position up to which its log is known to be
on disk. So a start can distinguish a killed process, which loses nothing that it had written, from a crash of the
machine, which may lose sectors that were not flushed.
"""

from __future__ import annotations

from engine.protocol.errors import ProtocolError
from engine.protocol.json_form.json_fields import get_integer, get_text
from engine.protocol.json_form.json_text import dumps_json, loads_json_object
from engine.runtime.port import Disk

PATH = "abort"


class AbortFile:
    """The abort file of one store."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    @property
    def exists(self) -> bool:
        """Return whether a store runs, or the last one did not shut down."""
        return self._disk.exists(PATH)

    def write(self, flushed_offset: int) -> None:
        """Record that a store is running whose log is on disk up to ``flushed_offset``. Raises ``DiskFault``."""
        self._disk.write_whole(PATH, dumps_json({"bootId": self._disk.boot_id, "flushedOffset": flushed_offset}))

    def flushed_before_machine_crash(self) -> int | None:
        """Return the position up to which the log was known to be on disk when the machine crashed.

        None if it did not crash, or if there is no way to know. Raises ``DiskFault``.
        """
        try:
            content = loads_json_object(self._disk.read_whole(PATH), PATH)
            boot_id, flushed_offset = get_text(content, "bootId"), get_integer(content, "flushedOffset")
        except ProtocolError:
            return None  # RocketMQ's, which is empty
        is_same_run = not boot_id or not self._disk.boot_id or boot_id == self._disk.boot_id
        return None if is_same_run else flushed_offset

    def remove(self) -> None:
        """Delete the file after a shutdown of the store. Raises ``DiskFault``."""
        self._disk.remove(PATH)
