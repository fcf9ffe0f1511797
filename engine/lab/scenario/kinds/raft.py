"""Peers and clients of a Raft group in a scenario, see :mod:`engine.replication.raft`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from engine.lab.scenario.kinds.node_kind import TRAFFIC_MAX, NodeKind
from engine.lab.scenario.kinds.node_spec import DiskNodeSpec, SendingSpec, System
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_traffic import parse_commands
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.spec_reader import Named, parts
from engine.lab.scenario.traffic_spec import TrafficSpec
from engine.replication.raft.raft_commands import RaftClientConfig
from engine.replication.raft.raft_rules import RaftConfig, RaftRules


@dataclass(frozen=True, kw_only=True)
class RaftPeerSpec(DiskNodeSpec):
    """A peer. ``is_voter``: whether it is of the group from the beginning."""

    role: ClassVar[str] = "raft_peer"
    system: ClassVar[System] = System.RAFT
    is_server = True
    flushes_slowly = True

    is_voter: Annotated[bool, Named("voter")] = True


@dataclass(frozen=True, kw_only=True)
class RaftClientSpec(SendingSpec):
    """A client, whose traffic are commands."""

    role: ClassVar[str] = "raft_client"
    system: ClassVar[System] = System.RAFT

    traffic: Annotated[tuple[TrafficSpec, ...], parts(parse_commands, TRAFFIC_MAX)] = ()


def _check_group(nodes: Section, scenario: Scenario) -> None:
    """Check that clients and peers have a group."""
    peers = scenario.of_kind(RaftPeerSpec)
    if any(peer.is_voter for peer in peers):
        return
    for node in (*peers, *scenario.of_kind(RaftClientSpec)):
        raise nodes.fail(node.name, "needs a group: at least 1 node with role raft_peer and voter: true")


RAFT_PEER = NodeKind(RaftPeerSpec, (RaftConfig, RaftRules), (_check_group,))
RAFT_CLIENT = NodeKind(RaftClientSpec, (RaftClientConfig,), (_check_group,))
