"""The requests of the test kit's HTTP API, and the tables by which the reader of outside input checks them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import NODEFAULT, Meta, Struct
from msgspec import inspect as types

from engine.faults.fault_rule import MS_MAX, FaultAction
from engine.fields.field import EXACT_MAX, Field
from engine.protocol.response_code import ResponseCode
from engine.testkit.faults import Which
from engine.testkit.glassmq import ADVANCE_MAX_MS, ADVANCE_TIMEOUT_S, SETTLE_S, TIMEOUT_S

#: Seconds that one request waits at most; the kit's own methods have no limit.
_TIMEOUT_MAX_S = 600
#: The longest pause of :meth:`Faults.pause`, and its default.
_PAUSE_S = 600.0
_DAYS_MAX = ADVANCE_MAX_MS / 86_400_000

Name = Annotated[str, Meta(min_length=1, max_length=255)]
ShortText = Annotated[str, Meta(max_length=255)]
#: The longest body is RocketMQ's ``maxMessageSize``, the longest properties are those of its record.
Body = Annotated[str, Meta(max_length=4 << 20)]
PropertyName = Annotated[str, Meta(min_length=1, max_length=32_767)]
PropertyValue = Annotated[str, Meta(max_length=32_767)]
Properties = Annotated[dict[PropertyName, PropertyValue], Meta(max_length=100)]
Pattern = Annotated[str, Meta(max_length=255, pattern=r"^[^*]*\*?$")]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
ExactCount = Annotated[int, Meta(ge=0, le=1_000_000)]
Timeout = Annotated[float, Meta(ge=0, le=_TIMEOUT_MAX_S)]
FaultId = Annotated[int, Meta(ge=1, le=EXACT_MAX)]
Milliseconds = Annotated[int, Meta(ge=0, le=MS_MAX)]
if TYPE_CHECKING:
    CodeName = str
else:
    CodeName = Literal[tuple(ResponseCode.__members__)]


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """A request. What is null counts as absent."""


class OfTopic(Request, frozen=True):
    """A request about a topic."""

    topic: Name


class OfGroup(Request, frozen=True):
    """A request about a group."""

    group: Name


class CreateTopic(OfTopic, frozen=True):
    """A new topic."""

    queues: Annotated[int, Meta(ge=1, le=1_024)] = 4


class LagOf(OfGroup, frozen=True):
    """The lag of a group: in one topic, or in all that it subscribes."""

    topic: Name | None = None


class Selecting(Request, frozen=True):
    """Which messages are meant; without any field, all."""

    key: ShortText | None = None
    tag: ShortText | None = None
    body: Body | None = None
    properties: Properties | None = None

    @property
    def selection(self) -> dict[str, Any]:
        """Return what the kit's methods take."""
        return {"key": self.key, "tag": self.tag, "body": self.body, "properties": self.properties}


class WaitFor(Selecting, frozen=True, kw_only=True):
    """Messages to wait for."""

    topic: Name
    count: Count = 1
    timeout: Timeout = TIMEOUT_S


class AssertSent(Selecting, frozen=True, kw_only=True):
    """Messages that a topic must have."""

    topic: Name
    count: ExactCount | None = None


class AssertConsumed(Selecting, frozen=True, kw_only=True):
    """Messages that a group must have confirmed."""

    group: Name
    topic: Name
    timeout: Timeout = TIMEOUT_S


class AssertOrder(OfTopic, frozen=True):
    """Keys of messages, in their order."""

    keys: Annotated[tuple[Name, ...], Meta(min_length=2, max_length=1_000)]


class AssertDeadLetter(Selecting, frozen=True, kw_only=True):
    """Dead letters that a group must have."""

    group: Name
    count: ExactCount | None = None
    timeout: Timeout = 0.0


class OfFault(Request, frozen=True):
    """A request about a fault rule."""

    fault_id: FaultId


