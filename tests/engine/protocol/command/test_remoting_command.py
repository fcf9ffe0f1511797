"""The envelope: round trips, tolerance, and what happens to broken frames."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.command.remoting_command import RemotingCommand, SerializeType, decode_command, encode_command
from engine.protocol.enums import LanguageCode
from engine.protocol.errors import MalformedFrame

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


@given(st.binary(max_size=300))
def test_any_bytes_decode_or_raise_malformed_frame(data: bytes) -> None:
    try:
        decode_command(data)
    except MalformedFrame:
        pass


@given(commands, st.data())
def test_a_damaged_frame_decodes_or_raises_malformed_frame(command: RemotingCommand, data: st.DataObject) -> None:
    frame = bytearray(encode_command(command)[4:])
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    del frame[data.draw(st.integers(0, len(frame))) :]
    try:
        decode_command(bytes(frame))
    except MalformedFrame:
        pass


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
