"""The picture of a lab world."""

from __future__ import annotations

from typing import TypedDict

from app.foundation.json_types import JsonValue
from app.picture.frame import Frame
from app.picture.message_life import MessageLives
from app.picture.world.actor import Actor, NextStep, Timer
from app.picture.world.backlog import Backlog
from app.picture.world.bank import Money
from app.picture.world.fault import Fault
from app.picture.world.invariant import Invariant
from app.picture.world.listener_call import ListenerBar
from app.picture.world.node import NodePicture
from app.picture.world.two_phase_commit import TwoPhaseCommits

#: A text by language.
Words = dict[str, str]


class StopCondition(TypedDict):
    """Where a run stops: see ``engine.lab.scenario.condition``."""

    on: str
    node: str
    contains: str
    time_us: int


class TryButton(TypedDict):
    """A button that does what the suggestion says."""

    label: Words
    #: None: it runs or searches.
    command: dict[str, JsonValue] | None
    run_until: StopCondition | None
    #: It opens the search for a run that violates an invariant.
    search: bool


class ScenarioPart(TypedDict):
    """What the scenario says."""

    #: Its name.
    scenario: str
    title: Words
    summary: Words
    about: Words
    suggestion: Words
    try_buttons: list[TryButton]
    #: Parts of the stage that matter in it.
    focus: list[str]
    duration_us: int


class Caption(TypedDict):
    """What has just happened, in a sentence."""

    #: It is true after this event.
    event: int
    text: Words
    kind: str
    #: 0 to 3: what is heavier stays longer.
    weight: int
    #: Of messages in it.
    keys: list[str]


class Setting(TypedDict):
    """What the scenario or a command has set: a timer or a size."""

    node: str
    name: str
    value: JsonValue
    unit: str


class Failure(TypedDict):
    """An exception that no engine code caught."""

    event: int
    actor: str
    text: str


class WorldParts(ScenarioPart):
    """What a world has after an event besides its nodes."""

    event: int
    time_us: int
    is_over: bool
    life: MessageLives
    #: None in a world without banks.
    money: Money | None
    #: None where no group consumes in clustering mode.
    backlog: Backlog | None
    #: None in a world without a coordinator.
    xa: TwoPhaseCommits | None
    #: In flight, and the last that arrived.
    frames: list[Frame]
    #: The last ones.
    calls: list[ListenerBar]
    #: The next to expire first.
    timers: list[Timer]
    actors: list[Actor]
    next: NextStep | None
    caption: Caption | None
    invariants: list[Invariant]
    faults: list[Fault]
    #: What was done: ``event``, ``time_us``, and the command's own fields.
    commands: list[dict[str, JsonValue]]
    settings: list[Setting]
    failures: list[Failure]


class WorldPicture(WorldParts):
    """A world after an event; ``app.lab.session`` adds how it is played."""

    seed: int
    #: By name.
    nodes: dict[str, NodePicture]
