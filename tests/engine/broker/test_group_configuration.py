"""What a leader answers with success outlives it: topics, groups, their deletion, and offsets that a tool copied."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from functools import partial
from typing import Any

import pytest

from engine.broker.broker import Broker
from engine.broker.group_member import MemberState
from engine.client.callbacks.send_result import SendStatus
from engine.protocol.body.subscription_group_config import SubscriptionGroupConfig
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.command.command_header import CommandHeader
from engine.protocol.command.headers import (
    CloneGroupOffsetRequestHeader,
    CreateTopicRequestHeader,
    DeleteSubscriptionGroupRequestHeader,
    DeleteTopicRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.json_text import dumps_json
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RemotingError
from engine.remoting.remoting_client import RemotingClient
from tests.support.lab.broker_group import MEMBERS, BrokerGroup

TOOL = "tool"


class Tool:
    """An administrator's requests to the leader."""

    def __init__(self, group: BrokerGroup) -> None:
        self.group = group
        self._client = RemotingClient(group.world.node(TOOL), TOOL)

    def ask(self, code: RequestCode, header: CommandHeader | None = None, body: bytes = b"") -> int | None:
        """The reply's code; None: there was no reply."""
        return self.run(self.reply_of(code, header, body))

    async def reply_of(self, code: RequestCode, header: CommandHeader | None = None, body: bytes = b"") -> int | None:
        if not self.group.leaders:
            return None
        request = RemotingCommand.request(code, header, body=body)
        try:
            return (await self._client.call(leading(self.group).address, request, 3_000)).code
        except RemotingError:
            return None

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.group.world.run(work, node=TOOL)

    def create_topic(self, topic: str, queue_nums: int = 7) -> int | None:
        return self.run(self.topic_created(topic, queue_nums))

    async def topic_created(self, topic: str, queue_nums: int = 7) -> int | None:
        header = CreateTopicRequestHeader(topic, "TBW102", queue_nums, queue_nums, 6, "SINGLE_TAG", 0, False)
        return await self.reply_of(RequestCode.UPDATE_AND_CREATE_TOPIC, header)

    def create_group(self, name: str, retry_max_times: int = 3) -> int | None:
        config = SubscriptionGroupConfig(name, retry_max_times=retry_max_times)
        return self.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=dumps_json(config.to_dict()))

    def delete_topic(self, topic: str) -> int | None:
        return self.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic))

    def delete_group(self, name: str) -> int | None:
        return self.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, DeleteSubscriptionGroupRequestHeader(name, True))


def next_leader(group: BrokerGroup) -> Broker:
    """Kill the leader this very moment; the broker of the next one."""
    old = group.leader
    group.crash(old.group.name)
    group.world.run_until(lambda: group.leaders and group.leader.peer.core.term > old.peer.core.term)
    return leading(group)


def leading(group: BrokerGroup) -> Broker:
    broker = group.leader.broker
    assert broker is not None
    return broker


def topic_of(broker: Broker, name: str) -> TopicConfig | None:
    return broker.topic_config_manager.topic_config_table.get(name)


@pytest.mark.parametrize("seed", range(3))
def test_a_topic_that_a_tool_made_outlives_its_leader(seed):
    with BrokerGroup(seed) as group:
        group.world.run_for(seed * 37)
        assert Tool(group).create_topic("Made") == ResponseCode.SUCCESS
        assert topic_of(next_leader(group), "Made") == TopicConfig("Made", 7, 7)


@pytest.mark.parametrize("seed", range(3))
def test_a_group_that_a_tool_made_outlives_its_leader(seed):
    with BrokerGroup(seed) as group:
        group.world.run_for(seed * 37)
        assert Tool(group).create_group("made") == ResponseCode.SUCCESS
        config = next_leader(group).subscription_group_manager.subscription_group_table["made"]
        assert config.retry_max_times == 3


def test_a_topic_made_by_sending_outlives_its_leader_with_all_its_queues():
    with BrokerGroup() as group:
        topics = [f"Auto-{number}" for number in range(5)]

        async def send_all() -> list[SendStatus | None]:
            return await asyncio.gather(*[group.send_once("first", topic) for topic in topics for _ in range(3)])

        answers = group.run(group.sender, send_all())
        assert answers == [SendStatus.SEND_OK] * 15
        broker = next_leader(group)
        assert [topic_of(broker, topic) for topic in topics] == [TopicConfig(topic, 4, 4) for topic in topics]


def test_whoever_sends_to_a_topic_that_is_not_shared_yet_is_answered_when_it_is():
    """The first sender waits for its topic; the second must not hear of success earlier."""
    with BrokerGroup() as group:
        answers: list[SendStatus | None] = []

        async def send_one() -> None:
            answers.append(await group.send_once("one", "Auto"))

        async def send_until_one_is_answered() -> None:
            tasks = [asyncio.ensure_future(send_one()) for _ in range(8)]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)

        group.run(group.sender, send_until_one_is_answered())
        assert answers[0] is SendStatus.SEND_OK
        assert topic_of(next_leader(group), "Auto") == TopicConfig("Auto", 4, 4)


def test_a_deleted_topic_does_not_come_back_with_the_next_leader():
    with BrokerGroup() as group:
        group.send_until_acknowledged(*[f"message-{number}" for number in range(5)])
        tool = Tool(group)
        group.world.run_for(500)
        assert tool.delete_topic("T") == ResponseCode.SUCCESS
        broker = next_leader(group)
        assert topic_of(broker, "T") is None
        assert "T" not in broker.store.topics()
        for name in sorted(group.down):
            group.restart_member(name)
        assert tool.create_topic("T", 2) == ResponseCode.SUCCESS
        group.send_until_acknowledged("again")
        group.wait_until_same()
        broker = next_leader(group)
        assert topic_of(broker, "T") == TopicConfig("T", 2, 2)
        assert sum(broker.store.max_offset("T", queue_id) for queue_id in range(2)) == 1


