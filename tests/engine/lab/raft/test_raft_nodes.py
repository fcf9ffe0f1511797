"""A Raft group and its client in the lab: what survives which fault, on real frames and files."""

from __future__ import annotations

import pytest

from engine.lab.raft.raft_client_node import RaftClientNode
from engine.lab.raft.raft_peer_node import PEER_PORT, RaftPeerNode, key_of
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import CommandRefused, ScenarioError
from engine.lab.scenario.scenario_files import load_scenario
from engine.replication.raft.raft_role import RaftRole
from engine.runtime.port import Connection
from tests.support.lab.lab_scenarios import apply
from tests.support.raft.raft_scenarios import core_of, leaders, peer_of, small


def client_of(run: LabRun) -> RaftClientNode:
    (client,) = run.world.roles(RaftClientNode)
    return client


def finish(run: LabRun) -> None:
    run.run_to_time(run.world.end_us)
    assert run.violations == []
    assert run.world.failures == []


def test_a_calm_group_commits_all_commands_in_order_and_every_peer_applies_them():
    with LabRun(small()) as run:
        finish(run)
        keys = [f"order-{number}" for number in range(20)]
        for role in run.world.roles(RaftPeerNode):
            assert [key_of(entry) for entry in role.applied] == ["no-op", *keys]
        assert client_of(run).acknowledged == 20
        assert [entry.status for entry in run.world.history.sends_returned] == ["ok"] * 20


@pytest.mark.parametrize("way", ["crash", "crash-power", "pause-node"])
def test_the_group_goes_on_without_its_leader_and_takes_it_back(way):
    with LabRun(small()) as run:
        run.run_to_time(1_000_000)
        assert leaders(run) == ["R1"]
        apply(run, way, "R1")
        run.run_to_time(4_000_000)
        assert core_of(run, "R3").role is RaftRole.LEADER
        assert client_of(run).acknowledged > 15
        apply(run, "resume-node" if way == "pause-node" else "restart", "R1")
        finish(run)
        assert client_of(run).acknowledged == 20
        assert peer_of(run, "R1").applied == peer_of(run, "R3").applied


def test_without_a_majority_nothing_is_acknowledged():
    with LabRun(small()) as run:
        run.run_to_time(1_000_000)
        for name in ("R2", "R3"):
            apply(run, "crash", name)
        run.run_to_time(1_200_000)
        acknowledged = client_of(run).acknowledged
        run.run_to_time(9_000_000)
        assert client_of(run).acknowledged == acknowledged
        assert leaders(run) == []
        apply(run, "restart", "R2")
        finish(run)


def test_a_timer_that_is_fired_by_hand_makes_a_candidate():
    with LabRun(small()) as run:
        run.run_to_time(1_000_000)
        term = core_of(run, "R1").term
        for event in run.world.loop.schedule.running_timers():
            if event.actor.name == "R3/raft timer":
                apply(run, "fire-timer", "R3/raft timer", due_us=event.due_us, index=0)
                break
        run.run_to_time(1_200_000)
        assert core_of(run, "R3").term == term + 1
        finish(run)


def test_a_peer_whose_disk_fails_leaves_the_group_and_says_why():
    with LabRun(small()) as run:
        run.run_to_time(1_000_000)
        run.world.disk_of("R1").flush_error = "input/output error"
        run.run_to_time(3_000_000)
        peer = peer_of(run, "R1").peer
        assert peer is not None
        assert "input/output error" in peer.failure
        assert leaders(run) == ["R3"]
        finish(run)
        assert client_of(run).acknowledged == 20


def test_a_stranger_is_shown_the_door_and_moves_nobody():
    with LabRun(small()) as run:
        run.run_to_time(1_000_000)
        frames = (b"GET / HTTP/1.1\r\n\r\n", b"RAFT\x01" + bytes(32) + b"\x02R9", b"")
        closed: list[str] = []

        class Stranger:
            def connection_made(self, connection: Connection) -> None:
                for frame in frames:
                    connection.send_frame(len(frame).to_bytes(4, "big") + frame)

            def frame_received(self, frame: bytes) -> None:
                pytest.fail("nobody answers a stranger")

            def connection_lost(self, reason: str) -> None:
                closed.append(reason)

        client = client_of(run)

        async def knock() -> None:
            address = f"{peer_of(run, 'R1').runtime.identity.host_ip}:{PEER_PORT}"
            await client.runtime.network.connect(address, Stranger(), 1_000)

        client.spawn(knock(), "stranger")
        finish(run)
        assert len(closed) == 1
        assert core_of(run, "R1").term == 1


def test_the_membership_changes_one_peer_at_a_time():
    with LabRun(small(("  C1", "  R4: {role: raft_peer, voter: false}\n  C1"))) as run:
        run.run_to_time(1_000_000)
        apply(run, "change-membership", "R4")
        run.run_to_time(1_500_000)
        assert core_of(run, "R4").voters == ("R1", "R2", "R3", "R4")
        apply(run, "change-membership", "R1")
        run.run_to_time(3_500_000)
        assert leaders(run) != ["R1"]
        assert core_of(run, leaders(run)[0]).voters == ("R2", "R3", "R4")
        finish(run)
        assert client_of(run).acknowledged == 20


def test_a_change_of_membership_needs_a_peer_and_a_leader():
    with LabRun(small()) as run:
        run.run_to_time(1_000_000)
        with pytest.raises(CommandRefused, match="not a raft_peer"):
            apply(run, "change-membership", "C1")
        for name in ("R1", "R2", "R3"):
            apply(run, "crash", name)
        with pytest.raises(CommandRefused, match="no leader is running"):
            apply(run, "change-membership", "R1")


def test_a_client_needs_a_group():
    with pytest.raises(ScenarioError, match="voter: true"):
        small(
            ("R1: {role: raft_peer", "R1: {role: raft_peer, voter: false"),
            ("R2: {role: raft_peer", "R2: {role: raft_peer, voter: false"),
            ("R3: {role: raft_peer", "R3: {role: raft_peer, voter: false"),
        )


def test_the_frames_of_a_group_have_names():
    with LabRun(load_scenario("majority-log")) as run:
        names: dict[str, None] = {}
        reader = run.world.frame_reader
        run.world.watch_parcels(
            lambda parcel, _: names.update(
                {said.name: None} if (said := reader.read(parcel.source, parcel.target, parcel.data)) else {}
            )
        )
        finish(run)
        wanted = {"REQUEST_PRE_VOTE", "REQUEST_VOTE", "VOTE", "APPEND_ENTRIES", "HEARTBEAT", "APPEND_ANSWER", "COMMAND"}
        assert wanted <= set(names)
