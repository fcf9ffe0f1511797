"""What an operator does by hand on the live page: topics, messages and offsets over HTTP, and the same commands."""

from __future__ import annotations

import asyncio

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
from engine.client.consumer.default_mq_pull_consumer import DefaultMQPullConsumer
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from tests.support.live.live_server import LiveServer, message


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("data")) as live:
        yield live


def post(live, path, body, headers=None):
    return live.post(f"/api/live/{path}", body, headers)


def tool(live, *arguments, code=0):
    result = live.tool(*arguments)
    assert result.exit_code == code, result.output
    return result.output


def consumed(live, topic, group, count):
    """``count`` messages of ``topic``, all consumed by ``group``."""
    tool(live, "send", topic, "body {n}", "--count", str(count), "--quiet")
    tool(live, "consume", topic, "--group", group, "--count", str(count))


def lag(live, group):
    return live.host.state()["groups"][group]["lag"]


# --------------------------------------------------------------------------------------------- topics and messages


def test_a_created_topic_is_there_with_its_queues_and_a_second_one_of_its_name_is_refused(live):
    assert post(live, "topics", {"topic": "made", "queues": 6}) == (200, {"topic": "made", "queues": 6})
    assert live.host.state()["topics"]["made"]["write_queues"] == 6
    status, answer = post(live, "topics", {"topic": "made", "queues": 2})
    assert (status, answer["error"]) == (409, "Topic made already exists")
    assert answer["text"]["zh"] == "主题 made 已经存在"
    assert live.host.state()["topics"]["made"]["write_queues"] == 6


def test_the_command_creates_the_same_topic(live):
    assert "2 queues" in tool(live, "topics", "create", "made-by-command", "--queues", "2")
    assert live.host.state()["topics"]["made-by-command"]["read_queues"] == 2
    assert "belongs to the system" in tool(live, "topics", "create", "TBW102", code=1)


def test_a_sent_message_lies_where_the_answer_says(live):
    operation = {"topic": "letters", "body": "hello 你好", "tag": "new", "keys": ["letter-1", "ann"]}
    status, answer = post(live, "messages", operation)
    assert (status, answer["topic"], answer["queue_offset"]) == (200, "letters", 0)
    (found,) = live.get("/api/messages?topic=letters&key=letter-1")[1]["messages"]
    assert (found["queue_id"], found["unique_id"], found["tags"]) == (answer["queue_id"], answer["id"], "new")
    assert found["body_preview"] == "hello 你好"


def test_a_delayed_message_waits(live):
    assert post(live, "messages", {"topic": "later", "body": "x", "delay_level": 18})[0] == 200
    assert sum(queue["max"] for queue in live.host.state()["topics"]["later"]["queues"].values()) == 0


@pytest.mark.parametrize(
    ("path", "operation", "field"),
    [
        ("topics", {"topic": "a b", "queues": 4}, "topic"),
        ("topics", {"topic": "%DLQ%billing", "queues": 4}, "topic"),
        ("topics", {"topic": "%RETRY%billing", "queues": 4}, "topic"),
        ("topics", {"topic": "a", "queues": 0}, "queues"),
        ("topics", {"topic": "a", "queues": 4.5}, "queues"),
        ("messages", {"topic": "a"}, "body"),
        ("messages", {"topic": "a", "body": "x" * 16_385}, "body"),
        ("messages", {"topic": "%DLQ%billing", "body": "x"}, "topic"),
        ("messages", {"topic": "%RETRY%billing", "body": "x"}, "topic"),
        ("messages", {"topic": "a", "body": "x", "tag": "a||b"}, "tag"),
        ("messages", {"topic": "a", "body": "x", "tag": 0}, "tag"),
        ("messages", {"topic": "a", "body": "x", "tag": []}, "tag"),
        ("messages", {"topic": "a", "body": "x", "keys": 0}, "keys"),
        ("messages", {"topic": "a", "body": "x", "keys": ""}, "keys"),
        ("messages", {"topic": "a", "body": "x", "keys": ["two words"]}, "keys[0]"),
        ("messages", {"topic": "a", "body": "x", "keys": ["a\x01b"]}, "keys[0]"),
        ("messages", {"topic": "a", "body": "x", "delay_level": 19}, "delay_level"),
        ("offsets", {"group": "g", "topic": "a", "to": "elsewhere"}, "to"),
        ("offsets", {"group": "g", "topic": "a", "to": "time"}, "time_ms"),
        ("offsets", {"group": "g", "topic": "a", "to": "offset", "queue_id": 0}, "offset"),
        ("offsets", {"group": "", "topic": "a", "to": "latest"}, "group"),
    ],
)
def test_a_field_that_cannot_be_is_refused_with_what_is_allowed_in_both_languages(live, path, operation, field):
    status, answer = post(live, path, operation)
    assert (status, answer["parameter"]) == (400, field)
    assert answer["allowed"] == answer["text"]["en"] != answer["text"]["zh"]


