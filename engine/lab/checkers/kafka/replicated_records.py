"""Checkers of a Kafka cluster: promised records are on every later leader, and replicas agree on what consumers may
read.

Fault model: any crash of processes, pause, and anything that links do; leaders are elected among the in-sync replicas.
Kafka does not promise it with ``unclean.leader.election.enable``, nor when followers cut their logs at their own high
watermark (``leader_epochs`` off). A power cut takes what was not flushed: what it took from any broker is left out.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.lab.checkers.watch.checker import Checker, has_kafka_cluster
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.kafka_watch import LoggedRecord
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.kafka.kafka_producer_node import KafkaProducerNode
from engine.lab.nodes.history import ConsumeBegan, SendReturned

#: Topic, partition, offset.
_Place = tuple[str, int, int]
_ALL = -1


class _Promises:
    """Track promised records: every leader of a partition must have them.

    :param lacks: called with a record that a leader lacks, and with the leader's epoch.
    """

    def __init__(self, watch: ClusterWatch, lacks: Callable[[LoggedRecord, int], None]) -> None:
        self._watch = watch
        self._lacks = lacks
        self._promised: dict[_Place, str] = {}
        #: Topic and partition -> the newest epoch and its leader.
        self._leaders: dict[tuple[str, int], tuple[int, str]] = {}

    def led(self, broker: str, topic: str, partition: int, epoch: int) -> None:
        """Note a leader. A broker that learns late that it once led does not count."""
        if epoch >= self._leaders.get((topic, partition), (0, ""))[0]:
            self._leaders[topic, partition] = (epoch, broker)
            for place, key in self._promised.items():
                if place[:2] == (topic, partition):
                    self._look(place, key)

    def add(self, place: _Place, key: str) -> None:
        """Promise a record from now on."""
        self._promised[place] = key
        self._look(place, key)

    def _look(self, place: _Place, key: str) -> None:
        epoch, broker = self._leaders.get(place[:2], (0, ""))
        brokers = self._watch.kafka_brokers
        found = brokers[broker].records.get(place) if broker else None
        is_cut_off = any(LoggedRecord(name, *place, key) in watch.lost for name, watch in brokers.items())
        if broker and not is_cut_off and (found is None or found.key != key):
            self._lacks(LoggedRecord(broker, *place, key), epoch)


class _PromisesOutliveLeaders(Checker, is_base=True):
    """Base: promised records are checked at every broker that begins to lead their partition."""

    applies = staticmethod(has_kafka_cluster)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._promises = _Promises(watch, self._lacks)

    def partition_led(self, broker: str, topic: str, partition: int, epoch: int) -> None:
        self._promises.led(broker, topic, partition, epoch)

    def _lacks(self, record: LoggedRecord, epoch: int) -> None:
        self.report(record.element, self.text("lacks", record=record, epoch=epoch))


class AcknowledgedRecordsSurviveElections(_PromisesOutliveLeaders):
    """Anomaly: *lost write*. A record that was acknowledged to a producer with ``acks`` all is missing on a later
    leader.
    """

    name = "acknowledged-records-survive-elections"
    anomaly = Anomaly.LOST_WRITE

    def record_send_returned(self, entry: SendReturned) -> None:
        role = self.world.find(KafkaProducerNode, entry.node)
        if entry.status != "ok" or role is None or role.producer is None:
            return
        if role.producer.config.acks == _ALL and entry.queue_offset >= 0:
            self._promises.add((entry.topic, entry.queue_id, entry.queue_offset), entry.key)


class ConsumedRecordsStay(_PromisesOutliveLeaders):
    """Anomaly: *ghost read*. A consumer received a record, and a later leader has none or another one at its place."""

    name = "consumed-records-stay"
    anomaly = Anomaly.GHOST_READ

    def record_consume_began(self, entry: ConsumeBegan) -> None:
        self._promises.add((entry.topic, entry.queue_id, entry.queue_offset), entry.key)


class ReplicasAgree(Checker):
    """Anomaly: *ghost read*. Two replicas have different records at an offset below the high watermarks of both."""

    name = "replicas-agree-up-to-the-high-watermark"
    anomaly = Anomaly.GHOST_READ
    applies = staticmethod(has_kafka_cluster)

    def second_passed(self) -> None:
        topics = [(topic.name, number) for topic in self.world.topics(of_kafka=True) for number in range(topic.queues)]
        for topic, partition in topics:
            self._compare(topic, partition)

    def run_ended(self) -> None:
        self.second_passed()

    def _compare(self, topic: str, partition: int) -> None:
        ends = {
            name: end
            for name, watch in self.watch.kafka_brokers.items()
            if (end := watch.high_watermark(topic, partition)) is not None
        }
        if not ends:
            return
        furthest = max(ends, key=lambda name: ends[name])
        theirs = self.watch.kafka_brokers[furthest].records
        for name, end in ends.items():
            for place, record in self.watch.kafka_brokers[name].records.items():
                other = theirs.get(place)
                is_here = place[:2] == (topic, partition) and record.offset < end
                if is_here and other is not None and other.key != record.key:
                    text = self.text("differ", record=record, other=other)
                    self.report(record.element, text)
