"""What the folder's newest commit knows: what is moved aside, up to where, and what of it was sent again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from engine.pipeline.errors import JobFailed
from engine.pipeline.source.cluster.queue_offsets import QueueKey, parse_label
from engine.texts import Text


@dataclass(frozen=True, slots=True)
class MovedRange:
    """One queue. All messages of low priority in ``start <= offset < end`` are in the folder.

    :ivar in_range: how many those are.
    :ivar moved: messages moved aside, in all ranges that the queue ever had.
    :ivar kept: messages that were read and left to the group.
    """

    start: int
    end: int
    in_range: int = 0
    moved: int = 0
    kept: int = 0


@dataclass(frozen=True, slots=True)
class MovedBatch:
    """What one commit stored.

    :ivar files: their names in the folder.
    :ivar rows: how many messages.
    :ivar sent: how many of them were sent again.
    :ivar not_sent: how many of them no broker takes.
    :ivar sent_up_to: queue -> offset below which its messages were sent again.
    """

    files: tuple[str, ...]
    rows: int
    sent: int = 0
    sent_up_to: Mapping[str, int] = field(default_factory=dict)
    not_sent: int = 0

    @property
    def waiting(self) -> int:
        """How many are left to send."""
        return self.rows - self.sent - self.not_sent


@dataclass(frozen=True, slots=True)
class Sending:
    """What is being sent: decided before the first message goes out, so that a restart does the very same.

    :ivar number: of this sending in this folder; part of its transaction's name.
    :ivar batch: the commit whose messages they are.
    :ivar ranges: queue -> first and last offset.
    """

    number: int
    batch: int
    topic: str
    ranges: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class ReliefState:
    """:ivar identity: names the folder in transactions; made with it.
    :ivar rule: what matters less, as text.
    :ivar ranges: of all queues that ever had one.
    :ivar batches: commit -> what it stored; those that are done are left out.
    :ivar sending: what was begun last and is not known to be done.
    """

    identity: str
    group: str
    rule: str
    ranges: Mapping[QueueKey, MovedRange] = field(default_factory=dict)
    batches: Mapping[int, MovedBatch] = field(default_factory=dict)
    sending: Sending | None = None
    sendings: int = 0
    sent: int = 0
    not_sent: int = 0

    @classmethod
    def from_json(cls, state: Mapping[str, Any], folder: str, group: str, rule: str) -> ReliefState:
        """The reverse of :meth:`to_json`. Raises :class:`JobFailed` if the folder serves another group or rule."""
        if (state["group"], state["rule"]) != (group, rule):
            raise JobFailed(
                Text(
                    "job.error.other_relief",
                    folder=folder,
                    its_group=state["group"],
                    its_rule=state["rule"],
                    group=group,
                    rule=rule,
                )
            )
        return cls(
            identity=state["identity"],
            group=group,
            rule=rule,
            ranges={queue_of(name): MovedRange(**moved) for name, moved in state["ranges"].items()},
            batches={
                int(number): MovedBatch(**{**batch, "files": tuple(batch["files"])})
                for number, batch in state["batches"].items()
            },
            sending=_sending(state["sending"]),
            sendings=state["sendings"],
            sent=state["sent"],
            not_sent=state.get("not_sent", 0),
        )

    def to_json(self) -> dict[str, Any]:
        """For the commit."""
        return {
            "identity": self.identity,
            "group": self.group,
            "rule": self.rule,
            "ranges": {name_of(queue): asdict(moved) for queue, moved in self.ranges.items()},
            "batches": {str(number): asdict(batch) for number, batch in self.batches.items()},
            "sending": asdict(self.sending) if self.sending else None,
            "sendings": self.sendings,
            "sent": self.sent,
            "not_sent": self.not_sent,
        }

    def begin(self, batch: int, topic: str, ranges: Mapping[str, tuple[int, int]]) -> ReliefState:
        """The state when it is decided what is sent next."""
        return replace(self, sending=Sending(self.sendings, batch, topic, ranges), sendings=self.sendings + 1)

    def finish(self, sent: int, not_sent: int) -> ReliefState:
        """The state when ``sent`` of the messages that were being sent are stored by the brokers; no broker takes the
        others.
        """
        assert self.sending is not None, "something was being sent"
        number = self.sending.batch
        old = self.batches[number]
        up_to = {**old.sent_up_to, **{name: last + 1 for name, (_, last) in self.sending.ranges.items()}}
        batch = replace(old, sent=old.sent + sent, sent_up_to=up_to, not_sent=old.not_sent + not_sent)
        batches = {**self.batches, number: batch}
        if batch.waiting <= 0:
            del batches[number]
        return replace(self, batches=batches, sending=None, sent=self.sent + sent, not_sent=self.not_sent + not_sent)


def name_of(queue: QueueKey) -> str:
    """``topic broker:number``; no topic has a space."""
    return f"{queue.topic} {queue.label}"


def queue_of(name: str) -> QueueKey:
    """The reverse of :func:`name_of`."""
    topic, _, label = name.partition(" ")
    return parse_label(topic, label)


def _sending(sending: Mapping[str, Any] | None) -> Sending | None:
    if sending is None:
        return None
    ranges = {name: (first, last) for name, (first, last) in sending["ranges"].items()}
    return Sending(sending["number"], sending["batch"], sending["topic"], ranges)
