"""The sentences of single events, as steps of an answer."""

from __future__ import annotations

from collections.abc import Mapping

from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.history import (
    CommandApplied,
    LocalTransactionEnded,
    NodeChanged,
    SendInvoked,
    SendReturned,
)
from engine.lab.why.answer import WhyStep, span_text
from engine.lab.why.case import Case, queue_of
from engine.lab.why.evidence import Gone, Held, Locked, OffsetCommitted, Stored
from engine.lab.witness.deliveries import Delivery
from engine.lab.witness.frame_log import SentParcel
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message_copies import CopyKind, checks_asked, delay_level, group_of_copy
from engine.texts import Text, joined, plain

_POWER_CUTS = ("crash-power", "torn-write")


def queue_text(queue: MessageQueue) -> Text:
    """Return a queue in words: ``Orders Q1``."""
    return Text("why.queue", topic=queue.topic, id=queue.queue_id)


def invoked(entry: SendInvoked) -> WhyStep:
    """Return the step: a producer sends the message."""
    return WhyStep(entry.event, entry.time_us, entry.node, "message", Text("why.step.sends", entry=entry))


def returned(entry: SendReturned) -> WhyStep:
    """Return the step: a producer receives the result."""
    kind = "message" if entry.status == "ok" else "fault"
    return WhyStep(entry.event, entry.time_us, entry.node, kind, Text(f"why.sent.{entry.status}", entry=entry))


def stored(copy: Stored, *, is_ahead: bool = False) -> WhyStep:
    """Return the step: a broker appends a copy."""
    message = copy.message
    key = {
        CopyKind.STORED: "stored",
        CopyKind.HALF: "half_again" if checks_asked(message) else "half",
        CopyKind.GIVEN_UP: "given_up",
        CopyKind.DELAYED: "delayed" if group_of_copy(message) is None else "given_back",
        CopyKind.DUE: "due",
        CopyKind.DEAD: "dead",
        CopyKind.RESENT: "resent",
    }[copy.kind]
    text = Text(
        f"why.step.{key}",
        broker=message.broker,
        queue=queue_text(queue_of(copy)),
        offset=message.queue_offset,
        level=delay_level(message),
        n=checks_asked(message) if copy.kind is CopyKind.HALF else message.reconsume_times,
        group=group_of_copy(message) or "",
    )
    kind = "fault" if copy.kind in (CopyKind.DEAD, CopyKind.GIVEN_UP) else "message"
    return WhyStep(copy.event, copy.time_us, message.broker, kind, text, None, is_ahead)


def gone(entry: Gone) -> WhyStep:
    """Return the step: a power cut has taken a copy."""
    message = entry.message
    text = Text("why.step.gone", offset=message.queue_offset, place=queue_text(queue_of(entry)))
    return WhyStep(entry.event, entry.time_us, message.broker, "fault", text)


def began(case: Case, delivery: Delivery, nth: int, *, is_ahead: bool = False) -> WhyStep:
    """Return the step: a listener receives the message."""
    entry = delivery.began
    text = Text(
        "why.step.began" if nth == 1 else "why.step.began_again",
        node=entry.node,
        key=case.key,
        queue=queue_text(delivery.queue),
        offset=entry.queue_offset,
        n=nth,
    )
    return WhyStep(entry.event, entry.time_us, entry.node, "listener", text, None, is_ahead)


def ended(delivery: Delivery, *, is_ahead: bool = False) -> WhyStep | None:
    """Return the step: a listener has returned; None if it has not."""
    entry = delivery.ended
    if entry is None:
        return None
    took = span_text(entry.time_us - delivery.began.time_us)
    text = Text("why.step.ended", node=entry.node, took=took, result=Text(f"why.result.{entry.result}"))
    kind = "listener" if delivery.is_done else "fault"
    return WhyStep(entry.event, entry.time_us, entry.node, kind, text, None, is_ahead)


def tries(case: Case, most: int) -> list[WhyStep]:
    """Return the steps of the last ``most`` deliveries: a listener receives the message, and returns."""
    steps: list[WhyStep] = []
    for nth, delivery in list(enumerate(case.deliveries, 1))[-most:]:
        steps.append(began(case, delivery, nth))
        if (step := ended(delivery)) is not None:
            steps.append(step)
    return steps


def deaths(case: Case, node: str, after: int, before: int) -> list[WhyStep]:
    """Return the steps: the node's process ended between two events."""
    return [node_changed(case, one) for one in case.crashes(node, after, before)]


def node_changed(case: Case, change: NodeChanged) -> WhyStep:
    """Return the step: a process ended, or started again."""
    key = change.status
    if key == "crashed" and any(
        one.event == change.event and one.command.target == change.node and one.command.kind in _POWER_CUTS
        for one in case.commands
    ):
        key = "power_cut"
    text = Text(f"why.step.{key}", node=change.node)
    return WhyStep(change.event, change.time_us, change.node, "fault", text)


