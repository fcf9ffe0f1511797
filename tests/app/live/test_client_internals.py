"""The live page's view of the internals of a group's members: our own client, over real connections."""

from __future__ import annotations

import asyncio
import threading

import pytest

from app.live import client_questions
from app.picture.consumer_group import GroupReport
from engine.client import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from engine.client.consumer.client_remoting_processor import ClientRemotingProcessor
from tests.support.live.consumer_thread import consumer_of_orders
from tests.support.live.live_server import LiveServer, message
from tests.support.picture.schema_problems import schema_problems
from tests.support.waiting import wait_until


@pytest.fixture
def live(tmp_path):
    with LiveServer(tmp_path / "data") as live:
        live.create_topic("orders", 1)
        yield live


def succeed(messages, context):
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS


def look_when(live, condition, group="billing"):
    """Return the first snapshot of the group for which ``condition`` holds."""

    def look():
        return live.get(f"/api/live/clients?group={group}")[1]

    return wait_until(
        lambda: found if condition(found := look()) else None,
        f"the snapshot of group {group} that the test needs",
        seen=look,
        poll_interval_s=0.1,
    )


def queue_of(look, topic="orders"):
    return next((queue for member in look["members"] for queue in member["queues"] if queue["topic"] == topic), None)


def test_an_orderly_member_tells_its_trees_its_locks_and_what_its_listener_has(live):
    live.send(*[message("orders", keys=f"k{number}") for number in range(3)])
    go_on = asyncio.Event()

    async def listen(messages, context):
        await go_on.wait()
        return ConsumeOrderlyStatus.SUCCESS

    with consumer_of_orders(live, listen, orderly=True) as owner:
        look = look_when(live, lambda look: (queue := queue_of(look)) and queue["in_hand"]["count"] == 1)
        assert list(schema_problems(look, GroupReport)) == []
        (member,), queue = look["members"], queue_of(look)
        assert (member["state"], member["language"], member["orderly"]) == ("told", "PYTHON", True)
        assert (member["untold"], look["omitted_members"]) == ([], 0)
        assert (queue["locked"], queue["dropped"], queue["consuming"]) == (True, False, True)
        assert queue["consuming_tree"]["key"] == "k0"
        assert (queue["waiting"]["count"], queue["tree"]["offset"], queue["tree"]["right"]["key"]) == (2, 1, "k2")
        assert queue["local_lock"]["owner"] is not None
        assert 0 <= look["now_us"] - queue["locked_us"] < 60_000_000
        owner.call_soon(go_on.set)
        done = queue_of(look_when(live, lambda look: queue_of(look)["message_count"] == 0))
        assert (done["tree"], done["consuming_tree"], done["local_lock"]["owner"]) == (None, None, None)


def life_when(live, state, key, group="billing"):
    """Return the group's part of the life of the message, as soon as it has this state."""

    def part():
        (life,) = live.get(f"/api/messages/trail?name={key}")[1]["messages"]
        return life["groups"].get(group)

    return wait_until(
        lambda: found if (found := part()) and found["state"] == state else None,
        f"message {key} to be {state} for group {group}",
        seen=part,
        poll_interval_s=0.1,
    )


@pytest.mark.parametrize(("orderly", "state"), [(True, "delivering"), (False, "held")])
def test_the_life_of_a_message_names_the_member_that_holds_it(live, orderly, state):
    live.send(message("orders", keys="one"), message("orders", keys="two"))
    go_on = asyncio.Event()

    async def listen(messages, context):
        await go_on.wait()
        return ConsumeOrderlyStatus.SUCCESS if orderly else ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    with consumer_of_orders(live, listen, orderly=orderly) as owner:
        assert life_when(live, state, "one")["holder"] == owner.instance.client_id
        assert life_when(live, "held", "two")["holder"] == owner.instance.client_id
        owner.call_soon(go_on.set)
    assert "holder" not in life_when(live, "passed", "two")


def test_what_a_group_will_get_again_is_listed_with_how_often_it_had_it(live):
    live.send(message("orders", keys="spoilt"), message("orders", keys="good"))

    def listen(messages, context):
        is_spoilt = "spoilt" in messages[0].keys
        return ConsumeConcurrentlyStatus.RECONSUME_LATER if is_spoilt else ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    with consumer_of_orders(live, listen):
        look = look_when(live, lambda look: look["retries"])
        (retry,) = look["retries"]
        assert (retry["key"], retry["topic"], retry["reconsume_times"]) == ("spoilt", "orders", 1)
        assert 0 < retry["due_us"] - look["now_us"] <= 10_000_000
        assert look["are_all_retries"]
        assert live.get("/api/live/clients?group=another")[1]["retries"] == []


def answers(monkeypatch, answer):
    """Let consumers answer 307 with ``answer(request)``. Returns the client ids that were asked for their internals."""
    asked = []

    def answer_instead(self, channel, request):
        if "insidesEnable" in request.ext_fields:
            asked.append(request.ext_fields["clientId"])
        return answer(request)

    monkeypatch.setattr(ClientRemotingProcessor, "get_consumer_running_info", answer_instead)
    return asked


def test_who_does_not_answer_is_shown_so_is_asked_seldom_and_keeps_nobody_waiting(live, monkeypatch):
    monkeypatch.setattr(client_questions, "ANSWER_TIMEOUT_MS", 50)
    asked = answers(monkeypatch, lambda request: None)
    with consumer_of_orders(live, succeed):
        look = look_when(live, lambda look: look["members"] and look["members"][0]["state"] == "silent")
        assert (look["members"][0]["answered_us"], look["members"][0]["queues"]) == (None, [])
        assert list(schema_problems(look, GroupReport)) == []
        for _ in range(5):
            live.get("/api/live/clients?group=billing")
        assert len(asked) == 1
    assert live.get("/api/live/clients?group=billing")[1]["members"] == []


def test_a_member_is_asked_only_because_of_a_look_and_once_however_many_look_at_it(live, monkeypatch):
    monkeypatch.setattr(client_questions, "SILENT_AGAIN_MS", 3_600_000)
    asked = answers(monkeypatch, lambda request: request.reply(3, "not here"))
    with consumer_of_orders(live, succeed) as member:
        live.state_when(lambda state: state["groups"]["billing"]["members"])
        assert asked == []
        looks = [threading.Thread(target=live.get, args=("/api/live/clients?group=billing",)) for _ in range(4)]
        for each in looks:
            each.start()
        for each in looks:
            each.join()
        look = look_when(live, lambda look: look["members"][0]["state"] == "refused")
        assert look["members"][0]["remark"] == "not here"
        assert asked == [member.instance.client_id]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"mqTable":7,"properties":[]}', b"{}" * 200_000])
def test_an_answer_that_makes_no_sense_hurts_nobody(live, monkeypatch, body):
    answers(monkeypatch, lambda request: request.reply(0, body=body))
    with consumer_of_orders(live, succeed):
        states = ("told", "unreadable", "too_long")
        look = look_when(live, lambda look: look["members"] and look["members"][0]["state"] in states)
        assert look["members"][0]["queues"] == []


@pytest.mark.parametrize("query", ["", "?group=", "?group=a%20b", "?group=" + "x" * 300, "?group=a&page=1"])
def test_a_name_that_no_group_can_have_is_refused(live, query):
    status, answer = live.get(f"/api/live/clients{query}")
    assert (status, answer["parameter"]) == (400, "page" if "page" in query else "group")
