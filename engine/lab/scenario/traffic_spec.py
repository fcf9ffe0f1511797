"""Traffic of a producer in a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from engine.fields.field import Field
from engine.lab.scenario.scenario_names import DELAY_LEVEL_MAX, MESSAGES_MAX, Milliseconds, TopicName
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.spec_reader import Named
from engine.protocol.message.message_properties import RESERVED_PROPERTIES

BATCH_MAX = 1_024
PROPERTIES_MAX = 20
PROPERTY_NAME_MAX = 60
#: A little more than brokers accept (``maxMessageSize``), so that a refusal can be shown.
BODY_BYTES_MAX = 5_000_000
#: Selectors of a queue by the business key.
SELECTORS = ("by-hash", "by-consistent-hash")
#: Placeholder for an id that the producer makes from its clock, see :mod:`engine.lab.work.identifiers`.
IDENTIFIER = "{id}"
Count = Annotated[int, Field("", "integer", 0, MESSAGES_MAX)]


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


def _parse_tags(section: Section, field: str) -> tuple[str, ...]:
    return tuple(tag.strip() for tag in section.text(field, "", max_length=200).split("|") if tag.strip())


def _parse_properties(section: Section, field: str) -> tuple[tuple[str, str], ...] | None:
    given = section.section(field)
    if given is None:
        return None
    properties = []
    for name in given.names():
        value = given.text(name, max_length=200)
        if name in RESERVED_PROPERTIES:
            raise given.fail(name, "belongs to RocketMQ; tag, key and delay_level set theirs")
        if not (name.isprintable() and value.isprintable() and value and len(name) <= PROPERTY_NAME_MAX):
            raise given.fail(
                name, f"is not allowed; a name has 1 to {PROPERTY_NAME_MAX} printable characters, a value 1 to 200"
            )
        properties.append((name, value))
    if len(properties) > PROPERTIES_MAX:
        raise given.fail(properties[-1][0], f"is one property too many; allowed: {PROPERTIES_MAX}")
    return tuple(properties)


def _parse_queue(section: Section, field: str) -> int | str | None:
    word = section.text(field, "any")
    if word == "any":
        return None
    if word in ("{n}", *SELECTORS):
        return word
    if word.isascii() and word.isdigit() and int(word) < 1_024:
        return int(word)
    raise section.fail(
        field, f'{word!r} is not allowed; allowed: any, "{{n}}", {", ".join(SELECTORS)}, or the number of a queue'
    )


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

    topic: TopicName
    count: Count = 10
    every_ms: Milliseconds = 100
    start_ms: Milliseconds = 500
    key: Annotated[str, Field("", "text", 0, 60)] = "{node}-{n}"
    tags: Annotated[tuple[str, ...], _parse_tags, Named("tag")] = ()
    body: Annotated[str, Field("", "text", 0, 4_000)] = "message {n}"
    queue: Annotated[int | str | None, _parse_queue] = None
    delay_level: Annotated[int, Field("", "integer", 0, DELAY_LEVEL_MAX)] = 0
    orders: Count = 0
    properties: Annotated[tuple[tuple[str, str], ...], _parse_properties] = ()
    batch: Annotated[int, Field("", "integer", 1, BATCH_MAX)] = 1
    body_bytes: Annotated[int, Field("", "integer", 0, BODY_BYTES_MAX)] = 0
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
