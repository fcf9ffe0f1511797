"""Frames that nobody should send: captured ones, spoiled in every way that a bad client or a bad line could."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import orjson

from engine.protocol.command.remoting_command import RemotingCommand, SerializeType, decode_command, encode_command
from tests.engine.broker.lab_broker import golden_frames

NASTY_TEXTS = (
    "",
    " ",
    "0",
    "-1",
    "1",
    "17",
    "2147483647",
    "2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "9" * 400,
    "1e5",
    "0x10",
    "NaN",
    "٣",
    "²",
    "true",
    "FALSE",
    "null",
    "*",
    "||",
    "TagA || TagB",
    "SQL92",
    "%RETRY%gc1",
    "%DLQ%",
    "SCHEDULE_TOPIC_XXXX",
    "TBW102",
    "DefaultCluster",
    "日本語のトピック",
    "\U0001f4a5",
    "a\x00b",
    "a\x01b\x02c",
    "DELAY\x013",
    "DELAY\x01x",
    "TRAN_MSG\x01true",
    "../../etc/passwd",
    "x" * 127,
    "x" * 128,
    "x" * 5_000,
    "x" * 40_000,
)
NASTY_JSON: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1 << 31,
    1 << 62,
    1.5,
    [],
    {},
    [[[]]],
    {"a": {"b": [1]}},
    "",
    "x",
    "日本",
    [None],
    [1, "a"],
)
NASTY_BODIES = (
    b"",
    b"\x00",
    b"{",
    b"{}",
    b"[]",
    b"null",
    b'"x"',
    b"7",
    b"[" * 3_000,
    b'{"a":' * 500,
    b"\xff\xfe\xfd",
    b"{{}:{}}",
    b'{"mqSet":[{"topic":"T","brokerName":"b","queueId":1e999}]}',
    b'{"clientID":"\\ud800"}',
    b'{"clientID":"c","consumerDataSet":[{"groupName":"g","subscriptionDataSet":[{"topic":"\\ud800"}]}]}',
    b'{"consumerGroup":"g","clientId":"c","mqSet":[{"topic":"\\udfff","brokerName":"b","queueId":1}]}',
    b'{"groupName":"%RETRY%","retryMaxTimes":-999999999999}',
    bytes(range(256)),
    b"\x00\x00\x00\x16" * 40,
    b"\x7f\xff\xff\xff" * 10,
)
ODD_CODES = (0, 1, 3, 9, 13, 37, 39, 40, 100, 103, 105, 106, 206, 222, 307, 309, 324, 999, -1, -32_768, 32_767, 200_050)


def client_commands(link: str) -> list[RemotingCommand]:
    """Every captured request to the broker ("br") or name server ("ns")."""
    commands = []
    for frame in golden_frames():
        if frame["dir"] != "C" or frame["link"] != link or frame["header"]["flag"] & 1:
            continue
        text = frame["body"]
        body = bytes.fromhex(text) if _is_hex(text) else text.encode()
        raw = frame["rawheader"].encode()
        content = len(raw).to_bytes(4, "big") + raw + body
        commands.append(decode_command(content))
    return commands + (_more_commands() if link == "br" else [])


def _more_commands() -> list[RemotingCommand]:
    """Requests that the capture lacks or that find something only in its own world."""
    pull = {
        "consumerGroup": "gc1",
        "topic": "GT",
        "queueId": "0",
        "queueOffset": "0",
        "maxMsgNums": "32",
        "sysFlag": "7",
        "commitOffset": "0",
        "suspendTimeoutMillis": "15000",
        "subscription": "*",
        "subVersion": "0",
    }
    send_back = {"offset": "0", "group": "gc1", "delayLevel": "0", "maxReconsumeTimes": "16"}
    delayed = {
        "producerGroup": "p",
        "topic": "GT",
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "4",
        "queueId": "0",
        "sysFlag": "0",
        "bornTimestamp": "0",
        "flag": "0",
        "properties": "DELAY\x011\x02TAGS\x01TagA",
    }
    return [
        RemotingCommand(11, ext_fields=pull),
        RemotingCommand(11, ext_fields=pull | {"queueOffset": "1000000"}),
        RemotingCommand(11, ext_fields=pull | {"subscription": "TagZ"}),
        RemotingCommand(10, ext_fields=delayed, body=b"later"),
        RemotingCommand(33, ext_fields={"offset": "0"}),
        RemotingCommand(36, ext_fields=send_back),
    ]


def _is_hex(text: str) -> bool:
    try:
        return len(text) > 40 and bytes.fromhex(text) is not None
    except ValueError:
        return False


class FrameMutator:
    """Makes spoiled frames, without their length prefix, from good commands; all choices come from one seed."""

    def __init__(self, commands: list[RemotingCommand], seed: int) -> None:
        self._commands = commands
        self._codes = sorted({command.code for command in commands})
        self._random = random.Random(seed)
        self._mutations: list[Callable[[RemotingCommand], bytes]] = [
            self._truncated,
            self._with_flipped_bits,
            self._with_random_bytes,
            self._with_nasty_field,
            self._with_nasty_field,
            self._with_nasty_field,
            self._without_a_field,
            self._with_json_types,
            self._with_other_code,
            self._with_other_body,
            self._with_wrong_header_length,
            self._with_other_envelope,
            self._as_it_is,
        ]

    def next(self) -> bytes:
        """One frame."""
        command = self._random.choice(self._commands)
        command.serialize_type = self._random.choice((SerializeType.JSON, SerializeType.ROCKETMQ))
        return self._random.choice(self._mutations)(command)

    def _frame(self, command: RemotingCommand, **changes: Any) -> bytes:
        changed = RemotingCommand(
            code=changes.get("code", command.code),
            opaque=changes.get("opaque", self._random.getrandbits(31)),
            flag=changes.get("flag", command.flag),
            language=changes.get("language", command.language),
            version=changes.get("version", command.version),
            remark=changes.get("remark"),
            ext_fields=changes.get("ext_fields", command.ext_fields),
            body=changes.get("body", command.body),
            serialize_type=command.serialize_type,
        )
        return encode_command(changed)[4:]

    def _as_it_is(self, command: RemotingCommand) -> bytes:
        return self._frame(command)

    def _truncated(self, command: RemotingCommand) -> bytes:
        frame = self._frame(command)
        return frame[: self._random.randrange(len(frame))]

    def _with_flipped_bits(self, command: RemotingCommand) -> bytes:
        frame = bytearray(self._frame(command))
        for _ in range(self._random.randint(1, 8)):
            frame[self._random.randrange(len(frame))] ^= 1 << self._random.randrange(8)
        return bytes(frame)

    def _with_random_bytes(self, command: RemotingCommand) -> bytes:
        frame = bytearray(self._frame(command))
        at = self._random.randrange(len(frame))
        frame[at : at + self._random.randint(0, 20)] = self._random.randbytes(self._random.randint(0, 20))
        return bytes(frame)

    def _with_nasty_field(self, command: RemotingCommand) -> bytes:
        fields = dict(command.ext_fields)
        for name in self._random.sample(sorted(fields), min(len(fields), self._random.randint(1, 2))):
            # A fresh name each time is what fills tables.
            fresh = f"N{self._random.getrandbits(30)}"
            fields[name] = fresh if self._random.random() < 0.2 else self._random.choice(NASTY_TEXTS)
        return self._frame(command, ext_fields=fields)

    def _without_a_field(self, command: RemotingCommand) -> bytes:
        fields = dict(command.ext_fields)
        if fields:
            del fields[self._random.choice(sorted(fields))]
        return self._frame(command, ext_fields=fields)

    def _with_json_types(self, command: RemotingCommand) -> bytes:
        header: dict[str, Any] = {
            "code": command.code,
            "flag": command.flag,
            "language": "JAVA",
            "opaque": self._random.getrandbits(31),
            "version": 409,
            "extFields": dict(command.ext_fields),
        }
        target = self._random.choice((header, header["extFields"]))
        name = self._random.choice(sorted(target) or ["x"])
        target[name] = self._random.choice(NASTY_JSON)
        try:
            raw = orjson.dumps(header)
        except TypeError:
            raw = json.dumps(header).encode()
        return len(raw).to_bytes(4, "big") + raw + command.body

    def _with_other_code(self, command: RemotingCommand) -> bytes:
        code = self._random.choice(self._codes + list(ODD_CODES))
        return self._frame(command, code=code)

    def _with_other_body(self, command: RemotingCommand) -> bytes:
        body = command.body
        kind = self._random.randrange(5)
        if kind == 0 and body:
            spoiled = bytearray(body)
            spoiled[self._random.randrange(len(body))] = self._random.randrange(256)
            body = bytes(spoiled)
        elif kind == 1 and body:
            body = body[: self._random.randrange(len(body))]
        elif kind == 2:
            body = self._random.choice(self._commands).body
        elif kind == 3:
            # The same body about others: group, client and topic names that nobody has used yet.
            for name in (b"gc1", b"cons1", b"gc2", b"GT", b"GO", b"gp1"):
                body = body.replace(name, b"N%d" % self._random.getrandbits(30))
        else:
            body = self._random.choice(NASTY_BODIES)
        return self._frame(command, body=body)

    def _with_wrong_header_length(self, command: RemotingCommand) -> bytes:
        frame = self._frame(command)
        length = self._random.choice((0, 1, 2, 0x00FF_FFFF, len(frame), self._random.randrange(1 << 24)))
        mark = self._random.choice((0, 1, 1, 2, 255)) << 24 | length
        return mark.to_bytes(4, "big") + frame[4:]

    def _with_other_envelope(self, command: RemotingCommand) -> bytes:
        return self._frame(
            command,
            flag=self._random.choice((0, 1, 2, 3, -1, 1 << 30)),
            opaque=self._random.choice((0, -1, 2_147_483_647, -2_147_483_648)),
            version=self._random.choice((0, -1, 63, 120, 121, 409, 32_767)),
            language=self._random.choice((0, 1, 3, 12, 99, 127)),
            remark=self._random.choice((None, "", "x" * 1_000)),
        )
