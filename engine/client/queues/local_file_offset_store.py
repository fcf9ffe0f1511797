"""The progress store of broadcasting consumers, in a local file (RocketMQ: ``LocalFileOffsetStore``).

The file ``<client id>/<group>/offsets.json`` has RocketMQ's own format, with queues as keys of the JSON object; the
previous version is kept as ``.bak`` and is read if the file itself is unreadable.

The file is read at the start and only written from then on: while the consumer runs it uses the offsets in memory, so
that a file that cannot be written has no effect before the next start. RocketMQ reads the file whenever it acquires a
queue, writes only the queues that it owns at that moment, and repeatedly begins a queue at an old offset if the file
cannot be written.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from engine.client.foundation.errors import MQClientError
from engine.client.queues.offset_table import ConsumerOffsetTable
from engine.protocol.body.bodies import ResetOffsetBody, offsets_of
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.errors import MalformedBody
from engine.protocol.json_form.json_text import loads_json_object
from engine.runtime.port import Disk, DiskFault
from engine.runtime.step import step

_log = logging.getLogger("glassmq.client")


class OffsetFileUnreadable(MQClientError):
    """Neither the offsets file nor its backup can be read."""


class LocalFileOffsetStore(ConsumerOffsetTable):
    """Implements :class:`~engine.client.queues.offset_store.OffsetStore`.

    :param disk: the node's disk; its folder takes the place of ``~/.rocketmq_offsets``.
    :ivar failure: why the last write of the file failed; None: it succeeded.
    """

    def __init__(self, disk: Disk, client_id: str, group: str) -> None:
        super().__init__()
        self._disk = disk
        self.path = f"{client_id}/{group}/offsets.json"
        self.failure: str | None = None
        #: The file's last good content, which the next write keeps as the backup.
        self._written: bytes | None = None
        #: Unreadable content of the file: it is kept next to it, as ``.damaged``, before the first write.
        self._damaged: bytes | None = None
        #: The content of the file now, or as soon as it can be written. No queue is ever removed: a queue that is
        #: released for a moment, or whose broker is offline, continues at its offset.
        self._kept: dict[MessageQueue, int] = {}

    async def load(self) -> None:
        """Read the file, or its backup. Raises :class:`OffsetFileUnreadable` if both are damaged."""
        self._kept = self._read()
        for queue, offset in self._kept.items():
            self.update_offset(queue, offset, increase_only=False)

    async def read_offset_from_store(self, queue: MessageQueue) -> int | None:
        offset = self._kept.get(queue)
        if offset is not None:
            self.update_offset(queue, offset, increase_only=False)
        return offset

    async def persist_all(self, queues: Iterable[MessageQueue]) -> None:
        """Write the file with the offsets of ``queues``; those of other queues stay as they are."""
        await step("reads the offsets to persist")
        self._keep(queues)

    async def persist(self, queue: MessageQueue) -> None:
        """Write the file with one queue's offset changed. (RocketMQ 4.9.8 leaves that to ``persist_all``.)"""
        await step("reads the offset to persist")
        self._keep((queue,))

    def _read(self) -> dict[MessageQueue, int]:
        failures = []
        for path in (self.path, self.path + ".bak"):
            content = b""
            try:
                if not self._disk.exists(path):
                    continue
                content = self._disk.read_whole(path)
                if content.strip():
                    offsets = _offsets_in(content)
                    self._written = content
                    return offsets
                failures.append(f"{path} is empty")
            except MalformedBody as error:
                _log.error("%s cannot be read: %s", path, error)
                self._damaged = content if path == self.path else self._damaged
                failures.append(f"{path}: {error}")
            except DiskFault as error:
                failures.append(f"{path}: {error}")
        if failures:
            raise OffsetFileUnreadable(
                f"the local offsets cannot be read ({'; '.join(failures)}); remove the file to start over"
            )
        return {}

    def _keep(self, queues: Iterable[MessageQueue]) -> None:
        for queue in queues:
            offset = self.offset_in_memory(queue)
            if offset is not None:
                self._kept[queue] = offset
        if not self._kept:
            return
        content = ResetOffsetBody(self._kept).to_json()
        try:
            if self._damaged is not None:
                self._disk.write_whole(self.path + ".damaged", self._damaged)
                self._damaged = None
            if self._written is not None:
                self._disk.write_whole(self.path + ".bak", self._written)
            self._disk.write_whole(self.path, content)
        except DiskFault as error:
            if self.failure is None:
                _log.warning("the local offsets cannot be written; that is tried again every few seconds: %s", error)
            self.failure = str(error)
            return
        if self.failure is not None:
            _log.info("the local offsets are written again, to %s", self.path)
        self.failure, self._written = None, content


def _offsets_in(content: bytes) -> dict[MessageQueue, int]:
    """Parse the offsets. Raises :class:`MalformedBody`, also for a missing table, which would mean no progress."""
    table = loads_json_object(content, "the file", values_max=None).get("offsetTable")
    if table is None:
        raise MalformedBody("field 'offsetTable' is missing; message queues with offsets are expected")
    return offsets_of(table, "offsetTable")
