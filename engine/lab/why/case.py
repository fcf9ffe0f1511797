"""All that is known of one key: what was sent, stored, taken and delivered, and by whom."""

from __future__ import annotations

from typing import NamedTuple

from engine.lab.nodes.broker_role import BrokerRole
from engine.lab.nodes.consumer_role import ConsumerRole
from engine.lab.nodes.history import (
    CommandApplied,
    ConsumeBegan,
    ConsumeEnded,
    LocalTransactionEnded,
    NodeChanged,
    SendInvoked,
    SendReturned,
)
from engine.lab.why.evidence import Committed, Evidence, Gone, Held, Stored
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message_copies import CopyKind, first_topic, group_of_copy

#: What a listener says when it is done with a message.
DONE = ("success", "commit")
#: Topic, broker, queue id and offset.
Place = tuple[str, str, int, int]


class Delivery(NamedTuple):
    """A listener got the message. ``died``: its process ended before it was done."""

    began: ConsumeBegan
    ended: ConsumeEnded | None
    died: NodeChanged | None

    @property
    def place(self) -> Place:
        """Where it was pulled from."""
        began = self.began
        return began.topic, began.broker, began.queue_id, began.queue_offset

    @property
    def queue(self) -> MessageQueue:
        """The queue of it."""
        return MessageQueue(self.began.topic, self.began.broker, self.began.queue_id)

    @property
    def is_done(self) -> bool:
        """The listener said that it was consumed."""
        return self.ended is not None and self.ended.result in DONE

    @property
    def result(self) -> str:
        """What the listener said; ``running`` or ``died`` while it has said nothing."""
        if self.ended is not None:
            return self.ended.result
        return "running" if self.died is None else "died"

    @property
    def end_event(self) -> int | None:
        """When it ended, one way or the other."""
        last = self.ended or self.died
        return None if last is None else last.event


class Subject(NamedTuple):
    """Who consumes for itself: a group, or of a broadcasting one each ``node``."""

    group: str
    node: str = ""

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.group}/{self.node}" if self.node else self.group


