"""``traffic:`` in the text of a scenario."""

from __future__ import annotations

from engine.lab.scenario_names import MESSAGES_MAX, NOT_YET, TIME_MAX_MS, parse_topic
from engine.lab.scenario_yaml import Section
from engine.lab.traffic_spec import TrafficSpec

DELAY_LEVEL_MAX = 18

#: Ways to choose a queue by the business key.
SELECTORS = ("by-hash", "by-consistent-hash")


def parse_traffic(section: Section) -> TrafficSpec:
    """One section of a producer's traffic. Raises :class:`~engine.lab.errors.ScenarioError`."""
    key = section.text("key", "{node}-{n}", max_length=60)
    free = key.replace("{n}", "").replace("{node}", "").replace("{order}", "")
    if "{n}" not in key or not free.isprintable() or " " in key:
        raise section.fail(
            "key", f"{key!r} is not allowed; it must contain {{n}} and no space: a key names one message"
        )
    # Taken first: the key may name it.
    orders = section.integer("orders", 0, MESSAGES_MAX, 0)
    traffic = TrafficSpec(
        topic=parse_topic(section),
        count=section.integer("count", 0, MESSAGES_MAX, 10),
        every_ms=section.integer("every_ms", 0, TIME_MAX_MS, 100),
        start_ms=section.integer("start_ms", 0, TIME_MAX_MS, 500),
        key=key,
        tags=tuple(tag.strip() for tag in section.text("tag", "", max_length=200).split("|") if tag.strip()),
        body=section.text("body", "message {n}", max_length=4_000),
        queue=_queue(section),
        delay_level=section.integer("delay_level", 0, DELAY_LEVEL_MAX, 0),
        orders=orders,
    )
    section.finish(NOT_YET)
    return traffic


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
