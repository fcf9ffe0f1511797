"""The forms of a transactional message, compared with what RocketMQ 4.9.8 wrote."""

from pathlib import Path

from engine.broker.transactions.half_message import committed_message, decided_offset, op_message, real_place
from engine.protocol.message.addresses import encode_host
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_stored_message, peek_stored_message, stored_properties_text
from engine.protocol.message.message_properties import decode_properties
from engine.protocol.names import TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC
from engine.protocol.request_code import RequestCode
from tests.engine.broker.lab_broker import golden_frames

LOG = (Path(__file__).parents[3] / "golden" / "commitlog.head16k.bin").read_bytes()


def captured() -> dict[int, MessageExt]:
    """Every message of the captured log, by its place."""
    messages, position = {}, 0
    while position + 8 <= len(LOG):
        size, _ = peek_stored_message(LOG, position)
        if size <= 0 or position + size > len(LOG):
            break
        messages[position] = decode_stored_message(LOG, position)
        position += size
    return messages


def test_a_committed_message_has_the_fields_that_rocketmq_gives_it():
    messages = captured()
    committed = [message for message in messages.values() if message.sys_flag & 0xC == 8]
    assert len(committed) == 2
    for message in committed:
        half = messages[message.prepared_transaction_offset]
        assert half.topic == TRANSACTION_HALF_TOPIC
        assert real_place(half) == (message.topic, message.queue_id)
        ours = committed_message(half, encode_host(message.store_host))
        assert (ours.topic, ours.queue_id, ours.body, ours.sys_flag) == (
            message.topic,
            message.queue_id,
            message.body,
            message.sys_flag,
        )
        assert ours.prepared_transaction_offset == half.commit_log_offset
        assert (ours.born_timestamp, ours.born_host) == (message.born_timestamp, encode_host(message.born_host))
        assert decode_properties(str(ours.properties_string)) == message.properties


def test_an_op_message_is_read_as_the_offset_that_it_was_written_for():
    messages = captured().values()
    ops = [message for message in messages if message.topic == TRANSACTION_OP_HALF_TOPIC]
    assert [decided_offset(op) for op in ops] == [0, 1, 3]
    for op in ops:
        ours = op_message(decided_offset(op) or 0, encode_host(op.store_host), op.born_timestamp)
        assert (ours.topic, ours.queue_id, ours.body, ours.born_host) == (
            op.topic,
            op.queue_id,
            op.body,
            encode_host(op.born_host),
        )
        assert decode_properties(str(ours.properties_string))["TAGS"] == op.tags


def test_an_op_message_that_names_no_offset_means_nothing():
    op = next(message for message in captured().values() if message.topic == TRANSACTION_OP_HALF_TOPIC)
    for body in (b"", b"-1", b"1,2", b"9" * 20, b"x"):
        op.body = body
        assert decided_offset(op) is None


def test_the_body_of_a_check_is_the_half_message_under_its_real_topic():
    (frame,) = (
        frame for frame in golden_frames() if frame["header"].get("code") == RequestCode.CHECK_TRANSACTION_STATE
    )
    body = bytes.fromhex(frame["body"])
    shown = decode_stored_message(body)
    half = captured()[shown.commit_log_offset]
    shown.properties["WAIT"] = half.properties["WAIT"]  # which RocketMQ sets to false after it stored the message
    assert (half.queue_offset, half.body, half.properties) == (shown.queue_offset, shown.body, shown.properties)
    assert (shown.topic, shown.queue_id) == real_place(half)
    assert "TRANSACTION_CHECK_TIMES\x011" in stored_properties_text(body)
