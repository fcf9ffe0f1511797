"""Decoding of stored messages, as in pull responses, into Arrow record batches.

The layout is shown in :mod:`engine.protocol.message.record_layout`. Python visits each message once, to read its size;
everything else is numpy and Arrow over the whole batch: the fixed parts of all messages are gathered as one structured
array, and topic, body and properties by their ranges. The result must equal that of
``message_codec.decode_messages(data)``. The CRC of the body is not checked: TCP has its own checksum, and the broker's
was checked when it was stored.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.decoding.body_compression import decompressed
from engine.pipeline.source.decoding.byte_ranges import Int64Array, as_text, take_ranges
from engine.pipeline.source.decoding.host_columns import hosts_as_text, message_ids
from engine.pipeline.source.decoding.schema import FIRST_TIME_MS, KAFKA_NAMES, LAST_TIME_MS, PROPERTY_PREFIX
from engine.pipeline.source.decoding.stored_properties import StoredProperties
from engine.protocol.message.message_properties import PROPERTY_KEYS, PROPERTY_TAGS, PROPERTY_UNIQUE_KEY
from engine.protocol.message.record_layout import FIXED_FIELDS, FIXED_SIZE_BYTES, HOST_FLAGS, HOST_SIZES, MESSAGE_MAGIC
from engine.protocol.system_flags import MESSAGE_COMPRESSED

_SIZE = struct.Struct(">i")
_TIMESTAMP = pa.timestamp("us", tz="UTC")
#: Kafka's ``timestampType`` of a time that the broker's clock gave.
_LOG_APPEND_TIME = 1
#: numpy's names for the numbers of the layout.
_NUMPY_TYPES = {"i": ">i4", "I": ">u4", "q": ">i8"}


def _fixed_part(host_sizes: tuple[int, int]) -> np.dtype[Any]:
    """Return the numpy type of everything before the body."""
    codes = ((name, code.format(*(f"V{size}" for size in host_sizes))) for name, code in FIXED_FIELDS.items())
    return np.dtype([(name, _NUMPY_TYPES.get(code, code.removesuffix("s"))) for name, code in codes])


#: Bits of the system flag that change the layout -> the layout.
_LAYOUTS = {flags: _fixed_part(sizes) for flags, sizes in HOST_SIZES.items()}
_SYS_FLAG_AT = _LAYOUTS[0].fields["sys_flag"][1]  # type: ignore[index]  # a structured dtype has fields


def message_starts(data: bytes) -> Int64Array:
    """Return where each message of ``data`` begins. Raises ``ROCKETMQ_BROKEN_MESSAGE``.

    This is the only loop over messages: the size of each gives the position of the next.
    """
    starts: list[int] = []
    add, size_at = starts.append, _SIZE.unpack_from
    at, end = 0, len(data)
    try:
        while at < end:
            add(at)
            (size,) = size_at(data, at)
            if size < FIXED_SIZE_BYTES:
                raise _broken(f"a message at byte {at} of {end} says its size is {size}")
            at += size
    except struct.error:
        raise _broken(f"{end - at} bytes are left at byte {at}: too few for a message") from None
    if at != end:
        raise _broken(f"the last message leads {at - end} bytes beyond the end")
    return np.array(starts, np.int64)


class StoredBatch:
    """Stored messages of one broker.

    :param data: stored forms one after the other.
    :param starts: where in ``data`` the messages of this batch begin; None: all messages.
    :param decompressed_bodies: by position in the batch, as far as they are known already.
    """

    def __init__(
        self,
        data: bytes,
        starts: Int64Array | None = None,
        decompressed_bodies: Mapping[int, bytes] = MappingProxyType({}),
    ) -> None:
        self._data = data
        self._decompressed_bodies = decompressed_bodies
        self._starts = message_starts(data) if starts is None else starts
        self._bytes = np.frombuffer(data, np.uint8)
        self._gather_fixed_parts()
        self._find_variable_parts()

    def __len__(self) -> int:
        return len(self._starts)

    # --- positions ---------------------------------------------------------------------------------------------------

    def _gather_fixed_parts(self) -> None:
        layouts = _gather(self._data, self._starts + _SYS_FLAG_AT, np.dtype(">i4")).astype(np.int32) & HOST_FLAGS
        kinds = np.unique(layouts).tolist() if layouts.any() else [0]
        #: Layout -> (positions of its messages in the batch, their fixed parts).
        self._fixed: list[tuple[slice | Int64Array, npt.NDArray[Any]]] = []
        for kind in kinds:
            places = slice(None) if len(kinds) == 1 else np.flatnonzero(layouts == kind)
            self._fixed.append((places, _gather(self._data, self._starts[places], _LAYOUTS[kind])))
        if any(bool((fixed["magic"] != MESSAGE_MAGIC).any()) for _, fixed in self._fixed):
            raise _broken("there is something other than a message")

    def number(self, name: str) -> npt.NDArray[Any]:
        """Return one fixed field of all messages, in native byte order."""
        values = np.empty(len(self), self._fixed[0][1].dtype[name].newbyteorder("="))
        for places, fixed in self._fixed:
            values[places] = fixed[name]
        return values

    def _find_variable_parts(self) -> None:
        self._body_starts = np.empty(len(self), np.int64)
        for places, fixed in self._fixed:
            self._body_starts[places] = self._starts[places] + fixed.dtype.itemsize
        ends = self._starts + self.number("size")
        lengths = self.number("body_length")
        self._body_ends = self._body_starts + lengths
        if bool((lengths < 0).any()) or bool((self._body_ends + 3 > ends).any()):
            raise _broken("a body is longer than its message")
        self._topic_starts = self._body_ends + 1
        self._topic_ends = self._topic_starts + self._bytes[self._body_ends]
        if bool((self._topic_ends + 2 > ends).any()):
            raise _broken("a topic is longer than its message")
        self._properties_starts = self._topic_ends + 2
        lengths = _gather(self._data, self._topic_ends, np.dtype(">u2"))
        self._properties_ends = self._properties_starts + lengths
        if bool((self._properties_ends != ends).any()):
            raise _broken("properties do not end where their message ends")

    # --- columns -----------------------------------------------------------------------------------------------------

    def topics(self) -> Any:
        """Return the topic of each message."""
        return as_text(take_ranges(self._data, self._topic_starts, self._topic_ends, pa.string()))

    def bodies(self) -> Any:
        """Return the bodies as they were sent."""
        bodies = take_ranges(self._data, self._body_starts, self._body_ends, pa.binary())
        places = self.compressed_places()
        if not places:
            return bodies
        values = bodies.to_pylist()
        for place in places:
            known = self._decompressed_bodies.get(place)
            values[place] = self.decompressed_body(place) if known is None else known
        return pa.array(values, pa.binary())

    def compressed_places(self) -> list[int]:
        """Return the positions of messages with a compressed body."""
        places: list[int] = np.flatnonzero(self.number("sys_flag") & MESSAGE_COMPRESSED).tolist()
        return places

    def decompressed_body(self, place: int) -> bytes:
        """Return one compressed body as it was sent. Raises ``ROCKETMQ_BROKEN_MESSAGE``, which names the message."""
        body = self._data[self._body_starts[place] : self._body_ends[place]]
        try:
            return decompressed(body, int(self.number("sys_flag")[place]))
        except RocketMQError as error:
            topic = self._data[self._topic_starts[place] : self._topic_ends[place]].decode("ascii", "replace")
            queue_id, offset = self.number("queue_id")[place], self.number("queue_offset")[place]
            where = f"topic {topic!r}, queue {queue_id}, offset {offset}"
            raise RocketMQError(error.condition, f"{where}: {error.text}; columns without body can be read") from error

    def timestamps(self, name: str) -> Any:
        """Return a time field as Arrow timestamps."""
        ms = np.clip(self.number(name), FIRST_TIME_MS, LAST_TIME_MS)
        return pa.Array.from_buffers(_TIMESTAMP, len(self), [None, pa.py_buffer(ms * 1_000)])

    def born_hosts(self) -> Any:
        """Return ``host:port`` of each sender."""
        return self._in_order([hosts_as_text(fixed["born_host"]) for _, fixed in self._fixed])

    def message_ids(self) -> Any:
        """Return the offset ids."""
        return self._in_order(
            [message_ids(fixed["store_host"], fixed["commit_log_offset"]) for _, fixed in self._fixed]
        )

    def _in_order(self, arrays: Sequence[Any]) -> Any:
        """Return the arrays of the layouts as one, in the order of the messages."""
        if len(arrays) == 1:
            return arrays[0]
        places = np.concatenate([places for places, _ in self._fixed if not isinstance(places, slice)])
        return pa.concat_arrays(arrays).take(pa.array(np.argsort(places)))

    @cached_property
    def properties(self) -> StoredProperties:
        """Return the properties, parsed when a column first needs them."""
        return StoredProperties(self._data, self._properties_starts, self._properties_ends)

    def column(self, name: str, broker_name: str) -> Any:
        """Return one column of :mod:`engine.pipeline.source.decoding.schema`."""
        name = KAFKA_NAMES.get(name, name)
        if name == "broker_name":
            return pa.repeat(pa.scalar(broker_name, pa.string()), len(self))
        if name.startswith(PROPERTY_PREFIX):
            return self.properties.value_of(name.removeprefix(PROPERTY_PREFIX))
        return _COLUMNS[name](self) if name in _COLUMNS else pa.array(self.number(name))

    def record_batch(self, schema: Any, broker_name: str) -> Any:
        """Return the columns of an Arrow schema."""
        return pa.RecordBatch.from_arrays([self.column(name, broker_name) for name in schema.names], schema=schema)


#: Column -> its values; other columns are single properties, or numbers of the layout.
_COLUMNS: dict[str, Callable[[StoredBatch], Any]] = {
    "topic": StoredBatch.topics,
    "message_id": StoredBatch.message_ids,
    "unique_id": lambda batch: batch.properties.value_of(PROPERTY_UNIQUE_KEY),
    "keys": lambda batch: batch.properties.keys(),
    "tags": lambda batch: batch.properties.value_of(PROPERTY_TAGS),
    "properties": lambda batch: batch.properties.as_maps(),
    "born_timestamp": lambda batch: batch.timestamps("born_timestamp"),
    "store_timestamp": lambda batch: batch.timestamps("store_timestamp"),
    "born_host": StoredBatch.born_hosts,
    "body": StoredBatch.bodies,
    # Columns that only Kafka's source has.
    "key": lambda batch: batch.properties.value_of(PROPERTY_KEYS).cast(pa.binary()),
    "headers": lambda batch: batch.properties.as_headers(),
    "timestampType": lambda batch: pa.repeat(pa.scalar(_LOG_APPEND_TIME, pa.int32()), len(batch)),
}


def bounded_batches(data: bytes, starts: Int64Array, decompressed_max_bytes: int) -> Iterator[StoredBatch]:
    """Yield the messages as one batch, or as several if the decompressed bodies exceed a bound.

    The size of a body is known only after decompression (zlib: up to a thousand times), so bodies are decompressed
    here, one after the other. A single body may still be as large as ``body_compression`` allows.
    """
    whole = StoredBatch(data, starts)
    places = whole.compressed_places()
    if not places:
        yield whole
        return
    first, grown_bytes = 0, 0
    bodies: dict[int, bytes] = {}
    for place in places:
        body = whole.decompressed_body(place)
        if bodies and grown_bytes + len(body) > decompressed_max_bytes:
            yield StoredBatch(data, starts[first:place], bodies)
            first, grown_bytes, bodies = place, 0, {}
        bodies[place - first] = body
        grown_bytes += len(body)
    yield StoredBatch(data, starts[first:], bodies)


def _gather(data: bytes, places: Int64Array, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the structures at ``places``, which need not be aligned. Raises ``ROCKETMQ_BROKEN_MESSAGE``."""
    if not len(places):
        return np.empty(0, kind)
    if int(places[-1]) + kind.itemsize > len(data):
        raise _broken("the last message is cut off")
    return np.frombuffer(take_ranges(data, places, places + kind.itemsize, pa.binary()).buffers()[2], kind, len(places))


def _broken(text: str) -> RocketMQError:
    return RocketMQError("ROCKETMQ_BROKEN_MESSAGE", f"the broker's answer cannot be decoded: {text}")
