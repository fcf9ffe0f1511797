"""Traffic of a producer in a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

#: Placeholder for an id that the producer makes from its clock, see :mod:`engine.lab.work.identifiers`.
IDENTIFIER = "{id}"


class SendMode(StrEnum):
    """Send mode of an application (RocketMQ: ``CommunicationMode``, and ``request``)."""

    #: It waits for the broker's answer before it goes on.
    SYNC = "sync"
    #: It continues immediately; a callback receives the answer.
    ASYNC = "async"
    #: It continues immediately, and there is no answer.
    ONEWAY = "oneway"
    #: It waits until a consumer has replied.
    REQUEST = "request"


@dataclass(frozen=True, slots=True)
class TrafficSpec:
    """Messages that a producer sends, one after the other.

    In ``key``, ``tag``, ``body`` and the values of ``properties`` the placeholders are ``{n}`` for the number of the
    message (from 0), ``{node}`` for the producer and ``{order}`` for the order of the message. Several tags, separated
    by ``|``, take turns. :data:`IDENTIFIER` in a property is filled in by the sender.

    :ivar queue: None: queues take turns; a number: always that queue; ``"{n}"``: queue n modulo their number;
        ``by-hash`` and ``by-consistent-hash``: chosen by the business key, see :meth:`business_key`.
    :ivar every_ms: interval between the starts of two sends.
    :ivar delay_level: 1 to 18, or 0.
    :ivar orders: message n is about order n modulo this number; 0: every message is an order of its own.
    :ivar properties: user properties, by which SQL expressions filter: names and patterns of values.
    :ivar batch: number of messages in one send; with ``queue`` ``"{n}"`` batch n goes to queue n modulo their number.
    :ivar body_bytes: shorter bodies are filled up to this size.
    :ivar mode: how they are sent.
    :ivar numbered: each message carries its producer and a number, see :mod:`engine.protocol.message.numbering_ledger`.
    :ivar back_pressure: ``async``: the application waits while too many sends are under way, as it should. ``request``:
        it waits for each reply before it asks again; a gateway does not.
    """

    topic: str
    count: int
    every_ms: int
    start_ms: int
    key: str
    tags: tuple[str, ...]
    body: str
    queue: int | str | None
    delay_level: int = 0
    orders: int = 0
    properties: tuple[tuple[str, str], ...] = ()
    batch: int = 1
    body_bytes: int = 0
    mode: SendMode = SendMode.SYNC
    back_pressure: bool = True
    numbered: bool = False

    @property
    def sends(self) -> int:
        """Return how many sends the traffic takes."""
        return -(-self.count // self.batch)

    def order_of(self, number: int) -> int:
        """Return the order of message ``number``."""
        return number % self.orders if self.orders else number

    def business_key(self, number: int) -> str:
        """Return the key that messages share if they must stay in order."""
        return f"order-{self.order_of(number)}"

    def body_of(self, node: str, number: int) -> bytes:
        """Return the body of message ``number``."""
        return self.fill_in(self.body, node, number).encode().ljust(self.body_bytes, b".")

    def properties_of(self, node: str, number: int) -> dict[str, str]:
        """Return the user properties of message ``number``."""
        return {name: self.fill_in(pattern, node, number) for name, pattern in self.properties}

    def fill_in(self, pattern: str, node: str, number: int) -> str:
        """Return ``pattern`` with its placeholders replaced."""
        filled = pattern.replace("{node}", node).replace("{n}", str(number))
        return filled.replace("{order}", str(self.order_of(number)))
