"""The evidence about one key: sends, stored copies, pulls and deliveries, each with its node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.history import CommandApplied, NodeChanged
from engine.lab.why.evidence import Evidence, Gone, Happened, Held, Locked, OffsetCommitted, Stored
from engine.lab.witness.logged_message import LoggedMessage
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message_copies import CopyKind, first_topic, group_of_copy

_Entry = TypeVar("_Entry", bound=Happened)


class Subject(NamedTuple):
    """An independent consumer: a group, or each ``node`` of a broadcasting one."""

    group: str
    node: str = ""

    @property
    def name(self) -> str:
        """Return the name of the subject for users."""
        return f"{self.group}/{self.node}" if self.node else self.group


class Case:
    """The evidence about one key from the view of one subject: other groups' copies and calls are excluded.

    :param until: no event after it counts; default: now.
    :ivar stored: the copies on the way to the subject, also those that a power cut took.
    """

    def __init__(self, evidence: Evidence, key: str, subject: Subject, until: int | None = None) -> None:
        self.evidence = evidence
        self.world = evidence.world
        self.key = key
        self.subject = subject
        self.until = until = evidence.now_event if until is None else until
        self.members = [role for role in self.world.consumers() if _subject(role) == subject]
        topics = {role.spec.topic for role in self.members}
        history = evidence.history

        def seen(entries: Iterable[_Entry]) -> list[_Entry]:
            return [one for one in entries if one.event <= until]

        def is_for_subject(message: LoggedMessage) -> bool:
            group = group_of_copy(message)
            is_of = first_topic(message) in topics if group is None else group == subject.group
            return is_of and message.first_key == key

        self.sends = [one for one in seen(history.sends_invoked) if one.key == key and one.topic in topics]
        self.returns = [one for one in seen(history.sends_returned) if one.key == key and one.topic in topics]
        self.stored = [one for one in seen(evidence.stored) if is_for_subject(one.message)]
        self.gone = [one for one in seen(evidence.gone) if is_for_subject(one.message)]
        self.changes = seen(history.nodes_changed)
        self.commands = seen(history.commands)
        self.transactions = [one for one in seen(history.transactions_ended) if one.key == key]
        self.deliveries = [
            one.as_of(until)
            for one in self.world.witness.deliveries.of(key)
            if one.began.event <= until and one.began.group == subject.group and subject.node in ("", one.began.node)
        ]

    @property
    def is_waiting(self) -> bool:
        """Return whether the subject has not consumed it yet."""
        return not any(one.is_done for one in self.deliveries)

    def is_gone(self, copy: Stored) -> bool:
        """Return whether a power cut has destroyed the copy."""
        lost = [(one.message.broker, one.message.commit_log_offset) for one in self.gone if one.event > copy.event]
        return (copy.message.broker, copy.message.commit_log_offset) in lost

    def half_decided(self, half: Stored) -> int | None:
        """Return the event at which an op message was stored for this half message."""
        place = half.message.broker, half.message.queue_offset
        events = [one.event for one in self.evidence.decisions if (one.broker, one.half_offset) == place]
        return min((event for event in events if event <= self.until), default=None)

    # --- around a queue ----------------------------------------------------------------------------------------------

    def commits(self, queue: MessageQueue) -> list[OffsetCommitted]:
        """Return the group's offsets of a queue over time, as the broker knows them."""
        place = queue.broker_name, self.subject.group, queue.topic, queue.queue_id
        return [one for one in self.evidence.commits if one[2:6] == place and one.event <= self.until]

    def holds(self, queue: MessageQueue) -> list[Held]:
        """Return which members have had the queue, and when."""
        return [
            one
            for one in self.evidence.holds
            if one.queue == queue and one.group == self.subject.group and one.event <= self.until
        ]

    def locks(self, queue: MessageQueue, until: int) -> list[Locked]:
        """Return how the broker's lock of the queue passed from member to member, up to an event."""
        locks, group = self.evidence.locks, self.subject.group
        return [one for one in locks if one.queue == queue and one.group == group and one.event <= until]

    def is_orderly(self, node: str) -> bool:
        """Return whether the consumer on that node consumes each queue in order."""
        role = self.world.find(ConsumerNode, node)
        return role is not None and role.spec.orderly

    def owner(self, queue: MessageQueue) -> str:
        """Return the member that has the queue now; empty if it has no owner."""
        held: dict[str, bool] = {one.node: one.is_gain for one in self.holds(queue)}
        return next((node for node, has in reversed(held.items()) if has and node in self.evidence.up), "")

    def pulled(self, node: str, queue: MessageQueue, offset: int, after: int) -> tuple[int, int] | None:
        """Return (event, time) at which that message came into the node's process queue, after event ``after``."""
        return next(
            (
                (one.event, one.time_us)
                for one in self.evidence.pulls
                if one.node == node
                and one.queue == queue
                and one.last_offset >= offset
                and after < one.event <= self.until
            ),
            None,
        )

    def crashes(self, node: str, after: int, before: int) -> list[NodeChanged]:
        """Return how the node's process ended between two events."""
        return [
            one for one in self.changes if one.node == node and one.status == "crashed" and after <= one.event <= before
        ]

    def is_switched_off(self, switch: str, node: str, event: int) -> bool:
        """Return whether a lock was off on that node at that event."""
        return self.switch_command(switch, node, event) is not None or (
            switch in self.world.scenario.switched_off and not self._last_switch(switch, node, event)
        )

    def switch_command(self, switch: str, node: str, event: int) -> CommandApplied | None:
        """Return the command that switched it off; None if it was on, or off from the beginning."""
        last = self._last_switch(switch, node, event)
        return last if last is not None and not last.command.value.get("on") else None

    def _last_switch(self, switch: str, node: str, event: int) -> CommandApplied | None:
        return next(
            (
                one
                for one in reversed(self.commands)
                if one.command.kind == "lock-switch"
                and one.command.value.get("lock") == switch
                and one.command.target in ("", node)
                and one.event <= event
            ),
            None,
        )


def subjects(evidence: Evidence, key: str) -> list[Subject]:
    """Return the subjects that subscribe to a topic of the message, or have had it, up to now; empty if the key is
    unknown.
    """
    known = evidence.known
    topics = {one.topic for one in known(evidence.history.sends_invoked) if one.key == key}
    topics |= {first_topic(one.message) for one in known(evidence.stored) if one.message.first_key == key}
    had = {one.node for one in known(evidence.history.consumes_began) if one.key == key}
    return sorted(
        {
            _subject(role)
            for role in evidence.world.consumers()
            if role.name in had or (role.spec.topic in topics and role.name in evidence.began)
        }
    )


def _subject(role: ConsumerNode) -> Subject:
    return Subject(role.spec.group, role.name if role.spec.model == "broadcasting" else "")


#: Copies at places where a consumer finds them.
VISIBLE = (CopyKind.STORED, CopyKind.DUE, CopyKind.RESENT)


def queue_of(copy: Stored | Gone) -> MessageQueue:
    """Return the queue of a copy."""
    message = copy.message
    return MessageQueue(message.topic, message.broker, message.queue_id)
