"""Every captured frame of the real client and broker decodes and re-encodes to the same header."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from engine.protocol.command.headers import (
    CommandHeader,
    ConsumerSendMsgBackRequestHeader,
    CreateTopicRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    PullMessageRequestHeader,
    PullMessageResponseHeader,
    QueryConsumerOffsetRequestHeader,
    ResetOffsetRequestHeader,
    SearchOffsetRequestHeader,
    SendMessageRequestHeader,
    UnregisterClientRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand, SerializeType, decode_command, encode_command
from engine.protocol.command.send_header_reader import decode_send_header_v2

GOLDEN = Path(__file__).parents[2] / "golden" / "wire-first-of-each.jsonl"
FRAMES: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text().splitlines()]


def read(frame: dict[str, Any]) -> RemotingCommand:
    header = frame["rawheader"].encode()
    return decode_command(struct.pack(">I", len(header)) + header)


def test_the_capture_is_whole() -> None:
    assert len(FRAMES) == 97


@pytest.mark.parametrize("frame", FRAMES, ids=lambda f: f"{f['link']}-{f['dir']}-{f['header']['code']}")
def test_a_captured_header_survives_json_and_binary(frame: dict[str, Any]) -> None:
    command = read(frame)
    expected = frame["header"]
    assert command.code == expected["code"]
    assert command.opaque == expected["opaque"]
    assert command.flag == expected["flag"]
    assert command.version == expected["version"]
    assert command.ext_fields == {k: str(v) for k, v in (expected.get("extFields") or {}).items()}
    for serialize_type in SerializeType:
        command.serialize_type = serialize_type
        again = decode_command(encode_command(command)[4:])
        assert again.ext_fields == command.ext_fields
        assert (again.code, again.opaque, again.flag, again.version) == (
            command.code,
            command.opaque,
            command.flag,
            command.version,
        )
        # The binary header cannot tell an empty remark from none.
        assert (again.remark or None) == (command.remark or None)
        assert again.language == command.language


def test_a_re_encoded_json_header_says_the_same_as_the_captured_one() -> None:
    for frame in FRAMES:
        encoded = encode_command(read(frame))
        (mark,) = struct.unpack_from(">I", encoded, 4)
        header = json.loads(encoded[8 : 8 + (mark & 0xFFFFFF)])
        expected = {"serializeTypeCurrentRPC": "JSON", **frame["header"]}
        expected["extFields"] = {k: str(v) for k, v in (expected.get("extFields") or {}).items()}
        header.setdefault("extFields", {})
        assert header == expected


TYPED: dict[int, type[CommandHeader]] = {
    10: SendMessageRequestHeader,
    11: PullMessageRequestHeader,
    14: QueryConsumerOffsetRequestHeader,
    15: UpdateConsumerOffsetRequestHeader,
    17: CreateTopicRequestHeader,
    29: SearchOffsetRequestHeader,
    35: UnregisterClientRequestHeader,
    36: ConsumerSendMsgBackRequestHeader,
    222: ResetOffsetRequestHeader,
    307: GetConsumerRunningInfoRequestHeader,
}
# What C++ clients add to everything, and how they spell booleans.
UNTYPED_FIELDS = {"AccessKey", "OnsChannel", "Signature", "serviceMessage"}


def test_typed_headers_read_and_write_the_captured_fields() -> None:
    seen = set()
    for frame in FRAMES:
        command = read(frame)
        header_type = TYPED.get(command.code)
        if header_type is None or command.is_response:
            continue
        seen.add(command.code)
        written = header_type.decode(command.ext_fields).encode()
        for name, value in command.ext_fields.items():
            if name not in UNTYPED_FIELDS:
                spelled_like_java = (
                    {"0": "false", "1": "true"}.get(value) if written[name] in ("true", "false") else None
                )
                assert written[name] == (spelled_like_java or value), (command.code, name)
    assert seen == set(TYPED)


def test_one_letter_send_headers_read_and_write_the_captured_fields() -> None:
    captured = [read(frame) for frame in FRAMES if frame["header"]["code"] in (310, 320)]
    assert len(captured) >= 3
    for command in captured:
        assert decode_send_header_v2(command.ext_fields).encode_v2() == command.ext_fields


def test_pull_replies_carry_all_four_fields() -> None:
    replies = [read(f) for f in FRAMES if "nextBeginOffset" in (f["header"].get("extFields") or {})]
    assert {reply.code for reply in replies} >= {0, 19, 20, 21}
    for reply in replies:
        assert PullMessageResponseHeader.decode(reply.ext_fields).encode() == reply.ext_fields
