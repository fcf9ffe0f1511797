"""The envelope of all traffic on the wire (RocketMQ: ``RemotingCommand``, ``RocketMQSerializable``).

A frame::

    int32 length of all that follows | int32: 1 byte serialize type, 3 bytes header length h | h header | body

The header is JSON (type 0) or, more compactly, binary (type 1, "ROCKETMQ")::

    int16 code | int8 language | int16 version | int32 opaque | int32 flag | int32 n, n remark
    | int32 m, m bytes of fields: int16 key length, key, int32 value length, value ...

A reply uses the serialize type of its request. Reading is tolerant: C++ and JavaScript clients send numbers and
booleans where Java sends strings, newlines after the JSON, and properties that are not UTF-8. Everything that fastjson
accepts as JSON is accepted (:mod:`engine.protocol.json_form.json_text`).
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol

from engine.protocol.byte_strings import BytesWriter, read_i32_be, write_i16_be, write_i32_be
from engine.protocol.enums import PROTOCOL_VERSION, LanguageCode
from engine.protocol.errors import FrameHead, MalformedBody, MalformedFrame
from engine.protocol.java_text import java_text
from engine.protocol.json_form import json_library
from engine.protocol.json_form.json_text import loads_json

RESPONSE_FLAG: Final = 1
ONEWAY_FLAG: Final = 2

_LENGTHS: Final = struct.Struct(">iI")
_MARK: Final = struct.Struct(">I")
_BINARY_HEAD: Final = struct.Struct(">hbhii")
_INT32: Final = struct.Struct(">i")
_JSON_TYPE_SHIFT: Final = 24
_HEADER_LENGTH_MASK: Final = 0x00FF_FFFF
#: The maximum header size. A header carries names, numbers, properties of at most 32 KiB, and perhaps a long
#: subscription. RocketMQ accepts 16 MiB; a million fields would keep the only thread busy for seconds.
HEADER_MAX_BYTES: Final = 1024 * 1024
#: The tolerant parser of JSON takes about 2 us per value: a longer header than this must be standard JSON.
_TOLERANT_MAX_BYTES: Final = 64 * 1024
#: Codes above this do not fit the binary header's int16.
_BINARY_MAX_CODE: Final = 0x7FFF
#: The maximum length of a remark. It may quote the request: a name of 16 MB with escaped quotes would make a header
#: that does not fit the 24 bits of its length.
_REMARK_MAX_CHARACTERS: Final = 4_096
#: Matches a number of the envelope in a JSON header that cannot be parsed. In a string its quotes would be escaped.
_ENVELOPE_NUMBER: Final = re.compile(r'"(opaque|flag)"\s*:\s*"?(-?[0-9]{1,10})\b')
#: Matches the custom fields, which may have the names of envelope numbers: a message has a flag, too.
_EXT_FIELDS: Final = re.compile(r'"extFields"\s*:\s*\{[^{}]*\}')
#: What the values of ``extFields`` usually are; comparing the types of all takes one call.
_TEXTS: Final = frozenset({str})
#: Kept as dicts: an enum's own lookup takes several calls.
_LANGUAGES: Final[dict[object, int]] = {language.name: language for language in LanguageCode}
_LANGUAGE_NAMES: Final[dict[int, str]] = {language.value: language.name for language in LanguageCode}


class SerializeType(IntEnum):
    """The encodings of a command's header."""

    JSON = 0
    ROCKETMQ = 1


class EncodableHeader(Protocol):
    """A header that can be flattened into ``ext_fields``."""

    def encode(self) -> dict[str, str]: ...


