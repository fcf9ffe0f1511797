"""Backlog of each group over virtual time: what brokers have stored for it, and what it has reported as done.

The backlog (lag) of a group in a queue is the queue's end minus the group's stored offset: what a broker knows, and
what ``mqadmin consumerProgress`` prints as *Diff*. It includes messages in progress, and those that are done but not
reported yet: offsets are sent with pulls, and otherwise every 5 s. A group without a stored offset lags by the whole
queue. The queues are those of the topics that its members subscribe to, and of its retry topic.

Who watches a run samples it every tenth of a second of its time, and keeps what has changed. When there are too many
samples every other one goes, and from then on they are taken half as often: so a long run keeps its whole story in
bounded memory.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.broker.broker import Broker
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.scenario_node import WorldContext
from engine.protocol.names import retry_topic

FIRST_PERIOD_US = 100_000
SAMPLES_MAX = 400

#: (broker's node, topic, queue id)
QueueName = tuple[str, str, int]


class BacklogSample(NamedTuple):
    """State of one group at one moment.

    :ivar stored: messages in all its queues since the beginning.
    :ivar done: how many of them are before its stored offsets.
    :ivar lags: by queue, in the order of :attr:`GroupBacklog.queues`; a queue that came later is not in it.
    :ivar members: number of running consumers.
    :ivar owners: how many of these own a queue of its topics.
    """

    time_us: int
    stored: int
    done: int
    lags: tuple[int, ...]
    members: int
    owners: int

    @property
    def lag(self) -> int:
        """Return the sum over all queues."""
        return self.stored - self.done


class GroupBacklog:
    """Backlog of one group.

    :ivar queues: in the order in which they were first seen.
    :ivar samples: the oldest first.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.queues: dict[QueueName, int] = {}
        self.samples: list[BacklogSample] = []
        #: By queue: how many messages it has, and how many of them are done.
        self._counts: list[tuple[int, int]] = []

    def note(self, queue: QueueName, stored: int, done: int) -> None:
        """Note that ``queue`` holds ``stored`` messages now, ``done`` of which are done."""
        place = self.queues.setdefault(queue, len(self.queues))
        if place == len(self._counts):
            self._counts.append((0, 0))
        self._counts[place] = (stored, min(done, stored))

    def sample(self, time_us: int, members: int, owners: int) -> None:
        """Keep what was noted, if it has changed. A broker that is down counts with its last values."""
        stored, done = sum(count for count, _ in self._counts), sum(finished for _, finished in self._counts)
        lags = tuple([count - finished for count, finished in self._counts])
        now = BacklogSample(time_us, stored, done, lags, members, owners)
        if not self.samples or self.samples[-1][1:] != now[1:]:
            self.samples.append(now)

    def thin(self) -> None:
        """Drop every other sample; the first and the last stay."""
        last = self.samples[-1]
        self.samples = self.samples[::2]
        if self.samples[-1] is not last:
            self.samples.append(last)


class BacklogWatch:
    """Sample all clustering groups of a world.

    :ivar groups: by name, in the order of the scenario.
    """

    def __init__(self, world: WorldContext) -> None:
        self._world = world
        self.groups: dict[str, GroupBacklog] = {}
        #: Group -> its topics.
        self._topics: dict[str, dict[str, None]] = {}
        self._period_us = FIRST_PERIOD_US
        self._next_us = 0

    def after_event(self, number: int) -> None:
        """Take a sample if one is due; for ``LabRun.on_event``."""
        now_us = self._world.now_us
        if now_us < self._next_us:
            return
        self._next_us = now_us - now_us % self._period_us + self._period_us
        self._look_for_groups()
        for role in self._world.roles(BrokerNode):
            # Without an address it is still reading its files.
            if role.broker is not None and role.broker.address:
                self._read(role, role.broker)
        for group in self.groups.values():
            members = self._members(group.name)
            group.sample(now_us, len(members), sum(self._owns_a_queue(role) for role in members))
        if any(len(group.samples) > SAMPLES_MAX for group in self.groups.values()):
            self._period_us *= 2
            for group in self.groups.values():
                group.thin()

    def _look_for_groups(self) -> None:
        """Find new groups: members may join while the world runs."""
        for role in self._world.roles(ConsumerNode):
            group, topic = role.spec.group, role.spec.topic
            if role.spec.model == "clustering" and topic not in self._topics.get(group, {}):
                self.groups.setdefault(group, GroupBacklog(group))
                self._topics.setdefault(group, {})[topic] = None

    def _members(self, group: str) -> list[ConsumerNode]:
        roles = self._world.roles(ConsumerNode)
        return [role for role in roles if role.spec.group == group and role.status in ("running", "paused")]

    def _owns_a_queue(self, role: ConsumerNode) -> bool:
        consumer, topic = role.consumer, role.spec.topic
        return consumer is not None and any(queue.topic == topic for queue in consumer.process_queues)

    def _read(self, role: BrokerNode, broker: Broker) -> None:
        offset_of = broker.consumer_offset_manager.query_offset
        for name, group in self.groups.items():
            for topic in (*self._topics[name], retry_topic(name)):
                config = broker.topic_config_manager.topic_config_table.get(topic)
                for queue_id in range(config.read_queue_nums if config is not None else 0):
                    stored = broker.store.max_offset(topic, queue_id)
                    group.note((role.name, topic, queue_id), stored, max(0, offset_of(name, topic, queue_id)))
