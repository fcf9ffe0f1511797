"""Progress kept in a file of this machine, as broadcasting consumers do (RocketMQ: ``LocalFileOffsetStore``).

The file ``<client id>/<group>/offsets.json`` has RocketMQ's own format, with queues as keys of the JSON object; the
version before lies beside it as ``.bak`` and is read when the file itself cannot be.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from engine.client.foundation.errors import MQClientError
from engine.client.queues.offset_table import OffsetTable
from engine.protocol.body.bodies import ResetOffsetBody, offsets_of
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.errors import MalformedBody
from engine.protocol.json_form.json_text import loads_json_object
from engine.runtime.port import Disk, DiskFault
from engine.runtime.step import step

_log = logging.getLogger("glassmq.client")


class OffsetFileUnreadable(MQClientError):
    """Neither the offsets file nor its backup can be read."""


class LocalFileOffsetStore(OffsetTable):
    """Implements :class:`~engine.client.queues.offset_store.OffsetStore`.

    :param disk: the node's disk; its folder plays the part of ``~/.rocketmq_offsets``.
    """

    def __init__(self, disk: Disk, client_id: str, group: str) -> None:
        super().__init__()
        self._disk = disk
        self.path = f"{client_id}/{group}/offsets.json"

    async def load(self) -> None:
        """Read the file, or its backup. Raises :class:`OffsetFileUnreadable` when both are broken."""
        for queue, offset in self._read().items():
            self.update_offset(queue, offset, increase_only=False)

    async def read_offset_from_store(self, queue: MessageQueue) -> int | None:
        """Read the file again. See :class:`~engine.client.queues.offset_store.OffsetStore`."""
        offset = self._read().get(queue)
        if offset is not None:
            self.update_offset(queue, offset, increase_only=False)
        return offset

    async def persist_all(self, queues: Iterable[MessageQueue]) -> None:
        """Write the offsets of ``queues``. See :class:`~engine.client.queues.offset_store.OffsetStore`."""
        await step("reads the offsets to persist")
        self._write({queue: offset for queue in queues if (offset := self.offset_in_memory(queue)) is not None})

    async def persist(self, queue: MessageQueue) -> None:
        """Write the file with one queue's offset changed. (RocketMQ 4.9.8 leaves that to ``persist_all``.)"""
        await step("reads the offset to persist")
        offset = self.offset_in_memory(queue)
        if offset is not None:
            try:
                self._write(self._read() | {queue: offset})
            except OffsetFileUnreadable as error:
                _log.warning("offset %d of %s was not stored: %s", offset, queue, error)

    def _read(self) -> dict[MessageQueue, int]:
        failures = []
        for path in (self.path, self.path + ".bak"):
            try:
                if not self._disk.exists(path):
                    continue
                content = self._disk.read_whole(path)
                if content.strip():
                    return _offsets_in(content)
                failures.append(f"{path} is empty")
            except (MalformedBody, DiskFault) as error:
                failures.append(f"{path}: {error}")
        if failures:
            raise OffsetFileUnreadable(
                f"the local offsets cannot be read ({'; '.join(failures)}); remove the file to begin anew"
            )
        return {}

    def _write(self, offsets: dict[MessageQueue, int]) -> None:
        if not offsets:
            return
        try:
            if self._disk.exists(self.path):
                self._keep(self._disk.read_whole(self.path))
            self._disk.write_whole(self.path, ResetOffsetBody(offsets).to_json())
        except DiskFault as error:
            _log.warning("the local offsets were not written, the next round tries again: %s", error)

    def _keep(self, content: bytes) -> None:
        """What the file holds becomes the backup, unless it cannot be read."""
        try:
            _offsets_in(content)
        except MalformedBody as error:
            _log.error("%s: %s; it is kept as %s.damaged", self.path, error, self.path)
            self._disk.write_whole(self.path + ".damaged", content)
        else:
            self._disk.write_whole(self.path + ".bak", content)


def _offsets_in(content: bytes) -> dict[MessageQueue, int]:
    """Raises :class:`MalformedBody`, also where there is no table: that would be taken for no progress."""
    table = loads_json_object(content, "the file").get("offsetTable")
    if table is None:
        raise MalformedBody("field 'offsetTable' is missing; message queues with offsets are expected")
    return offsets_of(table, "offsetTable")
