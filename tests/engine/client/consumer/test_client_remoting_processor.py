"""What a broker or a tool may ask of a push consumer. In the lab, over the consumer's own connection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import pytest

from engine.client import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
    DefaultMQPushConsumer,
    Message,
    MessageExt,
    MessageQueue,
)
from engine.client.consumer.consumer_running_info import INTERNALS_PROPERTY, consumer_running_info
from engine.protocol.body.bodies import ResetOffsetBody
from engine.protocol.command.headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    NotifyConsumerIdsChangedRequestHeader,
    ResetOffsetRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.json_text import loads_json
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from tests.engine.client.queues.test_process_queue import message as make_message
from tests.support.lab.lab_cluster import LabCluster

QUEUE = MessageQueue("T", "broker-a", 0)


class Stage:
    """Ten messages in a queue, consumed by one member of group g."""

    def __init__(self) -> None:
        self.cluster = LabCluster(seed=31)
        self.heard: list[int] = []
        self.producer = producer = self.cluster.producer("P", "producers")
        self.cluster.start(producer)
        self.cluster.run(producer, producer.create_topic("T", queue_nums=1))
        self.consumer = self.cluster.push_consumer(
            "C", "g", consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
        )
        self.consumer.subscribe("T")
        self.consumer.register_message_listener(self.listen)
        self.cluster.start(self.consumer)

        self.cluster.run(producer, self.send(range(10)))
        self.cluster.world.run_until(lambda: len(self.heard) == 10)

    async def send(self, numbers: range) -> None:
        for number in numbers:
            await self.producer.send(Message("T", b"%d" % number))

    async def listen(
        self, messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext
    ) -> ConsumeConcurrentlyStatus | None:
        numbers = [int(message.body) for message in messages]
        self.heard += numbers
        if self.heard.count(3) > 1 and 3 in numbers:
            raise ValueError("three again")
        return None if 4 in numbers and self.heard.count(4) > 1 else ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    @property
    def channel(self) -> Channel:
        info = self.cluster.broker.consumer_manager.get_consumer_group_info("g")
        assert info is not None
        return info.channels[0]

    def ask(self, request: RemotingCommand) -> RemotingCommand:
        return self.cluster.world.run(self.channel.call(request, 5_000), node="broker-a")

    def report(self, request: RemotingCommand) -> None:
        async def send() -> None:
            self.channel.send_oneway(request)

        self.cluster.world.run(send(), node="broker-a")


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.cluster.close()


def test_resetting_offsets_begins_the_queue_anew_after_ten_seconds(stage: Stage):
    body = ResetOffsetBody({QUEUE: 6, MessageQueue("Other", "broker-a", 0): 1}).to_json()
    header = ResetOffsetRequestHeader("T", "g", 0, True)
    stage.report(RemotingCommand.request(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, header, body))
    stage.cluster.world.run_for(9_000)
    assert len(stage.heard) == 10
    stage.cluster.world.run_for(3_000)
    assert stage.heard[10:] == [6, 7, 8, 9]
    assert not stage.consumer.is_suspended


def test_a_member_that_is_behind_is_reset_forward_and_passes_what_lies_between(stage: Stage):
    manager = stage.cluster.broker.consumer_offset_manager
    stage.cluster.world.run_until(lambda: manager.query_offset("g", "T", 0) == 10, 30_000)
    stage.consumer.suspend()
    stage.cluster.world.run_for(30_000)
    stage.cluster.run(stage.producer, stage.send(range(10, 20)))
    header = ResetOffsetRequestHeader("T", "g", -1, True)
    request = RemotingCommand.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)
    address = stage.cluster.broker.address
    reply = stage.cluster.run(stage.producer, stage.producer.instance.remoting_client.call(address, request, 5_000))
    assert ResetOffsetBody.from_json(reply.body).offset_table == {QUEUE: 20}
    stage.cluster.world.run_for(12_000)
    stage.consumer.resume()
    stage.cluster.run(stage.producer, stage.send(range(20, 22)))
    stage.cluster.world.run_for(10_000)
    assert stage.heard[10:] == [20, 21]
    assert manager.query_offset("g", "T", 0) == 22


def test_requests_for_another_group_change_nothing(stage: Stage):
    before = dict(stage.consumer.process_queues)
    body = ResetOffsetBody({QUEUE: 0}).to_json()
    header = ResetOffsetRequestHeader("T", "another", 0, True)
    stage.report(RemotingCommand.request(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, header, body))
    other = NotifyConsumerIdsChangedRequestHeader("another")
    stage.report(RemotingCommand.request(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, other))
    stage.cluster.world.run_for(15_000)
    assert stage.consumer.process_queues == before
    assert len(stage.heard) == 10


def test_the_noted_offsets_of_a_topic_can_be_asked_for(stage: Stage):
    header = GetConsumerStatusRequestHeader("T", "g")
    reply = stage.ask(RemotingCommand.request(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, header))
    assert reply.code == ResponseCode.SUCCESS
    assert loads_json(reply.body)["messageQueueTable"].pairs == [(QUEUE.to_dict(), 10)]


def test_the_running_info_shows_queues_settings_and_counts(stage: Stage):
    stage.cluster.world.run_for(1_000)
    header = GetConsumerRunningInfoRequestHeader("g", stage.consumer.instance.client_id)
    reply = stage.ask(RemotingCommand.request(RequestCode.GET_CONSUMER_RUNNING_INFO, header))
    info = loads_json(reply.body)
    assert info["properties"]["PROP_CONSUMEORDERLY"] == "false"
    assert info["properties"]["allocateMessageQueueStrategy"] == "AVG"
    assert {item["topic"] for item in info["subscriptionSet"]} == {"T", "%RETRY%g"}
    by_topic = {key["topic"]: value for key, value in info["mqTable"].pairs}
    assert by_topic["T"]["commitOffset"] == 10
    assert (by_topic["T"]["cachedMsgCount"], by_topic["T"]["droped"]) == (0, False)
    assert info["statusTable"]["T"]["consumeFailedMsgs"] == 0
    assert info["statusTable"]["T"]["consumeOKTPS"] > 0


@pytest.mark.parametrize(
    ("number", "result", "remark"),
    [(5, "CR_SUCCESS", None), (3, "CR_THROW_EXCEPTION", "ValueError: three again"), (4, "CR_RETURN_NULL", None)],
)
def test_a_tool_may_have_one_message_consumed_directly(stage: Stage, number: int, result: str, remark: str | None):
    stored = stage.cluster.broker.store.get_message("t", "T", 0, number, 1, None)
    header = ConsumeMessageDirectlyResultRequestHeader("g", stage.consumer.instance.client_id, "id", "broker-a")
    request = RemotingCommand.request(RequestCode.CONSUME_MESSAGE_DIRECTLY, header, stored.data)
    reply = stage.ask(request)
    answer = loads_json(reply.body)
    assert (answer["consumeResult"], answer["remark"], answer["order"]) == (result, remark, False)
    assert stage.heard[-1] == number


def test_nonsense_gets_an_error_and_hurts_nobody(stage: Stage):
    header = ConsumeMessageDirectlyResultRequestHeader("g")
    reply = stage.ask(RemotingCommand.request(RequestCode.CONSUME_MESSAGE_DIRECTLY, header, b"no message"))
    assert reply.code == ResponseCode.SYSTEM_ERROR
    reply = stage.ask(RemotingCommand.request(RequestCode.GET_CONSUMER_RUNNING_INFO))
    assert "consumerGroup" in (reply.remark or "")
    wrong = GetConsumerRunningInfoRequestHeader("another", "id")
    reply = stage.ask(RemotingCommand.request(RequestCode.GET_CONSUMER_RUNNING_INFO, wrong))
    assert (reply.code, reply.remark) == (ResponseCode.SYSTEM_ERROR, "this client has no consumer of group 'another'")
    assert stage.ask(RemotingCommand.request(9_999)).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


def test_the_consumer_is_usable_in_a_with_statement():
    with LabCluster(seed=1) as cluster:
        consumer: DefaultMQPushConsumer = cluster.push_consumer("C", "g")
        consumer.register_message_listener(lambda messages, context: ConsumeConcurrentlyStatus.CONSUME_SUCCESS)

        async def scenario() -> None:
            async with consumer as entered:
                assert entered is consumer

        cluster.run(consumer, scenario())
        with pytest.raises(Exception, match="is shut down: it cannot be started again"):
            cluster.start(consumer)


@pytest.mark.parametrize(
    ("answer", "auto_commit", "result"),
    [
        (ConsumeOrderlyStatus.SUCCESS, True, "CR_SUCCESS"),
        (ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT, True, "CR_LATER"),
        (ConsumeOrderlyStatus.COMMIT, False, "CR_COMMIT"),
        (ConsumeOrderlyStatus.ROLLBACK, False, "CR_ROLLBACK"),
        (None, True, "CR_RETURN_NULL"),
        (ValueError("broken"), True, "CR_THROW_EXCEPTION"),
    ],
)
def test_an_orderly_listener_is_called_directly_too(answer: object, auto_commit: bool, result: str):
    with LabCluster(seed=31) as cluster:
        consumer = cluster.push_consumer("C", "g")
        consumer.subscribe("T")

        async def listen(messages: Sequence[MessageExt], context: ConsumeOrderlyContext) -> object:
            context.auto_commit = auto_commit
            if isinstance(answer, Exception):
                raise answer
            return answer

        consumer.register_message_listener_orderly(listen)
        cluster.start(consumer)
        message = make_message(0)
        reported = cluster.run(consumer, consumer.consume_service.consume_message_directly(message, "broker-a"))
        assert (reported.consume_result, reported.order, reported.auto_commit) == (result, True, auto_commit)
        assert reported.remark == ("ValueError: broken" if isinstance(answer, Exception) else None)


def test_the_running_info_says_that_a_consumer_is_orderly_and_which_queues_it_has_locked():
    with LabCluster(seed=31) as cluster:
        producer = cluster.producer("P", "producers")
        cluster.start(producer)
        cluster.run(producer, producer.create_topic("T", queue_nums=1))
        consumer = cluster.push_consumer("C", "g")
        consumer.subscribe("T")
        consumer.register_message_listener_orderly(lambda messages, context: ConsumeOrderlyStatus.SUCCESS)
        cluster.start(consumer)
        cluster.world.run_for(2_000)
        body = consumer_running_info(
            consumer._impl, consumer.config, consumer.instance.config, consumer.instance.runtime.clock.now_ms()
        )
        reported = loads_json(body)
        assert reported["properties"]["PROP_CONSUMEORDERLY"] == "true"
        assert b'"locked":true' in body


def test_trees_and_local_locks_are_sent_on_request_only_large_trees_in_part():
    with LabCluster(seed=32) as cluster:
        producer = cluster.producer("P", "producers")
        cluster.start(producer)
        cluster.run(producer, producer.create_topic("T", queue_nums=2))
        consumer = cluster.push_consumer("C", "g")
        consumer.subscribe("T")

        async def listen(messages, context):
            await asyncio.sleep(1_000)
            return ConsumeOrderlyStatus.SUCCESS

        consumer.register_message_listener_orderly(listen)
        cluster.start(consumer)
        cluster.world.run_for(2_000)
        [queue, other] = [MessageQueue("T", "broker-a", number) for number in range(2)]
        for number in range(100):
            cluster.run(producer, producer.send(Message("T", b"x", keys=f"k{number}"), queue=queue))
        cluster.run(producer, producer.send(Message("T", b"x"), queue=other))
        cluster.world.run_for(2_000)

        def reported(**options):
            impl, settings = consumer._impl, consumer.instance.config
            return loads_json(consumer_running_info(impl, consumer.config, settings, 0, **options))["properties"]

        assert INTERNALS_PROPERTY not in reported()
        consumer.report("MINE", lambda: "as it is now")
        assert reported()["MINE"] == "as it is now"
        internals = loads_json(reported(with_internals=True)[INTERNALS_PROPERTY].encode())
        busy, calm = internals["T@broker-a@0"], internals["T@broker-a@1"]
        levels, level = [], [busy["msgTreeMap"]]
        while level:
            levels.append(len(level))
            level = [child for node in level for child in (node["left"], node["right"]) if child]
        assert levels == [1, 2, 4, 8, 16, 32]
        assert (busy["consumingMsgOrderlyTreeMap"]["key"], busy["consuming"]) == ("k0", True)
        assert (busy["consumeLock"]["owner"] is not None, busy["localLock"]["owner"] is not None) == (True, True)
        assert (calm["msgTreeMap"], internals["%RETRY%g@broker-a@0"]["msgTreeMap"]) == (None, None)
        assert calm["lockMaxLiveTime"] == 30_000
