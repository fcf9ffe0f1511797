"""The lab's list of scenarios, and the tables from which its pages build their forms."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from app.foundation.json_types import JsonValue
from app.picture.world.world import Words


class ScenarioPictures(TypedDict):
    """What the stage shows of a scenario before it begins."""

    #: Theme -> address; none for a scenario without a key moment.
    pictures: dict[str, str]
    #: What they show, by language.
    shows: Words


class NamedNode(TypedDict):
    """A node of a scenario."""

    name: str
    role: str


class ScenarioRow(ScenarioPictures):
    """A scenario in the list."""

    name: str
    shelf: str
    title: Words
    summary: Words
    about: Words
    suggestion: Words
    difficulty: str
    #: What the list may be narrowed to.
    breaks: list[str]
    #: Unit, and the rounded number of these units.
    length: list[str | int]
    nodes: list[NamedNode]
    topics: list[str]


class ShownSetting(TypedDict):
    """A timer or a size that people may change."""

    #: Its name in RocketMQ or Kafka; empty without one.
    java: str
    default: JsonValue
    unit: str
    #: Of a number, like the next two.
    low: NotRequired[float]
    high: NotRequired[float]
    is_whole: NotRequired[bool]
    choices: NotRequired[list[str]]


class SettingTable(TypedDict):
    """The settings, and where the stage shows each."""

    #: Role -> name -> setting.
    settings: dict[str, dict[str, ShownSetting]]
    #: Role -> the beginning of a timer's name -> its setting.
    timers: dict[str, dict[str, str]]
    #: Role -> part of a node -> the setting that controls it.
    stage: dict[str, dict[str, str]]


class CommandField(TypedDict):
    """A field of a command."""

    name: str
    kind: str
    default: JsonValue
    low: float | None
    high: float | None
    allowed: list[str]


class ShownSwitch(TypedDict):
    """A switch by its name, and what it does."""

    name: Words
    what: Words


class ShownCommand(ShownSwitch):
    """A command as a form shows it."""

    #: What it is about: a node, a link, ...
    target: str
    fields: list[CommandField]


class QuietNames(TypedDict):
    """What is left out where only what matters is shown."""

    tasks: list[str]
    labels: list[str]
    requests: list[str]
    refusals: list[str]


class StageTables(SettingTable):
    """What a page with a stage needs."""

    commands: dict[str, ShownCommand]
    switches: dict[str, ShownSwitch]
    import_max_bytes: int
    #: Language -> name in the journal -> its name for people, where that differs. What a task is about follows a name
    #: that ends with a space.
    labels: dict[str, dict[str, str]]
    quiet: QuietNames


class FaultTables(TypedDict):
    """What the live page's forms of faults need."""

    commands: dict[str, ShownCommand]
    #: RocketMQ's short names of a header's fields -> long ones.
    header_letters: dict[str, str]


class ImportedRun(TypedDict):
    """A world that was made of an exported run."""

    #: Its id.
    world: str
    scenario: str
    #: Of its page.
    address: str
