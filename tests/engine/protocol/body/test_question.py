"""What is asked and what a reply to it says: the two halves of one wire exchange, without anybody in between."""

from __future__ import annotations

import pytest

from engine.protocol.body import question
from engine.protocol.body.bodies import TopicList
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.headers import (
    OffsetResponseHeader,
    PullMessageRequestHeader,
    QueryMessageRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from engine.protocol.command.queue_headers import UNIQUE_KEY_QUERY_FLAG
from engine.protocol.errors import ProtocolError
from engine.protocol.request_code import RequestCode

QUEUE = MessageQueue("Orders", "broker-a", 3)


@pytest.mark.parametrize(
    "asked",
    [
        question.max_offset(QUEUE),
        question.min_offset(QUEUE),
        question.offset_at(QUEUE, 5),
        question.group_offset("readers", QUEUE),
    ],
)
def test_what_asks_for_an_offset_reads_it_from_the_reply_and_refuses_another_one(asked):
    request = asked.request()
    assert (request.ext_fields["topic"], request.ext_fields["queueId"]) == ("Orders", "3")
    assert asked.read(request.reply(0, header=OffsetResponseHeader(17))) == 17
    with pytest.raises(ProtocolError):
        asked.read(request.reply(0))


def test_a_look_leaves_no_trace_in_the_broker():
    header = PullMessageRequestHeader.decode(question.look(QUEUE, 9, 32, tags=("A", "B")).request().ext_fields)
    assert (header.queue_offset, header.max_msg_nums, header.subscription) == (9, 32, "A || B")
    # Neither commits an offset nor waits: of the flags only "brings its subscription" is set.
    assert (header.sys_flag, header.commit_offset, header.suspend_timeout_millis) == (4, 0, 0)
    assert header.max_msg_bytes is None


def test_a_name_is_a_key_unless_it_is_said_to_be_a_unique_id():
    asked = question.messages_called("Orders", "k1", 32, is_unique_id=True).request()
    assert asked.ext_fields[UNIQUE_KEY_QUERY_FLAG] == "true"
    asked = question.messages_called("Orders", "k1", 32).request()
    assert UNIQUE_KEY_QUERY_FLAG not in asked.ext_fields
    assert QueryMessageRequestHeader.decode(asked.ext_fields).key == "k1"


def test_sizes_of_messages_are_those_of_their_queue_s_entries():
    request = question.entry_sizes(QUEUE, 9, 3).request()
    assert (request.ext_fields["index"], request.ext_fields["count"]) == ("9", "3")
    entries = b'{"queueData": [{"physicOffset": 0, "physicSize": 201}, {"physicOffset": 201, "physicSize": 99}]}'
    assert question.entry_sizes(QUEUE, 9, 3).read(request.reply(0, body=entries)) == [201, 99]
    assert question.entry_sizes(QUEUE, 9, 3).read(request.reply(0)) == []


def test_each_request_is_a_new_one():
    note = question.store_group_offset("readers", QUEUE, 4)
    first, second = note.request(), note.request()
    first.ext_fields["topic"] = "Other"
    assert second.code == RequestCode.UPDATE_CONSUMER_OFFSET
    assert UpdateConsumerOffsetRequestHeader.decode(second.ext_fields).topic == "Orders"
    assert note.read(second.reply(0)) is None


def test_a_name_server_tells_topics():
    asked = question.topic_names()
    assert asked.read(asked.request().reply(0, body=TopicList(("A", "B")).to_json())) == ("A", "B")
