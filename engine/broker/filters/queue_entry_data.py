"""A consume-queue entry as tools see it, with its bit map and whether a group's filter matches it (RocketMQ: part of
``AdminBrokerProcessor.queryConsumeQueue``, ``BitsArray.toString``).
"""

from __future__ import annotations

from base64 import b64encode

from engine.protocol.body.admin_bodies import ConsumeQueueData
from engine.protocol.json_form.json_text import dumps_json
from engine.store.queues.consume_queue import Entry
from engine.store.queues.consume_queue_ext import UNIT_HEAD_BYTES, ConsumeQueueExtUnit, is_ext_address
from engine.store.reading.message_filter import MessageFilter

_BYTES_PER_LINE = 8


def queue_entry_data(
    entry: Entry, unit: ConsumeQueueExtUnit | None, message_filter: MessageFilter | None
) -> ConsumeQueueData:
    """Return ``entry`` as written, with the ``unit`` that it points to; ``message_filter`` None matches everything.

    As in RocketMQ, an entry that contains its tags code itself is not compared with the filter.
    """
    if not is_ext_address(entry[2]):
        return ConsumeQueueData(*entry)
    if unit is None:
        return ConsumeQueueData(*entry, msg=f"Cq extend not exist!addr: {entry[2]}")
    return ConsumeQueueData(
        *entry,
        extend_data_json=_unit_json(unit),
        bit_map=bits_text(unit.bit_map) if unit.bit_map else None,
        eval=message_filter is None or message_filter.matches_consume_queue(unit.tags_code, unit),
    )


def _unit_json(unit: ConsumeQueueExtUnit) -> str:
    fields: dict[str, object] = {
        "msgStoreTime": unit.store_timestamp,
        "size": UNIT_HEAD_BYTES + len(unit.bit_map),
        "tagsCode": unit.tags_code,
    }
    if unit.bit_map:
        fields["filterBitMap"] = b64encode(unit.bit_map).decode()  # as fastjson prints bytes
    return dumps_json(fields).decode()


def bits_text(bit_map: bytes) -> str:
    """Return the bits, the last one first, eight bytes a line.

    >>> bits_text(bytes((1, 128)))
    '1000000000000001\\n'
    """
    text = ""
    for index in range(len(bit_map) - 1, -1, -1):
        text += f"{bit_map[index]:08b}" + ("\n" if index % _BYTES_PER_LINE == 0 else "")
    return text
