"""The layout of a stored message: the one table that codec, store, broker and pipeline share (RocketMQ:
``MessageDecoder``, ``CommitLog``).

Big-endian; offsets for IPv4 hosts (each IPv6 host adds 12 bytes, as the system flag says)::

     0 int32 total size              40 int64 born timestamp          84 int32 body length n
     4 int32 magic 0xDAA320A7        48 8     born host ip, port      88 n     body
     8 int32 CRC-32 of the body      56 int64 store timestamp       88+n int8  topic length t
    12 int32 queue id                64 8     store host ip, port   89+n t     topic
    16 int32 flag                    72 int32 reconsume times         .. int16 properties length p
    20 int64 queue offset            76 int64 prepared transaction    .. p     properties
    28 int64 physical offset                  offset
    36 int32 system flag

The last message of a commit-log file is followed by a blank: its remaining size and :data:`BLANK_MAGIC`.
"""

from __future__ import annotations

import struct
from typing import Final

from engine.protocol.system_flags import BORN_HOST_V6, STORE_HOST_V6

#: Marks a message (0xDAA320A7 as a signed integer), and the same as bytes, to search for.
MESSAGE_MAGIC: Final = -626_843_481
MESSAGE_MAGIC_BYTES: Final = struct.pack(">i", MESSAGE_MAGIC)
#: Marks the unused end of a commit-log file (0xCBD43194).
BLANK_MAGIC: Final = -875_286_124
#: Room that a commit-log file must keep after a message for the blank's size and magic.
BLANK_MIN_SIZE_BYTES: Final = 8

#: The bits of the system flag that change the layout -> the sizes of born host and store host.
HOST_SIZES: Final = {0: (8, 8), BORN_HOST_V6: (20, 8), STORE_HOST_V6: (8, 20), BORN_HOST_V6 | STORE_HOST_V6: (20, 20)}
HOST_FLAGS: Final = BORN_HOST_V6 | STORE_HOST_V6

#: Everything before the body, as :mod:`struct` calls it: i and I have 4 bytes, q has 8. Hosts have their own size.
FIXED_FIELDS: Final = {
    "size": "i",
    "magic": "i",
    "crc": "I",
    "queue_id": "i",
    "flag": "i",
    "queue_offset": "q",
    "commit_log_offset": "q",
    "sys_flag": "i",
    "born_timestamp": "q",
    "born_host": "{0}s",
    "store_timestamp": "q",
    "store_host": "{1}s",
    "reconsume_times": "i",
    "prepared_transaction_offset": "q",
    "body_length": "i",
}


def fields_at(*names: str) -> dict[int, struct.Struct]:
    """Return the struct that reads the fields ``names``, in the order of the table, by ``sys_flag & HOST_FLAGS``.

    The struct ends with the last of these fields.
    """
    structs = {}
    for flags, sizes in HOST_SIZES.items():
        text, gap = ">", 0
        for name, code in FIXED_FIELDS.items():
            if name in names:
                text, gap = f"{text}{gap}x{code.format(*sizes)}", 0
            else:
                gap += struct.calcsize(">" + code.format(*sizes))
        structs[flags] = struct.Struct(text)
    return structs


#: All fixed fields. The body begins after them.
FIXED_PART: Final = fields_at(*FIXED_FIELDS)
#: Fields that precede the hosts, and therefore have fixed positions.
SIZE_AND_MAGIC: Final = fields_at("size", "magic")[0]
SYSTEM_FLAG: Final = fields_at("sys_flag")[0]
IDENTITY: Final = fields_at("size", "magic", "queue_id", "queue_offset", "commit_log_offset")[0]
#: Positions of fields that are searched for or corrected.
MAGIC_POSITION, CRC_POSITION, QUEUE_ID_POSITION, QUEUE_OFFSET_POSITION, COMMIT_LOG_OFFSET_POSITION = (
    fields_at(name)[0].size - struct.calcsize(">" + FIXED_FIELDS[name])
    for name in ("magic", "crc", "queue_id", "queue_offset", "commit_log_offset")
)

PROPERTIES_LENGTH: Final = struct.Struct(">H")
#: Size of a message with IPv4 hosts and no body, topic or properties.
FIXED_SIZE_BYTES: Final = FIXED_PART[0].size + 1 + PROPERTIES_LENGTH.size
assert FIXED_SIZE_BYTES == 91

_STORE_TIMESTAMP: Final = fields_at("store_timestamp")


def store_timestamp_of(record: bytes, position: int = 0) -> int:
    """Return the store timestamp (ms) of the message that starts at ``position``."""
    (sys_flag,) = SYSTEM_FLAG.unpack_from(record, position)
    return int(_STORE_TIMESTAMP[sys_flag & HOST_FLAGS].unpack_from(record, position)[0])
