r"""Decoding of many messages' properties, ``name \x01 value \x02 name \x01 value``, into Arrow columns.

The result must equal that of :func:`engine.protocol.message.message_properties.decode_properties` for each message.
Arrow splits the text of all messages at once; names are few, so they are compared as numbers of a dictionary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.pipeline.source.decoding.byte_ranges import Int64Array, as_text, take_ranges
from engine.pipeline.source.decoding.schema import arrow_type
from engine.protocol.message.message_properties import (
    KEY_SEPARATOR,
    NAME_VALUE_SEPARATOR,
    PROPERTY_KEYS,
    PROPERTY_SEPARATOR,
    decode_properties,
    encode_properties,
)

_KEYS, _MAP, _HEADERS = arrow_type("keys"), arrow_type("properties"), arrow_type("headers")


class StoredProperties:
    """The properties of a batch of messages.

    :param data: stored messages.
    :param starts, ends: where in ``data`` the property string of each message is.
    """

    def __init__(self, data: bytes, starts: Int64Array, ends: Int64Array) -> None:
        self._count = len(starts)
        texts = take_ranges(data, starts, ends, pa.string())
        self._parse(texts)
        if self._has_repeated_names():
            self._parse(_without_repeated_names(texts))

    def _parse(self, texts: Any) -> None:
        owners, entries, lengths = _split(texts, PROPERTY_SEPARATOR)
        ends = np.cumsum(lengths, dtype=np.int64)
        starts = ends - lengths
        middles = starts + pc.find_substring(entries, NAME_VALUE_SEPARATOR).to_numpy()
        # As in RocketMQ: an entry without separator, name or value is not a property.
        is_property = (middles > starts) & (middles < ends - 1)
        if not is_property.all():
            starts, middles, ends = starts[is_property], middles[is_property], ends[is_property]
            owners = owners[is_property]
        self._text, self._value_starts, self._value_ends = entries.buffers()[2], middles + 1, ends
        #: The message of each property.
        self._owners = owners
        self._names = take_ranges(self._text, starts, middles, pa.string())
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
        values = as_text(take_ranges(self._text, self._value_starts, self._value_ends, pa.string()))
        entries = pa.StructArray.from_arrays([as_text(self._names), values.cast(value.type)], fields=[name, value])
        return pa.Array.from_buffers(kind, self._count, [None, pa.py_buffer(offsets)], children=[entries])

    def value_of(self, name: str) -> Any:
        """Return one property of each message; null if a message does not have it."""
        owners, values = self._values_of(name)
        indices = np.zeros(self._count, np.int64)
        indices[owners] = np.arange(len(owners))
        is_missing = np.ones(self._count, bool)
        is_missing[owners] = False
        return as_text(values.take(pa.array(indices, mask=is_missing)) if len(owners) < self._count else values)

    def keys(self) -> Any:
        """Return the words of the property KEYS of each message."""
        owners, values = self._values_of(PROPERTY_KEYS)
        places, words, lengths = _split(values, KEY_SEPARATOR)
        is_word = lengths > 0
        texts = as_text(words.filter(pa.array(is_word)))
        offsets = np.searchsorted(owners[places[is_word]], np.arange(self._count + 1)).astype(np.int32)
        return pa.Array.from_buffers(_KEYS, self._count, [None, pa.py_buffer(offsets)], children=[texts])

    def has_key(self, key: str) -> npt.NDArray[np.bool_]:
        """Return whether each message has this word among its keys."""
        keys, has = self.keys(), np.zeros(self._count, bool)
        is_key = pc.equal(keys.flatten(), key).to_numpy(zero_copy_only=False)
        has[pc.list_parent_indices(keys).to_numpy()[is_key]] = True
        return has

    def _values_of(self, name: str) -> tuple[Int64Array, Any]:
        """Return the messages that have a property, and its value in each of them."""
        places = np.flatnonzero(self._codes == pc.index(self._dictionary, name).as_py())
        values = take_ranges(self._text, self._value_starts[places], self._value_ends[places], pa.string())
        return self._owners[places], values


def _split(texts: Any, separator: str) -> tuple[Int64Array, Any, npt.NDArray[np.int32]]:
    """Split each text; ``n`` separators make ``n + 1`` parts, empty ones included.

    Return the position of each part's text, the parts, and their lengths in bytes.
    """
    parts = pc.split_pattern(texts, separator)
    flat = parts.flatten()
    return pc.list_parent_indices(parts).to_numpy(), flat, pc.binary_length(flat).to_numpy()


def _without_repeated_names(texts: Any) -> Any:
    """Return property strings without repeated names. Only faulty programs write these, so this may be slow."""
    return pa.array([encode_properties(decode_properties(text)) for text in as_text(texts).to_pylist()], pa.string())