def test_pages_of_other_sites_cannot_send_these(live):
    for path in ("topics", "messages", "offsets"):
        assert post(live, path, {}, {"Origin": "http://elsewhere.example"})[0] == 403
        assert post(live, path, {}, {"Content-Type": "text/plain"})[0] == 400


def test_rules_of_the_broker_do_not_stop_whoever_runs_it(tmp_path):
    config = tmp_path / "config"
    config.mkdir()
    (config / "plain_acl.yml").write_text(
        "accounts:\n- accessKey: operator-ann\n  secretKey: secret-of-ann\n  admin: true\n"
    )
    with LiveServer(tmp_path, broker=BrokerConfig(port=0, acl_enable=True)) as guarded:
        assert post(guarded, "topics", {"topic": "mine", "queues": 1})[0] == 200
        assert post(guarded, "messages", {"topic": "mine", "body": "x"})[0] == 200


# --------------------------------------------------------------------------------------------------------- offsets


def test_a_preview_says_what_a_reset_means_and_changes_nothing(live):
    consumed(live, "orders", "audit", 8)
    status, plan = post(live, "offsets", {"group": "audit", "topic": "orders", "to": "earliest", "preview": True})
    assert (status, plan["again"], plan["skipped"], plan["is_online"]) == (200, 8, 0, False)
    first = min(one["stored_us"] for one in live.host.state()["commit_log"]["records"] if one["topic"] == "orders")
    assert plan["first_us"] == first
    assert lag(live, "audit") == 0
    delivered = live.host._machines.broker.stats.totals.out_messages
    assert post(live, "offsets", {"group": "audit", "topic": "orders", "to": "earliest"})[1]["again"] == 8
    assert live.host._machines.broker.stats.totals.out_messages == delivered, "a look is no delivery"
    assert lag(live, "audit") == 8
    skip = post(live, "offsets", {"group": "audit", "topic": "orders", "to": "latest"})[1]
    assert (skip["again"], skip["skipped"], skip["first_us"]) == (0, 8, None)
    assert lag(live, "audit") == 0


def test_a_group_goes_back_to_a_time_or_to_an_offset_of_one_queue(live):
    consumed(live, "clock", "watcher", 4)
    operation = {"group": "watcher", "topic": "clock", "to": "time", "time_ms": 1_000, "preview": True}
    assert post(live, "offsets", operation)[1]["again"] == 4
    queues = live.host.state()["topics"]["clock"]["queues"]
    queue_id, end = next((int(number), queue["max"]) for number, queue in queues.items() if queue["max"])
    operation = {"group": "watcher", "topic": "clock", "to": "offset", "queue_id": queue_id, "offset": end - 1}
    assert post(live, "offsets", operation)[1]["queues"] == [
        {"queue_id": queue_id, "old": end, "new": end - 1, "stored": end - 1}
    ]
    assert lag(live, "watcher") == 1
    status, answer = post(live, "offsets", {**operation, "offset": end + 5})
    assert (status, answer["error"]) == (409, f"Offset {end + 5} is out of range; allowed: 0 to {end}")
    status, answer = post(live, "offsets", {**operation, "offset": end + 5, "preview": True})
    assert (status, answer["refused"]["zh"]) == (200, f"没有位点 {end + 5}；可用 0 到 {end}")
    status, answer = post(live, "offsets", {**operation, "queue_id": 9})
    assert (status, answer["error"]) == (409, "Topic clock has no queue 9; allowed: 0 to 3")


def test_the_command_previews_and_resets_to_an_offset_too(live):
    consumed(live, "tape", "player", 4)
    arguments = ("groups", "reset-offset", "player", "--topic", "tape")
    assert "read 4 messages of tape again" in tool(live, *arguments, "--to", "earliest", "--preview")
    assert lag(live, "player") == 0
    queues = live.host.state()["topics"]["tape"]["queues"]
    queue_id = next(number for number, queue in queues.items() if queue["max"])
    tool(live, *arguments, "--to-offset", "0", "--queue", queue_id, "--yes")
    assert lag(live, "player") == queues[queue_id]["max"]
    assert "go together" in tool(live, *arguments, "--to-offset", "0", code=2)


