"""The live engine as the page sees it: everything shown is what the engine holds."""

import asyncio
import contextlib
import copy
import json
import random
from urllib.parse import urlencode

import pytest

from app.foundation.patch import apply_patch, difference
from app.observation.bounds import GROUPS_MAX, QUEUES_MAX, QUEUES_PER_TOPIC_MAX, TAIL_RECORDS_MAX, TOPICS_MAX
from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.enums import ConsumeFromWhere
from engine.protocol.message.message_id import decode_offset_message_id, encode_offset_message_id
from tests.support.live.consumer_thread import consumer_of_orders
from tests.support.live.fixture_server import FixtureSource
from tests.support.live.live_server import LiveServer, message
from tests.support.live.socket_browser import SocketBrowser


@pytest.fixture
def live(tmp_path):
    with LiveServer(tmp_path / "data") as live:
        yield live


def test_a_fresh_engine_shows_its_addresses_and_no_message(live):
    state = live.host.state()
    assert state["cluster"]["name_server"] == live.host.name_server_address
    assert state["cluster"]["broker_address"] == live.host.broker_address
    assert state["commit_log"]["records"] == []
    assert state["topics"]["TBW102"]["kind"] == "system"
    assert not any(topic["kind"] == "normal" for topic in state["topics"].values())


def test_a_message_that_was_sent_is_shown_with_its_queue_and_offsets(live):
    (result,) = live.send(message("orders", "你好 orders", tags="new", keys="order-1"))
    state = live.host.state()
    (record,) = state["commit_log"]["records"]
    assert record["body_preview"] == "你好 orders"
    assert (record["topic"], record["tags"], record["keys"]) == ("orders", "new", ["order-1"])
    assert (record["queue_id"], record["queue_offset"]) == (result.message_queue.queue_id, 0)
    assert record["unique_id"] == result.message_id
    assert record["offset_message_id"] == result.offset_message_id
    assert record["offset"] + record["size_bytes"] == state["commit_log"]["max"]
    topic = state["topics"]["orders"]
    assert topic["kind"] == "normal"
    assert topic["queues"][str(result.message_queue.queue_id)]["max"] == 1
    assert sum(queue["max"] for queue in topic["queues"].values()) == 1


def test_only_the_newest_records_are_shown_and_in_order(live):
    live.send(*[message("many", f"m{number}") for number in range(TAIL_RECORDS_MAX + 30)])
    tail = live.host.state()["commit_log"]["records"]
    assert [record["body_preview"] for record in tail] == [f"m{n}" for n in range(30, TAIL_RECORDS_MAX + 30)]


def test_new_records_reach_the_page_as_an_append(live):
    live.send(*[message("many", f"m{number}") for number in range(5)])
    before = copy.deepcopy(live.host.state())
    live.send(message("many", "one more"))
    after = live.host.state()
    operations = difference(before, after)
    appended = [op for op in operations if op[:2] == ["append", ["commit_log", "records"]]]
    assert [record["body_preview"] for record in appended[0][2]] == ["one more"]
    assert apply_patch(before, operations) == after


