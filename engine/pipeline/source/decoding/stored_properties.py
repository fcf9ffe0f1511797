r"""Decoding of many messages' properties, ``name \x01 value \x02 name \x01 value``, into Arrow columns.

The result must equal that of :func:`engine.protocol.message.message_properties.decode_properties` for each message.
Separators are found in one scan over the text of all messages; names are few, so they are compared as numbers of a
dictionary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.pipeline.source.decoding.byte_ranges import Int64Array, as_text, split_ranges, take_ranges
from engine.pipeline.source.decoding.schema import arrow_type
from engine.protocol.java_text import java_text
from engine.protocol.message.message_properties import (
    NAME_VALUE_SEPARATOR,
    PROPERTY_KEYS,
    PROPERTY_SEPARATOR,
    decode_properties,
    encode_properties,
)

_KEYS, _MAP, _HEADERS = arrow_type("keys"), arrow_type("properties"), arrow_type("headers")
_SPACE = ord(" ")


class StoredProperties:
    """The properties of a batch of messages.

    :param data: stored messages.
    :param starts, ends: where in ``data`` the property string of each message is.
    """

    def __init__(self, data: bytes, starts: Int64Array, ends: Int64Array) -> None:
        self._count = len(starts)
        self._parse(data, starts, ends)
        if self._has_repeated_names():
            self._parse(*_without_repeated_names(data, starts, ends))

    def _parse(self, data: bytes, text_starts: Int64Array, text_ends: Int64Array) -> None:
        values, starts, ends, owners = split_ranges(data, text_starts, text_ends, ord(PROPERTY_SEPARATOR))
        middles = _first_at_or_after(np.flatnonzero(values == ord(NAME_VALUE_SEPARATOR)), starts)
        # As in RocketMQ: an entry without separator, name or value is not a property.
        is_property = (middles > starts) & (middles < ends - 1)
        if not is_property.all():
            starts, middles, ends = starts[is_property], middles[is_property], ends[is_property]
            owners = owners[is_property]
        self._bytes, self._value_starts, self._value_ends = values, middles + 1, ends
        #: The message of each property.
        self._owners = owners
        self._names = take_ranges(values, starts, middles, pa.string())
        encoded = self._names.dictionary_encode()
        self._dictionary = encoded.dictionary
        #: The name of each property, as its index in the dictionary.
        self._codes = encoded.indices.to_numpy(zero_copy_only=False)

    def _has_repeated_names(self) -> bool:
        codes, owners = self._codes, self._owners
        if bool(((codes[1:] > codes[:-1]) | (owners[1:] != owners[:-1])).all()):
            return False  # the usual case: all messages have their names in the order of the first one
        keys = owners * len(self._dictionary) + codes
        return len(np.unique(keys)) < len(keys)

    def as_maps(self) -> Any:
        """Return all properties of each message."""
        return self._by_message(_MAP, _MAP.key_field, _MAP.item_field)

    def as_headers(self) -> Any:
        """Return all properties of each message as Kafka's headers: an array of name and bytes."""
        return self._by_message(_HEADERS, *_HEADERS.value_type)

    def _by_message(self, kind: Any, name: Any, value: Any) -> Any:
        """Return an array of a list type whose entries have these two fields."""
        offsets = np.searchsorted(self._owners, np.arange(self._count + 1)).astype(np.int32)
        values = as_text(take_ranges(self._bytes, self._value_starts, self._value_ends, pa.string()))
        entries = pa.StructArray.from_arrays([as_text(self._names), values.cast(value.type)], fields=[name, value])
        return pa.Array.from_buffers(kind, self._count, [None, pa.py_buffer(offsets)], children=[entries])

    def value_of(self, name: str) -> Any:
        """Return one property of each message; null if a message does not have it."""
        places, owners = self._places_of(name)
        indices = np.zeros(self._count, np.int64)
        indices[owners] = np.arange(len(places))
        is_missing = np.ones(self._count, bool)
        is_missing[owners] = False
        values = take_ranges(self._bytes, self._value_starts[places], self._value_ends[places], pa.string())
        return as_text(values.take(pa.array(indices, mask=is_missing)) if len(places) < self._count else values)

    def keys(self) -> Any:
        """Return the words of the property KEYS of each message."""
        places, owners = self._places_of(PROPERTY_KEYS)
        starts, ends = self._value_starts[places], self._value_ends[places]
        words = split_ranges(self._bytes, starts, ends, _SPACE)
        is_word = words.ends > words.starts
        texts = as_text(take_ranges(words.values, words.starts[is_word], words.ends[is_word], pa.string()))
        offsets = np.searchsorted(owners[words.owners[is_word]], np.arange(self._count + 1)).astype(np.int32)
        return pa.Array.from_buffers(_KEYS, self._count, [None, pa.py_buffer(offsets)], children=[texts])

    def has_key(self, key: str) -> npt.NDArray[np.bool_]:
        """Return whether each message has this word among its keys."""
        keys, has = self.keys(), np.zeros(self._count, bool)
        is_key = pc.equal(keys.flatten(), key).to_numpy(zero_copy_only=False)
        has[pc.list_parent_indices(keys).to_numpy()[is_key]] = True
        return has

    def _places_of(self, name: str) -> tuple[Int64Array, Int64Array]:
        """Return the indices of a property among all, and of its messages."""
        code = pc.index(self._dictionary, name).as_py()
        places = np.flatnonzero(self._codes == code)
        return places, self._owners[places]


def _without_repeated_names(data: bytes, starts: Int64Array, ends: Int64Array) -> tuple[bytes, Int64Array, Int64Array]:
    """Return property strings without repeated names, as data, starts and ends. Only faulty programs write repeated
    names, so this may be slow.
    """
    texts = [java_text(data[start:end]) for start, end in zip(starts, ends, strict=True)]
    encoded = [encode_properties(decode_properties(text)).encode() for text in texts]
    new_ends = np.cumsum([1 + len(text) for text in encoded])
    return b"".join([b"\0" + text for text in encoded]), new_ends - [len(text) for text in encoded], new_ends


def _first_at_or_after(places: Int64Array, starts: Int64Array) -> Int64Array:
    """Return for each start the first of the sorted ``places`` that is not before it; -1 if there is no such place."""
    if len(places) == len(starts) and bool((places >= starts).all()) and bool((places[:-1] < starts[1:]).all()):
        return places  # the usual case: exactly one in each part
    at = np.searchsorted(places, starts)
    return np.append(places, -1)[at]
