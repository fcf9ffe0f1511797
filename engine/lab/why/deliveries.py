"""Every call of every listener, with its end."""

from __future__ import annotations

from typing import NamedTuple

from engine.lab.nodes.history import ConsumeBegan, ConsumeEnded, LabHistory, NodeChanged
from engine.protocol.body.message_queue import MessageQueue

#: Results of a listener that has finished a message.
DONE = ("success", "commit")
#: Topic, broker, queue id and offset.
QueuePlace = tuple[str, str, int, int]


class Delivery(NamedTuple):
    """A delivery to a listener. ``died``: its process ended before it was done."""

    began: ConsumeBegan
    ended: ConsumeEnded | None
    died: NodeChanged | None

    @property
    def place(self) -> QueuePlace:
        """Return the position from which the message was pulled."""
        began = self.began
        return began.topic, began.broker, began.queue_id, began.queue_offset

    @property
    def queue(self) -> MessageQueue:
        """Return the queue from which the message was delivered."""
        return MessageQueue(self.began.topic, self.began.broker, self.began.queue_id)

    @property
    def is_done(self) -> bool:
        """Return whether the listener reported the message as consumed."""
        return self.ended is not None and self.ended.result in DONE

    @property
    def result(self) -> str:
        """Return the listener's result; ``running``, ``died`` or ``stopped`` if it has not returned."""
        if self.ended is not None:
            return self.ended.result
        if self.died is None:
            return "running"
        return "died" if self.died.status == "crashed" else "stopped"

    @property
    def end_event(self) -> int | None:
        """Return the event at which the delivery ended, in whatever way."""
        last = self.ended or self.died
        return None if last is None else last.event


def all_deliveries(history: LabHistory, until: int) -> list[Delivery]:
    """Return every call of every listener up to an event, with its end."""
    entries: list[ConsumeBegan | ConsumeEnded | NodeChanged] = [
        *(one for one in history.consumes_began if one.event <= until),
        *(one for one in history.consumes_ended if one.event <= until),
        *(one for one in history.nodes_changed if one.event <= until),
    ]
    # Within one event, a listener's result comes before the end of its process.
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
