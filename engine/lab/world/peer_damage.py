"""Damage to a Raft peer: it ends, and its disk has lost data, which Raft's paper rules out.

Each kind ends the process, if it runs: the loss shows when the disk is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.lab.nodes.scenario_node import ScenarioNode
from engine.lab.raft.raft_peer_node import RaftPeerNode
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.scenario import Command
from engine.lab.world.world import ScenarioWorld
from engine.replication.raft.raft_state_file import STATE_PATH
from engine.replication.raft.raft_store import LOG_PATH
from engine.runtime.lab.lab_file_content import LabFileContent
from engine.runtime.lab.lab_storage import LabStorage

_SECOND_US = 1_000_000


def damage(world: ScenarioWorld, role: ScenarioNode, command: Command) -> None:
    """Carry out one of :data:`PEER_DAMAGES`. Raises ``CommandRefused``, in which case nothing has happened."""
    peer = world.find(RaftPeerNode, role.name)
    if peer is None:
        names = ", ".join(peer.name for peer in world.roles(RaftPeerNode))
        raise CommandRefused("refusal.needs_peer", kind=command.kind, name=role.name, role=role.role, known=names)
    PEER_DAMAGES[command.kind](peer.storage, command, world.now_us)
    if role.status in ("running", "paused"):
        world.lab.crash(role.name)
        role.crashed()


def _wipe(storage: LabStorage, command: Command, now_us: int) -> None:
    for path in sorted(storage.files):
        storage.discard(path)


def _flip(path: str) -> Callable[[LabStorage, Command, int], None]:
    def flip(storage: LabStorage, command: Command, now_us: int) -> None:
        content = _content(storage, path, command)
        bit = command.value["bit"]
        assert isinstance(bit, int)
        # From the file's end, among the bytes in use: most of a state file is empty.
        places = [at for at, byte in enumerate(content.read(0, content.size_bytes)) if byte][::-1]
        place = places[bit // 8 % len(places)]
        content.corrupt(place, content.read(place, 1)[0] ^ 1 << bit % 8)

    return flip


def _lose_last_second(storage: LabStorage, command: Command, now_us: int) -> None:
    content = _content(storage, LOG_PATH, command)
    kept = min(
        (start for time_us, start in content.appends if time_us > now_us - _SECOND_US), default=content.size_bytes
    )
    storage.truncate(LOG_PATH, min(kept, content.size_bytes))


def _content(storage: LabStorage, path: str, command: Command) -> LabFileContent:
    content = storage.files.get(path)
    if content is None or not any(content.read(0, content.size_bytes)):
        raise CommandRefused("refusal.nothing_on_disk", name=command.target, path=path)
    return content


PEER_DAMAGES: Mapping[str, Callable[[LabStorage, Command, int], None]] = {
    "flip-in-log": _flip(LOG_PATH),
    "flip-in-state": _flip(STATE_PATH),
    "lose-last-second": _lose_last_second,
    "wipe": _wipe,
}
