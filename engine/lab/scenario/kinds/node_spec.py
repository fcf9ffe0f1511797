"""The specification of a node: what all kinds have, and what several kinds share.

Each kind has a dataclass of its own, which has only the fields that its nodes use; see
:mod:`engine.lab.scenario.kinds.node_kind`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import Enum, auto
from typing import Annotated, Any, ClassVar, Literal, Self

from engine.lab.scenario.kinds.bank_spec import BankSpec
from engine.lab.scenario.kinds.disk import DiskSpec, parse_disk
from engine.lab.scenario.scenario_names import GroupName, Milliseconds
from engine.lab.scenario.spec_reader import part
from engine.lab.scenario.traffic_spec import TrafficSpec

#: A checked setting of a node: number, switch or text.
SettingValue = int | float | bool | str


class System(Enum):
    """The system that a node is part of."""

    #: Its nodes need a name server and a broker; see :mod:`engine.lab.scenario.scenario_text`.
    ROCKETMQ = auto()
    #: See :mod:`engine.kafka`.
    KAFKA = auto()
    #: A majority log alone, see :mod:`engine.replication.raft`.
    RAFT = auto()


#: The protocols whose steps :mod:`engine.lab.sweep.crash_points` examines: two-phase commit, transactional message,
#: work of a listener.
TWO_PHASE = "two-phase"
MESSAGE = "message"
WORK = "work"


# Kinds combine several of these classes, which ``slots`` would not allow.
@dataclass(frozen=True)
class NodeSpec:
    """The specification of one node, and all that other modules ask a node by its kind.

    :cvar role: name of its kind.
    :cvar is_server: whether random faults break its links, as others call it.
    :cvar must_run: whether the world is calm only while it runs.
    :cvar has_steps: whether a search may stop it between two steps, see :mod:`engine.runtime.step`.
    :cvar activity: what a comparison measures of it, see :mod:`engine.lab.sweep.client_figures`; empty: nothing.
    :cvar compared_fields: its fields that a comparison can vary, with their smallest and largest values.
    :cvar crash_steps: protocol -> labels of its steps after which a crash is examined.
    :cvar served_requests: the requests with which the work of a listener calls it.
    :ivar settings: by our names, see :mod:`engine.lab.scenario.settings`.
    """

    role: ClassVar[str]
    system: ClassVar[System] = System.ROCKETMQ
    is_server: ClassVar[bool] = False
    must_run: ClassVar[bool] = False
    has_steps: ClassVar[bool] = True
    activity: ClassVar[Literal["consuming", "sending", ""]] = ""
    compared_fields: ClassVar[Mapping[str, tuple[int, int]]] = {}
    crash_steps: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    served_requests: ClassVar[tuple[str, ...]] = ()

    name: str
    _: KW_ONLY
    settings: Mapping[str, SettingValue] = field(default_factory=dict)

    @property
    def life_ms(self) -> tuple[int, int | None]:
        """Return when its process starts, and when it stops; None: never."""
        return 0, None

    @property
    def topics(self) -> tuple[str, ...]:
        """Return the topics that the node names."""
        return ()

    @property
    def has_disk(self) -> bool:
        """Return whether commands for disks apply to it: it has a broker's store, or a bank's database."""
        return False

    @property
    def has_bank(self) -> bool:
        """Return whether it moves money."""
        return False

    @property
    def has_work(self) -> bool:
        """Return whether its listener does work that must be done exactly once."""
        return False

    @property
    def sends_in_transactions(self) -> bool:
        """Return whether it sends half messages."""
        return False

    @property
    def switches(self) -> tuple[str, ...]:
        """Return its switches, of :data:`engine.lab.scenario.switches.SWITCHES`."""
        return ()

    @property
    def begins_off(self) -> tuple[str, ...]:
        """Return its switches that are off from the beginning."""
        return ()

    @property
    def message_requests(self) -> tuple[str, ...]:
        """Return the requests to brokers with which its messages travel."""
        return ()

    @property
    def called_nodes(self) -> tuple[str, ...]:
        """Return the nodes that the work of its listener calls."""
        return ()

    @property
    def usual(self) -> Mapping[str, Mapping[str, int | str]]:
        """Return command -> its fields that restore what random faults may have changed with the same command."""
        return {}

    def accepts(self, key: str) -> bool:
        """Return whether its listener consumes a message with ``key`` the first time that it gets it."""
        return True

    def with_field(self, name: str, value: int) -> Self:
        """Return it with another value of one of ``compared_fields``. Raises
        :class:`~engine.lab.scenario.errors.SettingRefused`."""
        field_of_kind: dict[str, Any] = {name: value}
        return replace(self, **field_of_kind)

    def transaction_parts(self, *, has_half_messages: bool) -> tuple[str, ...]:
        """Return its parts (TC, TM, RM) in transactions of several nodes; half messages are such, if there are any."""
        return ()


@dataclass(frozen=True, kw_only=True)
class DiskNodeSpec(NodeSpec):
    """A node whose disk takes as long as the scenario says.

    :cvar flushes_slowly: whether random faults may slow its flushes.
    """

    flushes_slowly: ClassVar[bool] = False

    disk: Annotated[DiskSpec, part(parse_disk)] = field(default_factory=DiskSpec)

    @property
    def has_disk(self) -> bool:
        return True

    @property
    def usual(self) -> Mapping[str, Mapping[str, int | str]]:
        return {"slow-fsync": {"ms": self.disk.fsync_ms}} if self.flushes_slowly else {}


@dataclass(frozen=True, kw_only=True)
class ClientSpec(NodeSpec):
    """A client: an application that may start later than the servers.

    :ivar stop_ms: when it shuts down in order; None: never.
    """

    start_ms: Milliseconds = 0
    stop_ms: Milliseconds | None = None

    @property
    def life_ms(self) -> tuple[int, int | None]:
        return self.start_ms, self.stop_ms


@dataclass(frozen=True, kw_only=True)
class MemberSpec(ClientSpec):
    """A client that is a member of a group."""

    group: GroupName


@dataclass(frozen=True, kw_only=True)
class SendingSpec(ClientSpec):
    """A client that sends the scenario's traffic; empty for one that only exists."""

    traffic: tuple[TrafficSpec, ...] = ()

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(traffic.topic for traffic in self.traffic if traffic.topic)

    @property
    def message_requests(self) -> tuple[str, ...]:
        kinds = ["SEND_BATCH_MESSAGE" if traffic.batch > 1 else "SEND_MESSAGE_V2" for traffic in self.traffic]
        return (*dict.fromkeys(kinds), *(("END_TRANSACTION",) if self.sends_in_transactions else ()))


@dataclass(frozen=True, kw_only=True)
class BankNodeSpec(NodeSpec):
    """A node that may have a bank; None: it moves no money."""

    bank: BankSpec | None = None

    @property
    def has_disk(self) -> bool:
        return self.has_bank

    @property
    def has_bank(self) -> bool:
        return self.bank is not None
