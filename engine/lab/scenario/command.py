"""The commands that a user can give to a world: the table of their kinds, by which they are parsed.

:func:`parse_command` makes a :class:`~engine.lab.scenario.scenario.Command` from data of a browser or a file;
:mod:`engine.lab.world.faults` carries it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from engine.broker.delivery.dead_letter import ResendTo
from engine.faults.fault_rule import MS_MAX, RULE_FIELDS, FaultAction
from engine.faults.frame_subject import REPLY
from engine.fields.field import Field, read_fields, read_tag
from engine.fields.refusal import FieldRefused
from engine.kafka.wire.api_key import ApiKey
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.listener_spec import ListenerResult
from engine.lab.scenario.scenario import Command
from engine.lab.scenario.scenario_names import DELAY_LEVEL_MAX
from engine.lab.scenario.switches import SWITCHES
from engine.lab.work.store_frames import StoreRequestCode
from engine.protocol.request_code import RequestCode
from engine.replication.raft.raft_commands import COMMAND_NAME
from engine.replication.raft.raft_messages import FRAME_NAMES as RAFT_FRAMES
from engine.texts import Text
from engine.xa.request_codes import XaRequestCode

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
class CommandKind:
    """A kind of command: one line of the table. ``name`` and ``what`` are for users."""

    target: Target
    fields: tuple[Field, ...]
    name: Text
    what: Text

    @property
    def target_field(self) -> Field:
        """Return the field ``target``."""
        if self.target is Target.NOTHING:
            return Field("target", "choice", default="", allowed=("",), says=Text("refusal.no_target_taken"))
        may_be_empty = self.target in (Target.ANY_LINK, Target.ANY_NODE)
        said = Text("refusal.target", target=self.target.value, limit=TEXT_MAX_LENGTH)
        low, default = (0, "") if may_be_empty else (1, ...)
        return Field("target", "text", low, TEXT_MAX_LENGTH, default=default, says=said)


def _text(name: str) -> Field:
    return Field(name, "text", 1, TEXT_MAX_LENGTH)


_FRAME = Field("frame", "choice", default="", allowed=FRAME_NAMES)
_RATIO = Field("ratio", "number", 0, 1)
#: Virtual time at which a frame arrives or a timer fires, in microseconds: together with the link or the task it
#: identifies the event.
_DUE = Field("due_us", "integer", 0, MS_MAX * 1_000)
#: Index among those that are due at the very same time: 0 is the one that was sent or set first.
_INDEX = Field("index", "integer", 0, 10_000, default=0)
#: Number of the bit, counted from the file's end over the bytes that are not zero; it wraps around in a smaller file.
_BIT = Field("bit", "integer", 0, 1 << 40, default=0)
#: Unique id or key, which a half message keeps when it is stored again.
_MESSAGE = _text("message")

#: Fields of a permanent rule: which frames, what happens to them, how often; see :mod:`engine.faults.fault_rule`.
_RULE_FIELDS = (Field("what", "choice", allowed=tuple(action.value for action in FaultAction)), _FRAME, *RULE_FIELDS)

#: Kind -> its target and its fields.
_KINDS: Mapping[str, tuple[Target, *tuple[Field, ...]]] = {
    "crash": (Target.NODE,),
    "crash-power": (Target.NODE, Field("torn", "switch", default=False)),
    "torn-write": (Target.BROKER,),
    "restart": (Target.NODE,),
    "pause-node": (Target.NODE,),
    "resume-node": (Target.NODE,),
    "clock-skew": (Target.NODE, Field("ms", "integer", -MS_MAX, MS_MAX)),
    "partition": (
        Target.NOTHING,
        Field("left", "names", 1, 100),
        Field("right", "names", 1, 100),
        Field("one_way", "switch", default=False),
    ),
    "heal": (Target.NOTHING,),
    "heal-link": (Target.LINK,),
    "link-delay": (Target.LINK, Field("ms", "integer", 0, MS_MAX)),
    "link-loss": (Target.LINK, _RATIO),
    "link-duplicate": (Target.LINK, _RATIO),
    "link-reorder": (Target.LINK, _RATIO),
    "drop-next": (Target.ANY_LINK, _FRAME),
    "delay-next": (Target.ANY_LINK, _FRAME, Field("ms", "integer", 1, MS_MAX, default=1_000)),
    "duplicate-next": (Target.ANY_LINK, _FRAME),
    "drop-frame": (Target.LINK, _DUE, _INDEX),
    "disk-full": (Target.DISK,),
    "disk-free": (Target.DISK,),
    "drop-caches": (Target.DISK,),
    "slow-fsync": (Target.DISK, Field("ms", "integer", 0, MS_MAX)),
    "wipe": (Target.PEER,),
    "flip-in-log": (Target.PEER, _BIT),
    "flip-in-state": (Target.PEER, _BIT),
    "lose-last-second": (Target.PEER,),
    "fail-fsync": (Target.BROKER, Field("on", "switch", default=False)),
    "fault": (Target.BROKER, *_RULE_FIELDS),
    "clear-faults": (Target.BROKER,),
    "group-lock": (Target.BROKER, _text("group"), Field("on", "switch", default=False)),
    "give-lock": (
        Target.BROKER,
        _text("group"),
        _text("topic"),
        Field("queue_id", "integer", 0, 1_023, default=0),
        _text("to"),
    ),
    "listener": (
        Target.CONSUMER,
        Field("result", "choice", default="success", allowed=tuple(result.value for result in ListenerResult)),
        Field("duration_ms", "integer", 0, MS_MAX, default=10),
        Field("delay_level", "integer", -1, DELAY_LEVEL_MAX, default=0),
    ),
    "kill-consumer": (Target.CONSUMER,),
    "stop-consumer": (Target.CONSUMER,),
    "start-consumer": (Target.CONSUMER,),
    "resume-consumer": (Target.CONSUMER,),
    "change-membership": (Target.NODE,),
    "add-consumer": (Target.NEW_NODE, _text("like")),
    "queue-count": (Target.TOPIC, Field("n", "integer", 1, 64)),
    "commit-half": (Target.BROKER, _MESSAGE, Field("anyway", "switch", default=False)),
    "rollback-half": (Target.BROKER, _MESSAGE, Field("anyway", "switch", default=False)),
    "resume-half": (Target.BROKER, _MESSAGE),
    "resend-dead-letter": (
        Target.BROKER,
        _text("group"),
        _text("message"),
        Field("to", "choice", default=ResendTo.GROUP.value, allowed=tuple(to.value for to in ResendTo)),
        Field("anyway", "switch", default=False),
    ),
    "lock-switch": (
        Target.ANY_NODE,
        Field("lock", "choice", default=next(iter(SWITCHES)), allowed=tuple(SWITCHES)),
        Field("on", "switch", default=False),
    ),
    "free-record": (Target.NODE, _text("scope"), _text("key")),
    "forced-unlock": (Target.CONSUMER, Field("queue_id", "integer", 0, 1_023, default=0)),
    "hold": (Target.ACTOR, Field("ms", "integer", 1, MS_MAX)),
    "release": (Target.ACTOR,),
    "fire-timer": (Target.ACTOR, _DUE, _INDEX),
    "setting": (Target.NODE, _text("name"), Field("value", "any", 0, TEXT_MAX_LENGTH)),
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
    try:
        kind = read_tag("kind", commands, data, "command")
        values = read_fields((commands[kind].target_field, *commands[kind].fields), data, kind, also=("kind",))
    except FieldRefused as refused:
        raise CommandRefused(refused.text) from refused
    return Command(kind, values.pop("target"), values)
