"""The consume queues of a store (RocketMQ: ``DefaultMessageStore.consumeQueueTable``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from engine.protocol.errors import IllegalName
from engine.protocol.names import validate_topic
from engine.runtime.port import Disk
from engine.store.files.mapping_pool import MappingPool
from engine.store.queues.consume_queue import ConsumeQueue
from engine.store.queues.consume_queue_ext import FOLDER as EXT_FOLDER
from engine.store.queues.consume_queue_ext import ConsumeQueueExt

FOLDER: Final = "consumequeue"


class ConsumeQueueTable:
    """A table of consume queues by topic and queue id.

    :param file_size: size of a consume-queue file, bytes.
    :param ext_file_size: size of a file of a queue's extension; None: queues have no extension.
    """

    def __init__(self, disk: Disk, pool: MappingPool, file_size: int, ext_file_size: int | None = None) -> None:
        self._disk = disk
        self._pool = pool
        self._file_size = file_size
        self._ext_file_size = ext_file_size
        self._queues: dict[str, dict[int, ConsumeQueue]] = {}

    def get(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """Return the queue, or None if it has never had a message."""
        queues = self._queues.get(topic)
        return queues.get(queue_id) if queues is not None else None

    def get_or_create(self, topic: str, queue_id: int) -> ConsumeQueue:
        """Return the queue, created if need be. A new one has no files until it gets its first entry."""
        try:
            return self._queues[topic][queue_id]
        except KeyError:
            ext = None
            if self._ext_file_size is not None:
                ext = ConsumeQueueExt(self._disk, self._pool, topic, queue_id, self._ext_file_size)
            queue = ConsumeQueue(self._disk, self._pool, topic, queue_id, self._file_size, ext)
            self._queues.setdefault(topic, {})[queue_id] = queue
            return queue

    def __iter__(self) -> Iterator[ConsumeQueue]:
        """Yield all queues, by topic and queue id."""
        for topic in sorted(self._queues):
            queues = self._queues[topic]
            for queue_id in sorted(queues):
                yield queues[queue_id]

    def topics(self) -> list[str]:
        """Return all topics that have a queue, sorted."""
        return sorted(self._queues)

    def queue_ids(self, topic: str) -> list[int]:
        """Return the queue ids of ``topic``, sorted."""
        return sorted(self._queues.get(topic, ()))

    def load(self, look: Callable[[ConsumeQueue], object] | None = None) -> list[str]:
        """Find the queues that exist on disk and return a line for people for every file that does not belong there.

        ``look`` is called with each queue while its newest file is open.
        """
        remarks = []
        for topic in self._disk.list_folder(FOLDER):
            try:
                validate_topic(topic)
            except IllegalName as error:
                remarks.append(f"{FOLDER}/{topic} is ignored: {error}")
                continue
            for name in self._disk.list_folder(f"{FOLDER}/{topic}"):
                if name.isascii() and name.isdigit() and str(int(name)) == name:
                    queue = self.get_or_create(topic, int(name))
                    remarks += queue.load()
                    if look is not None:
                        look(queue)
                else:
                    remarks.append(f"{FOLDER}/{topic}/{name} is ignored: its name is not a queue id")
        return remarks

    def remove_topic(self, topic: str) -> int:
        """Delete all queues of ``topic`` with their files, and return how many there were."""
        queues = self._queues.pop(topic, {})
        for queue in queues.values():
            queue.remove_all()
        self._disk.remove(f"{FOLDER}/{topic}")
        if self._ext_file_size is not None:
            self._disk.remove(f"{EXT_FOLDER}/{topic}")
        return len(queues)

    def close(self) -> None:
        """Unmap all files."""
        for queue in self:
            queue.close()
