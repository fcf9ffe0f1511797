"""The specification of a node: what all kinds have, and what several kinds share.

Each kind has a dataclass of its own, which has only the fields that its nodes use; see
:mod:`engine.lab.scenario.kinds.node_kind`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum, auto
from typing import Annotated, ClassVar

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


# Kinds combine several of these classes, which ``slots`` would not allow.
@dataclass(frozen=True)
class NodeSpec:
    """The specification of one node.

    :cvar role: name of its kind.
    :ivar settings: by our names, see :mod:`engine.lab.scenario.settings`.
    """

    role: ClassVar[str]
    system: ClassVar[System] = System.ROCKETMQ

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


@dataclass(frozen=True, kw_only=True)
class DiskNodeSpec(NodeSpec):
    """A node whose disk takes as long as the scenario says."""

    disk: Annotated[DiskSpec, part(parse_disk)] = field(default_factory=DiskSpec)

    @property
    def has_disk(self) -> bool:
        return True


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