@dataclass(slots=True, init=False)
class RemotingCommand:
    """One request or response.

    ``opaque`` matches a response with its request; each side numbers its own requests. ``ext_fields`` are the fields of
    the custom header, always strings. ``language`` is the programming language that the peer reports.
    """

    code: int
    opaque: int
    flag: int
    language: int
    version: int
    remark: str | None
    ext_fields: dict[str, str]
    body: bytes
    serialize_type: SerializeType

    def __init__(
        self,
        code: int,
        opaque: int = 0,
        flag: int = 0,
        language: int = LanguageCode.JAVA,
        version: int = PROTOCOL_VERSION,
        remark: str | None = None,
        ext_fields: dict[str, str] | None = None,
        body: bytes = b"",
        serialize_type: SerializeType = SerializeType.JSON,
    ) -> None:
        """Written out because two commands are created per message: mypyc compiles no ``__init__`` that a decorator
        makes.
        """
        self.code = code
        self.opaque = opaque
        self.flag = flag
        self.language = language
        self.version = version
        self.remark = remark
        self.ext_fields = {} if ext_fields is None else ext_fields
        self.body = body
        self.serialize_type = serialize_type

    @property
    def is_response(self) -> bool:
        return self.flag & RESPONSE_FLAG != 0

    @property
    def is_oneway(self) -> bool:
        return self.flag & ONEWAY_FLAG != 0

    def without_content(self) -> RemotingCommand:
        """Return the parts that a later reply to this request needs, without the fields and the body, which may be
        large.
        """
        return RemotingCommand(
            self.code,
            self.opaque,
            self.flag,
            self.language,
            self.version,
            self.remark,
            serialize_type=self.serialize_type,
        )

    @classmethod
    def request(
        cls,
        code: int,
        header: EncodableHeader | None = None,
        body: bytes = b"",
        *,
        oneway: bool = False,
        language: int = LanguageCode.JAVA,
    ) -> RemotingCommand:
        """Create a request; the connection assigns its ``opaque`` on sending."""
        return cls(
            code=code,
            flag=ONEWAY_FLAG if oneway else 0,
            language=language,
            ext_fields={} if header is None else header.encode(),
            body=body,
        )

    def reply(
        self, code: int, remark: str | None = None, header: EncodableHeader | None = None, body: bytes = b""
    ) -> RemotingCommand:
        """Create the response to this request; a ``remark`` of more than 4,096 characters is cut."""
        return RemotingCommand(
            code=code,
            opaque=self.opaque,
            flag=RESPONSE_FLAG,
            remark=None if remark is None else remark[:_REMARK_MAX_CHARACTERS],
            ext_fields={} if header is None else header.encode(),
            body=body,
            serialize_type=self.serialize_type,
        )


def decode_command(frame: bytes) -> RemotingCommand:
    """Decode the command in ``frame``, which comes without its 4-byte length prefix. Raises :class:`MalformedFrame`."""
    if len(frame) < 4:
        raise MalformedFrame(f"a frame has at least 4 bytes, got {len(frame)}")
    (mark,) = _MARK.unpack_from(frame)
    header_end = 4 + (mark & _HEADER_LENGTH_MASK)
    if header_end > len(frame):
        raise MalformedFrame(f"the header says {header_end - 4} bytes, the frame has {len(frame) - 4}")
    serialize_type = mark >> _JSON_TYPE_SHIFT
    if serialize_type > SerializeType.ROCKETMQ:
        raise MalformedFrame(f"serialize type {serialize_type}; allowed: 0 (JSON), 1 (ROCKETMQ)")
    try:
        if header_end - 4 > HEADER_MAX_BYTES:
            raise ValueError(f"it has {header_end - 4} bytes; allowed: {HEADER_MAX_BYTES}")
        if serialize_type == SerializeType.JSON:
            return _decode_json(frame, header_end)
        return _decode_binary(frame, header_end)
    except (struct.error, ValueError, TypeError, IndexError, RecursionError, MalformedBody) as error:
        head = _readable_head(frame[4:header_end], serialize_type == SerializeType.ROCKETMQ)
        raise MalformedFrame(f"the header cannot be read: {error}", head) from error


def _readable_head(header: bytes, is_binary: bool) -> FrameHead | None:
    if is_binary:
        *_, opaque, flag = _BINARY_HEAD.unpack_from(header) if len(header) >= _BINARY_HEAD.size else (None, 0)
        return None if opaque is None else FrameHead(opaque, flag, True)
    try:
        found = loads_json(header) if len(header) <= _TOLERANT_MAX_BYTES else None
    except MalformedBody:
        found = None
    fields = found if isinstance(found, dict) else _envelope_numbers(header)
    opaque = _int32_or_none(fields.get("opaque"))
    return None if opaque is None else FrameHead(opaque, _int32_or_none(fields.get("flag")) or 0, False)


def _envelope_numbers(header: bytes) -> dict[str, str]:
    """Return ``opaque`` and ``flag`` from the text before or after the fields of a request."""
    if len(header) > 2 * _TOLERANT_MAX_BYTES:  # a search through 16 MiB would take seconds
        header = header[:_TOLERANT_MAX_BYTES] + header[-_TOLERANT_MAX_BYTES:]
    text = java_text(header)
    numbers = dict(_ENVELOPE_NUMBER.findall(_EXT_FIELDS.sub("", text)))
    return numbers if "opaque" in numbers else dict(_ENVELOPE_NUMBER.findall(text))


def encode_command(command: RemotingCommand) -> bytes:
    """Encode the whole frame of ``command``, including its 4-byte length prefix."""
    if command.serialize_type is SerializeType.ROCKETMQ and command.code <= _BINARY_MAX_CODE:
        header = _encode_binary(command)
        mark = 1 << _JSON_TYPE_SHIFT | len(header)
    else:
        header = _encode_json(command)
        mark = len(header)
    return b"".join((_LENGTHS.pack(4 + len(header) + len(command.body), mark), header, command.body))


# --- JSON ------------------------------------------------------------------------------------------------------------


