"""The commands that a user can give to a world: the table of their kinds, by which they are parsed.

:func:`parse_command` makes a :class:`~engine.lab.scenario.scenario.Command` from data of a browser or a file;
:mod:`engine.lab.world.faults` carries it out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from engine.broker.delivery.dead_letter import ResendTo
from engine.faults.fault_rule import Direction, FaultAction
from engine.faults.frame_subject import REPLY
from engine.kafka.wire.api_key import ApiKey
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.listener_spec import ListenerResult
from engine.lab.scenario.scenario import Command, CommandValue
from engine.lab.scenario.scenario_names import DELAY_LEVEL_MAX
from engine.lab.scenario.switches import SWITCHES
from engine.lab.work.store_frames import StoreRequestCode
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.replication.raft.raft_commands import COMMAND_NAME
from engine.replication.raft.raft_messages import FRAME_NAMES as RAFT_FRAMES
from engine.texts import Text
from engine.xa.request_codes import XaRequestCode

#: No fault needs to last longer than a day.
MS_MAX = 86_400_000
TEXT_MAX_LENGTH = 200

#: Requests for which ``drop-next`` and similar commands can wait.
_REQUESTS = (
    *(code.name for codes in (RequestCode, XaRequestCode, StoreRequestCode, ApiKey) for code in codes),
    COMMAND_NAME,
)
FRAME_NAMES = ("", REPLY, *_REQUESTS, *(f"{REPLY} to {name}" for name in _REQUESTS), *RAFT_FRAMES)


class Target(StrEnum):
    """The kind of thing that a command acts on."""

    NODE = "node"
    BROKER = "broker"
    CONSUMER = "consumer"
    #: A node with data on a disk: a broker, a bank.
    DISK = "broker or bank"
    #: A peer of a Raft group.
    PEER = "raft peer"
    #: A name that no node has yet.
    NEW_NODE = "new node"
    #: ``P1->B1`` for one direction, ``P1<->B1`` for both.
    LINK = "link"
    #: A link, or nothing for any.
    ANY_LINK = "link or nothing"
    #: A node, or nothing for all nodes concerned.
    ANY_NODE = "node or nothing"
    ACTOR = "actor"
    TOPIC = "topic"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class CommandField:
    """One field of a kind. ``kind`` is one of ``integer``, ``number``, ``switch``, ``choice``, ``text``, ``pattern``,
    ``names`` and ``any``.

    :ivar default: None: the field must be given.
    """

    name: str
    kind: str
    default: CommandValue | None = None
    low: float = 0
    high: float = MS_MAX
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandKind:
    """A kind of command: one line of the table. ``name`` and ``what`` are for users."""

    target: Target
    fields: tuple[CommandField, ...]
    name: Text
    what: Text


_FRAME = CommandField("frame", "choice", "", allowed=FRAME_NAMES)
_RATIO = CommandField("ratio", "number", low=0, high=1)
#: Virtual time at which a frame arrives or a timer fires, in microseconds: together with the link or the task it
#: identifies the event.
_DUE = CommandField("due_us", "integer", high=MS_MAX * 1_000)
#: Index among those that are due at the very same time: 0 is the one that was sent or set first.
_INDEX = CommandField("index", "integer", 0, high=10_000)
#: Number of the bit, counted from the file's end over the bytes that are not zero; it wraps around in a smaller file.
_BIT = CommandField("bit", "integer", 0, high=1 << 40)
#: Unique id or key, which a half message keeps when it is stored again.
_MESSAGE = CommandField("message", "text")

#: Fields of a permanent rule: which frames, what happens to them, how often; see :mod:`engine.faults.fault_rule`.
RULE_FIELDS = (
    CommandField("what", "choice", allowed=tuple(action.value for action in FaultAction)),
    _FRAME,
    CommandField("direction", "choice", "", allowed=("", *(direction.value for direction in Direction))),
    *(CommandField(name, "pattern", "") for name in ("client", "topic", "group", "key")),
    CommandField("ms", "integer", 1_000, low=1),
    CommandField("code", "choice", ResponseCode.SYSTEM_ERROR.name, allowed=tuple(code.name for code in ResponseCode)),
    CommandField("times", "integer", 0, high=1_000_000),
    CommandField("every", "integer", 1, low=1, high=1_000_000),
    CommandField("ratio", "number", 1.0, low=0, high=1),
    CommandField("seed", "integer", 0, high=1 << 53),
    CommandField("for_ms", "integer", 0),
)

#: Kind -> its target and its fields.
_KINDS: Mapping[str, tuple[Target, *tuple[CommandField, ...]]] = {
    "crash": (Target.NODE,),
    "crash-power": (Target.NODE, CommandField("torn", "switch", False)),
    "torn-write": (Target.BROKER,),
    "restart": (Target.NODE,),
    "pause-node": (Target.NODE,),
    "resume-node": (Target.NODE,),
    "clock-skew": (Target.NODE, CommandField("ms", "integer", low=-MS_MAX)),
    "partition": (
        Target.NOTHING,
        CommandField("left", "names"),
        CommandField("right", "names"),
        CommandField("one_way", "switch", False),
    ),
    "heal": (Target.NOTHING,),
    "heal-link": (Target.LINK,),
    "link-delay": (Target.LINK, CommandField("ms", "integer")),
    "link-loss": (Target.LINK, _RATIO),
    "link-duplicate": (Target.LINK, _RATIO),
    "link-reorder": (Target.LINK, _RATIO),
    "drop-next": (Target.ANY_LINK, _FRAME),
    "delay-next": (Target.ANY_LINK, _FRAME, CommandField("ms", "integer", 1_000, low=1)),
    "duplicate-next": (Target.ANY_LINK, _FRAME),
    "drop-frame": (Target.LINK, _DUE, _INDEX),
    "disk-full": (Target.DISK,),
    "disk-free": (Target.DISK,),
    "drop-caches": (Target.DISK,),
    "slow-fsync": (Target.DISK, CommandField("ms", "integer")),
    "wipe": (Target.PEER,),
    "flip-in-log": (Target.PEER, _BIT),
    "flip-in-state": (Target.PEER, _BIT),
    "lose-last-second": (Target.PEER,),
    "fail-fsync": (Target.BROKER, CommandField("on", "switch", False)),
    "fault": (Target.BROKER, *RULE_FIELDS),
    "clear-faults": (Target.BROKER,),
    "group-lock": (Target.BROKER, CommandField("group", "text"), CommandField("on", "switch", False)),
    "give-lock": (
        Target.BROKER,
        CommandField("group", "text"),
        CommandField("topic", "text"),
        CommandField("queue_id", "integer", 0, high=1_023),
        CommandField("to", "text"),
    ),
    "listener": (
        Target.CONSUMER,
        CommandField("result", "choice", "success", allowed=tuple(result.value for result in ListenerResult)),
        CommandField("duration_ms", "integer", 10),
        CommandField("delay_level", "integer", 0, low=-1, high=DELAY_LEVEL_MAX),
    ),
    "kill-consumer": (Target.CONSUMER,),
    "stop-consumer": (Target.CONSUMER,),
    "start-consumer": (Target.CONSUMER,),
    "resume-consumer": (Target.CONSUMER,),
    "change-membership": (Target.NODE,),
    "add-consumer": (Target.NEW_NODE, CommandField("like", "text")),
    "queue-count": (Target.TOPIC, CommandField("n", "integer", low=1, high=64)),
    "commit-half": (Target.BROKER, _MESSAGE, CommandField("anyway", "switch", False)),
    "rollback-half": (Target.BROKER, _MESSAGE, CommandField("anyway", "switch", False)),
    "resume-half": (Target.BROKER, _MESSAGE),
    "resend-dead-letter": (
        Target.BROKER,
        CommandField("group", "text"),
        CommandField("message", "text"),
        CommandField("to", "choice", ResendTo.GROUP.value, allowed=tuple(to.value for to in ResendTo)),
        CommandField("anyway", "switch", False),
    ),
    "lock-switch": (
        Target.ANY_NODE,
        CommandField("lock", "choice", next(iter(SWITCHES)), allowed=tuple(SWITCHES)),
        CommandField("on", "switch", False),
    ),
    "free-record": (Target.NODE, CommandField("scope", "text"), CommandField("key", "text")),
    "forced-unlock": (Target.CONSUMER, CommandField("queue_id", "integer", 0, high=1_023)),
    "hold": (Target.ACTOR, CommandField("ms", "integer", low=1)),
    "release": (Target.ACTOR,),
    "fire-timer": (Target.ACTOR, _DUE, _INDEX),
    "setting": (Target.NODE, CommandField("name", "text"), CommandField("value", "any")),
}

COMMANDS: Mapping[str, CommandKind] = {
    kind: CommandKind(target, tuple(fields), Text(f"command.{kind}.name"), Text(f"command.{kind}.what"))
    for kind, (target, *fields) in _KINDS.items()
}


def parse_command(data: object, commands: Mapping[str, CommandKind] = COMMANDS) -> Command:
    """Parse a command from a browser or a file: ``{"kind": ..., "target": ..., <fields>}``, one of ``commands``.

    Raises :class:`CommandRefused`, which names the field and what is allowed. Only the world can say whether its target
    exists.
    """
    if not isinstance(data, Mapping):
        raise CommandRefused("refusal.no_command_object", data=data)
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in commands:
        raise CommandRefused("refusal.no_command", kind=kind, known=", ".join(commands))
    spec = commands[kind]
    allowed = ["kind", "target", *(field.name for field in spec.fields)]
    for name in data:
        if name not in allowed:
            raise CommandRefused("refusal.no_field", kind=kind, field=name, known=", ".join(allowed))
    target = data.get("target", "")
    if not isinstance(target, str) or len(target) > TEXT_MAX_LENGTH:
        raise CommandRefused("refusal.target_too_long", kind=kind, limit=TEXT_MAX_LENGTH)
    if spec.target is Target.NOTHING:
        if target:
            raise CommandRefused("refusal.no_target_taken", kind=kind, target=target)
    elif not target and spec.target not in (Target.ANY_LINK, Target.ANY_NODE):
        raise CommandRefused("refusal.target_missing", kind=kind, target=spec.target.value)
    return Command(kind, target, {field.name: _value(kind, field, data.get(field.name)) for field in spec.fields})


def _value(kind: str, field: CommandField, value: object) -> CommandValue:
    """Return ``value`` checked, or the default. Raises :class:`CommandRefused`."""
    if value is None:
        if field.default is None:
            raise CommandRefused("refusal.value_missing", kind=kind, field=field.name)
        return field.default
    checked, expected = _CHECKS[field.kind](field, value)
    if checked is None:
        raise CommandRefused("refusal.bad_value", kind=kind, field=field.name, value=value, expected=expected)
    return checked


_Checked = tuple[CommandValue | None, Text | str]


def _integer(field: CommandField, value: object) -> _Checked:
    fits = isinstance(value, int) and not isinstance(value, bool) and field.low <= value <= field.high
    expected = Text("refusal.whole_number", low=field.low, high=field.high)
    return value if fits and isinstance(value, int) else None, expected


def _number(field: CommandField, value: object) -> _Checked:
    expected = Text("refusal.number", low=field.low, high=field.high)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return None, expected
    return float(value) if field.low <= value <= field.high else None, expected


def _switch(field: CommandField, value: object) -> _Checked:
    return value if isinstance(value, bool) else None, Text("refusal.switch")


def _choice(field: CommandField, value: object) -> _Checked:
    names = ", ".join(name for name in field.allowed if name)
    expected = Text("refusal.anything_or", names=names) if "" in field.allowed else names
    return value if isinstance(value, str) and value in field.allowed else None, expected


def _text(field: CommandField, value: object) -> _Checked:
    fits = isinstance(value, str) and 0 < len(value) <= TEXT_MAX_LENGTH
    return value if fits and isinstance(value, str) else None, Text("refusal.text", limit=TEXT_MAX_LENGTH)


def _pattern(field: CommandField, value: object) -> _Checked:
    fits = isinstance(value, str) and len(value) <= TEXT_MAX_LENGTH and "*" not in value[:-1]
    return value if fits and isinstance(value, str) else None, Text("refusal.pattern", limit=TEXT_MAX_LENGTH)


def _names(field: CommandField, value: object) -> _Checked:
    expected = Text("refusal.node_names")
    if not isinstance(value, list | tuple) or not 0 < len(value) <= 100:
        return None, expected
    names = tuple(name for name in value if isinstance(name, str) and 0 < len(name) <= TEXT_MAX_LENGTH)
    return names if len(names) == len(value) else None, expected


def _any(field: CommandField, value: object) -> _Checked:
    expected = Text("refusal.plain_value", limit=TEXT_MAX_LENGTH)
    if isinstance(value, str):
        return value if len(value) <= TEXT_MAX_LENGTH else None, expected
    if isinstance(value, float):
        return value if math.isfinite(value) else None, expected
    return value if isinstance(value, int) and abs(value) < 1 << 53 else None, expected


_CHECKS = {
    "integer": _integer,
    "number": _number,
    "switch": _switch,
    "choice": _choice,
    "text": _text,
    "pattern": _pattern,
    "names": _names,
    "any": _any,
}
