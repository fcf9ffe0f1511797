"""Half messages of a live broker that are decided by hand: over HTTP, as the page does, and from the command line."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from click.testing import CliRunner

from app.command_line import main
from app.commands.administration.transactions import _find
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.transactions.half_message_lookup import HalfMessageAction, HalfMessageRefusal, HalfMessageRefused
from engine.client import LocalTransactionState, Message, TransactionMQProducer
from engine.protocol.command.headers import SendMessageRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message_properties import (
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_TRANSACTION_PREPARED,
    encode_properties,
)
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import TRANSACTION_PREPARED_TYPE
from engine.store.files.store_config import MessageStoreConfig
from tests.support.live.live_server import LiveServer, ObedientListener

UNKNOW, COMMIT = LocalTransactionState.UNKNOW, LocalTransactionState.COMMIT_MESSAGE
NEVER_MS = 3_600_000


def send_in_transactions(live, *messages):
    """``(key, state)`` each; the results."""

    async def send():
        async with TransactionMQProducer(None, "bank", live.name_servers, ObedientListener()) as producer:
            return [
                await producer.send_message_in_transaction(Message("Transfers", b"x", keys=key), state)
                for key, state in messages
            ]

    return asyncio.run(send())


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """Nobody is asked here: what is undecided stays so."""
    config = BrokerConfig(port=0, transaction_time_out_ms=NEVER_MS, transaction_check_interval_ms=NEVER_MS)
    with LiveServer(tmp_path_factory.mktemp("data"), broker=config) as live:
        yield live


@pytest.fixture(scope="module")
def impatient(tmp_path_factory):
    """A broker that asks once and then gives up, all within moments."""
    config = BrokerConfig(port=0, transaction_time_out_ms=1, transaction_check_interval_ms=40, transaction_check_max=1)
    with LiveServer(tmp_path_factory.mktemp("data"), broker=config) as live:
        yield live


def post(live, action, body, headers=None):
    return live.post(f"/api/live/transactions/{action}", body, headers)


def halves(state, key):
    return [half for half in state["transactions"]["messages"] if half["key"] == key]


def stored(live, key):
    return len(live.get(f"/api/messages?topic=Transfers&key={key}")[1]["messages"])


def when_decided(live, key):
    return live.state_when(lambda state: halves(state, key)[-1]["decided_by"] is not None)


def tool(live, *arguments, **options):
    return live.tool("transactions", *arguments, **options)


# ------------------------------------------------------------------------------------------------------ over HTTP


def test_a_committed_half_message_is_stored_for_consumers_and_marked(live):
    send_in_transactions(live, ("c-1", UNKNOW))
    assert stored(live, "c-1") == 0
    (half,) = halves(live.host.state(), "c-1")
    status, answer = post(live, "commit", {"message": half["id"]})
    assert (status, answer["action"]) == (200, "commit")
    assert answer["message"] == {
        "id": half["id"],
        "key": "c-1",
        "topic": "Transfers",
        "queue_id": half["queue_id"],
        "group": "bank",
    }
    when_decided(live, "c-1")
    assert stored(live, "c-1") == 1


def test_a_half_message_that_was_rolled_back_never_becomes_visible(live):
    send_in_transactions(live, ("r-1", UNKNOW))
    assert post(live, "rollback", {"message": "r-1"})[0] == 200
    when_decided(live, "r-1")
    assert stored(live, "r-1") == 0


def test_what_was_decided_meanwhile_is_refused_in_both_languages_and_nothing_happens(live):
    send_in_transactions(live, ("d-1", COMMIT))
    op = halves(when_decided(live, "d-1"), "d-1")[0]["decided_by"]
    for action in ("commit", "rollback"):
        status, answer = post(live, action, {"message": "d-1"})
        assert (status, answer["reason"]) == (409, "decided")
        assert f"op message {op}" in answer["error"] == answer["text"]["en"]
        assert f"op 消息 {op}" in answer["text"]["zh"]
    assert stored(live, "d-1") == 1


def test_what_was_decided_is_decided_again_only_anyway_and_by_a_broker_that_allows_it(live, tmp_path):
    send_in_transactions(live, ("again", COMMIT))
    when_decided(live, "again")
    status, answer = post(live, "commit", {"message": "again", "anyway": True})
    assert (status, answer["reason"], stored(live, "again")) == (409, "by_broker", 1)
    with LiveServer(tmp_path, broker=BrokerConfig(port=0, commit_transaction_once=False)) as careless:
        send_in_transactions(careless, ("again", COMMIT))
        when_decided(careless, "again")
        assert post(careless, "commit", {"message": "again"})[0] == 409
        assert post(careless, "commit", {"message": "again", "anyway": True})[0] == 200
        assert stored(careless, "again") == 2


def test_a_name_that_fits_several_or_none_is_refused(live):
    sent = send_in_transactions(live, ("twice", UNKNOW), ("twice", UNKNOW))
    status, answer = post(live, "commit", {"message": "twice"})
    assert (status, answer["reason"]) == (409, "ambiguous")
    assert all(result.send_result.message_id in answer["error"] for result in sent)
    assert post(live, "commit", {"message": "nobody"})[0] == 404
    status, answer = post(live, "resume", {"message": "twice"})
    assert (status, answer["reason"]) == (404, "not_given_up")


@pytest.mark.parametrize(
    ("action", "body", "headers", "status", "words"),
    [
        ("bury", {"message": "x"}, {}, 400, "commit, rollback, resume"),
        ("commit", {}, {}, 400, "message"),
        ("commit", {"message": 7}, {}, 400, "message"),
        ("commit", {"message": " "}, {}, 400, "1 to 1024"),
        ("commit", {"message": "x", "anyway": "yes"}, {}, 400, "anyway"),
        ("resume", {"message": "x", "anyway": True}, {}, 400, "anyway"),
        ("commit", b"{", {}, 400, "JSON"),
        ("commit", b"[]", {}, 400, "object"),
        ("commit", b"message=x", {"Content-Type": "application/x-www-form-urlencoded"}, 400, "application/json"),
        ("commit", {"message": "x"}, {"Origin": "http://evil.example"}, 403, "other web sites"),
    ],
)
def test_bad_requests_and_other_web_sites_are_refused(live, action, body, headers, status, words):
    found, answer = post(live, action, body, headers)
    assert found == status
    assert words in (answer if isinstance(answer, str) else answer["error"])


def test_messages_that_were_given_up_are_listed_and_can_be_checked_again(impatient):
    send_in_transactions(impatient, ("lost", UNKNOW))
    state = impatient.state_when(lambda state: state["transactions"]["given_up_end"] == 1)
    (given_up,) = state["transactions"]["given_up"]
    assert (given_up["key"], given_up["group"], given_up["check_times"], given_up["checked_again"]) == (
        "lost",
        "bank",
        1,
        None,
    )
    assert given_up["given_up_us"] >= given_up["born_us"]
    status, answer = post(impatient, "commit", {"message": "lost"})
    assert (status, answer["reason"]) == (409, "given_up")
    assert post(impatient, "resume", {"message": "lost"})[0] == 200
    # Nobody knows this time either.
    state = impatient.state_when(lambda state: state["transactions"]["given_up_end"] == 2)
    first, second = state["transactions"]["given_up"]
    assert (first["checked_again"] is not None, second["checked_again"]) == (True, None)


# ----------------------------------------------------------------------------------------------- the command line


def test_the_tool_lists_half_messages_and_decides_them_after_asking(live):
    send_in_transactions(live, ("tool-1", UNKNOW), ("tool-2", UNKNOW))
    lines = {line.split()[3]: line for line in tool(live, "list").output.splitlines() if "tool-" in line}
    assert "undecided" in lines["tool-1"]
    result = tool(live, "commit", "tool-1", input="n\n")
    assert (result.exit_code, stored(live, "tool-1")) == (1, 0)
    assert "whatever the local transaction did" in result.output
    assert tool(live, "commit", "--yes", "tool-1").output.splitlines()[-1] == "committed"
    assert tool(live, "rollback", "--yes", "tool-2").output.splitlines()[-1] == "rolled back"
    state = when_decided(live, "tool-2")
    assert (stored(live, "tool-1"), stored(live, "tool-2")) == (1, 0)
    op = halves(state, "tool-2")[0]["decided_by"]
    assert f"decided, op {op}" in next(line for line in tool(live, "list").output.splitlines() if "tool-2" in line)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("commit", "--yes", "c-9"), "already decided"),
        (("commit", "--yes", "nobody"), "no half message"),
        (("resume", "--yes", "c-9"), "has not given up on any message"),
    ],
)
def test_the_tool_refuses_in_one_line(live, arguments, words):
    if not live.host.state()["transactions"] or not halves(live.host.state(), "c-9"):
        send_in_transactions(live, ("c-9", COMMIT))
        when_decided(live, "c-9")
    result = tool(live, *arguments)
    assert (result.exit_code, "Traceback" in result.output) == (1, False)
    assert words in result.output.strip().splitlines()[-1]


class BrokerWith:
    """Stands in for a broker elsewhere and for its lookup; has one half message, or none."""

    def __init__(self, message_id=None):
        self.message_id = message_id

    async def lookup(self, name):
        return self

    def message_for(self, action, name, *, anyway):
        if self.message_id is None:
            raise HalfMessageRefused(HalfMessageRefusal.NO_SUCH, name=name)
        return self


def find(brokers, name):
    return asyncio.run(_find(brokers, HalfMessageAction.COMMIT, name, anyway=False))


def test_a_key_that_two_brokers_know_is_refused_whoever_is_asked_first():
    nobody, first, second = BrokerWith(), BrokerWith("U1"), BrokerWith("U2")
    assert find([nobody, second], "k") == (second, second)
    with pytest.raises(HalfMessageRefused, match=r"2 half messages have the key 'k'.*U1, U2"):
        find([first, nobody, second], "k")
    with pytest.raises(HalfMessageRefused, match="there is no half message with"):
        find([nobody, nobody], "k")


def test_the_tool_lists_what_was_given_up_and_has_it_checked_again(impatient):
    send_in_transactions(impatient, ("lost-2", UNKNOW))
    key = "lost-2"

    def times(state):
        return [one["check_times"] for one in state["transactions"]["given_up"] if one["key"] == key]

    impatient.state_when(lambda state: times(state) == [1])
    given_up = tool(impatient, "list").output.partition("Given up")[2]
    assert "given up" in next(line for line in given_up.splitlines() if key in line)
    assert tool(impatient, "resume", "--yes", key).output.splitlines()[-1] == "will be checked again"
    impatient.state_when(lambda state: times(state) == [1, 1])
    given_up = tool(impatient, "list").output.partition("Given up")[2]
    assert [("checked again" in line) for line in given_up.splitlines() if key in line] == [True, False]


def test_a_search_over_the_wire_that_would_take_too_long_says_so(live, monkeypatch):
    monkeypatch.setattr("app.remote.remote_half_messages.OPS_FETCHED_MAX", 2)
    monkeypatch.setattr("app.remote.remote_half_messages._PER_PULL", 1)
    send_in_transactions(live, ("old", UNKNOW), *[(f"young-{number}", COMMIT) for number in range(4)])
    when_decided(live, "young-3")
    result = tool(live, "commit", "--yes", "old")
    assert "more than 2 messages have been decided since 'old'" in result.output
    assert tool(live, "commit", "--yes", "--anyway", "old").output.splitlines()[-1] == "committed"


def test_op_messages_are_found_although_the_oldest_ones_are_gone_with_their_file(live, monkeypatch):
    send_in_transactions(live, ("gone-0", COMMIT), ("gone-1", COMMIT), ("decided", COMMIT))
    newest_op = halves(when_decided(live, "decided"), "decided")[-1]["decided_by"]
    assert newest_op >= 2
    ops = live.host._machines.broker.store._table.get("RMQ_SYS_TRANS_OP_HALF_TOPIC", 0)
    monkeypatch.setattr(ops, "min_offset", newest_op)
    assert "is already decided" in tool(live, "commit", "--yes", "decided").output
    assert stored(live, "decided") == 1


def test_a_broker_that_hides_its_op_queue_as_rocketmq_does_is_not_trusted_to_know(live, monkeypatch):
    send_in_transactions(live, ("hidden", COMMIT))
    when_decided(live, "hidden")
    pull = live.host._machines.broker.pull_message_processor.pull_message

    def hidden(channel, request):
        if request.ext_fields["topic"] == "RMQ_SYS_TRANS_OP_HALF_TOPIC":
            return request.reply(ResponseCode.TOPIC_NOT_EXIST, "no such topic")
        return pull(channel, request)

    processors = live.host._machines.broker.server.processors._processors
    monkeypatch.setitem(processors, RequestCode.PULL_MESSAGE, hidden)
    assert "not known" in next(line for line in tool(live, "list").output.splitlines() if "hidden" in line)
    assert "it is unknown whether 'hidden' is decided" in tool(live, "commit", "--yes", "hidden").output
    assert stored(live, "hidden") == 1
    assert "is decided already" in tool(live, "commit", "--yes", "--anyway", "hidden").output, "our broker knows"
    assert stored(live, "hidden") == 1


def test_the_command_send_leaves_a_half_message_to_decide(live):
    sent = live.tool("send", "Transfers", "by hand", "--key", "cli-1", "--transaction", "unknown")
    assert sent.exit_code == 0, sent.output
    assert "local transaction: unknown" in sent.output
    (half,) = halves(live.host.state(), "cli-1")
    assert half["decided_by"] is None
    committed = tool(live, "commit", half["id"], input="y\n")
    assert committed.exit_code == 0, committed.output
    when_decided(live, "cli-1")
    assert stored(live, "cli-1") == 1


@pytest.mark.parametrize("other", [["--batch", "2"], ["--mode", "oneway"], ["--delay-level", "1"]])
def test_a_transaction_is_neither_a_batch_nor_oneway_nor_delayed(live, other):
    sent = CliRunner().invoke(main, ["send", "Transfers", "x", "--transaction", "commit", *other])
    assert sent.exit_code == 2
    assert "--transaction excludes" in sent.output


def test_a_half_message_without_a_unique_id_is_decided_by_its_offset_id_everywhere(live):
    """Clients that give no unique id are few, but the broker takes what they send."""
    properties = {PROPERTY_TRANSACTION_PREPARED: "true", PROPERTY_PRODUCER_GROUP: "bank"}
    header = SendMessageRequestHeader("bank", "Transfers", "TBW102", 4, 0, TRANSACTION_PREPARED_TYPE, 0, 0)
    header = replace(header, properties=encode_properties(properties))

    async def send(engine):
        command = RemotingCommand.request(RequestCode.SEND_MESSAGE, header, b"x")
        return await engine.operator._client.call(live.host.broker_address, command, 3_000)

    def by_page(name):
        return post(live, "rollback", {"message": name})[0] == 200

    def by_tool(name):
        return tool(live, "commit", "--yes", name).exit_code == 0

    for decide in (by_page, by_tool):
        name = live.host.ask(send).ext_fields["msgId"]
        assert (decide(name), decide(name)) == (True, False)


def test_a_decision_by_hand_is_no_delivery(live):
    send_in_transactions(live, ("s-1", UNKNOW), ("s-2", COMMIT))
    when_decided(live, "s-2")
    totals = live.host._machines.broker.stats.totals
    before = totals.out_requests
    assert post(live, "commit", {"message": "s-1"})[0] == 200
    assert totals.out_requests == before


def test_without_an_index_page_and_tool_say_why_they_find_nothing(tmp_path):
    with LiveServer(tmp_path, store=MessageStoreConfig(message_index_enable=False)) as blind:
        send_in_transactions(blind, ("b-1", UNKNOW))
        status, answer = post(blind, "commit", {"message": "b-1"})
        assert (status, answer["reason"]) == (409, "no_index")
        assert answer["error"] in tool(blind, "commit", "--yes", "b-1").output
