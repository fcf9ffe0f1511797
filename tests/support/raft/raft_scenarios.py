"""A small scenario with a Raft group and a client, with single lines replaced; and what its peers know."""

from __future__ import annotations

from engine.lab.raft.raft_peer_node import RaftPeerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_text import parse_scenario
from engine.replication.raft.raft_core import RaftCore

SMALL = """\
title: {en: Small, zh: 小}
about: {en: A test., zh: 测试。}
seed: 1
duration_ms: 30000
network: {latency_ms: 5, jitter_ms: 2}
nodes:
  R1: {role: raft_peer, settings: {}}
  R2: {role: raft_peer, settings: {election_timeout_min_ms: 1000, election_timeout_max_ms: 1200}}
  R3: {role: raft_peer, settings: {election_timeout_min_ms: 600, election_timeout_max_ms: 700}}
  C1: {role: raft_client, traffic: {count: 20, every_ms: 100, start_ms: 500, key: "order-{n}"}}
"""


def small_text(*replacements: tuple[str, str], rules: str = "", extra: str = "") -> str:
    """The text, with each ``old`` (which must occur) replaced by ``new``, ``rules`` among the settings of every peer,
    and ``extra`` at its end. R1 leads first, and R3 before R2: pre-vote, by which R2 would hold R3 back, is off.
    """
    text = SMALL
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new, 1)
    rules = f"pre_vote: false, {rules}".strip(", ")
    return (
        text.replace("settings: {}", f"settings: {{{rules}}}").replace("settings: {e", f"settings: {{{rules}, e")
        + extra
    )


def small(*replacements: tuple[str, str], rules: str = "", extra: str = "") -> Scenario:
    """The same, parsed."""
    return parse_scenario(small_text(*replacements, rules=rules, extra=extra), "small")


def peer_of(run: LabRun, name: str) -> RaftPeerNode:
    """The node ``name``."""
    role = run.world.nodes[name]
    assert isinstance(role, RaftPeerNode)
    return role


def core_of(run: LabRun, name: str) -> RaftCore:
    """The core of the peer ``name``, which runs."""
    peer = peer_of(run, name).peer
    assert peer is not None
    return peer.core


def leaders(run: LabRun) -> list[str]:
    """Who believes to lead."""
    return [role.name for role in run.world.roles(RaftPeerNode) if role.is_leader]
