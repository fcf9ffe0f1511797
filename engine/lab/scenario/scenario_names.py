"""Names and bounds in the text of a scenario."""

from __future__ import annotations

import re
from typing import Annotated

from engine.fields.field import Field
from engine.lab.scenario.scenario_yaml import Section
from engine.protocol.errors import ProtocolError
from engine.protocol.names import validate_group, validate_topic

#: Node names are part of broker names, actors' names and links.
NODE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,19}")

#: A world of this size still steps fast enough to be watched.
NODES_MAX = 60
MESSAGES_MAX = 10_000
#: RocketMQ has 18 levels unless configured differently; a broker with fewer uses its last level for higher ones.
DELAY_LEVEL_MAX = 18
TIME_MAX_MS = 24 * 3_600_000

#: Features of RocketMQ that this version's nodes do not have.
NOT_YET = ("master", "replicas", "acl", "unit")


def parse_topic(section: Section, field: str = "topic") -> str:
    """Parse the topic in ``field``. Raises :class:`~engine.lab.scenario.errors.ScenarioError`."""
    topic = section.text(field, max_length=200)
    try:
        validate_topic(topic)
    except ProtocolError as error:
        raise section.fail(field, str(error)) from error
    return topic


def parse_group(section: Section, field: str = "group") -> str:
    """Parse the group in ``field``. Raises :class:`~engine.lab.scenario.errors.ScenarioError`."""
    group = section.text(field, max_length=200)
    try:
        validate_group(group)
    except ProtocolError as error:
        raise section.fail(field, str(error)) from error
    return group


# Types of fields for :mod:`engine.lab.scenario.spec_reader`.
TopicName = Annotated[str, parse_topic]
GroupName = Annotated[str, parse_group]
NodeName = Annotated[str, Field("", "text", 0, 20)]
Milliseconds = Annotated[int, Field("", "integer", 0, TIME_MAX_MS)]
