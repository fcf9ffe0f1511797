"""A scenario: a cluster, its traffic, breakpoints and invariants.

Times are virtual milliseconds from the beginning of the world. :func:`engine.lab.scenario.scenario_text.parse_scenario`
makes these objects from a text; the fields are documented here, and their allowed values there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from engine.fields.field import Field
from engine.lab.scenario.condition import Condition
from engine.lab.scenario.kinds.node_spec import NodeSpec, SettingValue
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.spec_reader import Named

_Spec = TypeVar("_Spec", bound=NodeSpec)

#: A setting from the beginning: node, name, value.
NodeSetting = tuple[str, str, SettingValue]

#: A checked field of a command.
CommandValue = SettingValue | tuple[str, ...]

#: Languages of every text for people.
LANGUAGES = ("en", "zh")

QUEUES_MAX = 64
QueueCount = Annotated[int, Field("", "integer", 1, QUEUES_MAX)]


class FaultKind(StrEnum):
    """Kinds of random faults, see :mod:`engine.lab.sweep.sweep`."""

    CRASH = "crash"
    CRASH_POWER = "crash-power"
    PAUSE = "pause"
    PARTITION = "partition"
    DELAY = "delay"
    LOSS = "loss"
    DUPLICATE = "duplicate"
    REORDER = "reorder"
    CLOCK_SKEW = "clock-skew"
    DISK = "disk"
    WIPE = "wipe"  #: A Raft peer has lost its disk, a bit of it, or its log's last second; no other node.
    FLIP = "flip"
    LAST_SECOND = "last-second"
    #: A listener is slow, fails or hangs for a while.
    LISTENER = "listener"
    #: Consumers join, leave and are killed; a topic gets more queues.
    GROUP = "group"


def _parse_fault_kinds(section: Section, field: str) -> tuple[FaultKind, ...]:
    return tuple(FaultKind(word) for word in section.choices(field, list(FaultKind)))


@dataclass(frozen=True, slots=True)
class FaultModel:
    """Fault model of random runs of a scenario. Within it the invariants must hold.

    :ivar kinds: allowed faults, in the order of the text.
    :ivar max_faults: most faults of one run.
    """

    kinds: Annotated[tuple[FaultKind, ...], _parse_fault_kinds] = ()
    max_faults: Annotated[int, Field("", "integer", 0, 100), Named("max")] = 5


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic that exists from the beginning, on every broker; a Kafka topic has a partition for each queue."""

    name: str
    queues: QueueCount = 4


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A consumer group that exists from the beginning, on every broker."""

    name: str
    retry_max_times: Annotated[int, Field("", "integer", 0, 1_000)] = 16
    retry_queues: QueueCount = 1


@dataclass(frozen=True, slots=True)
class Command:
    """One action of a user or the story on a world, as data: recorded, sent as a link and repeated.

    :ivar kind: one of :data:`engine.lab.scenario.command.COMMANDS`.
    :ivar value: the fields of its kind, checked and complete.
    """

    kind: str
    target: str = ""
    value: Mapping[str, CommandValue] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the command as JSON; :func:`engine.lab.scenario.command.parse_command` reads it back."""
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in self.value.items()}
        return {"kind": self.kind, "target": self.target, **fields}


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """A command of the story itself, with its time. One that cannot be carried out then is left out."""

    at_ms: int
    command: Command


