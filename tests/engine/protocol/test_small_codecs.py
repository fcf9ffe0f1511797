"""Properties, batches, ids, hashes, names: the small laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.subscription_data import MAX_TAGS, SubscriptionData, build_subscription_data
from engine.protocol.errors import IllegalName, MalformedBody, MalformedMessage, ProtocolError
from engine.protocol.java_hash import java_string_hash
from engine.protocol.json_form.json_text import ObjectKeyMap, dumps_json, loads_json
from engine.protocol.message.batch_codec import BatchedMessage, decode_batch, encode_batch, encode_batched_message
from engine.protocol.message.message import Message
from engine.protocol.message.message_id import UniqueIdGenerator, decode_offset_message_id, encode_offset_message_id
from engine.protocol.message.message_properties import decode_properties, encode_properties
from engine.protocol.names import validate_topic
from engine.protocol.response_code import ResponseCode, outcome_is_known
from tests.support.fuzzing import check_decoder, damaged

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), min_size=1, max_size=12)


@given(st.dictionaries(words, words, max_size=8))
def test_properties_survive_with_and_without_the_last_separator(properties: dict[str, str]) -> None:
    text = encode_properties(properties)
    assert decode_properties(text) == properties
    assert decode_properties(text + "\x02") == properties


def test_incomplete_properties_are_skipped() -> None:
    assert decode_properties("a\x01\x02\x01b\x02c\x02k\x01v") == {"k": "v"}


@given(st.lists(st.tuples(st.binary(max_size=50), st.dictionaries(words, words, max_size=3)), min_size=1, max_size=10))
def test_a_batch_survives(parts: list[tuple[bytes, dict[str, str]]]) -> None:
    decoded = decode_batch(encode_batch(Message("T", body, properties=properties) for body, properties in parts))
    assert [(body, decode_properties(properties.decode())) for _, body, properties in decoded] == parts


batches = st.lists(
    st.tuples(st.integers(-(1 << 31), (1 << 31) - 1), st.binary(max_size=30), st.binary(max_size=20)),
    min_size=1,
    max_size=3,
).map(lambda parts: b"".join(encode_batched_message(*part) for part in parts))


def test_a_damaged_batch_is_refused_or_keeps_its_messages_when_encoded_again() -> None:
    def encode(messages: list[BatchedMessage]) -> bytes:
        return b"".join(encode_batched_message(*message) for message in messages)

    check_decoder(st.binary(max_size=120) | damaged(batches), decode_batch, encode, MalformedMessage)


def test_an_empty_batch_is_refused() -> None:
    with pytest.raises(MalformedMessage, match="empty"):
        decode_batch(encode_batch([]))


@given(st.sampled_from(["127.0.0.1:10911", "[::1]:9"]), st.integers(0, (1 << 63) - 1))
def test_offset_ids_survive(host: str, offset: int) -> None:
    assert decode_offset_message_id(encode_offset_message_id(host, offset)) == (host, offset)


def test_the_offset_id_of_the_reference() -> None:
    assert encode_offset_message_id("127.0.0.1:10911", 0) == "7F00000100002A9F0000000000000000"


@pytest.mark.parametrize("text", ["", "7F", "Z" * 32, "  " * 16, "7F00000100002A9F000000000000000 "])
def test_a_wrong_offset_id_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError):
        decode_offset_message_id(text)


def test_unique_ids_differ_and_start_with_the_client() -> None:
    now_ms = [1_700_000_000_000]
    generator = UniqueIdGenerator("192.168.0.7", 0x1_2345, 7, lambda: now_ms[0])
    ids = [generator.next() for _ in range(1000)]
    now_ms[0] += 40 * 86_400_000  # into the next month
    ids.append(generator.next())
    assert len(dict.fromkeys(ids)) == 1001
    assert all(len(text) == 32 and text.startswith("C0A80007234500000007") for text in ids)


@pytest.mark.parametrize(
    ("text", "code"), [("", 0), ("TagA", 2598919), ("TagB", 2598920), ("polygenelubricants", -(1 << 31))]
)
def test_hash_codes_are_javas(text: str, code: int) -> None:
    assert java_string_hash(text) == code


def test_tags_with_the_same_hash_are_distinguished_only_by_the_exact_test() -> None:
    subscription = build_subscription_data("T", "Aa || C")
    assert subscription.matches_tags_code(java_string_hash("BB"))
    assert not subscription.matches_tag("BB")
    assert subscription.matches_tag("Aa")


@pytest.mark.parametrize("expression", [None, "", "*", "  * "])
def test_no_expression_means_all(expression: str | None) -> None:
    subscription = build_subscription_data("T", expression)
    assert subscription.matches_tag(None) and subscription.matches_tags_code(12345)


def test_wrong_hash_codes_of_a_heartbeat_are_replaced() -> None:
    fields = {"topic": "T", "subString": "TagA", "tagsSet": ["TagA"], "codeSet": [0, 0]}
    assert SubscriptionData.from_dict(fields).code_set == (2598919,)


def test_an_expression_without_a_tag_is_refused() -> None:
    with pytest.raises(MalformedBody, match="names no tag"):
        build_subscription_data("T", " || ")


def test_a_subscription_to_more_tags_than_allowed_is_refused() -> None:
    tags = [f"t{number}" for number in range(MAX_TAGS)]
    assert build_subscription_data("T", "||".join(tags)).tags_set == tuple(tags)
    with pytest.raises(MalformedBody, match="more than 10000 tags"):
        build_subscription_data("T", "||".join([*tags, "one-more"]))


def test_object_keys_survive() -> None:
    table = ObjectKeyMap([(MessageQueue("T", "b", i).to_dict(), {"maxOffset": i}) for i in range(3)])
    text = dumps_json({"offsetTable": table, "b": [1, None, "x"]})
    assert b'{{"brokerName":"b","queueId":0,"topic":"T"}:{"maxOffset":0}' in text
    assert loads_json(text) == {"offsetTable": table, "b": [1, None, "x"]}


def test_unquoted_integer_keys_are_read() -> None:
    assert loads_json(b'{"a":{0:"x",1 : [true,null,-1.5]}}\n') == {"a": {"0": "x", "1": [True, None, -1.5]}}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | words,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(words, values, max_size=3),
    max_leaves=6,
)


def test_damaged_json_is_refused_or_keeps_its_value_when_written_again() -> None:
    any_text = st.text(alphabet='{}[],:"0a \\', max_size=40).map(str.encode)
    check_decoder(any_text | damaged(json_values.map(dumps_json)), loads_json, dumps_json, MalformedBody)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(MalformedBody, match="nested deeper"):
        loads_json(b"{0:" + b"[" * 5000)


@pytest.mark.parametrize("name", ["", " ", "a b", "t" * 128, "名", "a/b", "a.b", "a\n"])
def test_an_illegal_topic_name_is_refused(name: str) -> None:
    with pytest.raises(IllegalName):
        validate_topic(name)


def test_refusals_are_definite_and_stored_but_is_not() -> None:
    assert outcome_is_known(ResponseCode.TOPIC_NOT_EXIST)
    assert outcome_is_known(ResponseCode.SUCCESS)
    assert not outcome_is_known(ResponseCode.FLUSH_DISK_TIMEOUT)
