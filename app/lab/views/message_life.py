"""One message's life, combined from what clients saw and brokers stored: see app.lab.views.life_view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.observation.message_life import BAD_KINDS, copy_mark, newest_copy_for, state_by_copy

if TYPE_CHECKING:
    from app.observation.message_life import StoredCopyView
    from app.picture.message_life import DeliveredMark, GroupState, LifeMark, ProducedMark, SendFailedMark
    from app.picture.message_life import MessageLife as MessageLifePicture
    from engine.lab.witness.deliveries import Delivery

TIMED_OUT = "timed-out"


@dataclass(slots=True)
class MessageLife:
    """The life of one message.

    :ivar deliveries: the witness's list, which grows.
    :ivar copies: its copies, and whether a power cut has taken each.
    :ivar has_changed: whether it changed since :attr:`view`, which was shown last.
    :ivar is_in_trouble: whether something went wrong: a failure, a retry, a duplicate, a loss. As of the last
        :meth:`judge`.
    """

    key: str
    topic: str
    at_us: int
    deliveries: Sequence[Delivery]
    sends: list[ProducedMark | SendFailedMark] = field(default_factory=list)
    copies: list[tuple[StoredCopyView, bool]] = field(default_factory=list)
    has_changed: bool = True
    is_in_trouble: bool = False
    view: MessageLifePicture | None = None

    def forget_copies(self, broker: str) -> None:
        """Forget the copies of a broker: they will be read again."""
        self.copies = [(copy, is_lost) for copy, is_lost in self.copies if copy.broker != broker]
        self.has_changed = True

    # ------------------------------------------------------------------------------ one group

    def attempts(self, group: str) -> int:
        """Return how many times the group's listeners received the message."""
        return sum(delivery.began.group == group for delivery in self.deliveries)

    def last_copy_for(self, group: str) -> StoredCopyView | None:
        """Return the newest copy that is, or will be, for this group."""
        return newest_copy_for(group, (copy for copy, is_lost in self.copies if not is_lost))

    def state_for(self, group: str) -> GroupState:
        """Return the state for a group; :mod:`app.lab.views.life_view` examines ``waiting`` again."""
        copy = self.last_copy_for(group)
        state = state_by_copy(copy)
        if state is not None:
            return state
        place = None if copy is None else (copy.topic, copy.broker, copy.queue_id, copy.queue_offset)
        deliveries = [one for one in self.deliveries if one.began.group == group and place in (None, one.place)]
        if any(delivery.is_done for delivery in deliveries):
            return "consumed"
        if not deliveries or deliveries[-1].died is not None:
            return "waiting"
        return "delivering" if deliveries[-1].end is None else "failed"

    # ------------------------------------------------------------------------------ whole

    def judge(self) -> None:
        """Determine whether the message is in trouble."""
        self.is_in_trouble = (
            any(mark["kind"] in BAD_KINDS for mark in self.sends)
            or any(is_lost or copy.kind in BAD_KINDS for copy, is_lost in self.copies)
            or len({one.began.group for one in self.deliveries}) < len(self.deliveries)
            or any(one.end is not None and not one.is_done for one in self.deliveries)
        )

    def marks(self) -> list[LifeMark]:
        """Return the marks in the order of time; see :mod:`app.picture.message_life`."""
        begun_us = self.sends[0]["at_us"] if self.sends else 0
        attempts: Counter[str] = Counter()
        marks: list[LifeMark] = [
            *self.sends,
            # A broker's clock shows whole milliseconds: nothing is stored before it was sent.
            *(copy_mark(copy, max(begun_us, copy.stored_us), is_lost=is_lost) for copy, is_lost in self.copies),
            *(self._delivery_mark(delivery, attempts) for delivery in self.deliveries),
        ]
        return sorted(marks, key=lambda mark: mark["at_us"])

    def _delivery_mark(self, delivery: Delivery, attempts: Counter[str]) -> DeliveredMark:
        began, end, result = delivery.began, delivery.end, result_of(delivery)
        attempts[began.group] += 1
        if result is None and any(
            copy.group == began.group and copy.reconsume_times > began.reconsume_times for copy, _ in self.copies
        ):
            result = TIMED_OUT
        return {
            "kind": "delivered",
            "at_us": began.time_us,
            "event": began.event,
            "node": began.node,
            "group": began.group,
            "attempt": attempts[began.group],
            "reconsume_times": began.reconsume_times,
            "topic": began.topic,
            "broker": began.broker,
            "queue_id": began.queue_id,
            "queue_offset": began.queue_offset,
            "until_us": None if end is None else end.time_us,
            "result": result,
        }


def result_of(delivery: Delivery) -> str | None:
    """Return the result of the listener, or how its process ended; None while it has the message."""
    return None if delivery.end is None else delivery.result