class Matching(Request, frozen=True):
    """The frames of a rule, and how many of them; what is absent is left to the kit."""

    frame: ShortText = ""
    direction: Literal["", "in", "out"] | None = None
    client: Pattern | None = None
    topic: Pattern | None = None
    group: Pattern | None = None
    key: Pattern | None = None
    times: ExactCount | None = None
    every: Count | None = None
    ratio: Annotated[float, Meta(ge=0, le=1)] | None = None
    seed: Annotated[int, Meta(ge=0, le=1 << 53)] | None = None
    for_ms: Milliseconds | None = None

    @property
    def which(self) -> dict[str, Any]:
        """Return what the kit's methods take."""
        given = {name: getattr(self, name) for name in Which.__annotations__}
        return {name: value for name, value in given.items() if value is not None}


class AddFault(Matching, frozen=True, kw_only=True):
    """A fault rule: an action, and its frames."""

    what: FaultAction
    ms: Annotated[int, Meta(ge=1, le=MS_MAX)] | None = None
    code: CodeName | None = None


class EndFaults(Request, frozen=True):
    """What a rule that acted on no frame means."""

    unhit: Literal["fail", "ignore"] = "fail"


class WaitForHits(OfFault, frozen=True):
    """The number of frames to wait for."""

    count: Count = 1
    timeout: Timeout = TIMEOUT_S


class Release(OfFault, frozen=True):
    """The number of held frames to release."""

    count: Count | None = None


class ReleaseAfter(Matching, frozen=True, kw_only=True):
    """The frame to wait for."""

    fault_id: FaultId
    timeout: Timeout = TIMEOUT_S


class Switch(Request, frozen=True):
    """Whether a fault begins or ends."""

    on: bool = True


class SlowFsync(Request, frozen=True):
    """How long each flush takes."""

    ms: Annotated[int, Meta(ge=0, le=60_000)]


class Pause(Request, frozen=True):
    """How long a pause lasts at most."""

    seconds: Annotated[float, Meta(ge=0.001, le=_PAUSE_S)] = _PAUSE_S


class Advance(Request, frozen=True):
    """How far the clock is set ahead."""

    days: Annotated[float, Meta(ge=0, le=_DAYS_MAX)] = 0.0
    hours: Annotated[float, Meta(ge=0, le=_DAYS_MAX * 24)] = 0.0
    minutes: Annotated[float, Meta(ge=0, le=_DAYS_MAX * 1_440)] = 0.0
    seconds: Annotated[float, Meta(ge=0, le=_DAYS_MAX * 86_400)] = 0.0
    liveness: bool = False
    settle: Annotated[float, Meta(ge=0, le=ADVANCE_TIMEOUT_S)] = SETTLE_S


@cache
def fields_of(request: type[Request]) -> tuple[Field, ...]:
    """Return the table of a request's fields: its refusals are bilingual, as those of all outside input."""
    described = types.type_info(request)
    assert isinstance(described, types.StructType)
    return tuple(
        Field(one.name, default=... if one.default is NODEFAULT else one.default, **_what_it_may_be(one.type))
        for one in described.fields
    )


def _what_it_may_be(described: types.Type) -> dict[str, Any]:
    """Return kind and bounds of a field that has this type."""
    match described:
        case types.UnionType(types=(one, types.NoneType())):
            return _what_it_may_be(one)
        case types.LiteralType(values=values):
            return {"kind": "choice", "allowed": values}
        case types.EnumType(cls=cls):
            return {"kind": "choice", "allowed": tuple(cls)}
        case types.BoolType():
            return {"kind": "switch"}
        case types.IntType(ge=low, le=high):
            return {"kind": "integer", "low": low, "high": high}
        case types.FloatType(ge=low, le=high):
            return {"kind": "number", "low": low, "high": high}
        case types.StrType(min_length=low, max_length=high, pattern=pattern):
            return {"kind": "pattern" if pattern else "text", "low": low or 0, "high": high}
        case types.VarTupleType(types.StrType(max_length=each), low, high):
            return {"kind": "names", "low": low, "high": high, "each": each}
        case types.DictType(_, types.StrType(max_length=each), low, high):
            return {"kind": "texts", "low": low or 0, "high": high, "each": each}
        case _:
            raise AssertionError(f"no request has a field of type {described}")
