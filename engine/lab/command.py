"""All that a person can do to a world: a table of the kinds of commands, by which they are parsed.

:func:`parse_command` makes a :class:`~engine.lab.scenario.Command` of what a browser or a file says;
:mod:`engine.lab.faults` carries it out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from engine.broker.dead_letter import ResendTo
from engine.lab.errors import CommandRefused
from engine.lab.frame_names import REPLY
from engine.lab.listener_spec import ListenerResult
from engine.lab.scenario import Command, CommandValue
from engine.lab.scenario_names import DELAY_LEVEL_MAX
from engine.lab.switches import SWITCHES
from engine.protocol.request_code import RequestCode
from engine.texts import Text
from engine.xa.request_codes import XaRequestCode

#: No fault needs to last longer than a day.
MS_MAX = 86_400_000
TEXT_MAX_LENGTH = 200

#: What ``drop-next`` and its like can wait for.
_REQUESTS = (*(code.name for code in RequestCode), *(code.name for code in XaRequestCode))
FRAME_NAMES = ("", REPLY, *_REQUESTS, *(f"{REPLY} to {name}" for name in _REQUESTS))


class Target(StrEnum):
    """What a command acts on."""

    NODE = "node"
    BROKER = "broker"
    CONSUMER = "consumer"
    #: One that has something on a disk: a broker, a bank.
    DISK = "broker or bank"
    #: A name that no node has yet.
    NEW_NODE = "new node"
    #: ``P1->B1`` for one direction, ``P1<->B1`` for both.
    LINK = "link"
    #: A link, or nothing for any.
    ANY_LINK = "link or nothing"
    #: A node, or nothing for all that it concerns.
    ANY_NODE = "node or nothing"
    ACTOR = "actor"
    TOPIC = "topic"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class CommandField:
    """One field of a kind. ``kind``: ``integer``, ``number``, ``switch``, ``choice``, ``text``, ``names`` or ``any``.

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
    """One line of the table. ``name`` and ``what`` are for people, by language."""

    target: Target
    fields: tuple[CommandField, ...]
    name: Mapping[str, str]
    what: Mapping[str, str]


def _kind(target: Target, name: tuple[str, str], what: tuple[str, str], *fields: CommandField) -> CommandKind:
    return CommandKind(target, fields, {"en": name[0], "zh": name[1]}, {"en": what[0], "zh": what[1]})


_FRAME = CommandField("frame", "choice", "", allowed=FRAME_NAMES)
_RATIO = CommandField("ratio", "number", low=0, high=1)
#: Unique id or key: what a half message keeps when it is stored again.
_MESSAGE = CommandField("message", "text")

