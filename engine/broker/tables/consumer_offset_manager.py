"""The stored offsets of consumer groups (RocketMQ: ``ConsumerOffsetManager``).

Table: ``"topic@group"`` -> queue id -> offset of the next message to consume. The last writer wins: an offset smaller
than the stored one is also accepted, with a warning, because a client may rewind on purpose. Only an offset that an
operator has just reset is protected from older commits (:mod:`engine.broker.tables.offset_resets`).

Clients report every 5 s and ``consumerOffset.json`` is written every 5 s, so after a crash a group may receive up to
about 10 s of messages again: this is the reason for "at least once". A tool's change is written before it is answered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from typing import Any

from engine.broker.foundation.errors import ConfigNotSaved, TooManyEntries
from engine.broker.tables.offset_resets import BrokerOffsetResets
from engine.runtime.port import Clock, DiskFault
from engine.store.files.config_file import ConfigFile

logger = logging.getLogger("glassmq.broker")

TOPIC_GROUP_SEPARATOR = "@"


class ConsumerOffsetManager:
    """The stored offsets of all groups.

    :param config_file: ``consumerOffset.json``.
    :param max_entries: bound of topic-and-group pairs.
    :ivar resets: recently reset offsets.
    """

    def __init__(self, config_file: ConfigFile, clock: Clock, max_entries: int = 100_000) -> None:
        self.resets = BrokerOffsetResets(clock)
        self.offset_table: dict[str, dict[int, int]] = {}
        self._config_file = config_file
        self._max_entries = max_entries
        self._is_changed = False
        self._writing = asyncio.Lock()
        #: The number of deletions that are not durable yet: until then the file is not written.
        self._unfinished_deletions = 0

    def commit_offset(self, remote_address: str, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Store ``offset`` as the next offset that ``group`` consumes. Raises :class:`TooManyEntries`."""
        key = f"{topic}{TOPIC_GROUP_SEPARATOR}{group}"
        offsets = self.offset_table.get(key)
        if offsets is None:
            if len(self.offset_table) >= self._max_entries:
                raise TooManyEntries("pairs of topic and group with offsets", self._max_entries)
            offsets = self.offset_table[key] = {}
        known = offsets.get(queue_id)
        if known is not None and offset < known:
            logger.warning(
                "%s takes group %s back on %s queue %d: from offset %d to %d",
                remote_address,
                group,
                topic,
                queue_id,
                known,
                offset,
            )
        if known != offset:
            offsets[queue_id] = offset
            self._is_changed = True

    def lets_commit(self, remote_address: str, group: str, topic: str, queue_id: int, offset: int) -> bool:
        """Return True if a member may store ``offset``, which must not be older than a reset."""
        if not self.resets or self.resets.lets_commit(group, topic, queue_id, offset):
            return True
        logger.info(
            "%s confirms offset %d of %s queue %d for group %s, whose offset was reset after that: it is not stored",
            remote_address,
            offset,
            topic,
            queue_id,
            group,
        )
        return False

    def query_offset(self, group: str, topic: str, queue_id: int) -> int:
        """Return the stored offset, -1 if absent."""
        offsets = self.offset_table.get(f"{topic}{TOPIC_GROUP_SEPARATOR}{group}")
        return -1 if offsets is None else offsets.get(queue_id, -1)

    def offsets_of(self, group: str, topic: str) -> dict[int, int]:
        """Return the stored offsets by queue id."""
        return dict(self.offset_table.get(f"{topic}{TOPIC_GROUP_SEPARATOR}{group}", {}))

    def clone_offset(self, source_group: str, group: str, topic: str) -> None:
        """Copy the offsets of ``source_group`` on ``topic`` to ``group``. Raises :class:`TooManyEntries`."""
        offsets = self.offsets_of(source_group, topic)
        if not offsets:
            return
        key = f"{topic}{TOPIC_GROUP_SEPARATOR}{group}"
        if key not in self.offset_table and len(self.offset_table) >= self._max_entries:
            raise TooManyEntries("pairs of topic and group with offsets", self._max_entries)
        self.offset_table[key] = offsets
        self.resets.end_all(group, topic)
        self._is_changed = True

    def remove_topic(self, topic: str) -> None:
        """Delete the offsets of all groups on ``topic``."""
        self._remove([key for key in self.offset_table if key.partition(TOPIC_GROUP_SEPARATOR)[0] == topic])

    def remove_group(self, group: str) -> None:
        """Delete the offsets of ``group`` on all topics."""
        self._remove([key for key in self.offset_table if key.partition(TOPIC_GROUP_SEPARATOR)[2] == group])

    def _remove(self, keys: list[str]) -> None:
        for key in keys:
            logger.warning("the offsets of %s are removed", key)
            del self.offset_table[key]
            topic, _, group = key.partition(TOPIC_GROUP_SEPARATOR)
            self.resets.end_all(group, topic)
            self._is_changed = True

    @contextmanager
    def kept_in_the_file(self) -> Iterator[None]:
        """Prevent writes of the file inside this context.

        During the deletion of a topic the file must keep the offsets until the topic is gone: after a crash, a topic
        without its offsets would let its groups skip messages.
        """
        self._unfinished_deletions += 1
        try:
            yield
        finally:
            self._unfinished_deletions -= 1

    def to_dict(self) -> dict[str, object]:
        """Return the content of ``consumerOffset.json``."""
        return {"offsetTable": self.offset_table}

    def topics_of_group(self, group: str) -> list[str]:
        """Return the topics on which ``group`` has stored offsets."""
        return [topic for topic, known_group, _ in self.entries() if known_group == group]

    def groups_of_topic(self, topic: str) -> list[str]:
        """Return the groups with stored offsets on ``topic``."""
        return [group for known_topic, group, _ in self.entries() if known_topic == topic]

    def entries(self) -> Iterator[tuple[str, str, dict[int, int]]]:
        """Yield all offsets as tuples of topic, group and a map from queue id to offset."""
        for key, offsets in self.offset_table.items():
            topic, separator, group = key.partition(TOPIC_GROUP_SEPARATOR)
            if separator:
                yield topic, group, offsets

    def cut_offsets(self, max_offset_of: Callable[[str, int], int]) -> None:
        """Cut offsets past the end of their queues, ``max_offset_of(topic, queue_id)``, after a loss of messages.

        A crash may lose messages that were not flushed but keep the newer offset file; the group would then skip the
        messages that get those offsets next.
        """
        for topic, group, offsets in self.entries():
            for queue_id, offset in offsets.items():
                max_offset = max_offset_of(topic, queue_id)
                if offset <= max_offset:
                    continue
                logger.warning(
                    "group %s on %s queue %d is set back from offset %d to %d: the messages between are lost, "
                    "or there were none",
                    group,
                    topic,
                    queue_id,
                    offset,
                    max_offset,
                )
                offsets[queue_id] = max_offset
                self._is_changed = True

    def forget_unknown_topics(self, known: Container[str]) -> None:
        """Delete offsets on unknown topics after a start: a crash in the middle of a deletion left them."""
        for topic in dict.fromkeys(topic for topic, _, _ in self.entries()):
            if topic not in known:
                self.remove_topic(topic)

    def load(self) -> None:
        """Read ``consumerOffset.json``; invalid offsets are left out with a warning."""
        content = self._config_file.load()
        if content is not None:
            self._read(content)

    def take_over(self, content: dict[str, Any]) -> None:
        """Replace the table by a copy of another broker's, in the file's format. Raises ``MalformedBody`` for another
        shape.
        """
        self._config_file.check(content)
        known, self.offset_table = self.offset_table, {}
        self._read(content)
        self._is_changed |= self.offset_table != known

    def _read(self, content: dict[str, Any]) -> None:
        table = content.get("offsetTable")
        for key, offsets in table.items() if isinstance(table, dict) else ():
            for queue_id, offset in offsets.items() if isinstance(offsets, dict) else ():
                if queue_id.isascii() and queue_id.isdigit() and isinstance(offset, int) and offset >= 0:
                    self.offset_table.setdefault(key, {})[int(queue_id)] = offset
                else:
                    logger.warning("consumerOffset.json: %s queue %s is left out: %r", key, queue_id, offset)
                    self._config_file.keep_aside()

    async def persist(self) -> None:
        """Wait until all changes so far are in ``consumerOffset.json``. Raises :class:`ConfigNotSaved`.

        Callers that arrive while it is written share the next write.
        """
        async with self._writing:
            if not self._is_changed or self._unfinished_deletions:
                return
            self._is_changed = False
            table = {key: dict(offsets) for key, offsets in self.offset_table.items()}
            try:
                await self._config_file.save_off_loop(lambda: {"offsetTable": table})
            except DiskFault as fault:
                self._is_changed = True
                raise ConfigNotSaved(f"offsets could not be saved: {fault}") from fault
