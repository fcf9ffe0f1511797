"""Finds messages in the live store: by key, by unique id, by position."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from app.foundation.json_types import JsonObject
from app.observation.bounds import TOPICS_MAX
from app.observation.record_view import message_summary
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_messages

if TYPE_CHECKING:
    from engine.broker.broker import Broker

#: Later than any message.
_END_OF_TIME_MS = 2**62


class MessageSearch:
    """Search for messages in the store. All methods must run in the engine's thread."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def by_key(self, topic: str, key: str, limit: int) -> list[JsonObject]:
        """Return messages of ``topic`` that have ``key`` among their keys or as their unique id, newest first."""
        return _newest_first(self._query(topic, key, limit), limit)

    def by_unique_id(self, unique_id: str, topic: str | None, limit: int) -> list[JsonObject]:
        """Return messages with the client-made id; without ``topic``, from the first topics that the broker has.

        The same id may occur twice: a producer that retries sends it again.
        """
        topics = [topic] if topic is not None else self._topics_with_messages()
        found: list[MessageExt] = []
        for name in topics:
            found += self._query(name, unique_id, limit, is_unique_id=True)
            if len(found) >= limit:
                break
        return _newest_first(found, limit)

    def record_at(self, offset: int) -> bytes | None:
        """Return the record that starts at commit-log ``offset``."""
        return self._broker.store.commit_log.record_at(offset)

    def queue_entries(self, topic: str, queue_id: int, start: int, count: int) -> list[tuple[int, int, int]] | None:
        """Return at most ``count`` consume-queue entries from ``start`` on; None when there is no such queue."""
        config = self._broker.topic_config_manager.select_topic_config(topic)
        entries = self._broker.store.consume_queue_entries(topic, queue_id, start, count)
        if config is None or queue_id >= config.queue_nums:
            return entries or None
        return entries

    def _query(self, topic: str, key: str, limit: int, *, is_unique_id: bool = False) -> list[MessageExt]:
        store = self._broker.store
        result = store.query_message(topic, key, limit, 0, _END_OF_TIME_MS, is_unique_id=is_unique_id)
        return [message for buffer in result.buffers for message in decode_messages(buffer, decompress=False)]

    def _topics_with_messages(self) -> list[str]:
        return self._broker.store.topics()[: 5 * TOPICS_MAX]


def _newest_first(messages: Iterable[MessageExt], limit: int) -> list[JsonObject]:
    ordered = sorted(messages, key=lambda message: message.commit_log_offset, reverse=True)
    return [{**message_summary(message)} for message in ordered[:limit]]
