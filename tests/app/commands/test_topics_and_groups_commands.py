"""``glassmq topics`` and ``glassmq groups``: what they change on a running cluster."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from app.command_line import main
from engine.broker.broker import Broker
from engine.broker.foundation.broker_config import BrokerConfig
from engine.client import DefaultMQProducer, Message
from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
from engine.client.consumer.default_mq_pull_consumer import DefaultMQPullConsumer
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.protocol.enums import ConsumeFromWhere
from engine.runtime.live.live_runtime import LiveRuntime
from engine.store.files.store_config import MessageStoreConfig
from tests.support.live.live_cluster import until
from tests.support.live.live_server import LiveServer, message


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("live") / "data", page=False) as server:
        yield server


@pytest.fixture
def glassmq(live):
    """Run a command against the live cluster; what it printed, with its exit code checked."""

    def run(*arguments, code=0, answer=None):
        command = [*arguments, "--name-server", live.host.name_server_address]
        result = CliRunner().invoke(main, command, input=answer, prog_name="glassmq")
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result.output

    return run


def rows(output):
    return [line.split() for line in output.splitlines()]


def consumed(glassmq, topic, group, count=3):
    """``topic`` with ``count`` messages in it, all consumed by ``group``."""
    glassmq("send", topic, "body {n}", "--count", str(count), "--quiet")
    glassmq("consume", topic, "--group", group, "--count", str(count))


def lag(glassmq, group):
    return next((int(row[2]) for row in rows(glassmq("groups")) if row[0] == group), None)


def test_without_a_command_they_list_and_a_name_like_a_command_is_still_reachable(glassmq):
    glassmq("send", "delete", "x", "--quiet")
    assert ["delete", "4", "1"] in rows(glassmq("topics"))
    assert glassmq("topics") == glassmq("topics", "list")
    assert len(rows(glassmq("topics", "list", "delete"))) == 5
    assert "no_such" in glassmq("topics", "no_such", code=1)


def test_a_topic_is_deleted_with_its_route_and_its_offsets(glassmq):
    consumed(glassmq, "gone", "group_of_gone")
    assert "topic gone is deleted" in glassmq("topics", "delete", "gone", "--yes")
    assert "gone" not in [row[0] for row in rows(glassmq("topics", "--all"))]
    glassmq("send", "gone", "again", "--quiet")
    assert ["gone", "4", "1"] in rows(glassmq("topics"))
    assert "has not consumed anything yet" in glassmq("groups", "group_of_gone", code=1)


def test_nothing_is_deleted_without_a_yes(glassmq):
    glassmq("send", "dear", "x", "--quiet")
    output = glassmq("topics", "delete", "dear", code=1, answer="n\n")
    assert "1 messages" in output
    assert ["dear", "4", "1"] in rows(glassmq("topics"))
    assert "no_such" in glassmq("topics", "delete", "no_such", "--yes", code=1)


def test_the_broker_s_own_topics_cannot_be_deleted(glassmq):
    assert "belongs to the system" in glassmq("topics", "delete", "TBW102", "--yes", code=1)


def test_an_offline_group_goes_back_to_the_beginning_and_on_to_the_end(glassmq):
    consumed(glassmq, "again", "rewinder")
    assert lag(glassmq, "rewinder") == 0
    output = glassmq("groups", "reset-offset", "rewinder", "--topic", "again", "--to", "earliest", "--yes")
    assert "the group continues there" in output
    assert all(row[-2:] == ["0", "0"] for row in rows(output)[1:5]), "what was asked for, and what is stored"
    assert lag(glassmq, "rewinder") == 3
    bodies = glassmq("consume", "again", "--group", "rewinder", "--count", "3")
    assert all(f"body {number}" in bodies for number in range(3))
    glassmq("send", "again", "later", "--count", "5", "--quiet")
    assert lag(glassmq, "rewinder") == 5
    glassmq("groups", "reset-offset", "rewinder", "--topic", "again", "--to", "latest", "--yes")
    assert lag(glassmq, "rewinder") == 0


def test_a_time_leads_to_the_messages_of_that_time(glassmq):
    consumed(glassmq, "timed", "clockwork")
    long_ago = f"{datetime.now(UTC) - timedelta(days=3):%Y-%m-%d %H:%M}"
    glassmq("groups", "reset-offset", "clockwork", "--topic", "timed", "--to-time", long_ago, "--yes")
    assert lag(glassmq, "clockwork") == 3


def test_a_reset_waits_until_the_members_of_an_online_group_have_begun_there(live, glassmq, monkeypatch):
    monkeypatch.setattr("engine.client.consumer.offset_resets.RESET_OFFSET_WAIT_MS", 300)
    consumed(glassmq, "busy", "workers")

    async def listen(messages, context):
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def while_online():
        consumer = DefaultMQPushConsumer(None, "workers", live.name_servers)
        consumer.subscribe("busy", "*")
        consumer.register_message_listener(listen)
        await consumer.start()
        try:
            command = ("groups", "reset-offset", "workers", "--topic", "busy", "--to", "earliest", "--yes")
            return await asyncio.to_thread(glassmq, *command)
        finally:
            await consumer.shutdown()

    output = asyncio.run(while_online())
    assert "the group continues there" in output
    assert sum(int(row[3]) for row in rows(output)[1:5]) == 0


def test_a_reset_of_members_that_pull_for_themselves_is_refused_in_a_line(live, glassmq):
    consumed(glassmq, "pulled", "pullers")

    async def while_online():
        consumer = DefaultMQPullConsumer(None, "pullers", live.name_servers, heartbeat_broker_interval_ms=100)
        await consumer.start()
        try:
            (queue, *_) = await consumer.fetch_subscribe_message_queues("pulled")
            await consumer.pull(queue, "*", 0, 1)
            while live.host.state()["groups"]["pullers"]["consume_type"] != "CONSUME_ACTIVELY":
                await asyncio.sleep(0.02)
            command = ("groups", "reset-offset", "pullers", "--topic", "pulled", "--to", "earliest", "--yes")
            return await asyncio.to_thread(glassmq, *command, code=1)
        finally:
            await consumer.shutdown()

    output = asyncio.run(while_online())
    assert "manage their own pulls" in output
    assert "nothing was stored" in output
    assert lag(glassmq, "pullers") == 0


def test_a_reset_on_two_brokers_begins_all_queues_again_and_new_messages_are_consumed(
    live, glassmq, tmp_path, monkeypatch
):
    monkeypatch.setattr("engine.client.consumer.offset_resets.RESET_OFFSET_WAIT_MS", 500)
    heard = []

    async def listen(messages, context):
        heard.extend(one.body for one in messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def on_two_brokers():
        runtime = LiveRuntime("broker-b", tmp_path)
        address = live.host.name_server_address
        config = BrokerConfig(broker_name="broker-b", port=0, name_server_addresses=(address,))
        broker = Broker(runtime, config, MessageStoreConfig(mapped_file_size_commit_log=1 << 20))
        await broker.start()
        first = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
        consumer = DefaultMQPushConsumer(None, "both", address, consume_from_where=first)
        consumer.subscribe("wide", "*")
        consumer.register_message_listener(listen)
        try:
            async with DefaultMQProducer(None, "writers", address) as producer:
                await producer.create_topic("wide", queue_nums=1)
                queues = await producer.fetch_publish_message_queues("wide")
                assert len(queues) == 2
                for number in range(10):
                    await producer.send(Message("wide", b"%d" % number), queue=queues[number % 2])
                async with consumer:
                    await until(lambda: len(set(heard)) == 10)
                    await consumer._impl.persist_consumer_offsets()
                    heard.clear()
                    command = ("groups", "reset-offset", "both", "--topic", "wide", "--to", "earliest", "--yes")
                    await asyncio.to_thread(glassmq, *command)
                    await until(lambda: len(set(heard)) == 10)
                    heard.clear()
                    for number in range(4):
                        await producer.send(Message("wide", b"new %d" % number), queue=queues[number % 2])
                    await until(lambda: {b"new %d" % number for number in range(4)} <= set(heard))
        finally:
            await broker.shutdown()
            await runtime.close()

    asyncio.run(on_two_brokers())


def test_members_say_what_they_hold_and_a_group_without_any_is_refused_in_a_line(live, glassmq):
    live.send(message("held", "1"), message("held", "2"))
    is_done = threading.Event()

    async def listen(messages, context):
        await asyncio.to_thread(is_done.wait)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def while_online():
        first = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
        consumer = DefaultMQPushConsumer(None, "holders", live.name_servers, consume_from_where=first)
        consumer.subscribe("held", "*")
        consumer.register_message_listener(listen)
        await consumer.start()
        try:
            while sum(queue.msg_count for queue in consumer.process_queues.values()) < 2:
                await asyncio.sleep(0.02)
            return await asyncio.to_thread(glassmq, "groups", "members", "holders")
        finally:
            is_done.set()
            await consumer.shutdown()

    table = [row for row in rows(asyncio.run(while_online())) if "held" in row]
    assert sum(int(row[4]) for row in table) == 2
    assert {(row[1], *row[6:8]) for row in table} == {("PYTHON", "no", "no")}
    assert "nobody_there" in glassmq("groups", "members", "nobody_there", code=1)


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("g", "--topic", "t"), 2, "exactly one of --to earliest, --to latest, --to-time, --to-offset"),
        (("g", "--topic", "t", "--to", "latest", "--to-time", "2026-01-01"), 2, "--to-time"),
        (("g", "--topic", "t", "--to", "middle"), 2, "earliest"),
        (("g", "--topic", "t", "--to-time", "yesterday"), 2, "yesterday"),
        (("g", "--topic", "no_such", "--to", "latest", "--yes"), 1, "no_such"),
        (("no_such_group", "--topic", "BenchmarkTest", "--to", "latest", "--yes"), 1, "no_such_group"),
    ],
)
def test_a_reset_that_makes_no_sense_is_refused_in_a_line(glassmq, arguments, code, named):
    assert named in glassmq("groups", "reset-offset", *arguments, code=code)


def test_a_group_is_deleted_with_its_offsets_and_begins_anew(glassmq):
    consumed(glassmq, "for_leaver", "leaver")
    assert "is deleted" in glassmq("groups", "delete", "leaver", "--yes")
    assert lag(glassmq, "leaver") is None
    assert "leaver" in glassmq("groups", "delete", "leaver", "--yes", code=1)


@pytest.mark.parametrize("what", ["topics", "groups"])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_names_the_commands(what, flag):
    output = CliRunner().invoke(main, [what, flag], prog_name="glassmq").output
    assert "delete" in output
    assert "list" in output
