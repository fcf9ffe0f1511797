"""Parsing of ``traffic:``."""

from __future__ import annotations

from engine.lab.scenario.scenario_names import DELAY_LEVEL_MAX, MESSAGES_MAX, NOT_YET, TIME_MAX_MS, parse_topic
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.traffic_spec import SendMode, TrafficSpec
from engine.protocol.message.message_properties import RESERVED_PROPERTIES

BATCH_MAX = 1_024
PROPERTIES_MAX = 20
PROPERTY_NAME_MAX = 60
#: A little more than brokers accept (``maxMessageSize``), so that a refusal can be shown.
BODY_BYTES_MAX = 5_000_000
#: Limit for the bodies of one traffic together: a lab's disks are in memory.
BODIES_MAX_BYTES = 64_000_000

#: Selectors of a queue by the business key.
SELECTORS = ("by-hash", "by-consistent-hash")
#: Fields that a Kafka producer does not have: it makes its batches itself.
_NOT_OF_KAFKA = ("tag", "delay_level", "batch", "back_pressure", "numbered")
_MODES_OF_KAFKA = (SendMode.ASYNC, SendMode.SYNC)


def parse_kafka_traffic(section: Section) -> TrafficSpec:
    """Parse as :func:`parse_traffic` does, for a Kafka producer: ``queue`` is the partition, ``properties`` are
    headers.
    """
    for field in _NOT_OF_KAFKA:
        if section.has(field):
            raise section.fail(field, "is not allowed: a producer of Kafka has no such thing")
    traffic = parse_traffic(section, SendMode.ASYNC)
    if traffic.mode not in _MODES_OF_KAFKA:
        raise section.fail("mode", f"{traffic.mode.value!r} is not allowed; allowed: {', '.join(_MODES_OF_KAFKA)}")
    if traffic.queue == "by-consistent-hash":
        raise section.fail("queue", f"{traffic.queue!r} is not allowed: a producer of Kafka hashes a key, by-hash")
    return traffic


def parse_commands(section: Section) -> TrafficSpec:
    """Parse the commands of a Raft client: a key each, and when they are sent."""
    traffic = TrafficSpec(
        topic="",
        count=section.integer("count", 0, MESSAGES_MAX, 10),
        every_ms=section.integer("every_ms", 0, TIME_MAX_MS, 100),
        start_ms=section.integer("start_ms", 0, TIME_MAX_MS, 500),
        key=_key(section),
        tags=(),
        body="",
        queue=None,
    )
    section.finish(NOT_YET)
    return traffic


def parse_traffic(section: Section, usual_mode: SendMode = SendMode.SYNC) -> TrafficSpec:
    """Parse one section of a producer's traffic. Raises :class:`~engine.lab.scenario.errors.ScenarioError`."""
    topic, count = parse_topic(section), section.integer("count", 0, MESSAGES_MAX, 10)
    key = _key(section, is_one=count == 1)
    # Read first: the key may name it.
    orders = section.integer("orders", 0, MESSAGES_MAX, 0)
    traffic = TrafficSpec(
        topic=topic,
        count=count,
        every_ms=section.integer("every_ms", 0, TIME_MAX_MS, 100),
        start_ms=section.integer("start_ms", 0, TIME_MAX_MS, 500),
        key=key,
        tags=tuple(tag.strip() for tag in section.text("tag", "", max_length=200).split("|") if tag.strip()),
        body=section.text("body", "message {n}", max_length=4_000),
        queue=_queue(section),
        delay_level=section.integer("delay_level", 0, DELAY_LEVEL_MAX, 0),
        orders=orders,
        properties=_properties(section.section("properties")),
        batch=section.integer("batch", 1, BATCH_MAX, 1),
        body_bytes=section.integer("body_bytes", 0, BODY_BYTES_MAX, 0),
        mode=section.word("mode", usual_mode),
        back_pressure=section.switch("back_pressure", default=True),
        numbered=section.switch("numbered", default=False),
    )
    clash = clash_of(traffic)
    if clash is not None:
        raise section.fail(*clash)
    if not traffic.back_pressure and traffic.mode not in (SendMode.ASYNC, SendMode.REQUEST):
        raise section.fail("back_pressure", "is allowed only with mode: async or request")
    section.finish(NOT_YET)
    return traffic


def _key(section: Section, *, is_one: bool = False) -> str:
    key = section.text("key", "{node}-{n}", max_length=60)
    free = key.replace("{n}", "").replace("{node}", "").replace("{order}", "")
    if ("{n}" not in key and not is_one) or not free.isprintable() or " " in key:
        raise section.fail(
            "key",
            f"{key!r} is not allowed; it must contain {{n}}, unless count is 1, and no space: a key names one message",
        )
    return key


def clash_of(traffic: TrafficSpec) -> tuple[str, str] | None:
    """Return the field that conflicts with ``batch`` or ``count``, and why; None if there is no conflict."""
    if traffic.batch > 1 and traffic.mode is not SendMode.SYNC:
        return "mode", f"{traffic.mode.value!r} is not allowed with batch: a batch is sent synchronously"
    if traffic.batch > 1 and traffic.queue in SELECTORS:
        return "queue", f"{traffic.queue!r} is not allowed with batch: a batch goes to one queue as a whole"
    total = traffic.count * traffic.body_bytes
    if total > BODIES_MAX_BYTES:
        return "body_bytes", f"makes {total:,} bytes of {traffic.count} messages; allowed: {BODIES_MAX_BYTES:,}"
    return None


def _properties(section: Section | None) -> tuple[tuple[str, str], ...]:
    if section is None:
        return ()
    properties = []
    for name in section.names():
        value = section.text(name, max_length=200)
        if name in RESERVED_PROPERTIES:
            raise section.fail(name, "belongs to RocketMQ; tag, key and delay_level set theirs")
        if not (name.isprintable() and value.isprintable() and value and len(name) <= PROPERTY_NAME_MAX):
            raise section.fail(
                name, f"is not allowed; a name has 1 to {PROPERTY_NAME_MAX} printable characters, a value 1 to 200"
            )
        properties.append((name, value))
    if len(properties) > PROPERTIES_MAX:
        raise section.fail(properties[-1][0], f"is one property too many; allowed: {PROPERTIES_MAX}")
    return tuple(properties)


def _queue(section: Section) -> int | str | None:
    word = section.text("queue", "any")
    if word == "any":
        return None
    if word in ("{n}", *SELECTORS):
        return word
    if word.isascii() and word.isdigit() and int(word) < 1_024:
        return int(word)
    raise section.fail(
        "queue", f'{word!r} is not allowed; allowed: any, "{{n}}", {", ".join(SELECTORS)}, or the number of a queue'
    )
