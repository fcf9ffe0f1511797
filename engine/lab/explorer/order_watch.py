"""What a search looks at after every event: is a queue consumed one call at a time, in order, by its owner?

The claims of the checkers ``one-consumption-per-queue``, ``order-per-queue`` and ``no-call-after-takeover``, in a few
comparisons per event, for worlds without crashes, filters and dead letters
(:func:`engine.lab.explorer.stage.is_watched_lightly`). Whatever it finds is run again under the checkers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from engine.lab.checkers.queues.no_call_after_takeover import holds_queue
from engine.lab.checkers.watch.violation import Anomaly, Violation
from engine.lab.nodes.history import ConsumeBegan, ConsumeEnded
from engine.protocol.body.message_queue import MessageQueue
from engine.texts import Text

if TYPE_CHECKING:
    from engine.lab.world.world import ScenarioWorld

_Entry = TypeVar("_Entry", bound="ConsumeBegan | ConsumeEnded")

#: (group, broker, topic, queue id)
_Queue = tuple[str, str, str, int]
#: Ends of a call that finish a message.
_DONE = ("success", "commit")


class _Noticed(list[_Entry]):
    """A list that also appends to ``news``."""

    def __init__(self, news: list[ConsumeBegan | ConsumeEnded], entries: Iterable[_Entry]) -> None:
        super().__init__(entries)
        self._news = news

    def append(self, entry: _Entry) -> None:
        """See ``list``."""
        super().append(entry)
        self._news.append(entry)


class OrderWatch:
    """Implements :class:`~engine.lab.explorer.gated_run.Watch`: reads a world's history as it grows.

    :param expected: how many messages there will be.
    :param first_offset: where every queue's consumption begins.
    """

    def __init__(self, world: ScenarioWorld, expected: int = 0, first_offset: int = 0) -> None:
        history = world.history
        self._world = world
        news: list[ConsumeBegan | ConsumeEnded] = []
        history.consumes_began = _Noticed(news, history.consumes_began)
        history.consumes_ended = _Noticed(news, history.consumes_ended)
        self._news = news
        #: The length of a list, asked for in C: this is called after every event.
        self.has_news: Callable[[], object] = news.__len__
        self._first_offset = first_offset
        self._missing = expected
        self._in_hand_count = 0
        #: Messages in hand: queue -> {offset: (node, event at which its call began)}.
        self._in_hand: dict[_Queue, dict[int, tuple[str, int]]] = {}
        #: Queue -> the first offset that is not consumed.
        self._next: dict[_Queue, int] = {}
        #: Queue -> who began with it last.
        self._last: dict[_Queue, str] = {}

    def is_done(self) -> bool:
        """Whether all messages are consumed and no listener has one in hand."""
        return self._missing <= 0 and not self._in_hand_count

    def look(self) -> Violation | None:
        """What the last events broke."""
        violation = None
        for entry in self._news:
            if isinstance(entry, ConsumeEnded):
                self._end(entry)
            else:
                violation = violation or self._begin(entry)
        self._news.clear()
        return violation

    def _end(self, entry: ConsumeEnded) -> None:
        queue = (entry.group, entry.broker, entry.topic, entry.queue_id)
        if self._in_hand.get(queue, {}).pop(entry.queue_offset, None) is not None:
            self._in_hand_count -= 1
        if entry.result in _DONE and entry.queue_offset == self._next.get(queue, self._first_offset):
            self._next[queue] = entry.queue_offset + 1
            self._missing -= 1

    def _begin(self, entry: ConsumeBegan) -> Violation | None:
        queue = (entry.group, entry.broker, entry.topic, entry.queue_id)
        in_hand = self._in_hand.setdefault(queue, {})
        call = (entry.node, entry.event)
        for offset, other in in_hand.items():
            if other != call:
                anomaly = Anomaly.DUPLICATE if offset == entry.queue_offset else Anomaly.OUT_OF_ORDER
                return _violation(
                    "one-consumption-per-queue",
                    anomaly,
                    entry,
                    Text("checker.one-consumption-per-queue.seen", entry=entry, other=other[0], offset=offset),
                )
        following = max([self._next.get(queue, self._first_offset), *[offset + 1 for offset in in_hand]])
        in_hand[entry.queue_offset] = call
        self._in_hand_count += 1
        if entry.queue_offset > following:
            return _violation(
                "order-per-queue",
                Anomaly.OUT_OF_ORDER,
                entry,
                Text("checker.order-per-queue.seen", entry=entry, following=following),
            )
        last = self._last.get(queue, entry.node)
        if last != entry.node and not holds_queue(
            self._world, entry.node, MessageQueue(entry.topic, entry.broker, entry.queue_id)
        ):
            return _violation(
                "no-call-after-takeover",
                Anomaly.DUPLICATE,
                entry,
                Text("checker.no-call-after-takeover.seen", entry=entry, last=last),
            )
        self._last[queue] = entry.node
        return None


def _violation(checker: str, anomaly: Anomaly, entry: ConsumeBegan, text: Text) -> Violation:
    element: dict[str, str | int] = {
        "node": entry.broker,
        "group": entry.group,
        "topic": entry.topic,
        "queue": entry.queue_id,
    }
    return Violation(checker, anomaly, entry.event, entry.time_us, element, (entry.key,), text)