def test_the_tail_follows_across_commit_log_files(live):
    noise = random.Random(1).randbytes(200_000)  # a body that does not compress; a file of 1 MiB holds five
    live.send(*[message("big", b"x%d" % number + noise) for number in range(12)])
    state = live.host.state()
    assert len(state["commit_log"]["files"]) > 2
    tail = state["commit_log"]["records"]
    assert [record["queue_offset"] for record in tail] == [n // 4 for n in range(12)]
    assert tail[-1]["body_preview"].startswith("x11")


def test_a_watcher_that_looks_late_sees_the_newest_records(live):
    live.host.state()
    live.send(*[message("late", f"{number} " + "y" * 5_000) for number in range(100)])
    tail = live.host.state()["commit_log"]["records"]
    assert tail[-1]["body_preview"].startswith("99 ")
    offsets = [record["offset"] for record in tail]
    assert offsets == sorted(offsets)


def test_a_message_is_found_by_key_unique_id_offset_id_and_place(live):
    first, second = live.send(message("find", "one", keys="k1 k2"), message("find", "two", keys="k2"))

    def bodies(path):
        status, answer = live.get(path)
        assert status == 200, answer
        return [found["body_preview"] for found in answer["messages"]]

    assert bodies("/api/messages?topic=find&key=k1") == ["one"]
    assert bodies("/api/messages?topic=find&key=k2") == ["two", "one"]
    assert bodies("/api/messages?topic=other&key=k2") == []
    assert bodies(f"/api/messages?unique_id={first.message_id}") == ["one"]
    assert bodies(f"/api/messages?unique_id={second.message_id}&topic=find") == ["two"]
    assert bodies(f"/api/messages?offset_message_id={second.offset_message_id}") == ["two"]
    status, view = live.get("/api/messages/at/0")
    assert (status, view["body_text"], view["crc_matches"]) == (200, "one", True)
    assert live.get("/api/messages/at/1")[0] == 404


def test_an_offset_id_is_that_of_one_broker_and_stays_valid_when_its_address_changes(tmp_path):
    def found(server, offset_message_id):
        return server.get(f"/api/messages?offset_message_id={offset_message_id}")[1]["messages"]

    with LiveServer(tmp_path) as live:
        former_address = live.host.broker_address
        live.send(message("found", keys="k1"))
        own_id = live.get("/api/messages?topic=found&key=k1")[1]["messages"][0]["offset_message_id"]
        _, offset = decode_offset_message_id(own_id)
        assert found(live, encode_offset_message_id("10.0.0.9:10911", offset)) == []
    with LiveServer(tmp_path) as live:
        assert live.host.broker_address != former_address
        assert found(live, encode_offset_message_id(live.host.broker_address, offset)) == []
        assert [one["offset_message_id"] for one in found(live, own_id.lower())] == [own_id]
        (trail,) = live.get(f"/api/messages/trail?name={own_id}")[1]["messages"]
        assert trail["keys"] == ["k1"]
        assert json.loads(live.tool("message", own_id, "--json").output) == {"messages": [trail]}
        of_another = encode_offset_message_id("10.0.0.9:10911", offset)
        assert f"no message has the id {of_another}" in live.tool("message", of_another).output


def test_only_spaces_separate_keys_and_all_other_blanks_are_part_of_them(live):
    keys = ["\u3000wide\u3000", "\u3000", "\u00a0hard", "line\u2028"]
    live.send(message("blanks", "found", keys=" ".join(keys)))
    for key in keys:
        for asked in (key, f" {key} "):
            _, answer = live.get(f"/api/messages?{urlencode({'topic': 'blanks', 'key': asked})}")
            assert [found["body_preview"] for found in answer["messages"]] == ["found"], key
        _, trail = live.get(f"/api/messages/trail?{urlencode({'topic': 'blanks', 'name': key})}")
        assert len(trail["messages"]) == 1, key
    assert live.get("/api/messages?topic=blanks&key=wide")[1] == {"messages": []}


def test_consume_queue_entries_lead_to_their_records(live):
    (result,) = live.send(message("entries", "body"))
    status, answer = live.get(f"/api/topics/entries/queues/{result.message_queue.queue_id}/entries")
    assert status == 200
    (entry,) = answer["entries"]
    assert live.get(f"/api/messages/at/{entry['offset']}")[1]["body_text"] == "body"
    assert live.get("/api/topics/entries/queues/99/entries")[0] == 404


def test_a_browser_sees_a_message_while_it_is_sent(live):
    with contextlib.closing(SocketBrowser(live.server.page_address)) as browser:
        browser.state_when(lambda state: state["commit_log"]["records"] == [])
        live.send(message("streamed", "over the wire and onto the page"))

        def is_shown(state):
            queues = state["topics"].get("streamed", {"queues": {}})["queues"].values()
            return state["commit_log"]["records"] and sum(queue["max"] for queue in queues) == 1

        state = browser.state_when(is_shown)
        assert state["commit_log"]["records"][-1]["body_preview"] == "over the wire and onto the page"


class Consumer:
    """A push consumer of our client in the test's own loop, for as long as the ``async with`` lasts."""

    def __init__(self, live, group, topic, expression="*"):
        self.bodies = []
        self.consumer = DefaultMQPushConsumer(
            None, group, live.name_servers, consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
        )
        self.consumer.subscribe(topic, expression)
        self.consumer.register_message_listener(self.listen)

    async def listen(self, messages, _context):
        self.bodies += [one.body.decode() for one in messages]
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def __aenter__(self):
        await self.consumer.start()
        return self

    async def __aexit__(self, *_):
        await self.consumer.shutdown()


async def state_when(live, condition):
    async with asyncio.timeout(120):
        while True:
            state = await asyncio.to_thread(live.host.state)
            with contextlib.suppress(KeyError, IndexError):
                if condition(state):
                    return state
            await asyncio.sleep(0.05)


def test_a_consumer_is_shown_with_its_group_subscription_assignment_and_held_pulls(live):
    live.send(message("watched", "hello"))

    async def scenario():
        async with Consumer(live, "watchers", "watched", "a || b || *"):
            return await state_when(live, lambda s: len(s["groups"]["watchers"]["held_pulls"]) >= 4)

    state = asyncio.run(scenario())
    group = state["groups"]["watchers"]
    ((client_id, member),) = group["members"].items()
    assert group["message_model"] == "CLUSTERING"
    assert group["subscriptions"]["watched"]["type"] == "TAG"
    assert set(group["assignment"]["watched"].values()) == {client_id}
    assert set(group["assignment"]["watched"]) == set(state["topics"]["watched"]["queues"])
    held = group["held_pulls"]["watched@0"]
    assert held["client_id"] == client_id
    assert held["timeout_ms"] > 0
    connection = state["connections"][member["address"]]
    assert connection["role"] == ["consumer"]
    assert connection["consumer_groups"] == ["watchers"]
    assert connection["client_ids"] == [client_id]
    assert connection["language"] == member["language"] == "PYTHON"
    assert connection["frames_in"] > 0


def test_a_subscription_shows_what_the_brokers_filter_did(live):
    live.send(message("Tagged", "x", tags="Cc"), message("Tagged", "y", tags="BB"), message("Tagged", "z", tags="Aa"))

    async def scenario():
        async with Consumer(live, "Tags", "Tagged", "Aa"):
            return await state_when(
                live, lambda s: (wanted := s["groups"]["Tags"]["subscriptions"]["Tagged"])["kept_back"] and wanted
            )

    state = asyncio.run(scenario())
    subscription = state["groups"]["Tags"]["subscriptions"]["Tagged"]
    assert (subscription["expression"], subscription["kept_back"]) == ("Aa", 1)


def test_the_made_up_state_for_work_on_the_page_has_the_shape_of_the_real_one(live):
    """Otherwise the page would be built for something that the product never sends."""
    made_up = FixtureSource(messages_per_second=0).state()
    live.send(message("Shape", "x", keys="k"))

    async def scenario():
        async with Consumer(live, "Shape", "Shape"):
            live.lock("Shape", "Shape", 0, "client")
            return await state_when(live, lambda s: s["groups"]["Shape"]["held_pulls"] and s["log"])

    real = asyncio.run(scenario())
    for mine, theirs in (
        (made_up, real),
        *((made_up[section], real[section]) for section in ("cluster", "rates", "omitted", "commit_log")),
        (made_up["commit_log"]["records"][0], real["commit_log"]["records"][0]),
        (made_up["commit_log"]["files"][0], real["commit_log"]["files"][0]),
        (made_up["log"][0], real["log"][0]),
        (made_up["topics"]["GT"], real["topics"]["Shape"]),
        (made_up["topics"]["GT"]["queues"]["0"], real["topics"]["Shape"]["queues"]["0"]),
        (any_of(made_up["connections"]), any_of(real["connections"])),
        (made_up["groups"]["gc1"], real["groups"]["Shape"]),
        (any_of(made_up["groups"]["gc1"]["members"]), any_of(real["groups"]["Shape"]["members"])),
        (any_of(made_up["groups"]["gc1"]["subscriptions"]), any_of(real["groups"]["Shape"]["subscriptions"])),
        (any_of(made_up["groups"]["gc1"]["held_pulls"]), any_of(real["groups"]["Shape"]["held_pulls"])),
        (any_of(any_of(made_up["locks"])), any_of(any_of(real["locks"]))),
    ):
        assert set(mine) == set(theirs)


def any_of(table):
    return next(iter(table.values()))


def test_committed_offsets_and_lag_follow_the_consumer(live):
    live.send(*[message("lagging", str(number)) for number in range(8)])

    async def scenario():
        async with Consumer(live, "followers", "lagging") as consumer:
            await state_when(live, lambda _: len(consumer.bodies) == 8)
        return await state_when(live, is_over)

    def is_over(state):
        """The consumer has left, and the offsets of all its queues have come."""
        queues = state["topics"]["lagging"]["queues"].values()
        return not state["groups"]["followers"]["members"] and all("followers" in one["committed"] for one in queues)

    state = asyncio.run(scenario())
    assert state["groups"]["followers"]["lag"] == 0
    live.send(*[message("lagging", str(number)) for number in range(5)])
    assert live.host.state()["groups"]["followers"]["lag"] == 5


def test_locks_are_shown_with_owner_age_and_lease(live):
    live.lock("ordered", "locked", 3, "client-1")
    lock = live.host.state()["locks"]["ordered"]["locked@3"]
    assert lock["client_id"] == "client-1"
    assert lock["lease_ms"] == 60_000
    assert 0 <= live.host.state()["cluster"]["now_us"] + 1_000_000 - lock["since_us"] < 60_000_000


def test_what_is_left_out_is_counted(live):
    broker = live.host._machines.broker
    thread, _ = live.host._engine()

    def fill():
        table = broker.topic_config_manager.topic_config_table
        for number in range(TOPICS_MAX + 7):
            table[f"t{number:04}"] = TopicConfig(f"t{number:04}", 16, 16)
        table["a-wide-one"] = TopicConfig("a-wide-one", 500, 500)
        broker.consumer_offset_manager.offset_table.update(
            {f"t{number:04}@group-{number}": {0: 1} for number in range(GROUPS_MAX + 5)}
        )
        return len(table)

    count = thread.call(fill)
    state = live.host.state()
    assert len(state["topics"]) == TOPICS_MAX
    assert state["omitted"]["topics"] == count - TOPICS_MAX
    assert len(state["topics"]["a-wide-one"]["queues"]) == QUEUES_PER_TOPIC_MAX
    assert state["topics"]["a-wide-one"]["omitted_queues"] == 500 - QUEUES_PER_TOPIC_MAX
    assert sum(len(topic["queues"]) for topic in state["topics"].values()) <= QUEUES_MAX
    assert len(state["groups"]) == GROUPS_MAX
    assert state["omitted"]["groups"] == 5


def test_retry_and_dead_letter_topics_are_distinguished(live):
    manager = live.host._machines.broker.topic_config_manager
    thread, _ = live.host._engine()
    for name in ("%RETRY%g", "%DLQ%g"):
        thread.call(lambda name=name: manager.create_topic_in_send_message_back(name, 1))
    topics = live.host.state()["topics"]
    assert (topics["%RETRY%g"]["kind"], topics["%DLQ%g"]["kind"]) == ("retry", "dlq")


def test_a_client_s_text_cannot_break_the_page_s_json(live):
    live.lock("odd", "t", 0, "client \ud800 \x00 </script> " + "x" * 10_000)
    status, state = live.get("/api/live/state")
    assert status == 200
    assert len(state["locks"]["odd"]["t@0"]["client_id"]) < 300


def test_rates_and_history_count_what_was_sent(live):
    live.send(*[message("rated", "x") for _ in range(20)])
    live.state_when(lambda s: s["rates"]["begin_us"] + 1_000_000 > s["commit_log"]["records"][-1]["stored_us"])
    history = live.host.history()
    assert sum(history["in_messages"]) == 20
    assert len({len(values) for values in history.values()}) == 1
    seconds = [begin // 1_000_000 for begin in history["begin_us"]]
    assert seconds == list(range(seconds[0], seconds[0] + len(seconds)))


def test_the_backlog_of_all_groups_is_among_the_rates(live):
    live.send(*[message("behind", "x") for _ in range(7)])
    manager = live.host._machines.broker.consumer_offset_manager
    thread, _ = live.host._engine()
    for queue_id in range(4):
        thread.call(lambda at=queue_id: manager.commit_offset("", "left-behind", "behind", at, 0))
    state = live.state_when(lambda s: "left-behind" in s["groups"])
    assert state["rates"]["backlog"] == state["groups"]["left-behind"]["lag"] == 7


def test_the_state_is_plain_json(live):
    live.send(message("plain", b"\xff\xfe\x00"))
    state = live.host.state()
    assert json.loads(json.dumps(state)) == state


def test_clients_keep_their_names_when_the_server_is_started_again(tmp_path):
    with LiveServer(tmp_path) as server:
        server.create_topic("orders")
        with consumer_of_orders(server, lambda messages, context: None):
            names = server.state_when(lambda state: state["groups"]["billing"]["members"])["client_names"]
    assert names
    with LiveServer(tmp_path) as again:
        assert {client: again.host._names.known(client) for client in names} == names
