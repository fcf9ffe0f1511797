"""One entry of a consume queue: the position of a message, and enough to filter it without reading it.

    | int64 commit-log offset | int32 size | int64 tags code |                                   20 bytes, big-endian

The entry of logical offset ``n`` is at byte ``20 n``. The tags code is Java's ``hashCode`` of the TAGS property, 0
without tags; in the topic of delayed messages it is the delivery time.
"""

from __future__ import annotations

import struct
from typing import Final

CONSUME_QUEUE_ENTRY: Final = struct.Struct(">qiq")
ENTRY_SIZE_BYTES: Final = CONSUME_QUEUE_ENTRY.size
assert ENTRY_SIZE_BYTES == 20

#: The size in an entry that has no message: its logical offset belongs to a message that is no longer in the commit
#: log. RocketMQ writes the same entry before the first one of a queue that does not begin at 0.
FILLER_SIZE: Final = 0x7FFFFFFF
FILLER_ENTRY: Final = CONSUME_QUEUE_ENTRY.pack(0, FILLER_SIZE, 0)