def test_a_deleted_group_and_its_offsets_do_not_come_back_with_the_next_leader():
    with BrokerGroup() as group:
        group.send_until_acknowledged("message")
        tool = Tool(group)
        assert tool.create_group("old") == ResponseCode.SUCCESS
        leading(group).consumer_offset_manager.commit_offset("test", "old", "T", 0, 1)
        group.world.run_for(6_000)
        assert tool.delete_group("old") == ResponseCode.SUCCESS
        broker = next_leader(group)
        assert "old" not in broker.subscription_group_manager.subscription_group_table
        assert broker.consumer_offset_manager.offsets_of("old", "T") == {}


def test_offsets_that_a_tool_copied_outlive_their_leader():
    with BrokerGroup() as group:
        group.send_until_acknowledged(*[f"message-{number}" for number in range(8)])
        leading(group).consumer_offset_manager.commit_offset("test", "from", "T", 0, 1)
        header = CloneGroupOffsetRequestHeader("from", "to", "T", True)
        assert Tool(group).ask(RequestCode.CLONE_GROUP_OFFSET, header) == ResponseCode.SUCCESS
        assert next_leader(group).consumer_offset_manager.offsets_of("to", "T") == {0: 1}


def test_changes_of_a_table_too_long_to_be_written_whole_outlive_their_leaders():
    with BrokerGroup() as group:
        tool = Tool(group)

        async def make_many() -> list[int | None]:
            return await asyncio.gather(*[tool.topic_created(f"Many-{number}", 2) for number in range(250)])

        assert tool.run(make_many()) == [ResponseCode.SUCCESS] * 250
        assert tool.create_topic("Late") == tool.create_topic("Gone") == tool.delete_topic("Gone") == 0
        first = group.leader.group.name
        broker = next_leader(group)
        assert topic_of(broker, "Late") == TopicConfig("Late", 7, 7)
        assert (topic_of(broker, "Gone"), topic_of(broker, "Many-249")) == (None, TopicConfig("Many-249", 2, 2))
        # The next one makes changes of its own, and what the first one had in its files gives way.
        group.restart_member(first)
        assert tool.create_topic("Later") == tool.delete_topic("Many-0") == tool.create_topic("Late", 3) == 0
        broker = next_leader(group)
        assert topic_of(broker, "Later") == TopicConfig("Later", 7, 7)
        assert (topic_of(broker, "Many-0"), topic_of(broker, "Late")) == (None, TopicConfig("Late", 3, 3))


def test_without_a_majority_no_creation_is_answered_with_success():
    with BrokerGroup() as group:
        tool, old = Tool(group), group.leader
        fault = group.cut_off(old.group.name)
        assert tool.create_topic("In-vain") not in (ResponseCode.SUCCESS, None)
        group.world.run_until(lambda: group.leaders and old not in group.leaders)
        group.world.network.faults.remove(fault)
        group.world.run_until(lambda: old.state is MemberState.FOLLOWS)
        assert tool.create_topic("Made") == ResponseCode.SUCCESS
        group.world.run_for(1_000)
        # The old leader had the other one on its disk.
        file = group.world.storages[old.group.name].files["config/topics.json"]
        content = file.read(0, file.size_bytes)
        assert (b"Made" in content, b"In-vain" in content) == (True, False)


@pytest.mark.parametrize("seed", range(3))
def test_random_changes_and_crashes_lose_no_change_that_was_answered(seed):
    survives(seed, steps=25)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3, 40))
def test_many_random_changes_and_crashes_lose_no_change_that_was_answered(seed):
    survives(seed, steps=60)


def survives(seed: int, steps: int) -> None:
    """A topic and a group may be as after the last change that was answered, or after a later one that was not."""
    chance = random.Random(seed)
    with BrokerGroup(seed) as group:
        tool = Tool(group)
        allowed: dict[str, set[int]] = {}
        for number in range(steps):
            if chance.random() < 0.25:
                break_something(group, chance)
            name = f"{chance.choice('TG')}{chance.randrange(4)}"
            is_topic, value = name.startswith("T"), number + 1
            if chance.random() < 0.3:
                value, act = 0, partial(tool.delete_topic if is_topic else tool.delete_group, name)
            else:
                act = partial(tool.create_topic if is_topic else tool.create_group, name, value)
            before = allowed.get(name, {0})
            allowed[name] = {value} if act() == ResponseCode.SUCCESS else before | {value}
            group.world.run_for(chance.randrange(400))
        mend(group)
        group.world.run_until(lambda: len(group.leaders) == 1)
        for _ in range(2):
            broker = next_leader(group)
            for name, values in allowed.items():
                assert found(broker, name) in values, name
            mend(group)


def found(broker: Broker, name: str) -> int:
    if name.startswith("T"):
        topic = topic_of(broker, name)
        return 0 if topic is None else topic.write_queue_nums
    config = broker.subscription_group_manager.subscription_group_table.get(name)
    return 0 if config is None else config.retry_max_times


def break_something(group: BrokerGroup, chance: random.Random) -> None:
    mend(group)
    name = chance.choice(MEMBERS)
    if chance.random() < 0.4:
        group.cut_off(name)
    else:
        group.crash(name, keep_page_cache=chance.random() < 0.5)


def mend(group: BrokerGroup) -> None:
    group.world.network.faults.clear()
    for name in sorted(group.down):
        group.restart_member(name)
