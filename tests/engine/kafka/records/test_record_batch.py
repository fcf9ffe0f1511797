"""Record batches: round trips, what a broker may change, and what is refused with which code."""

from __future__ import annotations

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.kafka.records.compression import SPOKEN_CODECS, Codec, compress, decompress
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record import Record
from engine.kafka.records.record_batch import (
    ATTRIBUTES_BYTE,
    HEADER_BYTES,
    checked_header,
    decode_batch,
    encode_batch,
    placed,
    read_header,
)

BYTES_OR_NONE = st.none() | st.binary(max_size=200)
RECORDS = st.lists(
    st.builds(
        Record,
        offset=st.just(0),
        timestamp_ms=st.integers(0, 1 << 45),
        key=BYTES_OR_NONE,
        value=BYTES_OR_NONE,
        headers=st.lists(st.tuples(st.text(max_size=8), BYTES_OR_NONE), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=20,
)
ORDERS = [Record(0, 1_700_000_000_000 + number, b"order-%d" % number, b"paid " * 30) for number in range(50)]


def code_of(action, *arguments) -> KafkaErrorCode:
    with pytest.raises(KafkaRefusal) as refused:
        action(*arguments)
    return refused.value.code


@given(RECORDS, st.sampled_from(SPOKEN_CODECS), st.integers(0, 1 << 50), st.binary(max_size=5))
def test_records_come_back_with_offsets_that_count_from_the_batchs_place(records, codec, base_offset, before):
    batch = encode_batch(records, codec, base_offset=base_offset, producer_id=7, producer_epoch=1, base_sequence=3)
    header = checked_header(before + batch, len(before))
    assert (header.size_bytes, header.codec, header.record_count) == (len(batch), codec, len(records))
    assert (header.last_offset, header.next_offset) == (base_offset + len(records) - 1, base_offset + len(records))
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 3)
    assert header.max_timestamp_ms == max(record.timestamp_ms for record in records)
    assert decode_batch(before + batch, len(before)) == [
        record._replace(offset=base_offset + delta) for delta, record in enumerate(records)
    ]


@given(RECORDS, st.sampled_from(SPOKEN_CODECS), st.integers(0, 1 << 50), st.integers(0, 1 << 20))
def test_a_broker_gives_a_batch_its_place_without_touching_what_the_checksum_covers(records, codec, offset, epoch):
    sent = encode_batch(records, codec)
    stored = placed(sent, offset, epoch)
    assert stored[16:] == sent[16:]
    header = checked_header(stored)
    assert (header.base_offset, header.leader_epoch) == (offset, epoch)


@given(st.integers(ATTRIBUTES_BYTE, 10_000), st.integers(1, 255))
def test_a_changed_byte_under_the_checksum_is_noticed(place, change):
    batch = bytearray(encode_batch(ORDERS, Codec.LZ4))
    batch[ATTRIBUTES_BYTE + place % (len(batch) - ATTRIBUTES_BYTE)] ^= change
    assert code_of(checked_header, bytes(batch)) == KafkaErrorCode.CORRUPT_MESSAGE


@given(st.integers(0, 100_000))
def test_a_batch_that_is_cut_is_refused(length):
    batch = encode_batch(ORDERS)
    assert code_of(checked_header, batch[: length % len(batch)]) == KafkaErrorCode.CORRUPT_MESSAGE


@given(st.binary(max_size=300))
def test_whatever_comes_is_a_batch_or_refused(data):
    for read in (checked_header, decode_batch):
        with pytest.raises(KafkaRefusal):
            read(data)


@pytest.mark.parametrize(
    ("magic", "code"),
    [
        (0, KafkaErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
        (1, KafkaErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
        (3, KafkaErrorCode.CORRUPT_MESSAGE),
        (0x67, KafkaErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_another_magic_is_refused_as_kafka_does(magic, code):
    batch = bytearray(encode_batch(ORDERS))
    batch[16] = magic
    assert code_of(checked_header, bytes(batch)) == code


def test_snappy_and_unknown_codecs_are_refused_by_name():
    assert code_of(encode_batch, ORDERS, Codec.SNAPPY) == KafkaErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    header = read_header(encode_batch(ORDERS))._replace(attributes=6)
    with pytest.raises(KafkaRefusal, match="codec 6 is unknown; allowed: 0 NONE, 1 GZIP"):
        _ = header.codec


@given(st.sampled_from(SPOKEN_CODECS), st.binary(max_size=3_000))
def test_what_was_packed_is_unpacked(codec, data):
    assert decompress(codec, compress(codec, data), len(data)) == data


@pytest.mark.parametrize("codec", [codec for codec in SPOKEN_CODECS if codec is not Codec.NONE])
def test_a_small_packet_cannot_fill_the_memory(codec):
    bomb = compress(codec, bytes(20_000_000))
    assert len(bomb) < 100_000
    assert code_of(decompress, codec, bomb, 1_000_000) == KafkaErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", [codec for codec in SPOKEN_CODECS if codec is not Codec.NONE])
def test_packed_data_that_is_cut_or_foreign_is_refused(codec):
    packed = compress(codec, b"paid " * 1_000)
    for damaged in (packed[:-1], packed[:-6], packed[: len(packed) // 2], b"", b"no such thing at all"):
        assert code_of(decompress, codec, damaged, 10_000) == KafkaErrorCode.CORRUPT_MESSAGE


def test_a_batch_may_not_claim_more_records_than_it_has():
    batch = encode_batch(ORDERS)
    assert len(batch) > HEADER_BYTES
    header = read_header(batch)
    for count in (header.record_count + 1, header.record_count - 1, -1, 1 << 30):
        assert code_of(decode_batch, _with_count(batch, count)) == KafkaErrorCode.CORRUPT_MESSAGE


def _with_count(batch: bytes, count: int) -> bytes:
    covered = batch[ATTRIBUTES_BYTE:57] + count.to_bytes(4, "big", signed=True) + batch[61:]
    return batch[:17] + google_crc32c.value(covered).to_bytes(4, "big") + covered
