"""The fields of a Kafka frame as a tree, for the frame's dialog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.lab.foundation.bounds import TREE_FIELDS_SHOWN
from engine.kafka.wire.api_key import ApiKey
from engine.kafka.wire.frames import request_tree, response_tree
from engine.kafka.wire.records_tree import FieldTree
from engine.runtime.frame_splitter import LENGTH_PREFIX

if TYPE_CHECKING:
    from app.picture.frame import FrameTreeField


def frame_tree(frame: bytes, api_key: int, *, is_request: bool) -> list[FrameTreeField]:
    """Return the fields of ``frame``, which begins with its length. ``api_key``: of the request, or of the request that
    it answers.

    Raises :class:`~engine.kafka.records.error_code.KafkaRefusal`.
    """
    content = frame[LENGTH_PREFIX.size :]
    fields = request_tree(content) if is_request else response_tree(content, ApiKey(api_key))
    length = FieldTree("length", str(len(content)), -LENGTH_PREFIX.size, LENGTH_PREFIX.size)
    return [_view(field) for field in (length, *fields)]


def _view(field: FieldTree) -> FrameTreeField:
    children: list[FrameTreeField] = [_view(child) for child in field.children[:TREE_FIELDS_SHOWN]]
    return {
        "name": field.name,
        "value": field.value,
        # The tree does not count the length, which comes first; a field that was compressed has no position.
        "position": -1 if field.position == -1 else field.position + LENGTH_PREFIX.size,
        "length": field.length,
        "children": children,
        "omitted": max(0, len(field.children) - TREE_FIELDS_SHOWN),
    }
