"""What frames are about: names, topics, groups and keys, read as each request carries them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.faults.frame_subject import FrameSubject
from engine.protocol.body.bodies import LockBatchRequestBody
from engine.protocol.body.heartbeat_data import ConsumerData, HeartbeatData
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.headers import (
    CheckTransactionStateRequestHeader,
    ConsumerSendMsgBackRequestHeader,
    EndTransactionRequestHeader,
    QueryConsumerOffsetRequestHeader,
    UnregisterClientRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand, decode_command
from engine.protocol.message.batch_codec import encode_batch
from engine.protocol.message.message import Message, MessageExt
from engine.protocol.message.message_codec import encode_stored_message
from engine.protocol.message.message_properties import encode_properties
from engine.protocol.request_code import RequestCode

GOLDEN_FRAMES = Path(__file__).parents[2] / "golden" / "wire-first-of-each.jsonl"
PROPERTIES = encode_properties({"KEYS": "k1 k2", "UNIQ_KEY": "U1"})
QUEUES = (MessageQueue("T", "broker-a", 0), MessageQueue("T", "broker-a", 1), MessageQueue("U", "broker-a", 0))


def request(code, header=None, body=b"", **fields):
    command = RemotingCommand.request(code, header, body)
    command.ext_fields |= fields
    return command


def stored(*keys, topic="T", **properties):
    message = MessageExt(
        topic=topic,
        body=b"hello",
        properties={"KEYS": " ".join(keys), "UNIQ_KEY": f"U-{keys[0]}", **properties},
        queue_id=0,
        queue_offset=0,
        commit_log_offset=0,
        born_timestamp=0,
        born_host="10.0.0.9:1",
        store_timestamp=0,
        store_host="10.0.0.1:10911",
    )
    return encode_stored_message(message)


LOCKS = LockBatchRequestBody("g", "c", QUEUES).to_json()
HEARTBEAT = HeartbeatData("c", ("p1", "p2"), (ConsumerData("g"),)).to_json()
END = EndTransactionRequestHeader(
    producer_group="bank",
    tran_state_table_offset=0,
    commit_log_offset=0,
    commit_or_rollback=8,
    msg_id="U1",
    transaction_id="U1",
)


@pytest.mark.parametrize(
    ("command", "name", "topics", "groups", "keys"),
    [
        (
            request(RequestCode.SEND_MESSAGE, topic="T", producerGroup="p", properties=PROPERTIES),
            "SEND_MESSAGE",
            ("T",),
            ("p",),
            ("k1", "k2", "U1"),
        ),
        (
            request(RequestCode.SEND_MESSAGE_V2, a="p", b="T", i=PROPERTIES),
            "SEND_MESSAGE_V2",
            ("T",),
            ("p",),
            ("k1", "k2", "U1"),
        ),
        (
            request(
                RequestCode.SEND_BATCH_MESSAGE,
                body=encode_batch([Message("T", b"1", keys="b1"), Message("T", b"2", keys="b2 b3")]),
                a="p",
                b="T",
            ),
            "SEND_BATCH_MESSAGE",
            ("T",),
            ("p",),
            ("b1", "b2", "b3"),
        ),
        (request(RequestCode.PULL_MESSAGE, topic="T", consumerGroup="g"), "PULL_MESSAGE", ("T",), ("g",), ()),
        (request(RequestCode.END_TRANSACTION, END), "END_TRANSACTION", (), ("bank",), ("U1",)),
        (
            request(
                RequestCode.CONSUMER_SEND_MSG_BACK,
                ConsumerSendMsgBackRequestHeader(
                    offset=1, group="g", delay_level=0, origin_msg_id="U1", origin_topic="T"
                ),
            ),
            "CONSUMER_SEND_MSG_BACK",
            ("T",),
            ("g",),
            ("U1",),
        ),
        (
            request(
                RequestCode.UPDATE_CONSUMER_OFFSET,
                UpdateConsumerOffsetRequestHeader(consumer_group="g", topic="T", queue_id=0, commit_offset=1),
            ),
            "UPDATE_CONSUMER_OFFSET",
            ("T",),
            ("g",),
            (),
        ),
        (
            request(
                RequestCode.QUERY_CONSUMER_OFFSET,
                QueryConsumerOffsetRequestHeader(consumer_group="g", topic="T", queue_id=0),
            ),
            "QUERY_CONSUMER_OFFSET",
            ("T",),
            ("g",),
            (),
        ),
        (request(RequestCode.LOCK_BATCH_MQ, body=LOCKS), "LOCK_BATCH_MQ", ("T", "U"), ("g",), ()),
        (request(RequestCode.UNLOCK_BATCH_MQ, body=LOCKS), "UNLOCK_BATCH_MQ", ("T", "U"), ("g",), ()),
        (request(RequestCode.HEART_BEAT, body=HEARTBEAT), "HEART_BEAT", (), ("p1", "p2", "g"), ()),
        (
            request(
                RequestCode.UNREGISTER_CLIENT,
                UnregisterClientRequestHeader(client_id="c", producer_group="p", consumer_group="g"),
            ),
            "UNREGISTER_CLIENT",
            (),
            ("g", "p"),
            (),
        ),
        (
            request(
                RequestCode.CHECK_TRANSACTION_STATE,
                CheckTransactionStateRequestHeader(
                    tran_state_table_offset=0, commit_log_offset=0, msg_id="U-h1", transaction_id="U-h1"
                ),
                stored("h1", PGROUP="bank"),
            ),
            "CHECK_TRANSACTION_STATE",
            ("T",),
            ("bank",),
            ("U-h1", "h1"),
        ),
        (request(4_711), "request 4711", (), (), ()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_request_names_what_it_is_about(command, name, topics, groups, keys):
    subject = FrameSubject(command)
    assert (subject.name, subject.topics, subject.groups, subject.keys) == (name, topics, groups, keys)


def test_a_reply_has_the_name_and_the_subjects_of_its_request_and_the_keys_that_it_brings():
    pull = request(RequestCode.PULL_MESSAGE, topic="T", consumerGroup="g")
    reply = pull.reply(0, body=stored("k1") + stored("k2"))
    subject = FrameSubject(reply, FrameSubject(pull))
    assert (subject.name, subject.topics, subject.groups) == ("reply to PULL_MESSAGE", ("T",), ("g",))
    assert subject.keys == ("k1", "U-k1", "k2", "U-k2")


def test_a_reply_whose_request_is_not_known_is_a_reply():
    subject = FrameSubject(request(RequestCode.PULL_MESSAGE).reply(0, body=b"?"))
    assert (subject.name, subject.topics, subject.groups, subject.keys) == ("reply", (), (), ())


@pytest.mark.parametrize("body", [b"", b"?", b"{", b"[]", b'{"clientID": 3}', b"\xff" * 60])
def test_a_body_that_cannot_be_read_is_about_nothing(body):
    pull = FrameSubject(request(RequestCode.PULL_MESSAGE))
    for code in (
        RequestCode.LOCK_BATCH_MQ,
        RequestCode.HEART_BEAT,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.CHECK_TRANSACTION_STATE,
    ):
        for subject in (FrameSubject(request(code, body=body)), FrameSubject(request(code).reply(0, body=body), pull)):
            assert (subject.topics, subject.groups, subject.keys) == ((), (), ())


def test_frames_of_real_clients_can_all_be_described():
    frames = [json.loads(line) for line in GOLDEN_FRAMES.read_text().splitlines()]
    names = []
    for frame in frames:
        header = frame["rawheader"].encode()
        subject = FrameSubject(decode_command(len(header).to_bytes(4) + header))
        names.append(subject.name)
        assert all(isinstance(text, str) for text in (*subject.topics, *subject.groups, *subject.keys))
    assert {"SEND_MESSAGE_V2", "PULL_MESSAGE", "HEART_BEAT", "LOCK_BATCH_MQ", "END_TRANSACTION", "reply"} <= {*names}


def test_only_spaces_separate_the_keys_of_a_frame():
    properties = encode_properties({"KEYS": "a\u3000b \u3000"})
    sent = request(RequestCode.SEND_MESSAGE, topic="T", properties=properties)
    assert FrameSubject(sent).keys == ("a\u3000b", "\u3000")
