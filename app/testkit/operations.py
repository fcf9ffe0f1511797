"""The operations of the test kit's HTTP API: one table, from which the routes and the OpenAPI document are made.

Each operation carries out one method of :class:`engine.testkit.GlassMQ` or of its ``faults``, under the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from msgspec.structs import asdict

from app.testkit import replies, requests
from app.testkit.replies import (
    Addresses,
    Done,
    FaultState,
    FaultStates,
    Groups,
    Lag,
    Locks,
    Messages,
    Released,
    Reply,
)
from app.testkit.requests import OfFault, OfGroup, OfTopic, Request, fields_of
from engine.faults.fault_rule import RULE_FIELDS, FaultAction
from engine.fields.field import Field
from engine.fields.refusal import FieldRefused
from engine.testkit.faults import Fault, Hold
from engine.testkit.glassmq import GlassMQ
from engine.texts import Text

RequestT = TypeVar("RequestT", bound=Request)
ReplyT = TypeVar("ReplyT", bound=Reply)

#: Fields of a rule that only some actions have.
_ACTIONS_WITH = {"ms": (FaultAction.DELAY, FaultAction.ANSWER_LATE), "code": (FaultAction.REJECT,)}


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

    def fault(self, fault_id: int) -> Fault:
        """Return a rule. Raises :class:`UnknownFault`."""
        found = self.faults.get(fault_id)
        if found is None:
            raise UnknownFault(fault_id)
        return found


@dataclass(frozen=True, slots=True)
class Operation(Generic[RequestT, ReplyT]):
    """One operation.

    :ivar path: after ``/api/testkit``; ``{name}`` stands for a field of the request. Its other fields are in the query
        string of GET and DELETE, and in the JSON body of POST.
    """

    method: str
    path: str
    summary: str
    request: type[RequestT]
    reply: type[ReplyT]
    handle: Callable[[TestSession, RequestT], ReplyT]

    @property
    def has_body(self) -> bool:
        """Return whether its parameters are in a body."""
        return self.method == "POST"

    @property
    def parts(self) -> tuple[Field, ...]:
        """Return the fields in the path."""
        return tuple(one for one in fields_of(self.request) if f"{{{one.name}}}" in self.path)

    @property
    def fields(self) -> tuple[Field, ...]:
        """Return the fields in query string or body."""
        return tuple(one for one in fields_of(self.request) if f"{{{one.name}}}" not in self.path)


AnyOperation = Operation[Any, Any]


def _action(
    path: str,
    summary: str,
    request: type[RequestT],
    act: Callable[[TestSession, RequestT], object],
    *,
    method: str = "POST",
) -> Operation[RequestT, Done]:
    """Return an operation that carries out ``act`` and replies :class:`Done`."""

    def handle(session: TestSession, request: RequestT) -> Done:
        act(session, request)
        return Done()

    return Operation(method, path, summary, request, Done, handle)


# --- messages and groups ----------------------------------------------------------------------------------------------


def _wait_for(session: TestSession, request: requests.WaitFor) -> Messages:
    found = session.kit.wait_for(request.topic, request.count, request.timeout, **request.selection)
    return replies.messages(found)


def _assert_sent(session: TestSession, request: requests.AssertSent) -> Messages:
    return replies.messages(session.kit.assert_sent(request.topic, count=request.count, **request.selection))


def _assert_consumed(session: TestSession, request: requests.AssertConsumed) -> None:
    session.kit.assert_consumed(request.group, request.topic, timeout=request.timeout, **request.selection)


def _assert_dead_letter(session: TestSession, request: requests.AssertDeadLetter) -> Messages:
    wanted = {"count": request.count, "timeout": request.timeout, **request.selection}
    return replies.messages(session.kit.assert_dead_letter(request.group, **wanted))


# --- faults and time --------------------------------------------------------------------------------------------------


def _add_fault(session: TestSession, request: requests.AddFault) -> FaultState:
    given = request.which
    for name, actions in _ACTIONS_WITH.items():
        if getattr(request, name) is not None:
            if request.what not in actions:
                raise Contradiction(name, Text("field.unknown"), f"what={', '.join(actions)}")
            given[name] = getattr(request, name)
    if request.what in _ACTIONS_WITH["ms"]:
        given.setdefault("ms", next(one.default for one in RULE_FIELDS if one.name == "ms"))
    make = getattr(session.kit.faults, request.what.replace("-", "_"))
    fault: Fault = make(request.frame, **given)
    session.faults[fault.rule.rule_id] = fault
    return replies.fault_state(fault)


def _wait_for_hits(session: TestSession, request: requests.WaitForHits) -> FaultState:
    fault = session.fault(request.fault_id)
    fault.wait(request.count, request.timeout)
    return replies.fault_state(fault)


def _hold(session: TestSession, fault_id: int) -> Hold:
    fault = session.fault(fault_id)
    if not isinstance(fault, Hold):
        raise Contradiction("fault_id", Text("field.bad", value=fault_id), "what=hold")
    return fault


def _release_after(session: TestSession, request: requests.ReleaseAfter) -> None:
    _hold(session, request.fault_id).release_after(request.frame, request.timeout, **request.which)


def _remove_fault(session: TestSession, request: OfFault) -> FaultState:
    fault = session.fault(request.fault_id)
    state = replies.fault_state(fault)
    fault.remove()
    return state


def _end_faults(session: TestSession, request: requests.EndFaults) -> None:
    session.faults.clear()
    if request.unhit == "fail":
        session.kit.faults.end()
    else:
        session.kit.faults.clear()


def _reset(session: TestSession, _: Request) -> None:
    session.faults.clear()
    session.kit.reset()


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation("GET", "/addresses", "Ports and addresses.", Request, Addresses, lambda session, _: session.addresses),
    _action(
        "/topics",
        "Create a topic.",
        requests.CreateTopic,
        lambda session, request: session.kit.create_topic(request.topic, request.queues),
    ),
    Operation(
        "GET",
        "/messages",
        "The messages of a topic.",
        OfTopic,
        Messages,
        lambda session, request: replies.messages(session.kit.messages(request.topic)),
    ),
    Operation(
        "POST",
        "/wait-for",
        "Wait until a topic has at least `count` such messages.",
        requests.WaitFor,
        Messages,
        _wait_for,
    ),
    Operation(
        "GET",
        "/lag",
        "How many messages a group has not confirmed.",
        requests.LagOf,
        Lag,
        lambda session, request: Lag(session.kit.lag(request.group, request.topic)),
    ),
    Operation(
        "GET",
        "/dead-letters",
        "The dead letters of a group.",
        OfGroup,
        Messages,
        lambda session, request: replies.messages(session.kit.dead_letters(request.group)),
    ),
    Operation(
        "GET",
        "/half-messages",
        "The half messages of undecided transactions.",
        Request,
        Messages,
        lambda session, _: replies.messages(session.kit.half_messages()),
    ),
    Operation(
        "GET",
        "/groups",
        "Members and subscriptions of all groups.",
        Request,
        Groups,
        lambda session, _: replies.groups(session.kit.groups().values()),
    ),
    Operation(
        "GET",
        "/locks",
        "The queues that members of a group have locked.",
        OfGroup,
        Locks,
        lambda session, request: replies.locks(session.kit.locks(request.group)),
    ),
    Operation(
        "POST",
        "/assert-sent",
        "Check that a topic has such messages now: at least one, or exactly `count`.",
        requests.AssertSent,
        Messages,
        _assert_sent,
    ),
    _action(
        "/assert-consumed",
        "Check that a group has confirmed all such messages.",
        requests.AssertConsumed,
        _assert_consumed,
    ),
    _action(
        "/assert-order",
        "Check that messages with these keys are in one queue, in this order.",
        requests.AssertOrder,
        lambda session, request: session.kit.assert_order(request.topic, request.keys),
    ),
    Operation(
        "POST",
        "/assert-dead-letter",
        "Check that a group has such a dead letter: at least one, or exactly `count`.",
        requests.AssertDeadLetter,
        Messages,
        _assert_dead_letter,
    ),
    Operation(
        "GET",
        "/faults",
        "The fault rules and their hits.",
        Request,
        FaultStates,
        lambda session, _: FaultStates([replies.fault_state(one) for one in [*session.faults.values()]]),
    ),
    Operation("POST", "/faults", "Add a fault rule.", requests.AddFault, FaultState, _add_fault),
    _action(
        "/faults",
        "End all faults, as at the end of a test. A rule that acted on no frame is an error, unless `unhit` is ignore.",
        requests.EndFaults,
        _end_faults,
        method="DELETE",
    ),
    Operation(
        "GET",
        "/faults/{fault_id}",
        "A fault rule and its hits.",
        OfFault,
        FaultState,
        lambda session, request: replies.fault_state(session.fault(request.fault_id)),
    ),
    Operation(
        "DELETE",
        "/faults/{fault_id}",
        "End a fault rule; frames that it holds go on.",
        OfFault,
        FaultState,
        _remove_fault,
    ),
    Operation(
        "POST",
        "/faults/{fault_id}/wait",
        "Wait until a rule has acted on `count` frames.",
        requests.WaitForHits,
        FaultState,
        _wait_for_hits,
    ),
    Operation(
        "POST",
        "/faults/{fault_id}/release",
        "Let the oldest `count` held frames go on, or all.",
        requests.Release,
        Released,
        lambda session, request: Released(_hold(session, request.fault_id).release(request.count)),
    ),
    _action(
        "/faults/{fault_id}/release-after",
        "Wait until another such frame has passed; then release.",
        requests.ReleaseAfter,
        _release_after,
    ),
    _action(
        "/crash",
        "Kill the broker: what it had in memory only is gone.",
        Request,
        lambda session, _: session.kit.faults.crash(),
    ),
    _action(
        "/restart",
        "Start the killed broker again on its files.",
        Request,
        lambda session, _: session.kit.faults.restart(),
    ),
    _action(
        "/full-disk",
        "Fill the broker's disk, or end that.",
        requests.Switch,
        lambda session, request: session.kit.set_disk("is_full", request.on),
    ),
    _action(
        "/fail-fsync",
        "Let each flush fail, or end that. A broker that has seen one accepts nothing until a restart.",
        requests.Switch,
        lambda session, request: session.kit.set_disk("flushes_fail", request.on),
    ),
    _action(
        "/slow-fsync",
        "Let each flush take `ms`; 0 ends that.",
        requests.SlowFsync,
        lambda session, request: session.kit.set_disk("flush_ms", request.ms),
    ),
    _action(
        "/pause",
        "Let broker and name server get no processor time.",
        requests.Pause,
        lambda session, request: session.kit.faults.pause(request.seconds),
    ),
    _action("/resume", "End a pause.", Request, lambda session, _: session.kit.resume()),
    _action(
        "/advance",
        "Set the broker's clock ahead, by 1 ms to 366 days.",
        requests.Advance,
        lambda session, request: session.kit.advance(**asdict(request)),
    ),
    _action(
        "/reset",
        "Replace the broker by an empty one at the same addresses, without faults and with the real time.",
        Request,
        _reset,
    ),
)
