"""The operations of the test kit's HTTP API: one table, from which the routes and the OpenAPI document are made.

Each operation carries out one method of :class:`engine.testkit.GlassMQ` or of its ``faults``, under the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.testkit import replies
from app.testkit.replies import Addresses, Done, FaultState, FaultStates, Groups, Lag, Locks, Messages, Released
from engine.faults.fault_rule import RULE_FIELDS, FaultAction
from engine.fields.field import Field
from engine.fields.refusal import FieldRefused
from engine.testkit.faults import Fault, Hold
from engine.testkit.glassmq import ADVANCE_MAX_MS, ADVANCE_TIMEOUT_S, SETTLE_S, TIMEOUT_S, GlassMQ
from engine.texts import Text

#: The checked parameters of a request, by name.
Read = Mapping[str, Any]

#: Seconds that one request waits at most; the kit's own methods have no limit.
_TIMEOUT_MAX_S = 600
#: The longest body that a selection of messages may have: RocketMQ's ``maxMessageSize``.
_BODY_MAX = 4 << 20
_NAME_MAX = 255
_COUNT_MAX = 1_000_000
#: The longest pause of :meth:`Faults.pause`, and its default.
_PAUSE_S = 600
_DAYS_MAX = ADVANCE_MAX_MS / 86_400_000

_TOPIC = Field("topic", "text", 1, _NAME_MAX)
_GROUP = Field("group", "text", 1, _NAME_MAX)
_COUNT = Field("count", "integer", 1, _COUNT_MAX, default=1)
_EXACT_COUNT = Field("count", "integer", 0, _COUNT_MAX, default=None)
_TIMEOUT = Field("timeout", "number", 0, _TIMEOUT_MAX_S, default=TIMEOUT_S)
_FRAME = Field("frame", "text", 0, _NAME_MAX, default="")
_FAULT_ID = Field("fault_id", "integer", 1)
_ON = Field("on", "switch", default=True)
#: Which messages are meant; without any of them, all.
_SELECTION = (
    *(Field(name, "text", 0, _NAME_MAX, default=None) for name in ("key", "tag")),
    Field("body", "text", 0, _BODY_MAX, default=None),
    Field("properties", "texts", 0, 100, default=None, each=32_767),
)
#: Without a default: what is not given is left to the kit.
_RULE = tuple(replace(one, default=None) for one in RULE_FIELDS)
_WHICH = tuple(one for one in _RULE if one.name not in ("ms", "code"))
#: Fields of a rule that only some actions have.
_ACTIONS_WITH = {"ms": (FaultAction.DELAY, FaultAction.ANSWER_LATE), "code": (FaultAction.REJECT,)}
_ADVANCE = (
    Field("days", "number", 0, _DAYS_MAX, default=0.0),
    Field("hours", "number", 0, _DAYS_MAX * 24, default=0.0),
    Field("minutes", "number", 0, _DAYS_MAX * 1_440, default=0.0),
    Field("seconds", "number", 0, _DAYS_MAX * 86_400, default=0.0),
    Field("liveness", "switch", default=False),
    Field("settle", "number", 0, ADVANCE_TIMEOUT_S, default=SETTLE_S),
)


class Contradiction(FieldRefused):
    """A parameter is not allowed together with another, or for this fault."""


class UnknownFault(Exception):
    """There is no rule with the given id."""


@dataclass(slots=True)
class TestSession:
    """The broker under an API, and the fault rules that its users have made since the last end of all faults."""

    __test__ = False  # pytest: it is not a class of tests

    kit: GlassMQ
    addresses: Addresses
    faults: dict[int, Fault] = field(default_factory=dict)

    def fault(self, read: Read) -> Fault:
        """Return the rule that a request names. Raises :class:`UnknownFault`."""
        found = self.faults.get(read["fault_id"])
        if found is None:
            raise UnknownFault(read["fault_id"])
        return found


Handler = Callable[[TestSession, Read], object]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    :ivar path: after ``/api/testkit``; ``{name}`` is a parameter, described by a field of ``parts``.
    :ivar fields: parameters in the query string of GET and DELETE, in the JSON body of POST.
    """

    method: str
    path: str
    summary: str
    reply: type
    handle: Handler
    fields: tuple[Field, ...] = ()
    parts: tuple[Field, ...] = ()

    @property
    def has_body(self) -> bool:
        """Return whether its parameters are in a body."""
        return self.method == "POST"


def _done(act: Callable[[TestSession, Read], object]) -> Handler:
    """Return a handler that carries out ``act`` and replies :class:`Done`."""

    def handle(session: TestSession, read: Read) -> Done:
        act(session, read)
        return Done()

    return handle


def _given(read: Read, *names: str) -> dict[str, Any]:
    """Return the parameters ``names`` that were given, or have a default."""
    return {name: read[name] for name in names if read[name] is not None}


def _selected(read: Read) -> dict[str, Any]:
    return {one.name: read[one.name] for one in _SELECTION}


