"""The meaning of frames, in both languages, for any client."""

from __future__ import annotations

import pytest

from engine.faults.frame_meaning import Ends, reply_words, request_words
from engine.protocol.body.bodies import LockBatchRequestBody
from engine.protocol.body.heartbeat_data import ConsumerData, HeartbeatData
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.headers import PullMessageResponseHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message_properties import encode_properties
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.texts import LANGUAGES

ENDS = Ends("C1", "B1")
BACK = Ends("B1", "C1")
LOCK = LockBatchRequestBody("g", "C1", tuple(MessageQueue("T", "B1", queue) for queue in range(4)))
HEARTBEAT = HeartbeatData("C1", ("p",), (ConsumerData("g"),)).to_json()
SEND = {"a": "pg", "b": "T", "c": "TBW102", "d": "4", "e": "2", "f": "0", "g": "0", "h": "0"}
PULL = {"consumerGroup": "g", "topic": "T", "queueId": "1", "queueOffset": "7"}


def request(code, body=b"", **fields):
    command = RemotingCommand.request(code, None, body)
    command.ext_fields |= fields
    return command


def send(**properties):
    return request(RequestCode.SEND_MESSAGE_V2, b"x", **SEND, i=encode_properties(properties))


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (send(KEYS="k1"), "C1 sends k1 to B1, for Q2."),
        (send(TRAN_MSG="true"), "C1 sends a message to B1 as a half message: consumers cannot see it yet."),
        (request(RequestCode.PULL_MESSAGE, **PULL), "C1 asks B1 for messages of Q1, starting at offset 7."),
        (request(RequestCode.LOCK_BATCH_MQ, LOCK.to_json()), "C1 asks B1 for the lock on Q0, Q1, Q2, Q3."),
        (request(RequestCode.HEART_BEAT, HEARTBEAT), "C1 sends B1 a heartbeat with its groups: p, g."),
        (request(RequestCode.HEART_BEAT), "C1 sends B1 a request: HEART_BEAT."),
        (request(RequestCode.LOCK_BATCH_MQ, b"no JSON"), "C1 sends B1 a request: LOCK_BATCH_MQ."),
        (request(RequestCode.PULL_MESSAGE), "C1 sends B1 a request: PULL_MESSAGE."),
    ],
)
def test_a_request_is_a_sentence_and_unreadable_ones_are_reported_by_their_name(command, sentence):
    words = request_words(RequestCode(command.code).name, command, ENDS)
    assert words.text["en"] == sentence
    assert set(words.text) == set(LANGUAGES)


def test_a_reply_says_what_its_request_asked_for():
    asked = request(RequestCode.PULL_MESSAGE, **PULL)
    empty = asked.reply(ResponseCode.PULL_NOT_FOUND, "", PullMessageResponseHeader(0, 7, 0, 7))
    assert reply_words("PULL_MESSAGE", empty, asked, BACK).text["en"] == "B1 has no new messages for C1 in Q1."
    refused = asked.reply(ResponseCode.SYSTEM_BUSY, "later")
    assert (
        reply_words("PULL_MESSAGE", refused, asked, BACK).text["en"] == "B1 answers C1's PULL_MESSAGE with SYSTEM_BUSY."
    )
    fine = request(RequestCode.HEART_BEAT)
    assert reply_words("HEART_BEAT", fine.reply(ResponseCode.SUCCESS), fine, BACK) is None
