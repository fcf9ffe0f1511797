"""The envelope: round trips, tolerance, and what happens to broken frames."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.command.remoting_command import RemotingCommand, SerializeType, decode_command, encode_command
from engine.protocol.enums import LanguageCode
from engine.protocol.errors import MalformedFrame
from tests.support.fuzzing import check_decoder, damaged

int16 = st.integers(-(1 << 15), (1 << 15) - 1)
int32 = st.integers(-(1 << 31), (1 << 31) - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
commands = st.builds(
    RemotingCommand,
    code=int16,
    opaque=int32,
    flag=int32,
    language=st.sampled_from(list(LanguageCode)),
    version=int16,
    remark=st.none() | texts.filter(bool),
    ext_fields=st.dictionaries(texts, texts, max_size=6),
    body=st.binary(max_size=200),
    serialize_type=st.sampled_from(list(SerializeType)),
)


def json_frame(header: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(header)) + header + body


@given(commands)
def test_every_command_survives_the_wire(command: RemotingCommand) -> None:
    frame = encode_command(command)
    assert struct.unpack_from(">i", frame)[0] == len(frame) - 4
    assert decode_command(frame[4:]) == command


def check_frames(frames: st.SearchStrategy[bytes]) -> None:
    """Check that each frame is malformed, or decodes to a command that survives the wire."""
    check_decoder(frames, decode_command, lambda command: encode_command(command)[4:], MalformedFrame)


def test_any_bytes_are_malformed_or_decode_to_a_command_that_survives_the_wire() -> None:
    # Any envelope of the binary header without remark and fields, and any body.
    binary_header = st.builds(
        lambda head, body: b"\1\0\0\x15" + head + bytes(8) + body,
        st.binary(min_size=13, max_size=13),
        st.binary(max_size=200),
    )
    check_frames(st.binary(max_size=300) | binary_header)


def test_a_damaged_frame_is_malformed_or_decodes_to_a_command_that_survives_the_wire() -> None:
    check_frames(damaged(commands.map(lambda command: encode_command(command)[4:])))


def test_numbers_and_booleans_in_fields_become_the_text_that_java_would_send() -> None:
    header = b'{"code":10,"extFields":{"queueId":0,"unitMode":false,"batch":true,"x":"y","n":null},"opaque":7}\n'
    command = decode_command(json_frame(header, b"body"))
    assert command.ext_fields == {"queueId": "0", "unitMode": "false", "batch": "true", "x": "y"}
    assert command.body == b"body"


def test_quoted_envelope_numbers_are_read() -> None:
    assert decode_command(json_frame(b'{"code":"105","opaque":"3","flag":"0","version":63}')).code == 105


def test_an_unknown_language_is_read_as_other() -> None:
    assert decode_command(json_frame(b'{"code":1,"language":"COBOL"}')).language == LanguageCode.OTHER


@pytest.mark.parametrize(
    ("frame", "named"),
    [
        (b"", "at least 4 bytes"),
        (b"\x00\x00\x00\x05{}", "header says 5 bytes"),
        (b"\x02\x00\x00\x02{}", "serialize type 2"),
        (json_frame(b'{"code":1,"remark":"' + b"x" * 1024 * 1024 + b'"}'), "allowed: 1048576"),
        (json_frame(b"{}"), "with a code"),
        (json_frame(b"[]"), "with a code"),
        (json_frame(b'{"code":4294967296}'), "does not fit 32 bits"),
        (json_frame(b'{"code":1,"extFields":[1]}'), "extFields must be an object"),
        (json_frame(b'{"code":true}'), "whole number"),
    ],
)
def test_a_broken_frame_is_named(frame: bytes, named: str) -> None:
    with pytest.raises(MalformedFrame, match=named):
        decode_command(frame)


GBK = "重量".encode("gbk")
REPLACED = "\ufffd" * len(GBK)


def test_text_of_another_encoding_is_replaced_in_both_kinds_of_header() -> None:
    header = b'{"code":310,"extFields":{"i":"' + GBK + b'"},"opaque":7,"remark":"' + GBK + b'"}'
    command = decode_command(json_frame(header, b"\xff\xfe"))
    assert (command.ext_fields, command.remark, command.body) == ({"i": REPLACED}, REPLACED, b"\xff\xfe")
    binary = RemotingCommand(310, remark="rrrr", ext_fields={"i": "vvvv"}, serialize_type=SerializeType.ROCKETMQ)
    frame = encode_command(binary)[4:].replace(b"rrrr", GBK).replace(b"vvvv", GBK)
    assert (decode_command(frame).ext_fields, decode_command(frame).remark) == ({"i": REPLACED}, REPLACED)


@pytest.mark.parametrize(
    "header",
    [
        b'\xef\xbb\xbf{"code":310,"extFields":{"i":"a"},"opaque":7}',
        b'{"code":310,"extFields":{"i":"a",},"opaque":7,}',
        b"{code:310,'extFields':{'i':'a'},/* */'opaque':7}",
    ],
)
def test_a_header_that_fastjson_reads_is_read(header: bytes) -> None:
    command = decode_command(json_frame(header))
    assert (command.code, command.opaque, command.ext_fields) == (310, 7, {"i": "a"})


@pytest.mark.parametrize(
    ("frame", "flag"),
    [
        (json_frame(b'{"code":"ten","opaque":7,"flag":2}'), 2),
        (json_frame(b'{"code":10,"opaque":7,"version":"x"}'), 0),
        (json_frame(b'{"code":10,"opaque":"7","extFields":[1]}'), 0),
        (json_frame(b'{"code":10,"extFields":{"opaque":"3","i":1 2},"flag":1,"opaque":7'), 1),
        (json_frame(b'{"extFields":{"i":"\\"opaque\\":3"},"opaque":7 "code":10}'), 0),
        (json_frame(b'{"code":10,"opaque":7,"flag":0,"extFields":{"flag":"1","opaque":"3","i"=1}}'), 0),
        (json_frame(b'{"code":10,"extFields":{"i"=1,"flag":0,"opaque":7}'), 0),
        (json_frame(b'{"code":1,"opaque":7,"remark":"' + b"x" * 1024 * 1024 + b'"}'), 0),
        (json_frame(b'{"code":1,"extFields":{"opaque":3,"i":"' + b"x" * 1024 * 1024 + b'"},"opaque":7}'), 0),
        (bytes.fromhex("0100001500 0a 0c 0199 00000007 00000002 00000000 7fffffff"), 2),
        (bytes.fromhex("0100000d 000a 0c 0199 00000007 00000001"), 1),
    ],
)
def test_a_broken_header_is_reported_with_what_its_answer_needs(frame: bytes, flag: int) -> None:
    with pytest.raises(MalformedFrame) as caught:
        decode_command(frame)
    assert caught.value.head is not None
    assert (caught.value.head.opaque, caught.value.head.flag) == (7, flag)


@pytest.mark.parametrize(
    "frame",
    [
        *(b"", b"\x00\x00\x00\x05{}", json_frame(b"[]"), json_frame(b'{"opaque":"x"}'), b"\x01\x00\x00\x02ab"),
        # Only the ends of a long one are looked at.
        json_frame(b'{"a":"' + b"x" * 1024 * 1024 + b'","opaque":7,"b":"' + b"x" * 1024 * 1024 + b'"}'),
    ],
)
def test_a_frame_without_a_number_has_no_head(frame: bytes) -> None:
    with pytest.raises(MalformedFrame) as caught:
        decode_command(frame)
    assert caught.value.head is None


def test_a_reply_keeps_opaque_and_serialize_type() -> None:
    request = RemotingCommand(code=11, opaque=42, serialize_type=SerializeType.ROCKETMQ)
    reply = request.reply(0, "fine")
    assert (reply.opaque, reply.serialize_type, reply.is_response) == (42, SerializeType.ROCKETMQ, True)


@pytest.mark.parametrize("serialize_type", list(SerializeType))
def test_a_remark_that_quotes_16_megabytes_does_not_break_the_reply(serialize_type: SerializeType) -> None:
    request = RemotingCommand(code=202, opaque=42, serialize_type=serialize_type)
    reply = request.reply(17, f"topic {chr(1) * 16_000_000!r} does not exist")
    again = decode_command(encode_command(reply)[4:])
    assert (again.code, again.opaque, again.serialize_type) == (17, 42, serialize_type)
    assert again.remark is not None and again.remark.startswith("topic '\\x01")


def test_a_code_beyond_16_bits_travels_as_json() -> None:
    command = RemotingCommand(code=200_050, serialize_type=SerializeType.ROCKETMQ)
    again = decode_command(encode_command(command)[4:])
    assert (again.code, again.serialize_type) == (200_050, SerializeType.JSON)