# --- messages and groups ----------------------------------------------------------------------------------------------


def _wait_for(session: TestSession, read: Read) -> Messages:
    found = session.kit.wait_for(read["topic"], read["count"], read["timeout"], **_selected(read))
    return replies.messages(found)


def _assert_sent(session: TestSession, read: Read) -> Messages:
    return replies.messages(session.kit.assert_sent(read["topic"], count=read["count"], **_selected(read)))


def _assert_consumed(session: TestSession, read: Read) -> None:
    session.kit.assert_consumed(read["group"], read["topic"], timeout=read["timeout"], **_selected(read))


def _assert_dead_letter(session: TestSession, read: Read) -> Messages:
    wanted = {"count": read["count"], "timeout": read["timeout"], **_selected(read)}
    return replies.messages(session.kit.assert_dead_letter(read["group"], **wanted))


# --- faults and time --------------------------------------------------------------------------------------------------


def _add_fault(session: TestSession, read: Read) -> FaultState:
    what = FaultAction(read["what"])
    for name, actions in _ACTIONS_WITH.items():
        if read[name] is not None and what not in actions:
            raise Contradiction(name, Text("field.unknown"), f"what={', '.join(actions)}")
    given = _given(read, *(one.name for one in _RULE))
    if what in _ACTIONS_WITH["ms"]:
        given.setdefault("ms", next(one.default for one in RULE_FIELDS if one.name == "ms"))
    make = getattr(session.kit.faults, what.replace("-", "_"))
    fault: Fault = make(read["frame"], **given)
    session.faults[fault.rule.rule_id] = fault
    return replies.fault_state(fault)


def _wait_for_hits(session: TestSession, read: Read) -> FaultState:
    fault = session.fault(read)
    fault.wait(read["count"], read["timeout"])
    return replies.fault_state(fault)


def _hold(session: TestSession, read: Read) -> Hold:
    fault = session.fault(read)
    if not isinstance(fault, Hold):
        raise Contradiction("fault_id", Text("field.bad", value=read["fault_id"]), "what=hold")
    return fault


def _release(session: TestSession, read: Read) -> Released:
    return Released(_hold(session, read).release(read["count"]))


def _release_after(session: TestSession, read: Read) -> None:
    which = _given(read, *(one.name for one in _WHICH))
    _hold(session, read).release_after(read["frame"], read["timeout"], **which)


def _remove_fault(session: TestSession, read: Read) -> FaultState:
    fault = session.fault(read)
    state = replies.fault_state(fault)
    fault.remove()
    return state


def _end_faults(session: TestSession, read: Read) -> None:
    session.faults.clear()
    if read["unhit"] == "fail":
        session.kit.faults.end()
    else:
        session.kit.faults.clear()


def _reset(session: TestSession, _: Read) -> None:
    session.faults.clear()
    session.kit.reset()


def _advance(session: TestSession, read: Read) -> None:
    session.kit.advance(**read)


def _of_disk(condition: str) -> Handler:
    """Return a handler that sets a field of the disk's condition."""
    return _done(lambda session, read: session.kit.set_disk(condition, next(iter(read.values()))))


