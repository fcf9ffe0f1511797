"""The difference between two JSON trees as a short list of operations, and its application.

The page holds a copy of the live state. Sending the whole state ten times a second would cost more than the
broker's own work, so the server sends only what changed. Four operations are enough::

    ["set",    path, value]              put value at path (the parent exists already)
    ["delete", path]                     remove a key of an object
    ["append", path, items, keep_last]   add items to the list at path, then keep only its last keep_last
    ["splice", path, start, count, items]   replace count items of the list at path, from index start on, by items

A path is a list of object keys from the root; the empty path is the whole tree. Lists are never entered: a
list is extended at its end (the common case: logs), changed stretch by stretch, or replaced. The law, held by a
property test: ``apply_patch(a, difference(a, b)) == b`` for every pair of trees.
"""

from __future__ import annotations

from typing import cast

from app.foundation.json_types import JsonValue

#: One operation as it goes over the wire: a list whose first element is its name.
Operation = list[JsonValue]


class PatchRefused(ValueError):
    """An operation does not fit the tree it is applied to; the message names the operation."""


def difference(old: object, new: object) -> list[Operation]:
    """Return the operations that turn one JSON tree into another; they share parts of ``new``, and change neither."""
    operations: list[Operation] = []
    _compare(cast("JsonValue", old), cast("JsonValue", new), [], operations)
    return operations


def apply_patch(tree: JsonValue, operations: list[Operation]) -> JsonValue:
    """Apply ``operations`` in order and return the resulting tree.

    Objects and lists inside ``tree`` are changed in place; only the empty path yields a new root.
    Raises :class:`PatchRefused` when an operation is unknown or its path does not exist.
    """
    for operation in operations:
        tree = _apply_one(tree, operation)
    return tree


def _compare(old: JsonValue, new: JsonValue, path: list[JsonValue], operations: list[Operation]) -> None:
    if old is new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        _compare_objects(old, new, path, operations)
    elif isinstance(old, list) and isinstance(new, list):
        _compare_lists(old, new, path, operations)
    elif type(old) is not type(new) or old != new:
        operations.append(["set", path, new])


def _compare_objects(
    old: dict[str, JsonValue], new: dict[str, JsonValue], path: list[JsonValue], operations: list[Operation]
) -> None:
    operations.extend(["delete", [*path, key]] for key in old if key not in new)
    for key, value in new.items():
        if key not in old:
            operations.append(["set", [*path, key], value])
            continue
        before = old[key]
        # Most values are unchanged numbers and texts; testing them here saves a call and a path each.
        if before is value or (type(before) is type(value) and type(value) in (int, str) and before == value):
            continue
        _compare(before, value, [*path, key], operations)


def _compare_lists(
    old: list[JsonValue], new: list[JsonValue], path: list[JsonValue], operations: list[Operation]
) -> None:
    head = _common_head(old, new)
    if head == len(old) == len(new):
        return
    tail = _common_tail(old, new, min(len(old), len(new)) - head)
    stretches = _changed_stretches(old, new, head, tail)
    kept = len(new) - sum(len(items) for _, _, items in stretches)
    overlap = _overlap(old, new, max(1, kept))
    if overlap:
        operations.append(["append", path, new[overlap:], len(new)])
    elif kept:
        operations.extend(["splice", path, start, count, items] for start, count, items in stretches)
    else:
        operations.append(["set", path, new])


def _changed_stretches(
    old: list[JsonValue], new: list[JsonValue], head: int, tail: int
) -> list[tuple[int, int, list[JsonValue]]]:
    """Return where to splice the list, one stretch after the other: start, count and new items.

    ``head`` and ``tail`` items at its ends are the same. Views keep the objects of what did not change, so
    items in between that stay are found by identity.
    """
    old_end, new_end = len(old) - tail, len(new) - tail
    places = {id(old[place]): place for place in range(head, old_end)}
    stay = [(places[id(new[place])], place) for place in range(head, new_end) if id(new[place]) in places]
    stretches: list[tuple[int, int, list[JsonValue]]] = []
    old_at = new_at = head
    for old_place, new_place in [*stay, (old_end, new_end)]:
        if old_place < old_at:
            continue  # it moved towards the beginning: it is sent again
        if (old_place, new_place) != (old_at, new_at):
            stretches.append((new_at, old_place - old_at, new[new_at:new_place]))
        old_at, new_at = old_place + 1, new_place + 1
    return stretches


def _common_head(old: list[JsonValue], new: list[JsonValue]) -> int:
    """Return how many items at the beginning are the same."""
    count = 0
    for before, after in zip(old, new, strict=False):
        if before is not after and not _same(before, after):
            break
        count += 1
    return count


def _common_tail(old: list[JsonValue], new: list[JsonValue], limit: int) -> int:
    """Return how many items at the end are the same, at most ``limit``."""
    count = 0
    for before, after in zip(reversed(old), reversed(new), strict=False):
        if count == limit or (before is not after and not _same(before, after)):
            break
        count += 1
    return count


def _overlap(old: list[JsonValue], new: list[JsonValue], at_least: int) -> int:
    """Return the largest number of items at the end of ``old`` that are the first items of ``new``; 0 when there are
    fewer than ``at_least``.
    """
    for length in range(min(len(old), len(new)), at_least - 1, -1):
        if _same(old[-length], new[0]) and _lists_equal(old[-length:], new[:length]):
            return length
    return 0


def _lists_equal(left: list[JsonValue], right: list[JsonValue]) -> bool:
    return all(map(_same, left, right))


def _same(left: JsonValue, right: JsonValue) -> bool:
    """Compare JSON values. Python's own ``==`` would call 1, 1.0 and true equal; the page would not."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and _lists_equal(left, right)
    return left == right


def _apply_one(tree: JsonValue, operation: Operation) -> JsonValue:
    match operation:
        case ["set", [], value]:
            return value
        case ["set", [*path, str() as key], value]:
            _object_at(tree, path, operation)[key] = value
        case ["delete", [*path, str() as key]]:
            if _object_at(tree, path, operation).pop(key, _MISSING) is _MISSING:
                raise PatchRefused(f"nothing to delete: {operation!r}")
        case ["append", [*path], [*items], int(keep_last)] if keep_last > 0:
            target = _value_at(tree, path, operation)
            if not isinstance(target, list):
                raise PatchRefused(f"no list to append to: {operation!r}")
            target.extend(items)
            del target[:-keep_last]
        case ["splice", [*path], int(start), int(count), [*items]] if start >= 0 and count >= 0:
            target = _value_at(tree, path, operation)
            if not isinstance(target, list) or start + count > len(target):
                raise PatchRefused(f"no such range of a list: {operation!r}")
            target[start : start + count] = items
        case _:
            raise PatchRefused(f"unknown operation {operation!r}; known are set, delete, append and splice")
    return tree


_MISSING: JsonValue = object()  # type: ignore[assignment]  # a mark that no JSON tree can contain


def _value_at(tree: JsonValue, path: list[JsonValue], operation: Operation) -> JsonValue:
    value = tree
    for key in path:
        if not isinstance(value, dict) or not isinstance(key, str) or key not in value:
            raise PatchRefused(f"no such path: {operation!r}")
        value = value[key]
    return value


def _object_at(tree: JsonValue, path: list[JsonValue], operation: Operation) -> dict[str, JsonValue]:
    value = _value_at(tree, path, operation)
    if not isinstance(value, dict):
        raise PatchRefused(f"no object at the path: {operation!r}")
    return value
