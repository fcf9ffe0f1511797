"""What applications and their stores say to each other, in a sentence."""

from __future__ import annotations

import pytest

from engine.faults.frame_meaning import Ends
from engine.lab.narration.store_words import action_of, refusal_name, store_words
from engine.lab.work.store_frames import StoreRefusalCode, StoreRequestCode, encode_body
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.response_code import ResponseCode

ASKED, ANSWERED = Ends("C1", "D1"), Ends("D1", "C1")


def request(code: StoreRequestCode, body: object = None) -> RemotingCommand:
    return RemotingCommand.request(code, body=b"" if body is None else encode_body(body))


@pytest.mark.parametrize(
    ("asked", "action"),
    [
        (request(StoreRequestCode.SQL_EXECUTE, {"sql": "insert INTO t VALUES (1)", "parameters": {}}), "INSERT"),
        (request(StoreRequestCode.REDIS_COMMAND, ["set", "k", "v"]), "SET"),
        (request(StoreRequestCode.SERVICE_CALL, {"operation": "lock-stock", "key": "k", "by": "C1"}), "lock-stock"),
        (request(StoreRequestCode.SQL_COMMIT), ""),
        (request(StoreRequestCode.SQL_EXECUTE, {"sql": "", "parameters": {}}), ""),
        (request(StoreRequestCode.REDIS_COMMAND), ""),
    ],
)
def test_a_request_is_named_by_what_it_does_and_one_that_nobody_can_read_is_not(asked, action):
    assert action_of(asked) == action


def test_statements_are_small_talk_until_they_are_committed_or_refused():
    insert = request(StoreRequestCode.SQL_EXECUTE, {"sql": "INSERT INTO t VALUES (1)", "parameters": {}})
    assert store_words(insert, insert, ASKED) is None
    assert store_words(insert.reply(ResponseCode.SUCCESS), insert, ANSWERED) is None
    refused = store_words(insert.reply(StoreRefusalCode.UNIQUE_VIOLATION, "UNIQUE constraint failed"), insert, ANSWERED)
    assert str(refused.text) == "D1 refuses C1's INSERT: the record already exists."
    commit = request(StoreRequestCode.SQL_COMMIT)
    assert str(store_words(commit, commit, ASKED).text) == "C1 commits its transaction in D1."
    lost = store_words(
        commit.reply(StoreRefusalCode.TRANSACTION_LOST, "there is no such transaction"), commit, ANSWERED
    )
    assert str(lost.text) == "D1 refuses C1's TRANSACTION_LOST: there is no such transaction."


def test_a_command_of_redis_is_shown_without_prefix_value_and_script():
    words = ["EVAL", "if redis.call" + " " * 60, 1, "glassmq:idempotence:shop:order-0", '{"state": "consuming"}', 600]
    asked = request(StoreRequestCode.REDIS_COMMAND, words)
    assert str(store_words(asked, asked, Ends("C1", "R1")).text) == "C1 sends R1 a command: EVAL 1 order-0 600"


def test_only_refusals_of_stores_are_named_so():
    assert refusal_name(StoreRefusalCode.UNIQUE_VIOLATION) == "UNIQUE_VIOLATION"
    assert refusal_name(ResponseCode.SUCCESS) is None
