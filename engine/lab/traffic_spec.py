"""What a producer sends in a scenario."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrafficSpec:
    """Messages that a producer sends, one after the other.

    In ``key``, ``tag`` and ``body`` stands ``{n}`` for the number of the message (from 0), ``{node}`` for the
    producer and ``{order}`` for the order that the message is about. Tags take turns where several stand, separated by
    ``|``.

    :ivar queue: None: queues take turns; a number: always that queue; ``"{n}"``: queue n modulo their number;
        ``by-hash`` and ``by-consistent-hash``: chosen by the business key, see :meth:`business_key`.
    :ivar delay_level: 1 to 18, or 0.
    :ivar orders: message n is about order n modulo this number; 0: every message is an order of its own.
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

    def order_of(self, number: int) -> int:
        """The order that message ``number`` is about."""
        return number % self.orders if self.orders else number

    def business_key(self, number: int) -> str:
        """What messages have in common that must stay in order."""
        return f"order-{self.order_of(number)}"

    def fill_in(self, pattern: str, node: str, number: int) -> str:
        """``pattern`` with its placeholders replaced."""
        filled = pattern.replace("{node}", node).replace("{n}", str(number))
        return filled.replace("{order}", str(self.order_of(number)))