OPERATIONS: tuple[Operation, ...] = (
    Operation("GET", "/addresses", "Ports and addresses.", Addresses, lambda session, _: session.addresses),
    Operation(
        "POST",
        "/topics",
        "Create a topic.",
        Done,
        _done(lambda session, read: session.kit.create_topic(read["topic"], read["queues"])),
        (_TOPIC, Field("queues", "integer", 1, 1_024, default=4)),
    ),
    Operation(
        "GET",
        "/messages",
        "The messages of a topic.",
        Messages,
        lambda session, read: replies.messages(session.kit.messages(read["topic"])),
        (_TOPIC,),
    ),
    Operation(
        "POST",
        "/wait-for",
        "Wait until a topic has at least `count` such messages.",
        Messages,
        _wait_for,
        (_TOPIC, _COUNT, _TIMEOUT, *_SELECTION),
    ),
    Operation(
        "GET",
        "/lag",
        "How many messages a group has not confirmed.",
        Lag,
        lambda session, read: Lag(session.kit.lag(read["group"], read["topic"])),
        (_GROUP, replace(_TOPIC, default=None)),
    ),
    Operation(
        "GET",
        "/dead-letters",
        "The dead letters of a group.",
        Messages,
        lambda session, read: replies.messages(session.kit.dead_letters(read["group"])),
        (_GROUP,),
    ),
    Operation(
        "GET",
        "/half-messages",
        "The half messages of undecided transactions.",
        Messages,
        lambda session, _: replies.messages(session.kit.half_messages()),
    ),
    Operation(
        "GET",
        "/groups",
        "Members and subscriptions of all groups.",
        Groups,
        lambda session, _: replies.groups(session.kit.groups().values()),
    ),
    Operation(
        "GET",
        "/locks",
        "The queues that members of a group have locked.",
        Locks,
        lambda session, read: replies.locks(session.kit.locks(read["group"])),
        (_GROUP,),
    ),
    Operation(
        "POST",
        "/assert-sent",
        "Check that a topic has such messages now: at least one, or exactly `count`.",
        Messages,
        _assert_sent,
        (_TOPIC, _EXACT_COUNT, *_SELECTION),
    ),
    Operation(
        "POST",
        "/assert-consumed",
        "Check that a group has confirmed all such messages.",
        Done,
        _done(_assert_consumed),
        (_GROUP, _TOPIC, _TIMEOUT, *_SELECTION),
    ),
    Operation(
        "POST",
        "/assert-order",
        "Check that messages with these keys are in one queue, in this order.",
        Done,
        _done(lambda session, read: session.kit.assert_order(read["topic"], read["keys"])),
        (_TOPIC, Field("keys", "names", 2, 1_000, each=_NAME_MAX)),
    ),
    Operation(
        "POST",
        "/assert-dead-letter",
        "Check that a group has such a dead letter: at least one, or exactly `count`.",
        Messages,
        _assert_dead_letter,
        (_GROUP, _EXACT_COUNT, replace(_TIMEOUT, default=0.0), *_SELECTION),
    ),
    Operation(
        "GET",
        "/faults",
        "The fault rules and their hits.",
        FaultStates,
        lambda session, _: FaultStates([replies.fault_state(one) for one in [*session.faults.values()]]),
    ),
    Operation(
        "POST",
        "/faults",
        "Add a fault rule.",
        FaultState,
        _add_fault,
        (Field("what", "choice", allowed=tuple(action.value for action in FaultAction)), _FRAME, *_RULE),
    ),
    Operation(
        "DELETE",
        "/faults",
        "End all faults, as at the end of a test. A rule that acted on no frame is an error, unless `unhit` is ignore.",
        Done,
        _done(_end_faults),
        (Field("unhit", "choice", default="fail", allowed=("fail", "ignore")),),
    ),
    Operation(
        "GET",
        "/faults/{fault_id}",
        "A fault rule and its hits.",
        FaultState,
        lambda session, read: replies.fault_state(session.fault(read)),
        parts=(_FAULT_ID,),
    ),
    Operation(
        "DELETE",
        "/faults/{fault_id}",
        "End a fault rule; frames that it holds go on.",
        FaultState,
        _remove_fault,
        parts=(_FAULT_ID,),
    ),
    Operation(
        "POST",
        "/faults/{fault_id}/wait",
        "Wait until a rule has acted on `count` frames.",
        FaultState,
        _wait_for_hits,
        (_COUNT, _TIMEOUT),
        (_FAULT_ID,),
    ),
    Operation(
        "POST",
        "/faults/{fault_id}/release",
        "Let the oldest `count` held frames go on, or all.",
        Released,
        _release,
        (replace(_COUNT, default=None),),
        (_FAULT_ID,),
    ),
    Operation(
        "POST",
        "/faults/{fault_id}/release-after",
        "Wait until another such frame has passed; then release.",
        Done,
        _done(_release_after),
        (_FRAME, _TIMEOUT, *_WHICH),
        (_FAULT_ID,),
    ),
    Operation(
        "POST",
        "/crash",
        "Kill the broker: what it had in memory only is gone.",
        Done,
        _done(lambda session, _: session.kit.faults.crash()),
    ),
    Operation(
        "POST",
        "/restart",
        "Start the killed broker again on its files.",
        Done,
        _done(lambda session, _: session.kit.faults.restart()),
    ),
    Operation("POST", "/full-disk", "Fill the broker's disk, or end that.", Done, _of_disk("is_full"), (_ON,)),
    Operation(
        "POST",
        "/fail-fsync",
        "Let each flush fail, or end that. A broker that has seen one accepts nothing until a restart.",
        Done,
        _of_disk("flushes_fail"),
        (_ON,),
    ),
    Operation(
        "POST",
        "/slow-fsync",
        "Let each flush take `ms`; 0 ends that.",
        Done,
        _of_disk("flush_ms"),
        (Field("ms", "integer", 0, 60_000),),
    ),
    Operation(
        "POST",
        "/pause",
        "Let broker and name server get no processor time.",
        Done,
        _done(lambda session, read: session.kit.faults.pause(read["seconds"])),
        (Field("seconds", "number", 0.001, _PAUSE_S, default=float(_PAUSE_S)),),
    ),
    Operation("POST", "/resume", "End a pause.", Done, _done(lambda session, _: session.kit.resume())),
    Operation(
        "POST", "/advance", "Set the broker's clock ahead, by 1 ms to 366 days.", Done, _done(_advance), _ADVANCE
    ),
    Operation(
        "POST",
        "/reset",
        "Replace the broker by an empty one at the same addresses, without faults and with the real time.",
        Done,
        _done(_reset),
    ),
)
