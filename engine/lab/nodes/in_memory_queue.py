"""The forbidden pattern: acknowledge first, work later.

A listener that only puts its messages into a list of its own process, and returns immediately, is very fast. A worker
then takes them out of the list one after the other. For RocketMQ all of them are consumed: it stores the offset after
them, and the next owner of the queue begins there. What is in the list when the process ends is lost, however it ends.
Memory is not protected either: flow control counts what waits in the ProcessQueue, and nothing waits there.

In the world's history such a message begins to be consumed when the listener gets it, and is consumed when the worker
is done with it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from engine.lab.nodes.history import ConsumeBegan, ConsumeEnded
from engine.lab.nodes.scenario_node import WorldContext
from engine.lab.scenario.listener_spec import ListenerResult, ListenerSpec
from engine.protocol.message.message import MessageExt

#: Most keys of earlier processes' lists that are remembered.
GONE_KEPT = 200


class InMemoryQueue:
    """The in-memory list of one application, and its worker.

    :ivar waiting: messages that were acknowledged and not yet processed.
    :ivar working_on: the message in progress.
    :ivar gone: keys of messages in the list when a process ended, the newest last.
    """

    def __init__(self, world: WorldContext, spec: ListenerSpec) -> None:
        self._world = world
        self._max = spec.hand_over_max
        self.waiting: deque[ConsumeBegan] = deque()
        self.working_on: ConsumeBegan | None = None
        self.gone: deque[str] = deque(maxlen=GONE_KEPT)
        self._messages: dict[ConsumeBegan, MessageExt] = {}
        self._changed = asyncio.Event()

    @property
    def unfinished(self) -> list[ConsumeBegan]:
        """Return what was acknowledged and is not finished, the oldest first."""
        return ([] if self.working_on is None else [self.working_on]) + list(self.waiting)

    async def take(self, began: Sequence[ConsumeBegan], messages: Sequence[MessageExt]) -> None:
        """Put messages into the list; a full list makes the listener wait."""
        for entry, message in zip(began, messages, strict=True):
            while len(self.waiting) >= self._max:
                self._changed.clear()
                await self._changed.wait()
            self.waiting.append(entry)
            self._messages[entry] = message
            self._changed.set()

    async def work(self, do: Callable[[MessageExt], Awaitable[object]]) -> None:
        """Run the worker as long as the process lives: call ``do`` with each message."""
        history = self._world.history
        while True:
            while not self.waiting:
                self._changed.clear()
                await self._changed.wait()
            entry = self.working_on = self.waiting.popleft()
            self._changed.set()
            await do(self._messages.pop(entry))
            done = (self._world.event_number, self._world.now_us, *entry[2:], ListenerResult.SUCCESS.value)
            history.consumes_ended.append(ConsumeEnded(*done))
            self.working_on = None

    def forget(self) -> None:
        """Reset the list, as the process has ended."""
        self.gone.extend(message.key for message in self.unfinished)
        self.waiting.clear()
        self._messages.clear()
        self.working_on = None
        self._changed = asyncio.Event()