COMMANDS: Mapping[str, CommandKind] = {
    "crash": _kind(
        Target.NODE,
        ("Crash", "崩溃"),
        (
            "The process is killed. What it wrote stays in the page cache and survives.",
            "进程被杀死；已写入页缓存的数据仍在。",
        ),
    ),
    "crash-power": _kind(
        Target.NODE,
        ("Power cut", "断电"),
        (
            "The machine loses power: only what was flushed survives, and nobody is told.",
            "机器断电：只有已刷盘的数据保留，对端得不到任何通知。",
        ),
        CommandField("torn", "switch", False),
    ),
    "torn-write": _kind(
        Target.BROKER,
        ("Power cut with torn writes", "断电并撕裂写入"),
        (
            "The power goes while the disk writes: chance parts of unflushed pages reach it.",
            "写盘途中断电：未刷盘的页有一部分随机落盘。",
        ),
    ),
    "restart": _kind(
        Target.NODE,
        ("Restart", "重启"),
        ("A new process on the files that the last one left.", "在上一个进程留下的文件上启动新进程。"),
    ),
    "pause-node": _kind(
        Target.NODE,
        ("Pause (long GC)", "暂停（长时间 GC）"),
        (
            "Nothing of the node runs; its timers pile up. Others see only silence.",
            "节点上什么也不运行，定时器堆积；别人只看到沉默。",
        ),
    ),
    "resume-node": _kind(
        Target.NODE, ("Resume", "恢复"), ("The pause ends; what piled up runs.", "暂停结束，堆积的事件开始运行。")
    ),
    "clock-skew": _kind(
        Target.NODE,
        ("Clock skew", "时钟偏移"),
        ("The node's wall clock is so far ahead (or behind).", "节点的时钟快（或慢）这么多。"),
        CommandField("ms", "integer", low=-MS_MAX),
    ),
    "partition": _kind(
        Target.NOTHING,
        ("Partition", "网络分区"),
        (
            "Nothing passes between the two sides; one_way: only from left to right nothing does.",
            "两侧之间什么也传不过去；one_way：只有从左到右不通。",
        ),
        CommandField("left", "names"),
        CommandField("right", "names"),
        CommandField("one_way", "switch", False),
    ),
    "heal": _kind(
        Target.NOTHING,
        ("Heal all links", "恢复所有链路"),
        ("No partition, delay, loss, duplicate or reorder is left.", "取消所有分区、延迟、丢失、重复和乱序。"),
    ),
    "link-delay": _kind(
        Target.LINK,
        ("Slow link", "链路变慢"),
        ("Everything takes so much longer; 0 ends it.", "所有内容多花这么长时间；0 表示取消。"),
        CommandField("ms", "integer"),
    ),
    "link-loss": _kind(
        Target.LINK,
        ("Lossy link", "链路丢帧"),
        ("This share of the frames is lost; 0 ends it.", "按此比例丢失帧；0 表示取消。"),
        _RATIO,
    ),
    "link-duplicate": _kind(
        Target.LINK,
        ("Doubling link", "链路重复"),
        ("This share of the frames arrives twice; 0 ends it.", "按此比例的帧到达两次；0 表示取消。"),
        _RATIO,
    ),
    "link-reorder": _kind(
        Target.LINK,
        ("Shuffling link", "链路乱序"),
        ("This share of the frames is overtaken by later ones; 0 ends it.", "按此比例的帧被后面的帧超过；0 表示取消。"),
        _RATIO,
    ),
    "drop-next": _kind(
        Target.ANY_LINK,
        ("Drop the next frame", "丢弃下一帧"),
        ("The next frame of this name is lost.", "下一个该名称的帧丢失。"),
        _FRAME,
    ),
    "delay-next": _kind(
        Target.ANY_LINK,
        ("Delay the next frame", "延迟下一帧"),
        ("The next frame of this name, and all behind it, come later.", "下一个该名称的帧及其后的帧都晚到。"),
        _FRAME,
        CommandField("ms", "integer", 1_000, low=1),
    ),
    "duplicate-next": _kind(
        Target.ANY_LINK,
        ("Double the next frame", "重复下一帧"),
        ("The next frame of this name arrives twice.", "下一个该名称的帧到达两次。"),
        _FRAME,
    ),
    "disk-full": _kind(
        Target.DISK,
        ("Disk full", "磁盘写满"),
        ("Somebody else fills the disk to the last byte.", "别的程序把磁盘写到一个字节不剩。"),
    ),
    "disk-free": _kind(Target.DISK, ("Free the disk", "释放磁盘"), ("There is room again.", "磁盘重新有空间。")),
    "slow-fsync": _kind(
        Target.BROKER,
        ("Slow flush", "刷盘变慢"),
        ("Each flush takes so long.", "每次刷盘要花这么长时间。"),
        CommandField("ms", "integer"),
    ),
    "listener": _kind(
        Target.CONSUMER,
        ("Listener behaviour", "监听器行为"),
        (
            "How calls end from now on; delay_level: when what fails comes again, -1: never, it is a dead letter.",
            "从现在起，调用如何结束；delay_level：失败的消息何时再来，-1 表示不再来，直接成为死信。",
        ),
        CommandField("result", "choice", "success", allowed=tuple(result.value for result in ListenerResult)),
        CommandField("duration_ms", "integer", 10),
        CommandField("delay_level", "integer", 0, low=-1, high=DELAY_LEVEL_MAX),
    ),
    "kill-consumer": _kind(
        Target.CONSUMER,
        ("Kill the consumer", "杀死消费者"),
        ("The process is killed: nothing is committed, nobody says goodbye.", "进程被杀死：不提交进度，也不告别。"),
    ),
    "stop-consumer": _kind(
        Target.CONSUMER,
        ("Stop the consumer", "停止消费者"),
        ("An orderly shutdown: it commits its progress and leaves the group.", "正常关闭：提交进度并离开消费组。"),
    ),
    "start-consumer": _kind(
        Target.CONSUMER,
        ("Start the consumer", "启动消费者"),
        ("The process starts again, after a stop or a crash.", "停止或崩溃后重新启动进程。"),
    ),
    "add-consumer": _kind(
        Target.NEW_NODE,
        ("Add a consumer", "增加消费者"),
        ("A further member of the group joins, like an existing one.", "仿照已有成员，消费组增加一个成员。"),
        CommandField("like", "text"),
    ),
    "queue-count": _kind(
        Target.TOPIC,
        ("Change the number of queues", "修改队列数"),
        ("An administrator changes the topic on every broker.", "管理员在所有 Broker 上修改该主题。"),
        CommandField("n", "integer", low=1, high=64),
    ),
    "commit-half": _kind(
        Target.BROKER,
        ("Commit a half message", "提交半消息"),
        (
            "An administrator commits it: consumers get the message, whatever the local transaction did.",
            "管理员提交它：不管本地事务结果如何，消费者都会收到这条消息。",
        ),
        _MESSAGE,
        CommandField("anyway", "switch", False),
    ),
    "rollback-half": _kind(
        Target.BROKER,
        ("Roll a half message back", "回滚半消息"),
        (
            "An administrator rolls it back: nobody gets the message, whatever the local transaction did.",
            "管理员回滚它：不管本地事务结果如何，谁也不会收到这条消息。",
        ),
        _MESSAGE,
        CommandField("anyway", "switch", False),
    ),
    "resume-half": _kind(
        Target.BROKER,
        ("Have a message checked again", "让消息重新接受回查"),
        (
            "A message that was given up becomes a half message again, with no checks counted.",
            "被放弃的消息重新成为半消息，回查计数归零。",
        ),
        _MESSAGE,
    ),
    "resend-dead-letter": _kind(
        Target.BROKER,
        ("Resend a dead letter", "重发死信"),
        (
            "It is sent anew: to the group that failed, or to its first topic and so to all groups. The old one stays.",
            "管理员把它重新发送一次：只发给失败的消费组，或发回原主题（所有订阅组都会收到）；死信本身仍留在原处。",
        ),
        CommandField("group", "text"),
        CommandField("message", "text"),
        CommandField("to", "choice", ResendTo.GROUP.value, allowed=tuple(to.value for to in ResendTo)),
        CommandField("anyway", "switch", False),
    ),
    "lock-switch": _kind(
        Target.ANY_NODE,
        ("Switch a lock", "开关锁"),
        (
            "One of the locks of ordered consumption lets everybody in, or a bank credits again what it has credited.",
            "顺序消费的某一把锁不再阻拦任何人，或银行对已入账的转账再次入账；也可以恢复。",
        ),
        CommandField("lock", "choice", next(iter(SWITCHES)), allowed=tuple(SWITCHES)),
        CommandField("on", "switch", False),
    ),
    "forced-unlock": _kind(
        Target.CONSUMER,
        ("Forced unlock", "强制解锁"),
        (
            "The consumer gives the queue up at once, whether or not its listener runs, and takes it over anew.",
            "消费者立即放弃该队列（不管监听器是否在运行），随后重新接管。",
        ),
        CommandField("queue_id", "integer", 0, high=1_023),
    ),
    "hold": _kind(
        Target.ACTOR,
        ("Hold", "按住"),
        ("This one task (or link) does not run for so long.", "这一个任务（或链路）在这段时间内不运行。"),
        CommandField("ms", "integer", low=1),
    ),
    "release": _kind(Target.ACTOR, ("Release", "放开"), ("The hold ends.", "取消按住。")),
    "setting": _kind(
        Target.NODE,
        ("Change a setting", "修改配置"),
        ("Counts from the next start of the process.", "从进程下次启动起生效。"),
        CommandField("name", "text"),
        CommandField("value", "any"),
    ),
}


def parse_command(data: object) -> Command:
    """The command that a browser or a file describes: ``{"kind": ..., "target": ..., <fields>}``.

    Raises :class:`CommandRefused`, which names the field and what is allowed. Whether its target exists only the world
    can tell.
    """
    if not isinstance(data, Mapping):
        raise CommandRefused("refusal.no_command_object", data=data)
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in COMMANDS:
        raise CommandRefused("refusal.no_command", kind=kind, known=", ".join(COMMANDS))
    spec = COMMANDS[kind]
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
    """``value`` checked, or the default. Raises :class:`CommandRefused`."""
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
    "names": _names,
    "any": _any,
}