class Case:
    """See the module. ``until``: no event after it counts; default: now."""

    def __init__(self, evidence: Evidence, key: str, until: int | None = None) -> None:
        self.evidence = evidence
        self.world = evidence.world
        self.key = key
        self.until = evidence.now_event if until is None else until
        history, until = evidence.history, self.until
        self.sends: list[SendInvoked] = [one for one in history.sends_invoked if one.key == key and one.event <= until]
        self.returns: list[SendReturned] = [
            one for one in history.sends_returned if one.key == key and one.event <= until
        ]
        self.stored: list[Stored] = [
            one for one in evidence.stored if one.message.first_key == key and one.event <= until
        ]
        self.gone: list[Gone] = [one for one in evidence.gone if one.message.first_key == key and one.event <= until]
        self.changes: list[NodeChanged] = [one for one in history.nodes_changed if one.event <= until]
        self.commands: list[CommandApplied] = [one for one in history.commands if one.event <= until]
        self.transactions: list[LocalTransactionEnded] = [
            one for one in history.transactions_ended if one.key == key and one.event <= until
        ]
        self.deliveries = [one for one in all_deliveries(evidence, until) if one.began.key == key]

    @property
    def is_known(self) -> bool:
        """Whether anybody has ever had it."""
        return bool(self.sends or self.stored or self.deliveries)

    @property
    def topic(self) -> str:
        """The topic that it was sent to."""
        if self.sends:
            return self.sends[0].topic
        return first_topic(self.stored[0].message) if self.stored else self.deliveries[0].began.topic

    def subjects(self) -> list[Subject]:
        """Who subscribes to its topic, or has had it."""
        found: dict[Subject, None] = {}
        for role in self.world.consumers():
            if role.spec.topic == self.topic and (role.has_run or role.consumer is not None):
                found[_subject(role)] = None
        for delivery in self.deliveries:
            node = self.world.nodes[delivery.began.node]
            assert isinstance(node, ConsumerRole)
            found[_subject(node)] = None
        return sorted(found)

    def members(self, subject: Subject) -> list[ConsumerRole]:
        """The nodes of a subject."""
        return [role for role in self.world.consumers() if _subject(role) == subject]

    def of(self, subject: Subject) -> list[Delivery]:
        """The deliveries to it, in the order of time."""
        return [
            one for one in self.deliveries if one.began.group == subject.group and subject.node in ("", one.began.node)
        ]

    def copies_for(self, subject: Subject) -> list[Stored]:
        """The copies on the way to it, in the order in which they were stored, also those that a power cut took."""
        return [one for one in self.stored if group_of_copy(one.message) in (None, subject.group)]

    def is_gone(self, copy: Stored) -> bool:
        """Whether a power cut has taken it."""
        lost = [(one.message.broker, one.message.commit_log_offset) for one in self.gone if one.event > copy.event]
        return (copy.message.broker, copy.message.commit_log_offset) in lost

    def half_decided(self, half: Stored) -> int | None:
        """The event at which an op message was stored for this half message."""
        place = half.message.broker, half.message.queue_offset
        events = [one.event for one in self.evidence.decisions if (one.broker, one.half_offset) == place]
        return min((event for event in events if event <= self.until), default=None)

    # --- around a queue --------------------------------------------------------------------------------------------

    def commits(self, subject: Subject, queue: MessageQueue) -> list[Committed]:
        """How the group's offset of a queue went, as the broker knows it."""
        place = queue.broker_name, subject.group, queue.topic, queue.queue_id
        return [one for one in self.evidence.commits if one[2:6] == place and one.event <= self.until]

    def holds(self, subject: Subject, queue: MessageQueue) -> list[Held]:
        """Who of the group has had the queue, and from when to when."""
        return [
            one
            for one in self.evidence.holds
            if one.queue == queue and one.group == subject.group and one.event <= self.until
        ]

    def owner(self, subject: Subject, queue: MessageQueue) -> str:
        """The member that has the queue now; empty: none."""
        held: dict[str, bool] = {one.node: one.is_gain for one in self.holds(subject, queue)}
        running = {role.name for role in self.members(subject) if role.consumer is not None}
        return next((node for node, has in reversed(held.items()) if has and node in running), "")

    def pulled(self, node: str, queue: MessageQueue, offset: int, after: int) -> tuple[int, int] | None:
        """(Event, time) at which that message came into the node's process queue, after event ``after``."""
        return next(
            (
                (one.event, one.time_us)
                for one in self.evidence.pulls
                if one.node == node and one.queue == queue and one.last_offset >= offset and after < one.event
            ),
            None,
        )

    def crashes(self, node: str, after: int, before: int) -> list[NodeChanged]:
        """How its process ended between two events."""
        return [
            one for one in self.changes if one.node == node and one.status == "crashed" and after <= one.event <= before
        ]

    def is_switched_off(self, switch: str, node: str, event: int) -> bool:
        """Whether a lock was off on that node at that event."""
        return self.switch_command(switch, node, event) is not None or (
            switch in self.world.scenario.switched_off and not self._last_switch(switch, node, event)
        )

    def switch_command(self, switch: str, node: str, event: int) -> CommandApplied | None:
        """What switched it off; None: it was not, or from the beginning on."""
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

    def broker_is_up(self, name: str) -> bool:
        """Whether it runs now."""
        role = self.world.nodes[name]
        return isinstance(role, BrokerRole) and role.broker is not None


def all_deliveries(evidence: Evidence, until: int) -> list[Delivery]:
    """Every call of every listener up to an event, with how it ended."""
    history = evidence.history
    entries: list[ConsumeBegan | ConsumeEnded | NodeChanged] = [
        *(one for one in history.consumes_began if one.event <= until),
        *(one for one in history.consumes_ended if one.event <= until),
        *(one for one in history.nodes_changed if one.event <= until),
    ]
    # Of one event, what a listener has said comes before the end of its process.
    rank = {ConsumeBegan: 0, ConsumeEnded: 1, NodeChanged: 2}
    entries.sort(key=lambda one: (one.event, rank[type(one)]))
    found: list[Delivery] = []
    running: dict[tuple[str, ...], list[int]] = {}
    for entry in entries:
        match entry:
            case ConsumeBegan():
                running.setdefault(_call(entry), []).append(len(found))
                found.append(Delivery(entry, None, None))
            case ConsumeEnded():
                if numbers := running.get(_call(entry)):
                    number = numbers.pop(0)
                    found[number] = found[number]._replace(ended=entry)
            case NodeChanged():
                for call, numbers in running.items():
                    if call[0] == entry.node:
                        for number in numbers:
                            found[number] = found[number]._replace(died=entry)
                        numbers.clear()
    return found


def _call(entry: ConsumeBegan | ConsumeEnded) -> tuple[str, ...]:
    return entry.node, entry.topic, entry.broker, str(entry.queue_id), str(entry.queue_offset)


def _subject(role: ConsumerRole) -> Subject:
    return Subject(role.spec.group, role.name if role.spec.model == "broadcasting" else "")


#: Copies that lie where a consumer finds them.
VISIBLE = (CopyKind.STORED, CopyKind.DUE, CopyKind.RESENT)


def queue_of(copy: Stored) -> MessageQueue:
    """Where it lies."""
    message = copy.message
    return MessageQueue(message.topic, message.broker, message.queue_id)
