"""What travels during a soak: numbered messages, one topic and one sender per stream, one group that consumes it."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import IntFlag
from typing import Any

#: Who gives a stream's messages out, or takes them. Ours can always be had, the others perhaps not.
PYTHON, CPP, JAVA = "python", "cpp", "java"
QUEUES = 4


@dataclass(frozen=True)
class Stream:
    """One topic with a sender, and a group that consumes it.

    :ivar kind: concurrent, orderly, transactions, retries (the listener refuses every tenth message once) or batches.
    """

    name: str
    kind: str
    sender: str
    consumer: str

    @property
    def topic(self) -> str:
        return f"Soak_{self.name}"

    @property
    def group(self) -> str:
        return f"soak_{self.name}"


#: Each language sends to another one and to itself.
STREAMS = (
    Stream("concurrent-cpp", "concurrent", CPP, JAVA),
    Stream("concurrent-java", "concurrent", JAVA, PYTHON),
    Stream("concurrent-python", "concurrent", PYTHON, CPP),
    Stream("orderly-cpp", "orderly", CPP, CPP),
    Stream("orderly-java", "orderly", JAVA, JAVA),
    Stream("orderly-python", "orderly", PYTHON, PYTHON),
    Stream("transactions-java", "transactions", JAVA, JAVA),
    Stream("transactions-python", "transactions", PYTHON, PYTHON),
    Stream("retries-java", "retries", JAVA, JAVA),
    Stream("retries-python", "retries", PYTHON, PYTHON),
    Stream("batches-python", "batches", PYTHON, PYTHON),
)
#: The flood has a topic of its own, which nobody consumes.
FLOOD = Stream("flood", "flood", PYTHON, "")
#: What readers ask for that never read.
UNREAD_TOPIC = "Soak_unread"


def streams_of(languages: set[str]) -> list[Stream]:
    """What can run with these clients: a stream without its sender is left out, a missing consumer is ours instead."""
    return [
        stream if stream.consumer in languages else Stream(stream.name, stream.kind, stream.sender, PYTHON)
        for stream in STREAMS
        if stream.sender in languages
    ]


class Fate(IntFlag):
    """What is known of one message."""

    ACKNOWLEDGED = 1
    #: Its local transaction was rolled back: nobody may ever see it.
    ROLLED_BACK = 2
    CONSUMED = 4
    #: Found in the broker at the end.
    STORED = 8


@dataclass
class StreamLedger:
    """All fates of one stream, a byte each, and what went against the order."""

    stream: Stream
    fates: bytearray = field(default_factory=bytearray)
    #: Sends that failed or were not answered: such a message may be there or not.
    in_doubt: int = 0
    acknowledged: int = 0
    #: Deliveries that ended in success, and those of a message that had ended in success before.
    consumed: int = 0
    consumed_again: int = 0
    refused: int = 0
    #: (queue, number, greatest number before): first deliveries after a later message of their queue.
    swapped: list[tuple[int, int, int]] = field(default_factory=list)
    latencies_ms: array[float] = field(default_factory=lambda: array("f"))
    _greatest: dict[int, int] = field(default_factory=dict)
    _late: dict[int, tuple[int, int]] = field(default_factory=dict)

    def note(self, event: dict[str, Any]) -> None:
        """Take one line of a client: sent, failed or message."""
        kind = event.get("event")
        if kind == "sent" and event["status"] == 0:
            self._mark(event["number"], Fate.ROLLED_BACK if event.get("rolled_back") else Fate.ACKNOWLEDGED)
            self.acknowledged += 1
            if "ms" in event:
                self.latencies_ms.append(event["ms"])
        elif kind in ("sent", "failed"):
            self.in_doubt += 1
        elif kind == "message":
            self._consumed(event)

    def note_run(self, first: int, behind: int, fate: Fate) -> None:
        """Mark the numbers from ``first`` to before ``behind``."""
        for number in range(first, behind):
            self._mark(number, fate)
        if fate is Fate.ACKNOWLEDGED:
            self.acknowledged += behind - first

    def stored(self, number: int) -> None:
        """The message was found in the broker."""
        self._mark(number, Fate.STORED)

    def _consumed(self, event: dict[str, Any]) -> None:
        number, queue = event["number"], event["queue"]
        if self.stream.kind == "orderly":
            self._look_at_the_order(queue, number)
        if event.get("refused"):
            self.refused += 1
            return
        self.consumed += 1
        self.consumed_again += self.has(number, Fate.CONSUMED)
        self._mark(number, Fate.CONSUMED)

    def _look_at_the_order(self, queue: int, number: int) -> None:
        """One sender numbers its messages, so within a queue they must come for the first time in that order."""
        greatest = self._greatest.get(queue, -1)
        if number > greatest:
            self._greatest[queue] = number
        elif number < greatest and not self.has(number, Fate.CONSUMED):
            self._late[number] = (queue, greatest)

    def settle_the_order(self) -> None:
        """Count what came late, once all acknowledgements are known: one in doubt may have been stored later."""
        for number, (queue, greatest) in self._late.items():
            if self.has(number, Fate.ACKNOWLEDGED):
                self.swapped.append((queue, number, greatest))
        self._late.clear()

    def has(self, number: int, fate: Fate) -> bool:
        return 0 <= number < len(self.fates) and bool(self.fates[number] & fate)

    def lost(self, there: Fate) -> list[int]:
        """Acknowledged numbers that are not ``there``: STORED or CONSUMED."""
        wanted = Fate.ACKNOWLEDGED
        return [number for number, fate in enumerate(self.fates) if fate & wanted and not fate & there]

    def seen_in_spite(self) -> list[int]:
        """Rolled back, and consumed all the same."""
        both = Fate.ROLLED_BACK | Fate.CONSUMED
        return [number for number, fate in enumerate(self.fates) if fate & both == both]

    def _mark(self, number: int, fate: Fate) -> None:
        if number >= len(self.fates):
            self.fates.extend(bytes(number + 1 - len(self.fates)))
        self.fates[number] |= fate
