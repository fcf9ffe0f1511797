"""Topics and their queues, with the offsets that groups have committed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from app.observation.bounds import (
    OFFSET_PAIRS_MAX,
    QUEUES_MAX,
    QUEUES_PER_TOPIC_MAX,
    TOPICS_FOUND_MAX,
    TOPICS_MAX,
)
from app.observation.unchanged import Unchanged
from app.picture.topic import FoundTopic, FoundTopics, Queue, Topic, TopicKind
from engine.protocol.names import is_dlq_topic, is_retry_topic, reply_topic

if TYPE_CHECKING:
    from engine.broker.broker import Broker
    from engine.protocol.body.topic_config import TopicConfig
    from engine.store.message_store import MessageStore

#: topic -> queue id -> group -> committed offset.
Committed = dict[str, dict[int, dict[str, int]]]

_NOTHING: dict[int, dict[str, int]] = {}
_KIND_ORDER = {"normal": 0, "retry": 1, "dlq": 2, "system": 3}


class TopicsView:
    """Builds the ``topics`` part of the state."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._reply_topic = reply_topic(broker.config.cluster_name)
        self._kinds: dict[str, TopicKind] = {}
        self._unchanged = Unchanged[Topic]()
        self._left_out: list[str] = []
        #: When the messages of these topics were counted, and their number.
        self._counted: tuple[int, int] = (0, 0)

    def build(self, committed: Committed) -> tuple[dict[str, Topic], int]:
        """Return the topics, and how many were left out."""
        table = self._broker.topic_config_manager.topic_config_table
        if len(self._kinds) > 2 * len(table):
            self._kinds.clear()
        ages = {name: age for age, name in enumerate(table)}
        names = sorted(table, key=lambda name: (_KIND_ORDER[self.kind(name)], name))
        room = QUEUES_MAX
        topics: dict[str, Topic] = {}
        for name in names[:TOPICS_MAX]:
            topics[name] = view = self._topic(table[name], ages[name], committed.get(name, _NOTHING), room)
            room -= len(view["queues"])
        self._left_out = names[TOPICS_MAX:]
        return self._unchanged.reuse(topics), len(self._left_out)

    def messages_left_out(self, now_ms: int) -> int:
        """Return the number of users' messages in the topics that the last :meth:`build` left out. There may be ten
        thousand queues: they are counted again only when ``now_ms`` has changed, so once a second.
        """
        if self._counted[0] != now_ms:
            names = [name for name in self._left_out if self.kind(name) != "system"]
            self._counted = now_ms, sum(map(self._stored, names))
        return self._counted[1]

    def _stored(self, topic: str) -> int:
        store, queues = self._broker.store, range(self._broker.topic_config_manager.known_topic(topic).queue_nums)
        return sum(store.max_offset(topic, queue_id) - store.min_offset(topic, queue_id) for queue_id in queues)

    def find(self, text: str) -> FoundTopics:
        """Return all topics whose name contains ``text``, ignoring case: also those that :meth:`build` leaves out."""
        table = self._broker.topic_config_manager.topic_config_table
        names = sorted(name for name in table if text.lower() in name.lower())
        topics: dict[str, FoundTopic] = {}
        for name in names[:TOPICS_FOUND_MAX]:
            topics[name] = {"kind": self.kind(name), "queues": table[name].queue_nums, "stored": self._stored(name)}
        return {"topics": topics, "omitted": len(names) - len(topics)}

    def kind(self, topic: str) -> TopicKind:
        """Return ``normal``, ``retry``, ``dlq`` or ``system``."""
        kind = self._kinds.get(topic)
        if kind is None:
            if is_retry_topic(topic):
                kind = "retry"
            elif is_dlq_topic(topic):
                kind = "dlq"
            elif self._broker.topic_config_manager.is_system_topic(topic) or topic == self._reply_topic:
                kind = "system"
            else:
                kind = "normal"
            self._kinds[topic] = kind
        return kind

    def _topic(self, config: TopicConfig, age: int, committed: dict[int, dict[str, int]], room: int) -> Topic:
        """Return one topic with at most ``room`` queues. Queues of system topics are shown only once they were used:
        BenchmarkTest alone has 1,024.
        """
        topic = config.topic_name
        kind = self.kind(topic)
        store = self._broker.store
        limit = min(room, QUEUES_PER_TOPIC_MAX)
        count = config.queue_nums
        queues: dict[str, Queue] = {}
        omitted = 0
        for queue_id in range(count):
            max_offset = store.max_offset(topic, queue_id)
            if max_offset == 0 and kind == "system":
                continue
            if len(queues) >= limit:
                omitted = count - queue_id
                break
            queues[str(queue_id)] = queue_view(store, topic, queue_id, committed.get(queue_id, {}))
        return {
            "age": age,
            "kind": kind,
            "perm": config.perm,
            "read_queues": config.read_queue_nums,
            "write_queues": config.write_queue_nums,
            "queues": queues,
            "omitted_queues": omitted,
        }


def queue_view(store: MessageStore, topic: str, queue_id: int, committed: dict[str, int]) -> Queue:
    """Return a queue with the offset that each group has committed."""
    minimum, maximum = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
    return {"min": minimum, "max": maximum, "committed": committed}


def committed_offsets(broker: Broker) -> Committed:
    """Return committed offsets by topic, queue and group, of at most :data:`OFFSET_PAIRS_MAX` pairs of topic and group.

    Groups that broadcast are left out: their offsets are no progress.
    """
    manager, is_broadcasting = broker.consumer_offset_manager, broker.subscription_group_manager.is_broadcasting
    committed: Committed = {}
    for topic, group, offsets in islice(manager.entries(), OFFSET_PAIRS_MAX):
        if is_broadcasting(group):
            continue
        of_topic = committed.setdefault(topic, {})
        for queue_id, offset in offsets.items():
            of_topic.setdefault(queue_id, {})[group] = offset
    return committed
