"""A group with a backlog on a running broker, and the job that relieves it: for GlassMQ and for a real RocketMQ."""

from __future__ import annotations

import asyncio
from collections import Counter

import pyarrow.parquet as pq
import pytest

from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.pipeline.jobs.arguments import read_arguments
from engine.pipeline.jobs.backlog_relief.description import DESCRIPTION
from engine.pipeline.jobs.backlog_relief.job import JOB, Relief
from engine.pipeline.jobs.backlog_relief.moved_aside import LowPriority, MovedAside, mark_groups
from engine.pipeline.jobs.job import JobRun
from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.cluster_options import CLUSTER_OPTIONS, ClusterOptions
from engine.pipeline.source.cluster.option_values import OptionValues
from engine.protocol.message.message import Message
from tests.support.pipeline.memory_report import MemoryReport


class Killed(Exception):
    """Stands for the end of the process."""


class Backlog:
    """A topic of its own, with 24 messages of which every third is urgent, and a group that has consumed none."""

    def __init__(self, spark, name_server, folder, topic):
        self.spark, self.name_server, self.topic, self.group = spark, name_server, topic, f"{topic}-group"
        self.folder = folder / "aside"
        self.cluster_options = {"nameServer": name_server}
        self.cluster = Cluster(ClusterOptions.parse(OptionValues(self.cluster_options, CLUSTER_OPTIONS)))
        self.report = MemoryReport()
        self.arguments = {
            "topics": topic,
            "group": self.group,
            "low_priority": "bulk",
            "folder": str(self.folder),
            "relieve_above": 10,
            "until_below": 5,
            "left_to_group": 1,
        }

    def send(self, count=24):
        asyncio.run(self._send(count))
        self.queues = self.cluster.queues([self.topic])
        return self

    async def _send(self, count):
        async with DefaultMQProducer(None, "tester", self.name_server) as producer:
            for n in range(count):
                tags = "pay" if n % 3 == 0 else "bulk"
                await producer.send(Message(self.topic, f"{n:03d}".encode(), tags=tags, keys=f"k{n}"))

    def group_at(self, offset):
        self.cluster.store_group_offsets(self.group, dict.fromkeys(self.queues, offset))

    def run_for(self, **arguments):
        checked = read_arguments(DESCRIPTION, {**self.arguments, **arguments})
        return JobRun(self.spark, checked, self.cluster_options, self.report, watch=lambda query: None)

    def run(self, **arguments):
        JOB(self.run_for(**arguments))

    def dies(self, point, **arguments):
        def reached(now):
            if now == point:
                raise Killed(point)

        run = self.run_for(**arguments)
        relief = Relief(run, self.cluster, reached)
        with pytest.raises(Killed):
            relief.move_aside() if run.arguments["mode"] == "move" else relief.send_later()

    def stored(self):
        """Bodies of what is moved aside."""
        return sorted(row["body"].decode() for row in pq.read_table(self.folder).to_pylist())

    def marks(self, rule="bulk"):
        return [
            self.cluster.group_offsets(group, self.queues) for group in mark_groups(self.group, LowPriority.parse(rule))
        ]

    def rows(self, topic=None):
        """Return the content of a topic, queue by queue."""
        options = {**self.cluster_options, "topic": topic or self.topic}
        rows = self.spark.read.format("rocketmq").options(**options).load().collect()
        return sorted(rows, key=lambda row: (row.broker_name, row.queue_id, row.queue_offset))

    def low_beyond(self, offset):
        return sorted(row.body.decode() for row in self.rows() if row.tags == "bulk" and row.queue_offset >= offset)


async def consume(backlog, is_done):
    """Let one member of the group work; body -> (how often, topic), and how many it left out."""
    consumed, topics = Counter(), {}
    async with asyncio.timeout(60):
        consumer = DefaultMQPushConsumer(None, backlog.group, backlog.name_server)
        aside = MovedAside(consumer, "bulk")

        async def listen(messages, context):
            for each in await aside.kept(messages, context.message_queue):
                consumed[each.body.decode()] += 1
                topics[each.body.decode()] = each.topic
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        consumer.subscribe(backlog.topic)
        consumer.register_message_listener(listen)
        async with consumer:
            while not is_done(consumed) or backlog_left(backlog):
                await asyncio.sleep(0.05)
    return {body: (count, topics[body]) for body, count in consumed.items()}, aside.left_out


def backlog_left(backlog):
    ends = backlog.cluster.max_offsets(backlog.queues)
    return backlog.cluster.group_offsets(backlog.group, backlog.queues) != ends
