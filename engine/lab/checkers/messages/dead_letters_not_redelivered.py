"""Checker: a dead letter is not delivered again.

Anomaly: *duplicate*. A message went to the dead-letter topic of a group and is delivered to that group again.

Fault model: any, with one exception. RocketMQ delivers at least once: when a message was delivered twice (its queue
changed owners, an answer was lost, a broker forgot a delay offset in a crash), each delivery has its own path through
the retries, and one may end as a dead letter while the other continues. So the claim is about messages with a single
path: no position was delivered twice, and no two copies have the same retry count. No message of the dead-letter topic
is ever delivered unless a consumer subscribes to it; that is claimed for all messages. An operator who resends a dead
letter (``resend-dead-letter``) stores a new message for delivery: it is no longer dead.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker, has_clustering_group
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import ConsumeBegan
from engine.lab.witness.logged_message import LoggedMessage
from engine.protocol.names import group_of_retry_or_dlq_topic
from engine.texts import Text


class DeadLettersNotRedelivered(Checker):
    """Check that dead letters are not redelivered."""

    name = "dead-letters-not-redelivered"
    anomaly = Anomaly.DUPLICATE
    applies = staticmethod(has_clustering_group)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: (group, broker, topic, queue id, offset) of every delivery.
        self._delivered: dict[tuple[str, str, str, int, int], None] = {}
        #: (group, unique key, retry count, topic: of delayed, retried or dead messages) of every copy.
        self._copies: dict[tuple[str, str, int, str], None] = {}
        #: (group, unique key) of messages with several paths.
        self._several_ways: dict[tuple[str, str], None] = {}

    def message_stored(self, message: LoggedMessage) -> None:
        group = group_of_retry_or_dlq_topic(message.destination)
        if group is None:
            return
        copy = (group, message.unique_key, message.reconsume_times, message.topic)
        if copy in self._copies:
            self._several_ways[group, message.unique_key] = None
        self._copies[copy] = None

    def consume_began(self, entry: ConsumeBegan) -> None:
        group = self.watch.groups.get(entry.group)
        message = self.watch.message_at(entry.broker, entry.topic, entry.queue_id, entry.queue_offset)
        if group is None or message is None:
            return
        position = (entry.group, entry.broker, entry.topic, entry.queue_id, entry.queue_offset)
        if position in self._delivered:
            self._several_ways[entry.group, message.unique_key] = None
        self._delivered[position] = None
        if message.topic == group.dead_letter_topic and group.topic != group.dead_letter_topic:
            self._report(entry, self.text("from_dead_letters"))
        elif message.unique_key in group.dead and (entry.group, message.unique_key) not in self._several_ways:
            self._report(entry, self.text("is_dead"))

    def _report(self, entry: ConsumeBegan, what: Text) -> None:
        self.report(
            {"group": entry.group, "message": entry.key, "node": entry.node, "topic": entry.topic},
            self.text("found", entry=entry, what=what),
        )
