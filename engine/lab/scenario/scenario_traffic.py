"""Parsing of ``traffic:``."""

from __future__ import annotations

from dataclasses import replace

from engine.lab.scenario.scenario_names import MESSAGES_MAX, NOT_YET, TIME_MAX_MS
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.spec_reader import read_spec
from engine.lab.scenario.traffic_spec import SELECTORS, SendMode, TrafficSpec

#: Limit for the bodies of one traffic together: a lab's disks are in memory.
BODIES_MAX_BYTES = 64_000_000

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
        key=section.text("key", "{node}-{n}", max_length=60),
        body="",
    )
    _check_key(section, traffic.key)
    section.finish(NOT_YET)
    return traffic


def parse_traffic(section: Section, usual_mode: SendMode = SendMode.SYNC) -> TrafficSpec:
    """Parse one section of a producer's traffic. Raises :class:`~engine.lab.scenario.errors.ScenarioError`."""
    traffic = read_spec(TrafficSpec, section)
    if not section.has("mode"):
        traffic = replace(traffic, mode=usual_mode)
    _check_key(section, traffic.key, is_one=traffic.count == 1)
    clash = clash_of(traffic)
    if clash is not None:
        raise section.fail(*clash)
    if not traffic.back_pressure and traffic.mode not in (SendMode.ASYNC, SendMode.REQUEST):
        raise section.fail("back_pressure", "is allowed only with mode: async or request")
    section.finish(NOT_YET)
    return traffic


def _check_key(section: Section, key: str, *, is_one: bool = False) -> None:
    free = key.replace("{n}", "").replace("{node}", "").replace("{order}", "")
    if ("{n}" not in key and not is_one) or not free.isprintable() or " " in key:
        raise section.fail(
            "key",
            f"{key!r} is not allowed; it must contain {{n}}, unless count is 1, and no space: a key names one message",
        )


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
