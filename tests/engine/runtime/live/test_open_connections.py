"""What a listener's connections share: who counts as idle, and when memory goes back to the kernel."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from engine.runtime.live.open_connections import OpenConnections

MIB = 1024 * 1024


@dataclass(eq=False)
class Peer:
    unsent_bytes: int
    remote_address: str = "10.0.0.1:1"
    was_active: bool = False
    idle_sweeps: int = 0
    aborted_because: str | None = None

    def abort(self, reason: str) -> None:
        self.aborted_because = reason

    def close(self) -> None: ...

    def take_turn(self) -> None: ...


def test_a_peer_that_takes_a_little_now_and_then_is_not_idle_and_one_that_takes_nothing_is():
    async def scenario():
        connections = OpenConnections(10, 120_000, waits_for_readers=True)
        slow, silent = Peer(4 * MIB), Peer(4 * MIB)
        for peer in (slow, silent):
            assert connections.opened(peer) is None
            connections.budget.count(peer)
        for _ in range(4):
            slow.unsent_bytes -= 1
            connections._sweep()
        assert slow.aborted_because is None
        assert silent.aborted_because == "idle for 120 s"

    asyncio.run(scenario())


def test_memory_is_given_back_once_when_much_that_was_unsent_has_left(monkeypatch):
    given_back = []
    monkeypatch.setattr("engine.runtime.live.open_connections.give_back_freed_memory", lambda: given_back.append(True))
    connections = OpenConnections(10, 120_000, waits_for_readers=True)
    peer = Peer(100 * MIB)
    connections.budget.count(peer)
    connections._sweep()
    assert given_back == []
    connections.budget.forget(peer)
    for _ in range(3):
        connections._sweep()
    assert given_back == [True]
