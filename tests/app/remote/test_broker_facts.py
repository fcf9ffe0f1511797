"""What one broker reports, read from a runtime table of RocketMQ's, and from one that no broker should send."""

from __future__ import annotations

import asyncio
import json

import pytest

from app.remote.broker_facts import read_broker
from app.remote.cluster_reader import GroupProgress, QueueEnds
from app.remote.remote_broker import RemoteBroker
from engine.protocol.body.message_queue import MessageQueue
from tests.engine.broker.processors.test_admin_processors import captured_reply


class Reported(RemoteBroker):
    """A broker that was asked already."""

    def __init__(self, table, queues=(), progress=()):
        self.table, self.queues, self.progress = table, list(queues), list(progress)

    async def runtime_info(self):
        return self.table

    async def settings(self):
        return {"brokerRole": "SYNC_MASTER", "pageAddress": "ftp://elsewhere"}

    async def topic_queues(self, topic):
        return self.queues

    async def group_progress(self, group):
        return self.progress


def facts_of(*reported):
    facts, page = asyncio.run(read_broker(Reported(*reported), ["orders"], ["billing"]))
    assert page is None
    return facts


def test_a_rocketmq_broker_reports_its_role_in_its_settings_and_neither_clients_nor_replicas():
    table = json.loads(captured_reply(28)["body"])["table"]
    facts = facts_of(table)
    assert (facts["role"], facts["is_glassmq"], facts["version"]) == ("SYNC_MASTER", False, "V4_9_8")
    assert facts["commit_log"]["max"] == int(table["commitLogMaxOffset"])
    assert facts["in_rate"] == pytest.approx(float(table["putTps"].split()[0]), abs=0.05)
    assert (facts["clients"], facts["held_pulls"], facts["replicas"], facts["following"]) == (None, None, {}, "")
    assert (facts["topics"], facts["groups"], facts["messages"]) == ({}, {}, 0)


def test_entries_that_are_no_figures_read_as_zero():
    table = {
        "commitLogMaxOffset": "9" * 40,
        "commitLogMinOffset": "0x10",
        "putTps": "nan 1",
        "getTransferedTps": "fast",
    }
    facts = facts_of({**table, "brokerVersionDesc": "V" * 1_000})
    assert (facts["commit_log"], facts["in_rate"], facts["out_rate"]) == ({"min": 0, "max": 0}, 0, 0)
    assert len(facts["version"]) < 250


def test_queues_are_bounded_and_a_group_that_broadcasts_has_no_lag():
    queues = [MessageQueue("orders", "b", number) for number in range(100)]
    ends = [QueueEnds(queue, 5, 15) for queue in queues]
    facts = facts_of({}, ends, [GroupProgress(queue, 15, 10) for queue in queues])
    assert (facts["topics"]["orders"]["messages"], facts["groups"]) == (1_000, {"billing": 500})
    assert (len(facts["topics"]["orders"]["queues"]), facts["topics"]["orders"]["omitted_queues"]) == (64, 36)
    assert facts_of({}, ends, [GroupProgress(queues[0], 15, 10, broadcasts=True)])["groups"] == {"billing": None}


def test_other_tasks_run_before_each_topic_and_group():
    turns = 0

    async def other():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def read():
        task = asyncio.create_task(other())
        await read_broker(Reported({}), ["orders"] * 10, ["billing"] * 10)
        task.cancel()

    asyncio.run(read())
    assert turns >= 19
