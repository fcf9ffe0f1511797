"""The frames of a test, as the fault injector recorded them: which one passed, and which came nearest to a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from engine.faults.fault_injector import FaultInjector
from engine.faults.fault_rule import FaultAction, FaultRule, fits
from engine.faults.frame_record import RecordedFrame
from engine.faults.frame_subject import REPLY, FrameSubject
from engine.protocol.command.remoting_command import decode_command
from engine.testkit.failure_text import table

#: The kinds of frames of a table.
KINDS_MAX = 8
#: After these, the broker or the client never got the frame.
_LOST = (FaultAction.DROP, FaultAction.CUT, FaultAction.HOLD)

#: Frame, direction, topics, groups, keys, client: what a row of the table shows.
Kind = tuple[str, str, str, str, str, str]


def _recorded(injector: FaultInjector) -> Iterator[tuple[RecordedFrame, FrameSubject, str]]:
    """Yield the recorded frames, oldest first, with what they are about and the name of their client."""
    record = injector.frame_record
    subjects: dict[int, FrameSubject] = {}
    for frame in record or ():
        subject = FrameSubject(decode_command(frame.frame), subjects.get(frame.answers))
        subjects[frame.number] = subject
        yield frame, subject, record.clients.get(frame.address, frame.address) if record is not None else ""


def has_passed(injector: FaultInjector, other: FaultRule, held_rule_id: int) -> bool:
    """Return whether a frame that ``other`` means has passed since the first one that still waits."""
    first = next((held for held in injector.held.frames if held.rule_id == held_rule_id), None)
    if first is None:
        return True
    is_after = False
    for frame, subject, client in _recorded(injector):
        if is_after and frame.action not in _LOST and other.means(subject, frame.direction, client):
            return True
        is_after |= frame.action is FaultAction.HOLD and frame.frame == first.frame
    return False


def nearest_frames(injector: FaultInjector, rule: FaultRule) -> list[tuple[int, Kind, str]]:
    """Return (how many, kind of frame, what differs) for the kinds that came nearest to ``rule``, nearest first."""
    kinds: Counter[Kind] = Counter()
    misses: dict[Kind, tuple[str, ...]] = {}
    for frame, subject, client in _recorded(injector):
        parts = (subject.topics, subject.groups, subject.keys)
        kind: Kind = (subject.name, frame.direction.value, *(" ".join(part) for part in parts), client)  # type: ignore[assignment]
        kinds[kind] += 1
        misses[kind] = _misses(rule, frame, subject, client)
    ranked = sorted(kinds, key=lambda kind: (len(misses[kind]), -kinds[kind]))
    return [(kinds[kind], kind, ", ".join(misses[kind]) or "-") for kind in ranked[:KINDS_MAX]]


def _misses(rule: FaultRule, frame: RecordedFrame, subject: FrameSubject, client: str) -> tuple[str, ...]:
    """Return the fields of ``rule`` that do not fit a frame."""
    is_called = rule.frame in ("", subject.name) or (rule.frame == REPLY and subject.name.startswith(REPLY))
    differs = {
        "frame": not is_called,
        "direction": bool(rule.direction) and rule.direction != frame.direction,
        "client": bool(rule.client) and not fits(rule.client, client),
        **{
            name: bool(pattern) and not any(fits(pattern, one) for one in names)
            for name, pattern, names in (
                ("topic", rule.topic, subject.topics),
                ("group", rule.group, subject.groups),
                ("key", rule.key, subject.keys),
            )
        },
    }
    return tuple(name for name, is_missed in differs.items() if is_missed)


def frame_table(nearest: list[tuple[int, Kind, str]]) -> str:
    """Return the frames as a table."""
    if not nearest:
        return "\nno frame came to the broker since the rule was made"
    rows = [(differs, count, *kind) for count, kind, differs in nearest]
    headings = ("differs in", "times", "frame", "direction", "topic", "group", "key", "client")
    return f"\nframes that came nearest:\n{table(headings, rows)}"