def committed(entry: OffsetCommitted) -> WhyStep:
    """Return the step: a broker stores a group's progress."""
    queue = MessageQueue(entry.topic, entry.broker, entry.queue_id)
    key = "commit_back" if entry.offset < entry.before else "commit"
    if entry.is_reload:
        key = "commit_older"
    text = Text(f"why.step.{key}", entry=entry, queue=queue_text(queue), before=entry.before)
    return WhyStep(entry.event, entry.time_us, entry.broker, "offset", text)


def begins_at(held: Held, offset: int) -> WhyStep:
    """Return the step: a consumer takes a queue over and begins at the broker's offset."""
    text = Text("why.step.begins_at", node=held.node, queue=queue_text(held.queue), offset=offset)
    return WhyStep(held.event, held.time_us, held.node, "owner", text)


def held(entry: Held, *, is_ahead: bool = False) -> WhyStep:
    """Return the step: a consumer has a queue, or no longer has it."""
    key = "takes_over" if entry.is_gain else "lets_go"
    text = Text(f"why.step.{key}", node=entry.node, queue=queue_text(entry.queue))
    return WhyStep(entry.event, entry.time_us, entry.node, "owner", text, None, is_ahead)


def locked(entry: Locked, *, is_ahead: bool = False) -> WhyStep:
    """Return the step: the lock of a queue has another owner."""
    key = "unlocked" if not entry.after else "lock_passes" if entry.before else "locked"
    if entry.is_forgotten:
        key = "lock_forgotten"
    text = Text(
        f"why.step.{key}",
        broker=entry.broker,
        queue=queue_text(entry.queue),
        before=entry.before,
        after=entry.after,
    )
    kind = "fault" if entry.is_forgotten else "lock"
    return WhyStep(entry.event, entry.time_us, entry.broker, kind, text, None, is_ahead)


def pulled(node: str, place: tuple[int, int], *, is_ahead: bool = False) -> WhyStep:
    """Return the step: the message is in a consumer's process queue."""
    return WhyStep(*place, node, "message", Text("why.step.pulled", node=node), None, is_ahead)


def command(entry: CommandApplied, node: str, key: str, **arguments: object) -> WhyStep:
    """Return the step: a command changed the world."""
    return WhyStep(entry.event, entry.time_us, node, "fault", Text(f"why.step.{key}", node=node, **arguments))


def names(entry: CommandApplied, side: str) -> tuple[str, ...]:
    """Return the nodes on one side of a partition."""
    nodes = entry.command.value[side]
    return nodes if isinstance(nodes, tuple) else ()


def cut(entry: CommandApplied) -> WhyStep:
    """Return the step: some nodes are cut off from others."""
    left, right = names(entry, "left"), names(entry, "right")
    text = Text("why.step.cut", left=", ".join(left), right=", ".join(right))
    return WhyStep(entry.event, entry.time_us, left[0], "fault", text)


def frame_lost(entry: SentParcel, name: str) -> WhyStep:
    """Return the step: a frame was lost."""
    text = Text("why.step.frame_lost", source=entry.source, target=entry.target, name=name)
    return WhyStep(entry.event, entry.time_us, entry.source, "fault", text)


def frame_doubled(entry: SentParcel, name: str) -> WhyStep:
    """Return the step: a frame arrives twice."""
    text = Text("why.step.frame_doubled", source=entry.source, target=entry.target, name=name)
    return WhyStep(entry.event, entry.time_us, entry.source, "fault", text)


def transaction(entry: LocalTransactionEnded) -> WhyStep:
    """Return the step: a producer's listener answered about the transaction."""
    text = Text(
        "why.step.checked" if entry.check else "why.step.executed",
        node=entry.node,
        n=entry.check,
        result=Text(f"why.transaction.{entry.result}"),
    )
    return WhyStep(entry.event, entry.time_us, entry.node, "message", text)


def always(time_us: int, node: str, key: str, **arguments: object) -> WhyStep:
    """Return the step: something was true from the beginning."""
    return WhyStep(0, time_us, node, "fault", Text(f"why.step.{key}", node=node, **arguments))


def subscription(role: ConsumerNode) -> Mapping[str, str]:
    """Return ``Orders``, ``Orders (drink)``: the subscription of a member."""
    topic, expression = role.spec.topic, role.spec.expression
    return plain(topic if expression == "*" else f"{topic} ({expression})")


def words(texts: list[Mapping[str, str]]) -> Mapping[str, str]:
    """Return the words as one text, separated by commas."""
    return joined("words.comma", texts)
