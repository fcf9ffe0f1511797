"""Stored messages: golden bytes, round trips, damage."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.errors import MalformedMessage
from engine.protocol.message.compression import ZLIB_SYSTEM_FLAG, compress_body
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import (
    decode_messages,
    decode_stored_message,
    encode_stored_message,
    peek_stored_message,
    stored_properties_text,
)
from engine.protocol.message.record_layout import MESSAGE_MAGIC
from engine.protocol.message.record_writer import body_crc
from engine.protocol.system_flags import BORN_HOST_V6, STORE_HOST_V6

GOLDEN = Path(__file__).parents[3] / "golden"
COMMIT_LOG = (GOLDEN / "commitlog.head16k.bin").read_bytes()

names = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=20)
words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
hosts = st.sampled_from(["127.0.0.1:10911", "10.1.2.3:0", "[::1]:10911", "[2001:db8::7]:65535"])


@st.composite
def messages(draw: st.DrawFn) -> MessageExt:
    born_host, store_host = draw(hosts), draw(hosts)
    flag = (BORN_HOST_V6 if born_host[0] == "[" else 0) | (STORE_HOST_V6 if store_host[0] == "[" else 0)
    body = draw(st.binary(max_size=300))
    message = MessageExt(
        topic=draw(names),
        body=body,
        properties=draw(st.dictionaries(words, words, max_size=5)),
        queue_id=draw(st.integers(0, 1 << 30)),
        queue_offset=draw(int64),
        commit_log_offset=draw(int64),
        born_timestamp=draw(int64),
        born_host=born_host,
        store_timestamp=draw(int64),
        store_host=store_host,
        flag=draw(st.integers(-(1 << 31), (1 << 31) - 1)),
        sys_flag=flag,
        reconsume_times=draw(st.integers(0, 1 << 30)),
        prepared_transaction_offset=draw(int64),
        body_crc=body_crc(body),
    )
    message.store_size = len(encode_stored_message(message))
    return message


def fields_of(message: MessageExt) -> dict[str, object]:
    return {name: getattr(message, name) for name in MessageExt.__dataclass_fields__}


def golden_messages() -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    position = 0
    while True:
        size, magic = peek_stored_message(COMMIT_LOG, position)
        if magic != MESSAGE_MAGIC or position + size > len(COMMIT_LOG):
            return found
        found.append((position, size))
        position += size


def test_the_captured_commit_log_re_encodes_byte_for_byte() -> None:
    found = golden_messages()
    assert len(found) == 70
    for position, size in found:
        message = decode_stored_message(COMMIT_LOG, position)
        assert message.commit_log_offset == position
        stored = COMMIT_LOG[position : position + size]
        assert encode_stored_message(message, stored_properties_text(stored)) == stored


def test_the_captured_consume_queues_point_at_messages_of_their_queue() -> None:
    files = sorted(GOLDEN.glob("cq.*.bin"))
    assert len(files) == 8
    checked = 0
    for file in files:
        topic, _, queue_id = file.name.removeprefix("cq.").removesuffix(".bin").rpartition("_")
        topic = topic.replace("_RETRY_", "%RETRY%")
        for index, (offset, size, _) in enumerate(struct.iter_unpack(">qiq", file.read_bytes())):
            if size and offset + size <= len(COMMIT_LOG):
                message = decode_stored_message(COMMIT_LOG, offset)
                assert (message.topic, message.queue_id) == (topic, int(queue_id))
                assert (message.queue_offset, message.store_size) == (index, size)
                checked += 1
    assert checked == 30


@given(messages())
def test_every_message_survives_its_stored_form(message: MessageExt) -> None:
    assert fields_of(decode_stored_message(encode_stored_message(message))) == fields_of(message)


@given(messages(), st.data())
def test_a_damaged_message_is_refused_or_still_whole(message: MessageExt, data: st.DataObject) -> None:
    stored = bytearray(encode_stored_message(message))
    position = data.draw(st.integers(0, len(stored) - 1))
    stored[position] ^= data.draw(st.integers(1, 255))
    try:
        decode_stored_message(stored)
    except MalformedMessage:
        pass


@given(messages(), st.data())
def test_a_cut_message_is_refused(message: MessageExt, data: st.DataObject) -> None:
    stored = encode_stored_message(message)
    with pytest.raises(MalformedMessage):
        decode_stored_message(stored[: data.draw(st.integers(0, len(stored) - 1))])


def test_a_flipped_body_byte_is_reported_by_the_crc() -> None:
    position, size = golden_messages()[0]
    stored = bytearray(COMMIT_LOG[position : position + size])
    stored[88] ^= 1
    with pytest.raises(MalformedMessage, match="CRC"):
        decode_stored_message(stored)


def test_concatenated_messages_come_back_decompressed() -> None:
    original = b"again and again " * 2000
    body = compress_body(original)
    message = decode_stored_message(COMMIT_LOG, 0)
    message.body, message.sys_flag = body, ZLIB_SYSTEM_FLAG
    stored = encode_stored_message(message)
    first, second = decode_messages(stored + stored)
    assert first.body == second.body == original
    assert first.sys_flag == 0
    assert decode_stored_message(stored).body == body


@given(st.lists(st.tuples(messages(), st.booleans()), min_size=1, max_size=6), st.data())
def test_a_damaged_message_hides_none_of_its_neighbours(
    parts: list[tuple[MessageExt, bool]], data: st.DataObject
) -> None:
    stored = [bytearray(encode_stored_message(message)) for message, _ in parts]
    for record, (_, is_damaged) in zip(stored, parts, strict=True):
        for _ in range(data.draw(st.integers(1, 5)) if is_damaged else 0):
            record[data.draw(st.integers(8, len(record) - 1))] = data.draw(st.integers(0, 255))
    found = decode_messages(b"".join(stored), decompress=False)
    assert len(found) == len(parts)
    for again, (message, is_damaged) in zip(found, parts, strict=True):
        if not is_damaged:
            assert fields_of(again) == fields_of(message)


def test_after_something_that_is_no_message_the_list_ends_and_does_not_begin_with_it() -> None:
    stored = encode_stored_message(decode_stored_message(COMMIT_LOG, 0))
    assert len(decode_messages(stored + stored[:50])) == 1
    for nothing in (b"\0" * 100, b"\x7f" + stored[1:]):
        assert len(decode_messages(stored + nothing)) == 1
        with pytest.raises(MalformedMessage):
            decode_messages(nothing + stored)


def test_what_cannot_be_decoded_keeps_its_place_and_what_is_stored() -> None:
    message = decode_stored_message(COMMIT_LOG, 0)
    message.body, message.sys_flag = b"no zlib", ZLIB_SYSTEM_FLAG
    (found,) = decode_messages(encode_stored_message(message))
    assert (found.body, found.sys_flag, found.properties) == (b"no zlib", ZLIB_SYSTEM_FLAG, message.properties)
    assert "cannot be read (zlib)" in (found.unreadable or "")
    record = bytearray(encode_stored_message(message))
    record[84] = 0x7F  # the length of the body
    (found,) = decode_messages(bytes(record))
    assert (found.topic, found.body, found.properties, found.store_size) == ("", b"", {}, len(record))
    assert (found.queue_id, found.queue_offset, found.commit_log_offset) == (
        message.queue_id,
        message.queue_offset,
        message.commit_log_offset,
    )


def test_a_body_that_explodes_when_decompressed_is_refused() -> None:
    message = decode_stored_message(COMMIT_LOG, 0)
    message.body, message.sys_flag = zlib.compress(bytes(70 << 20)), ZLIB_SYSTEM_FLAG
    with pytest.raises(MalformedMessage, match="grows beyond"):
        decode_stored_message(encode_stored_message(message), decompress=True)


def test_a_topic_that_does_not_fit_its_length_byte_is_refused() -> None:
    message = decode_stored_message(COMMIT_LOG, 0)
    message.topic = "t" * 128
    with pytest.raises(MalformedMessage, match="128 bytes"):
        encode_stored_message(message)
