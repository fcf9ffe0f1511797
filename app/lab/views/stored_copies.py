"""Every copy of every message that the brokers of a world store: the source of a message's life and of dead letters.

A message that is retried is stored again at each step: in the topic of delayed messages, in the retry topic, in the
dead-letter topic. Its key and unique id stay the same, and its properties say where it came from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from app.lab.views.client_view import world_us
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_copies import delay_level, first_topic, group_of_copy, kind_of_copy
from engine.protocol.message.message_properties import PROPERTY_RESENT_DEAD_LETTER

if TYPE_CHECKING:
    from engine.lab.nodes.broker_node import BrokerNode
    from engine.store.message_store import MessageStore


class StoredCopyView(NamedTuple):
    """One record of a broker's commit log.

    ``kind``: see :class:`~engine.protocol.message.message_copies.CopyKind`. A delayed one waits until ``due_us``, to be
    delivered to ``group`` again (None: to all groups for the first time). ``resends``: the offset message id of the
    dead letter that it, or the message that it is a retry of, was resent for, else empty.
    """

    kind: str
    stored_us: int
    broker: str
    offset: int
    topic: str
    queue_id: int
    queue_offset: int
    key: str
    message_id: str
    reconsume_times: int
    level: int
    due_us: int
    group: str | None
    resends: str
    offset_message_id: str
    first_topic: str


class BrokerCopies:
    """The copies of one broker over all its processes. Each record is read once."""

    def __init__(self, role: BrokerNode) -> None:
        self._role = role
        self._incarnation = -1
        self._position = 0
        #: Commit-log offset -> copy, in the order of the log.
        self.copies: dict[int, StoredCopyView] = {}
        #: Dead letters of all groups.
        self.dead: list[StoredCopyView] = []
        #: Copies that a power cut has taken.
        self.lost: list[StoredCopyView] = []
        #: Offset message id of a dead letter -> the copy as which it was resent.
        self.resent: dict[str, StoredCopyView] = {}

    def read_on(self) -> tuple[list[StoredCopyView], bool]:
        """Return the copies that are new since the last call, and whether older ones are gone, so that all must be read
        again.
        """
        broker = self._role.broker
        if broker is None or broker.recovery_report is None:
            return [], False
        is_another = self._role.incarnation != self._incarnation
        old: dict[int, StoredCopyView] = {}
        if is_another:
            self._incarnation, self._position = self._role.incarnation, broker.store.commit_log.min_offset
            old, self.copies, self.resent, self.dead = self.copies, {}, {}, []
        fresh = self._read(broker.store)
        gone = [copy for offset, copy in old.items() if self.copies.get(offset) != copy]
        self.lost += gone
        if not is_another:
            return fresh, False
        return [copy for copy in fresh if old.get(copy.offset) != copy], bool(gone)

    def _read(self, store: MessageStore) -> list[StoredCopyView]:
        fresh: list[StoredCopyView] = []
        end = store.commit_log.max_offset
        while self._position < end:
            message = store.message_at(self._position)
            if message is None:
                # The rest of this file is empty or damaged.
                file = store.commit_log.files.find(self._position)
                if file is None or file.end_offset <= self._position:
                    break
                self._position = file.end_offset
                continue
            self._position += message.store_size
            copy = self._copy(message, store.config.delay_levels_ms)
            if copy is None:
                continue
            self.copies[copy.offset] = copy
            fresh.append(copy)
            if copy.resends:
                # A power cut may take the resent message and leave a retry of it that its consumer sent later.
                self.resent.setdefault(copy.resends, copy)
            elif copy.kind == "dead":
                self.dead.append(copy)
        return fresh

    def _copy(self, message: MessageExt, delay_levels_ms: tuple[int, ...]) -> StoredCopyView | None:
        """Return the copy; None for a message that the scenario's clients did not send."""
        skew_ms = self._role.runtime.clock.skew_ms
        kind, level = kind_of_copy(message), delay_level(message)
        if kind is None or not message.keys:
            return None
        delay_ms = delay_levels_ms[level] if level < len(delay_levels_ms) else 0
        return StoredCopyView(
            kind,
            world_us(message.store_timestamp, skew_ms),
            self._role.name,
            message.commit_log_offset,
            message.topic,
            message.queue_id,
            message.queue_offset,
            message.keys[0],
            message.message_id,
            message.reconsume_times,
            level,
            world_us(message.store_timestamp + delay_ms, skew_ms) if level else 0,
            group_of_copy(message),
            message.properties.get(PROPERTY_RESENT_DEAD_LETTER, "") if kind in ("resent", "due") else "",
            message.offset_message_id,
            first_topic(message),
        )