class Difficulty(StrEnum):
    """Difficulty of a scenario for a learner."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class Breaks(StrEnum):
    """The failures of a scenario, built in or caused by a user: one word each, for searching."""

    #: A node's process ends without warning.
    PROCESS = "process"
    POWER = "power"
    DISK = "disk"
    #: Frames are lost, late or doubled, or nothing gets through.
    LINK = "link"
    #: A node pauses for a long time, and continues.
    PAUSE = "pause"
    #: A listener fails, hangs or is slow.
    LISTENER = "listener"
    #: One of the locks of ordered consumption is off.
    LOCK = "lock"
    #: A setting has an unexpected effect, or changes at a bad moment.
    SETTING = "setting"
    #: More messages arrive than are consumed.
    LOAD = "load"
    #: The application uses its client incorrectly.
    PROGRAM = "program"


@dataclass(frozen=True, slots=True)
class Tags:
    """Tags by which a scenario is found in a list, besides its shelf and its length.

    :ivar breaks: empty: nothing goes wrong in it.
    """

    difficulty: Difficulty = Difficulty.MEDIUM
    breaks: tuple[Breaks, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyMoment:
    """The moment of a scenario that its picture shows; :mod:`engine.lab.run.key_moment` goes there.

    :ivar shows: what is visible then, by language.
    :ivar actions: commands on the way.
    :ivar from_ms: only what happens later than this, and than the last of the actions, is waited for.
    :ivar until: what is waited for; None: the first violation of an invariant.
    :ivar plus_ms: how much later the clock stands, with nothing happening meanwhile: a frame is on its way then.
    """

    shows: Mapping[str, str]
    actions: tuple[ScriptLine, ...] = ()
    from_ms: int = 0
    until: Condition | None = None
    plus_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class TryButton:
    """One thing to try with a scenario: a command, a run, or both, in this order.

    :ivar label: by language.
    :ivar search: it opens the search for a bad schedule.
    """

    label: Mapping[str, str]
    command: Command | None = None
    run_until: Condition | None = None
    search: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario. ``text`` is its source; ``invariants`` is empty for "all that apply".

    :ivar order: scenarios are listed by it, the lowest first: by what a learner needs.
    :ivar suggestion: what to try with it, by language; empty: nothing is suggested.
    :ivar try_buttons: what does it.
    :ivar focus: parts of the stage that it is about, the most important first; empty: all alike.
    """

    name: str
    title: Mapping[str, str]
    about: Mapping[str, str]
    seed: int
    duration_ms: int
    latency_ms: float
    jitter_ms: float
    nodes: tuple[NodeSpec, ...]
    topics: tuple[TopicSpec, ...]
    groups: tuple[GroupSpec, ...]
    script: tuple[ScriptLine, ...]
    breakpoints: tuple[Condition, ...]
    invariants: tuple[str, ...]
    fault_model: FaultModel
    text: str
    #: Names of :data:`engine.lab.scenario.switches.SWITCHES` that are off from the beginning, on all nodes.
    switched_off: tuple[str, ...] = ()
    #: Bandwidth of each direction of each link; None: any frame arrives completely after the latency.
    bytes_per_s: int | None = None
    order: int = 1_000
    suggestion: Mapping[str, str] = field(default_factory=dict)
    try_buttons: tuple[TryButton, ...] = ()
    focus: tuple[str, ...] = ()
    #: One sentence, by language; empty if there is no summary.
    summary: Mapping[str, str] = field(default_factory=dict)
    tags: Tags = Tags()
    key_moment: KeyMoment | None = None

    def node(self, name: str) -> NodeSpec:
        """Return the node with this name. Raises ``KeyError``."""
        return self.spec_of(NodeSpec, name)

    def spec_of(self, kind: type[_Spec], name: str) -> _Spec:
        """Return the node with this name, which is of this kind. Raises ``KeyError``."""
        for spec in self.of_kind(kind):
            if spec.name == name:
                return spec
        raise KeyError(name)

    @property
    def has_banks(self) -> bool:
        """Return whether money is transferred in the scenario."""
        return any(spec.has_bank for spec in self.nodes)

    @property
    def has_work(self) -> bool:
        """Return whether a listener does work that must be done exactly once."""
        return any(spec.has_work for spec in self.nodes)

    @property
    def sends_in_transactions(self) -> bool:
        """Return whether half messages are sent: by a producer, or by a listener whose work continues elsewhere."""
        return any(spec.sends_in_transactions for spec in self.nodes)

    def of_kind(self, kind: type[_Spec]) -> tuple[_Spec, ...]:
        """Return the nodes of one kind, in the order of the text."""
        return tuple(spec for spec in self.nodes if isinstance(spec, kind))

    def with_each(self, kind: type[_Spec], change: Callable[[_Spec], NodeSpec]) -> Scenario:
        """Return the scenario with each node of one kind changed."""
        return replace(self, nodes=tuple(change(spec) if isinstance(spec, kind) else spec for spec in self.nodes))
