"""Records of a real RocketMQ 4.9.8 commit log, field by field."""

import struct
from pathlib import Path

import pytest

from app.observation.record_view import queue_entry_view, record_summary, record_view
from engine.protocol.errors import MalformedMessage
from engine.protocol.message.compression import ZLIB_SYSTEM_FLAG, compress_body
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_stored_message, encode_stored_message
from engine.protocol.message.record_layout import MESSAGE_MAGIC

GOLDEN = Path(__file__).parents[2] / "golden"


def golden_records():
    log = (GOLDEN / "commitlog.head16k.bin").read_bytes()
    position, records = 0, []
    while position + 8 <= len(log):
        size, magic = struct.unpack_from(">ii", log, position)
        if magic != MESSAGE_MAGIC or position + size > len(log):
            break
        records.append(log[position : position + size])
        position += size
    return records


RECORDS = golden_records()


def stored(body, *, sys_flag=0, born_host="127.0.0.1:4000", properties=None):
    return encode_stored_message(
        MessageExt(
            topic="订单",
            body=body,
            properties=properties or {},
            queue_id=3,
            queue_offset=7,
            commit_log_offset=2**60,
            sys_flag=sys_flag,
            born_timestamp=1_700_000_000_123,
            born_host=born_host,
            store_timestamp=1_700_000_000_456,
            store_host="127.0.0.1:10911",
        )
    )


def field(view, name):
    return next(entry for entry in view["fields"] if entry["name"] == name)


def test_the_golden_log_has_records_to_look_at():
    assert len(RECORDS) > 20


@pytest.mark.parametrize("raw", RECORDS, ids=range(len(RECORDS)))
def test_the_fields_cover_every_byte_of_a_golden_record_once(raw):
    position = 0
    for entry in record_view(raw)["fields"]:
        assert entry["start"] == position
        position += entry["length"]
    assert position == len(raw)


@pytest.mark.parametrize("raw", RECORDS, ids=range(len(RECORDS)))
def test_the_view_of_a_golden_record_says_what_the_codec_reads(raw):
    message = decode_stored_message(raw)
    view = record_view(raw)
    assert view["crc_matches"] is True
    assert bytes.fromhex(view["hex"]) == raw
    assert view["properties"] == message.properties
    assert view["record"]["topic"] == field(view, "TOPIC")["value"] == message.topic
    assert field(view, "QUEUEOFFSET")["value"] == str(message.queue_offset)
    assert field(view, "PHYSICALOFFSET")["value"] == str(message.commit_log_offset)
    assert field(view, "BORNHOST")["value"] == message.born_host
    assert view["record"]["unique_id"] == message.unique_id


def test_every_field_has_a_name_and_an_explanation_in_both_languages():
    for entry in record_view(RECORDS[0])["fields"] + queue_entry_view((0, 1, 2))["fields"]:
        assert all(entry[key] for key in ("name", "name_zh", "explanation", "explanation_zh"))


def test_a_text_body_is_shown_as_text_and_previewed():
    view = record_view(stored("你好, world".encode()))
    assert view["body_text"] == view["record"]["body_preview"] == "你好, world"


def test_a_binary_body_is_shown_as_hex_only():
    view = record_view(stored(b"\x00\xff\x01"))
    assert view["body_text"] is None
    assert view["body_hex"] == "00ff01"


def test_a_compressed_body_is_shown_decompressed_but_its_field_keeps_the_stored_length():
    body = b"again and again " * 1000
    raw = stored(compress_body(body), sys_flag=ZLIB_SYSTEM_FLAG)
    view = record_view(raw)
    assert view["body_text"] == body.decode()
    assert view["record"]["body_preview"].startswith("again and again")
    assert field(view, "BODY")["length"] == len(compress_body(body)) < len(body)


def test_a_body_that_claims_a_compression_it_has_not_is_shown_as_stored_with_the_reason():
    view = record_view(stored(b"plain", sys_flag=ZLIB_SYSTEM_FLAG))
    assert view["body_hex"] == b"plain".hex()
    assert "cannot be read" in (view["body_problem"] or "")


def test_a_huge_body_is_cut_for_the_page_and_its_length_is_reported():
    view = record_view(stored("长".encode() * 100_000))
    assert view["body_bytes"] == 300_000
    assert set(view["body_text"] or "") == {"长"}
    assert len(view["body_hex"]) <= 2 * 64 * 1024
    assert view["hex_omitted_bytes"] > 0


def test_an_ipv6_host_takes_twenty_bytes():
    view = record_view(stored(b"x", sys_flag=0x10, born_host="[::1]:4000"))
    assert field(view, "BORNHOST")["length"] == 20
    assert field(view, "BORNHOST")["value"] == "[::1]:4000"
    assert "born host IPv6" in field(view, "SYSFLAG")["value"]


def test_offsets_beyond_a_browsers_exact_numbers_are_texts():
    assert field(record_view(stored(b"x")), "PHYSICALOFFSET")["value"] == str(2**60)


def test_a_flipped_body_byte_is_reported_and_the_record_still_shown():
    raw = bytearray(stored(b"hello"))
    raw[raw.index(b"hello")] ^= 1
    assert record_view(bytes(raw))["crc_matches"] is False


def test_bytes_that_are_no_record_are_refused():
    with pytest.raises(MalformedMessage):
        record_summary(b"\x00" * 100)


def test_control_characters_of_a_body_are_made_visible_in_the_preview():
    assert record_summary(stored(b"a\x01b"))["body_preview"] == "a\u2401b"


def test_a_queue_entry_is_twenty_bytes_in_three_fields():
    entry = next(iter(struct.iter_unpack(">qiq", (GOLDEN / "cq.GT_0.bin").read_bytes())))
    view = queue_entry_view(entry)
    assert view["hex"] == (GOLDEN / "cq.GT_0.bin").read_bytes()[:20].hex()
    assert [(part["start"], part["length"]) for part in view["fields"]] == [(0, 8), (8, 4), (12, 8)]
