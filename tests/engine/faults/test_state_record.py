"""The changes of a node's state from frame to frame."""

from __future__ import annotations

from engine.faults.state_record import CHANGES_MAX, StateRecord


def noted(*states, frames=None):
    remaining = iter(states)
    record = StateRecord(lambda: next(remaining))
    for frame in frames or range(len(states)):
        record.note(frame)
    return record.changes()


def test_only_rows_that_changed_are_recorded():
    first = {"queues": {"orders 0": [0, 1], "orders 1": [0, 0]}, "locks": {"a": ["c@1"]}}
    assert noted(first, first, {"queues": {"orders 0": [0, 2], "orders 1": [0, 0]}}) == [
        (0, "queues", "orders 0", [0, 1]),
        (0, "queues", "orders 1", [0, 0]),
        (0, "locks", "a", ["c@1"]),
        (2, "queues", "orders 0", [0, 2]),
        (2, "locks", "a", []),
    ]


def test_the_oldest_changes_are_merged_and_the_state_from_then_on_is_complete():
    states = [{"queues": {"once": [7], "often": [number + 1]}} for number in range(CHANGES_MAX + 3)]
    changes = noted(*states)
    merged, first_kept = changes[:2], changes[2]
    assert {name: values for _, _, name, values in merged} == {"once": [7], "often": [first_kept[3][0] - 1]}
    assert {frame for frame, *_ in merged} == {first_kept[0] - 1}
    assert changes[-1] == (CHANGES_MAX + 2, "queues", "often", [CHANGES_MAX + 3])
    assert len(changes) == CHANGES_MAX + 2
