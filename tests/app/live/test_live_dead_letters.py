"""Dead letters of a live broker: browsed and resent over HTTP; and the trail that tells what happened to a message."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.picture.message_life import StoredMessageLife
from engine.broker.foundation.broker_config import BrokerConfig
from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.enums import ConsumeFromWhere
from engine.store.files.store_config import MessageStoreConfig
from tests.support.live.live_server import LiveServer, message
from tests.support.picture.schema_problems import schema_problems

LATER, SUCCESS = ConsumeConcurrentlyStatus.RECONSUME_LATER, ConsumeConcurrentlyStatus.CONSUME_SUCCESS


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """A broker whose delays are short enough to wait for."""
    store = MessageStoreConfig(mapped_file_size_commit_log=1024 * 1024, message_delay_level="1s 1s 1s 1s 1h")
    with LiveServer(tmp_path_factory.mktemp("data"), broker=BrokerConfig(port=0), store=store) as live:
        yield live


def consume(live, group, topic, result_of, until, retries=1, expression="*"):
    """Let a consumer of ``group`` work until ``until(received)`` holds; the keys that it got."""

    async def work():
        received = []

        def listen(messages, context):
            received.extend(one.keys[0] for one in messages)
            return result_of(messages[0])

        consumer = DefaultMQPushConsumer(
            None,
            group,
            live.name_servers,
            max_reconsume_times=retries,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            poll_name_server_interval_ms=200,
            poll_missing_route_interval_ms=100,
        )
        consumer.subscribe(topic, expression)
        consumer.register_message_listener(listen)
        async with consumer, asyncio.timeout(60):
            while not until(received):
                await asyncio.sleep(0.02)
        return received

    return asyncio.run(work())


def groups(live):
    return {one["group"]: one for one in live.get("/api/live/dead-letters")[1]["groups"]}


def page(live, group, query=""):
    return live.get(f"/api/live/dead-letters/{group}{query}")[1]["messages"]


def resend(live, group, body, headers=None):
    """``(status, parsed JSON or text)``"""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    address = f"http://{live.server.page_address}/api/live/dead-letters/{group}/resend"
    request = urllib.request.Request(address, data, {"Content-Type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            text = error.read().decode()
            return error.code, json.loads(text) if text.startswith("{") else text


def bury(live, group, topic, *keys, retries=0):
    """Have ``group`` give up messages with these keys, and no others, of ``topic``."""
    live.send(*[message(topic, f"body of {key}", keys=key, tags="t") for key in keys])
    before = groups(live).get(group, {"max": 0})["max"]
    consume(
        live,
        group,
        topic,
        lambda one: LATER if one.keys[0] in keys else SUCCESS,
        lambda _: groups(live).get(group, {"max": 0})["max"] >= before + len(keys),
        retries,
    )


def send_to(live, queue, message):
    async def work():
        async with DefaultMQProducer(None, "test_producer", live.name_servers) as producer:
            await producer.send(message, queue=queue)

    asyncio.run(work())


def trails(live, name):
    found = live.get(f"/api/messages/trail?name={name}")[1]["messages"]
    assert [line for life in found for line in schema_problems(life, StoredMessageLife)] == []
    return found


def test_a_dead_letter_says_where_it_came_from_and_why_it_died(live):
    assert groups(live) == {}
    bury(live, "shop", "orders", "o-1")
    assert groups(live)["shop"]["count"] == 1
    (dead,) = page(live, "shop")
    assert (dead["keys"], dead["topic"], dead["retries"], dead["tags"]) == (["o-1"], "orders", 0, "t")
    # The broker's own limit is 16: the consumer has a lower one.
    assert (dead["cause"], dead["resent"], dead["resent_known"]) == ("consumer-decided", None, True)
    assert dead["body_preview"] == "body of o-1"
    assert dead["properties"]["RETRY_TOPIC"] == "orders"
    stored = live.host._machines.broker.store.message_at(dead["offset"])
    assert (dead["born_us"], dead["dead_us"]) == (stored.born_timestamp * 1_000, stored.store_timestamp * 1_000)
    assert groups(live)["shop"]["newest_us"] == dead["dead_us"]


def test_a_dead_letter_resent_to_its_group_is_marked_and_not_resent_again(live):
    bury(live, "mail", "letters", "m-1")
    (dead,) = page(live, "mail")
    status, report = resend(live, "mail", {"messages": [dead["id"]], "to": "group"})
    assert (status, report["already"], report["failed"], report["next"]) == (200, 0, [], None)
    assert report["resent"][0]["topic"] == "%RETRY%mail"
    assert consume(live, "mail", "letters", lambda one: SUCCESS, lambda got: got) == ["m-1"]
    (dead,) = page(live, "mail")
    assert (dead["resent"]["topic"], groups(live)["mail"]["count"]) == ("%RETRY%mail", 1)
    _, report = resend(live, "mail", {"messages": "all", "to": "topic"})
    assert (report["resent"], report["already"]) == ([], 1)
    _, report = resend(live, "mail", {"messages": ["m-1"], "to": "topic", "anyway": True})
    assert [one["topic"] for one in report["resent"]] == ["letters"]
    assert consume(live, "archive", "letters", lambda one: SUCCESS, lambda got: len(got) == 2) == ["m-1", "m-1"]


def test_all_dead_letters_are_resent_in_portions_and_the_pages_are_bounded(live, monkeypatch):
    monkeypatch.setattr("app.remote.remote_dead_letters.RESEND_MAX", 2)
    bury(live, "bulk", "bulk", *[f"b-{number}" for number in range(5)])
    assert [dead["queue_offset"] for dead in page(live, "bulk", "?count=2")] == [3, 4]
    assert [dead["queue_offset"] for dead in page(live, "bulk", "?start=1&count=2")] == [1, 2]
    sent, start = 0, 0
    while start is not None:
        status, report = resend(live, "bulk", {"messages": "all", "to": "topic", "start": start})
        assert (status, len(report["resent"]) <= 2) == (200, True)
        sent, start = sent + len(report["resent"]), report["next"]
    assert sent == 5
    assert all(dead["resent"] for dead in page(live, "bulk"))


def test_every_queue_of_a_dead_letter_topic_is_listed_shown_and_resent(live):
    bury(live, "wide", "roads", "w-0")
    thread, _ = live.host._engine()
    config = TopicConfig("%DLQ%wide", 3, 3)
    thread.run(live.host._machines.broker.topic_config_manager.update_topic_config(config), timeout_s=10)
    send_to(live, MessageQueue("%DLQ%wide", "broker-a", 2), message("%DLQ%wide", "elsewhere", keys="w-1"))
    assert groups(live)["wide"]["count"] == 2
    assert [(dead["queue_id"], dead["keys"]) for dead in page(live, "wide")] == [(0, ["w-0"]), (2, ["w-1"])]
    listed = live.tool("dead-letters", "list").output
    assert [line.split()[-1] for line in listed.splitlines() if line.startswith("wide")] == ["2"]
    listed = live.tool("dead-letters", "list", "wide").output
    assert ("w-0" in listed, "w-1" in listed) == (True, True)
    assert "w-0" not in live.tool("dead-letters", "list", "wide", "--limit", "1").output
    assert "queue, offset      2, 0" in live.tool("dead-letters", "show", "wide", "w-1").output
    done = live.tool("dead-letters", "resend", "wide", "--all", "--to", "group", "--yes")
    assert done.output.strip() == "2 resent, 0 were resent before, 0 could not be"


def test_one_that_cannot_be_resent_does_not_keep_back_the_others(live):
    bury(live, "mixed", "mixed", "x-1")
    status, report = resend(live, "mixed", {"messages": ["nobody", "x-1"], "to": "group"})
    assert (status, len(report["resent"])) == (200, 1)
    (failed,) = report["failed"]
    assert (failed["id"], failed["reason"]) == ("nobody", "no_such")
    assert "没有 ID 或 Key 为 'nobody' 的死信" in failed["text"]["zh"]


def test_a_topic_that_is_gone_is_not_made_anew(live):
    bury(live, "lost", "short-lived", "l-1")
    broker = live.host._machines.broker
    thread, _ = live.host._engine()
    thread.call(lambda: broker.topic_config_manager.topic_config_table.pop("short-lived"))
    (failed,) = resend(live, "lost", {"messages": "all", "to": "topic"})[1]["failed"]
    assert failed["reason"] == "by_broker"
    assert "short-lived does not exist" in failed["error"]


@pytest.mark.parametrize(
    ("body", "headers", "status", "words"),
    [
        ({"messages": ["x"]}, {}, 400, "to: is missing; allowed: topic, group"),
        ({"messages": ["x"], "to": "moon"}, {}, 400, "topic, group"),
        ({"to": "group"}, {}, 400, "a list of 1 to 200"),
        ({"messages": [], "to": "group"}, {}, 400, "has 0 entries"),
        ({"messages": ["x"] * 201, "to": "group"}, {}, 400, "has 201 entries"),
        ({"messages": [7], "to": "group"}, {}, 400, "messages[0]: 7 is not allowed"),
        ({"messages": [" "], "to": "group"}, {}, 400, "messages[0]: ' ' is not allowed"),
        ({"messages": "all", "to": "group", "anyway": True}, {}, 400, "again and again"),
        ({"messages": "all", "to": "group", "start": -1}, {}, 400, "start"),
        ({"messages": "all", "to": "group", "when": 1}, {}, 400, "when"),
        (b"{", {}, 400, "JSON"),
        (b"[]", {}, 400, "object"),
        (b"to=group", {"Content-Type": "application/x-www-form-urlencoded"}, 400, "application/json"),
        ({"messages": "all", "to": "group"}, {"Origin": "http://evil.example"}, 403, "other web sites"),
        ({"messages": "all", "to": "group"}, {}, 404, "'nobody' has no dead letters"),
    ],
)
def test_bad_requests_and_other_web_sites_are_refused(live, body, headers, status, words):
    found, answer = resend(live, "nobody", body, headers)
    assert found == status
    assert words in (answer if isinstance(answer, str) else answer["error"])


def test_looking_at_dead_letters_is_no_delivery(live):
    bury(live, "looked-at", "looks", "l-2")
    totals = live.host._machines.broker.stats.totals
    before = totals.out_requests
    assert len(page(live, "looked-at")) == 1
    assert groups(live)["looked-at"]["count"] == 1
    assert totals.out_requests == before


def test_without_an_index_nobody_knows_what_was_resent_and_nothing_is(tmp_path):
    with LiveServer(tmp_path, store=MessageStoreConfig(message_index_enable=False)) as blind:
        blind.create_topic("%DLQ%shop", 1)
        blind.send(message("%DLQ%shop", keys="b-1"))
        (dead,) = page(blind, "shop")
        assert (dead["resent"], dead["resent_known"]) == (None, False)
        (failed,) = resend(blind, "shop", {"messages": "all", "to": "group"})[1]["failed"]
        assert failed["reason"] == "no_index"
        assert "not known: messageIndexEnable is false" in blind.tool("dead-letters", "list", "shop").output
        for names in (("--all",), (dead["id"],)):
            refused = blind.tool("dead-letters", "resend", "shop", *names, "--to", "group", "--yes")
            assert (refused.exit_code, "messageIndexEnable is false" in refused.output) == (1, True)


def test_unknown_groups_and_bad_pages_are_refused(live):
    assert live.get("/api/live/dead-letters/nobody")[0] == 404
    assert live.get("/api/live/dead-letters/shop?count=0")[0] == 400
    assert live.get("/api/live/dead-letters/shop?page=1")[0] == 400


# ------------------------------------------------------------------------------------------------------- trails


def test_the_trail_of_a_message_leads_through_retries_to_its_grave_and_back(live):
    bury(live, "trail", "tours", "t-1", retries=1)
    (dead,) = page(live, "trail")
    resend(live, "trail", {"messages": "all", "to": "group"})
    consume(live, "trail", "tours", lambda one: SUCCESS, lambda got: got)
    (trail,) = trails(live, "t-1")
    kinds = [(mark["kind"], mark.get("reconsume_times"), mark.get("group")) for mark in trail["marks"]]
    assert kinds == [
        ("produced", None, None),
        ("stored", 0, None),
        ("delayed", 1, "trail"),
        ("due", 1, "trail"),
        ("dead", 2, "trail"),
        ("resent", 0, "trail"),
    ]
    assert trail["marks"][2]["level"] == 3
    assert trail["marks"][2]["until_us"] == trail["marks"][2]["at_us"] + 1_000_000
    assert trail["marks"][-1]["resends"] == dead["id"]
    assert (trail["topic"], trail["groups"]["trail"]["state"]) == ("tours", "passed")
    # The unique id, the key and the id of any copy name the same message.
    assert trails(live, trail["id"]) == trails(live, dead["id"]) == [trail]


def test_the_trail_says_who_waits_who_does_not_want_it_and_until_when_it_is_delayed(live):
    live.send(message("news", keys="n-0", tags="a"))
    consume(live, "readers", "news", lambda one: SUCCESS, lambda got: got)
    assert trails(live, "n-0")[0]["groups"]["readers"]["state"] == "passed"
    live.send(message("news", keys="n-1", tags="b", delay_level=5))
    (trail,) = trails(live, "n-1")
    assert (trail["topic"], trail["marks"][-1]["kind"]) == ("news", "delayed")
    assert trail["marks"][-1]["until_us"] - trail["marks"][-1]["at_us"] == 3_600_000_000
    live.send(message("news", keys="n-2", tags="b"))
    (trail,) = trails(live, "n-2")
    assert trail["groups"]["readers"]["state"] in ("waiting", "unread")


def test_a_group_that_passed_a_message_that_it_does_not_want_says_so(live):
    live.send(message("mix", keys="f-1", tags="b"), message("mix", keys="f-2", tags="a"))
    broker = live.host._machines.broker
    states, reports = {}, []

    def until(got):
        if got and not states:
            # As its next report will, some seconds later.
            thread, _ = live.host._engine()
            for queue_id in range(4):
                thread.call(lambda at=queue_id: broker.consumer_offset_manager.commit_offset("", "picky", "mix", at, 2))
            states.update({key: trails(live, key)[0]["groups"]["picky"] for key in ("f-1", "f-2")})
            with ThreadPoolExecutor() as other_thread:  # this one's event loop is the consumer's
                reports.append(other_thread.submit(live.tool, "message", "--key", "f-1", "--topic", "mix").result())
        return bool(states)

    consume(live, "picky", "mix", lambda one: SUCCESS, until, expression="a")
    assert (states["f-1"]["state"], states["f-1"]["expression"]) == ("filtered", "a")
    assert states["f-2"]["state"] == "passed"
    assert "group picky: has passed it without consuming it: it subscribes to a" in reports[0].output


def test_a_key_of_several_messages_leads_to_each_and_a_name_of_none_to_nothing(live):
    live.send(message("pairs", keys="twin"), message("pairs", keys="twin"))
    assert len(trails(live, "twin")) == 2
    assert trails(live, "nobody") == []
    assert live.get("/api/messages/trail")[0] == 400
    assert live.get("/api/messages/trail?name=x&limit=3")[0] == 400


def test_without_an_index_a_message_is_found_by_its_offset_id_with_the_copy_that_is_there(tmp_path):
    with LiveServer(tmp_path, store=MessageStoreConfig(message_index_enable=False)) as blind:
        (sent,) = blind.send(message("blind", keys="b-1"))
        assert trails(blind, "b-1") == []
        (trail,) = trails(blind, sent.offset_message_id)
        assert [mark["kind"] for mark in trail["marks"]] == ["produced", "stored"]
        assert trail["marks"][1]["broker"] == "broker-a"
        assert json.loads(blind.tool("message", sent.offset_message_id, "--json").output) == {"messages": [trail]}
        shown = blind.tool("message", sent.offset_message_id)
        assert (shown.exit_code, "stored: blind" in shown.output) == (0, True)


def test_used_delay_levels_are_shown_with_what_waits_and_until_when(live):
    before_ms = live.host.state()["cluster"]["now_us"] // 1_000
    live.send(message("later", keys="d-1", delay_level=5))
    state = live.state_when(lambda state: any(one["level"] == 5 for one in state["delay_levels"]["levels"]))
    part = state["delay_levels"]
    assert part["delays_ms"] == [1_000, 1_000, 1_000, 1_000, 3_600_000]
    level = next(one for one in part["levels"] if one["level"] == 5)
    assert (level["queue_id"], level["offset"]) == (4, 0)
    assert level["next_due_us"] // 1_000 >= before_ms + 3_600_000 - 60_000


# ---------------------------------------------------------------------------------------------- the command line


def test_the_tool_lists_shows_and_resends_dead_letters_after_asking(live):
    bury(live, "cli", "calls", "c-1", "c-2")
    assert "cli" in live.tool("dead-letters", "list").output
    lines = {
        key: line
        for line in live.tool("dead-letters", "list", "cli").output.splitlines()
        for key in ("c-1", "c-2")
        if key in line
    }
    assert all(line.endswith("-") and "calls" in line for line in lines.values())
    shown = live.tool("dead-letters", "show", "cli", "c-1").output
    assert "original topic     calls" in shown
    assert "cause of death     consumer-decided" in shown
    assert shown.splitlines()[-1] == "body of c-1"
    refused = live.tool("dead-letters", "resend", "cli", "c-1", "--to", "topic", input="n\n")
    assert (refused.exit_code, "Every group that subscribes to calls" in refused.output) == (1, True)
    done = live.tool("dead-letters", "resend", "cli", "c-1", "--to", "topic", "--yes")
    assert "resent to calls Q" in done.output
    again = live.tool("dead-letters", "resend", "cli", "c-1", "--to", "group", "--yes")
    assert (again.exit_code, "already resent" in again.output) == (1, True)
    assert (
        "resent to %RETRY%cli"
        in live.tool("dead-letters", "resend", "cli", "c-1", "--to", "group", "--yes", "--anyway").output
    )
    rest = live.tool("dead-letters", "resend", "cli", "--all", "--to", "group", "--yes")
    assert (rest.exit_code, rest.output.strip()) == (0, "1 resent, 1 were resent before, 0 could not be")
    assert "calls Q" in next(
        line for line in live.tool("dead-letters", "list", "cli").output.splitlines() if "c-1" in line
    )


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        (("list", "nobody"), 0, "group nobody has no dead letters"),
        (("show", "nobody", "x"), 1, "group 'nobody' has no dead letter with the id or key 'x'"),
        (("resend", "nobody", "--to", "group"), 2, "a choice is missing; allowed: exactly one of MESSAGES, --all"),
        (
            ("resend", "nobody", "x", "--all", "--to", "group"),
            2,
            "MESSAGES and --all exclude each other; allowed: exactly one of MESSAGES, --all",
        ),
        (("resend", "nobody", "--all", "--anyway", "--to", "group"), 2, "again and again"),
        (("resend", "nobody", "x", "--to", "moon"), 2, "'topic', 'group'"),
        (("resend", "nobody", "--all", "--to", "group", "--yes"), 1, "has no dead letters"),
    ],
)
def test_the_tool_refuses_in_one_line(live, arguments, exit_code, words):
    result = live.tool("dead-letters", *arguments)
    assert (result.exit_code, "Traceback" in result.output) == (exit_code, False)
    assert words in result.output.strip().splitlines()[-1]


def test_the_message_command_tells_what_happened_by_id_and_by_key(live):
    bury(live, "story", "tales", "s-1", retries=1)
    (dead,) = page(live, "story")
    for arguments in (("--key", "s-1"), ("--key", "s-1", "--topic", "tales"), (dead["unique_id"],), (dead["id"],)):
        reported = live.tool("message", *arguments).output.partition("What happened")[2]
        steps = (
            "produced at",
            "stored: tales",
            "given back by group story for retry 1",
            "due, retry 1",
            "dead letter of",
        )
        places = [reported.index(words) for words in steps]
        assert places == sorted(places)
        assert "group story: gave up on it" in reported
    nothing = live.tool("message", "--key", "nobody")
    assert (nothing.exit_code, nothing.output.strip()) == (1, "Error: no message has the key 'nobody'")
    assert live.tool("message").exit_code == live.tool("message", "X", "--key", "y").exit_code == 2