def test_who_is_unknown_is_named(live):
    status, answer = post(live, "offsets", {"group": "nobody", "topic": "orders", "to": "earliest"})
    assert (status, answer["error"]) == (409, "Group nobody does not exist, or has not consumed orders yet")
    status, answer = post(live, "offsets", {"group": "audit", "topic": "nowhere", "to": "earliest"})
    assert (status, answer["error"]) == (409, "Topic nowhere does not exist")


def test_members_that_are_online_are_reported_and_no_offset_is_set_behind_their_backs(live):
    live.create_topic("busy")

    async def listen(messages, context):
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def while_online():
        consumer = DefaultMQPushConsumer(None, "workers", live.name_servers)
        consumer.subscribe("busy", "*")
        consumer.register_message_listener(listen)
        await consumer.start()
        try:
            await asyncio.to_thread(live.state_when, lambda state: len(state["groups"]["workers"]["assignment"]) > 0)
            tool_send = ("send", "busy", "body {n}", "--count", "8", "--quiet")
            await asyncio.to_thread(tool, live, *tool_send)
            await asyncio.to_thread(
                live.state_when,
                lambda state: all(
                    queue["committed"].get("workers") == queue["max"] > 0
                    for queue in state["topics"]["busy"]["queues"].values()
                ),
            )
            operation = {"group": "workers", "topic": "busy", "to": "offset", "queue_id": 0, "offset": 0}
            refused = await asyncio.to_thread(post, live, "offsets", operation)
            reported = await asyncio.to_thread(
                post, live, "offsets", {"group": "workers", "topic": "busy", "to": "earliest"}
            )
            return refused, reported
        finally:
            await consumer.shutdown()

    refused, reported = asyncio.run(while_online())
    assert refused[0] == 409
    assert "are online" in refused[1]["error"]
    assert reported[0] == 200
    assert (reported[1]["is_online"], reported[1]["again"]) == (True, 8)
    assert [(queue["new"], queue["stored"]) for queue in reported[1]["queues"]] == [(0, 0)] * 4


def test_a_reset_of_members_that_pull_for_themselves_is_refused_already_in_its_preview(live):
    consumed(live, "pulled", "pullers", 4)

    async def while_online():
        consumer = DefaultMQPullConsumer(None, "pullers", live.name_servers, heartbeat_broker_interval_ms=100)
        await consumer.start()
        try:
            (queue, *_) = await consumer.fetch_subscribe_message_queues("pulled")
            await consumer.pull(queue, "*", 0, 1)
            is_pull = "CONSUME_ACTIVELY"
            await asyncio.to_thread(
                live.state_when, lambda state: state["groups"]["pullers"]["consume_type"] == is_pull
            )
            operation = {"group": "pullers", "topic": "pulled", "to": "earliest"}
            preview = await asyncio.to_thread(post, live, "offsets", {**operation, "preview": True})
            return preview, await asyncio.to_thread(post, live, "offsets", operation)
        finally:
            await consumer.shutdown()

    preview, refused = asyncio.run(while_online())
    assert "Stop them, reset, and start them again" in preview[1]["refused"]["en"]
    assert "请先停止成员" in preview[1]["refused"]["zh"]
    assert (refused[0], refused[1]["text"]) == (409, preview[1]["refused"])
    assert lag(live, "pullers") == 0


def test_what_is_done_by_hand_asks_the_name_server_that_was_started_anew(tmp_path):
    with LiveServer(tmp_path, allow_faults=True) as live:
        assert post(live, "messages", {"topic": "letters", "body": "before"})[0] == 200
        live.break_it("crash", "name-server")
        live.break_it("restart", "name-server")
        assert post(live, "messages", {"topic": "letters", "body": "after"})[0] == 200
        assert live.host._machines.name_server in live.host._live.operator._client._own()
        assert live.host.state()["cluster"]


def test_messages_and_dead_letters_are_found_while_the_name_server_is_down(tmp_path):
    with LiveServer(tmp_path, allow_faults=True) as live:
        live.create_topic("%DLQ%shop", 1)
        live.send(message("%DLQ%shop", keys="k"))
        live.break_it("crash", "name-server")
        assert len(live.get("/api/messages?topic=%25DLQ%25shop&key=k")[1]["messages"]) == 1
        assert len(live.get("/api/messages/trail?name=k")[1]["messages"]) == 1
        assert [one["group"] for one in live.get("/api/live/dead-letters")[1]["groups"]] == ["shop"]
        status, report = post(live, "dead-letters/shop/resend", {"messages": "all", "to": "group"})
        assert (status, [one["topic"] for one in report["resent"]]) == (200, ["%RETRY%shop"])
        assert post(live, "transactions/commit", {"message": "k"})[0] == 404
        live.break_it("crash", "broker-a")
        assert live.get("/api/messages/trail?name=k")[0] == 503
