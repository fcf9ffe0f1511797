"""The required shapes of the JSON files of settings and offsets. RocketMQ does not check: it reads another shape as an
empty table.

A shape is a type, ``{ANY: shape}`` for an object with any names, or an object with its required fields; other fields
are allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

ANY: Final = "*"

Shape = type | Mapping[str, Any]

_CHANGES: Final[Shape] = {"changes": {ANY: {"from": str, "to": str}}}

#: Name of the file -> its shape, for every table that is kept in a file.
TABLE_SHAPES: Final[Mapping[str, Shape]] = {
    "brokerConfig.json": _CHANGES,
    "consumerFilter.json": {"filterDataByTopic": {ANY: {"groupFilterData": {ANY: dict}}}},
    "consumerOffset.json": {"offsetTable": {ANY: {ANY: int}}},
    "delayOffset.json": {"offsetTable": {ANY: int}},
    "deletedTopics.json": {"deletedTopics": {ANY: int}},
    "kvConfig.json": {"configTable": {ANY: {ANY: str}}},
    "nameServerConfig.json": {"changes": {ANY: {"from": bool, "to": bool}}},
    "recoveryPoint.json": {
        "consumeQueues": {ANY: dict},
        "dispatchedOffset": int,
        "flushedOffset": int,
        "indexFiles": {ANY: int},
    },
    "subscriptionGroup.json": {"subscriptionGroupTable": {ANY: dict}},
    "topics.json": {"topicConfigTable": {ANY: dict}},
}

_WORDS: Final = {dict: "an object", int: "an integer", str: "a string", bool: "true or false"}


def why_not_table(name: str, content: object) -> str | None:
    """Return what is wrong with the shape of the content of file ``name``; None if nothing is or the file has
    no shape.
    """
    return _why_not(content, TABLE_SHAPES.get(name, dict), "")


def _why_not(value: object, shape: Shape, place: str) -> str | None:
    kind = shape if isinstance(shape, type) else dict
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return f"{place or 'the file'} must be {_WORDS[kind]}, got {value!r:.40}"
    if isinstance(shape, type) or not isinstance(value, dict):
        return None
    for name in value if ANY in shape else shape:
        inner = f"{place}.{name}" if place else str(name)
        if name not in value:
            return f"{inner} is missing"
        why = _why_not(value[name], shape.get(name, shape.get(ANY, dict)), inner)
        if why is not None:
            return why
    return None
