"""Follows a message through the copies that the live broker stores: see app.observation.message_trail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.foundation.json_types import JsonObject
from app.observation.bounds import TOPICS_MAX, client_text
from app.observation.message_trail import TRAILS_MAX, Subscription, TrailFacts, trail_of
from engine.broker.delivery.dead_letter import COPIES_MAX
from engine.protocol.enums import ExpressionType
from engine.protocol.errors import ProtocolError
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.message.message_copies import destination, group_of_copy, identity
from engine.protocol.message.message_id import decode_offset_message_id

if TYPE_CHECKING:
    from engine.broker.broker import Broker

_END_OF_TIME_MS = 2**62


class StoredTrail:
    """Finds the trails of messages. All methods read the store and must run in the engine's thread."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._store = broker.store

    def trails(self, name: str, topic: str | None) -> list[JsonObject]:
        """Return the trails of the messages with that unique id, offset message id or key, the newest one first.

        :param topic: where to search for the key; None means everywhere.
        """
        topics = self._store.topics()[: 5 * TOPICS_MAX]
        found = self._called([topic] if topic is not None else topics, name) or self._at_offset_id(name)
        newest_first = sorted(found, key=lambda message: message.commit_log_offset, reverse=True)
        ids = list({identity(message): message for message in newest_first}.items())
        return [self._trail(topics, message) for _, message in ids[:TRAILS_MAX]]

    def _trail(self, topics: list[str], message: MessageExt) -> JsonObject:
        # Without a unique id all copies have the same first key, if any.
        name = message.unique_id or (message.keys[0] if message.keys else "")
        same = [copy for copy in self._called(topics, name) if identity(copy) == identity(message)] if name else []
        copies = same or [message]
        for copy in copies:
            copy.broker_name = self._broker.config.broker_name
        return trail_of(copies, self._facts(copies))

    def _called(self, topics: list[str], name: str) -> list[MessageExt]:
        if not self._store.config.message_index_enable:
            return []
        found: list[MessageExt] = []
        for topic in topics:
            buffers = self._store.query_message(topic, name, COPIES_MAX, 0, _END_OF_TIME_MS).buffers
            messages = [decode_stored_message(buffer) for buffer in buffers]
            found += [message for message in messages if name in (message.unique_id, *message.keys)]
        return found

    def _at_offset_id(self, name: str) -> list[MessageExt]:
        try:
            _, offset = decode_offset_message_id(name)
        except (ProtocolError, ValueError):
            return []
        message = self._store.message_at(offset) if offset >= 0 else None
        return [message] if message is not None and message.offset_message_id == name.upper() else []

    def _facts(self, copies: list[MessageExt]) -> TrailFacts:
        broker, name = self._broker, self._broker.config.broker_name
        topics = {copy.topic: None for copy in copies}
        committed = {
            (group, name, topic, queue_id): offset
            for topic, group, offsets in broker.consumer_offset_manager.entries()
            if topic in topics and not broker.subscription_group_manager.is_broadcasting(group)
            for queue_id, offset in offsets.items()
        }
        return TrailFacts(committed, broker.store_config.delay_levels_ms, self._subscriptions(copies))

    def _subscriptions(self, copies: list[MessageExt]) -> dict[str, Subscription]:
        """Return the online groups that subscribe to the message's topic."""
        topic = next((destination(copy) for copy in copies if group_of_copy(copy) is None), "")
        tag = copies[0].tags
        found: dict[str, Subscription] = {}
        for info in self._broker.consumer_manager:
            data = info.subscription_table.get(topic)
            if data is not None:
                is_tags = data.expression_type == ExpressionType.TAG
                wants = data.matches_tag(tag) if is_tags else None
                found[info.group_name] = Subscription(client_text(data.sub_string), wants)
        return found