def _text(value: object) -> str:
    """Return a field's value as Java would have written it."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str | int | float):
        return str(value)
    return json_library.dumps(value).decode()


def _int32(name: str, value: object) -> int:
    try:
        number = int(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValueError(f"{name} must be a whole number, got {value!r:.40}")
    if not -0x8000_0000 <= number <= 0x7FFF_FFFF:
        raise ValueError(f"{name} {number} does not fit 32 bits")
    return number


def _int32_or_none(value: object) -> int | None:
    try:
        return _int32("", value)
    except ValueError:
        return None


def _decode_json(frame: bytes, header_end: int) -> RemotingCommand:
    header = frame[4:header_end]
    try:
        fields = json_library.loads(header)
    except ValueError:
        fields = loads_json(header) if len(header) <= _TOLERANT_MAX_BYTES else json_library.loads(java_text(header))
    if not isinstance(fields, dict) or "code" not in fields:
        raise ValueError("a JSON header is an object with a code")
    raw = fields.get("extFields")
    if raw is None:
        ext_fields: dict[str, str] = {}
    elif not isinstance(raw, dict):
        raise ValueError(f"extFields must be an object, got {type(raw).__name__}")
    elif _TEXTS.issuperset(map(type, raw.values())):
        ext_fields = raw
    else:
        ext_fields = {name: _text(value) for name, value in raw.items() if value is not None}
    remark = fields.get("remark")
    return RemotingCommand(
        _int32("code", fields["code"]),
        _int32("opaque", fields.get("opaque", 0)),
        _int32("flag", fields.get("flag", 0)),
        _language(fields.get("language")),
        _int32("version", fields.get("version", 0)),
        None if remark is None else _text(remark),
        ext_fields,
        frame[header_end:],
        SerializeType.JSON,
    )


def _language(value: object) -> int:
    if isinstance(value, str):
        return _LANGUAGES.get(value, LanguageCode.OTHER)
    if isinstance(value, int) and 0 <= value <= 127:
        return int(value)
    return LanguageCode.OTHER


def language_name(code: int) -> str:
    """Return the name of a language code, as JSON headers spell it."""
    return _LANGUAGE_NAMES.get(code, "OTHER")


def _encode_json(command: RemotingCommand) -> bytes:
    fields: dict[str, object] = {
        "code": int(command.code),
        "flag": command.flag,
        "language": language_name(command.language),
        "opaque": command.opaque,
        "serializeTypeCurrentRPC": "JSON",
        "version": command.version,
    }
    if command.remark is not None:
        fields["remark"] = command.remark
    if command.ext_fields:
        fields["extFields"] = command.ext_fields
    return json_library.dumps(fields)


# --- binary ----------------------------------------------------------------------------------------------------------


def _decode_binary(frame: bytes, header_end: int) -> RemotingCommand:
    code, language, version, opaque, flag = _BINARY_HEAD.unpack_from(frame, 4)
    at = 4 + _BINARY_HEAD.size
    (remark_length,) = _INT32.unpack_from(frame, at)
    at += 4
    remark_end = at + remark_length
    if remark_length < 0 or remark_end + 4 > header_end:
        raise ValueError(f"remark length {remark_length} extends beyond the header")
    remark = java_text(frame[at:remark_end]) if remark_length else None
    (fields_length,) = _INT32.unpack_from(frame, remark_end)
    at = remark_end + 4
    if fields_length < 0 or at + fields_length > header_end:
        raise ValueError(f"fields length {fields_length} extends beyond the header")
    return RemotingCommand(
        code,
        opaque,
        flag,
        language,
        version,
        remark,
        _decode_binary_fields(frame, at, at + fields_length),
        frame[header_end:],
        SerializeType.ROCKETMQ,
    )


def _decode_binary_fields(frame: bytes, at: int, end: int) -> dict[str, str]:
    ext_fields: dict[str, str] = {}
    while at < end:
        # The key length is read by index, as it has no sign.
        key_end = at + 2 + (frame[at] << 8 | frame[at + 1])
        value_length = read_i32_be(frame, key_end)
        value_start = key_end + 4
        value_end = value_start + value_length
        if value_length < 0 or value_end > end:
            raise ValueError("a field extends beyond the header")
        try:
            ext_fields[frame[at + 2 : key_end].decode()] = frame[value_start:value_end].decode()
        except UnicodeDecodeError:
            ext_fields[java_text(frame[at + 2 : key_end])] = java_text(frame[value_start:value_end])
        at = value_end
    return ext_fields


def _encode_binary(command: RemotingCommand) -> bytes:
    fields = BytesWriter()
    for name, value in command.ext_fields.items():
        key, text = name.encode(), value.encode()
        write_i16_be(fields, len(key))
        fields.write(key)
        write_i32_be(fields, len(text))
        fields.write(text)
    packed = fields.getvalue()
    remark = command.remark.encode() if command.remark else b""
    head = _BINARY_HEAD.pack(command.code, command.language, command.version, command.opaque, command.flag)
    return b"".join((head, _INT32.pack(len(remark)), remark, _INT32.pack(len(packed)), packed))
