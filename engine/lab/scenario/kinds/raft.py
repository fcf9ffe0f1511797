"""Peers and clients of a Raft group in a scenario, see :mod:`engine.replication.raft`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.lab.scenario.kinds.disk import parse_disk
from engine.lab.scenario.kinds.node_kind import TRAFFIC_MAX, NodeKind
from engine.lab.scenario.kinds.node_spec import DiskNodeSpec, SendingSpec, System
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_names import TIME_MAX_MS
from engine.lab.scenario.scenario_traffic import parse_commands
from engine.lab.scenario.scenario_yaml import Section
from engine.replication.raft.raft_commands import RaftClientConfig
from engine.replication.raft.raft_rules import RaftConfig, RaftRules


@dataclass(frozen=True, kw_only=True)
class RaftPeerSpec(DiskNodeSpec):
    """A peer. ``is_voter``: whether it is of the group from the beginning."""

    role: ClassVar[str] = "raft_peer"
    system: ClassVar[System] = System.RAFT

    is_voter: bool = True


@dataclass(frozen=True, kw_only=True)
class RaftClientSpec(SendingSpec):
    """A client, whose traffic are commands."""

    role: ClassVar[str] = "raft_client"
    system: ClassVar[System] = System.RAFT


def _peer(name: str, section: Section) -> RaftPeerSpec:
    return RaftPeerSpec(name, is_voter=section.switch("voter", default=True), disk=parse_disk(section))


def _client(name: str, section: Section) -> RaftClientSpec:
    parts = section.sections("traffic", max_count=TRAFFIC_MAX)
    return RaftClientSpec(
        name,
        traffic=tuple(parse_commands(part) for part in parts),
        start_ms=section.integer("start_ms", 0, TIME_MAX_MS, 0),
        stop_ms=section.optional_integer("stop_ms", 0, TIME_MAX_MS),
    )


def _check_group(nodes: Section, scenario: Scenario) -> None:
    """Check that clients and peers have a group."""
    peers = scenario.of_kind(RaftPeerSpec)
    if any(peer.is_voter for peer in peers):
        return
    for node in (*peers, *scenario.of_kind(RaftClientSpec)):
        raise nodes.fail(node.name, "needs a group: at least 1 node with role raft_peer and voter: true")


RAFT_PEER = NodeKind(RaftPeerSpec, _peer, ("voter", "disk"), (RaftConfig, RaftRules), (_check_group,))
RAFT_CLIENT = NodeKind(
    RaftClientSpec, _client, ("traffic", "start_ms", "stop_ms"), (RaftClientConfig,), (_check_group,)
)
