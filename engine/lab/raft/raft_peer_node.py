"""A node that is a peer of a Raft group, with its disk; it accepts commands of clients."""

from __future__ import annotations

import logging

from engine.lab.nodes.scenario_node import ScenarioDiskNode, WorldContext
from engine.lab.scenario.kinds.raft import RaftPeerSpec
from engine.lab.scenario.settings import of_class
from engine.replication.raft.errors import NotLeader, OutcomeUnknown, ProposalRefused, RaftError, RaftFrameRefused
from engine.replication.raft.raft_commands import (
    CommandAnswer,
    CommandStatus,
    RaftCommand,
    decode_command_frame,
    encode_command_frame,
)
from engine.replication.raft.raft_log import EntryKind, RaftEntry
from engine.replication.raft.raft_peer import RaftPeer
from engine.replication.raft.raft_role import RaftRole
from engine.replication.raft.raft_rules import RaftConfig, RaftRules
from engine.replication.raft.raft_store import LOG_PATH, entries_in
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Connection

#: Ports for peers (DLedger's default), and for clients.
PEER_PORT = 40_911
CLIENT_PORT = 40_912
#: Most commands of one client that wait at a peer; a client with more is disconnected.
COMMANDS_WAITING_MAX = 100

_log = logging.getLogger("glassmq.lab")


class RaftPeerNode(ScenarioDiskNode):
    """A Raft peer's node.

    :ivar peer: None while the process does not run.
    :ivar applied: what it has applied since it was started, in order.
    """

    spec: RaftPeerSpec

    peer: RaftPeer | None = None

    def __init__(self, world: WorldContext, spec: RaftPeerSpec) -> None:
        super().__init__(world, spec)
        self.applied: list[RaftEntry] = []
        self._tasks: BackgroundTasks | None = None

    @property
    def client_address(self) -> str:
        """Return the address for clients."""
        return f"{self.runtime.identity.host_ip}:{CLIENT_PORT}"

    def stored_entries(self) -> list[RaftEntry]:
        """Return the entries of the log on the peer's disk."""
        content = self.storage.files.get(LOG_PATH)
        return [] if content is None else entries_in(content.read(0, content.size_bytes))

    @property
    def is_leader(self) -> bool:
        """Return whether the peer believes that it leads."""
        return self.peer is not None and not self.peer.failure and self.peer.core.role is RaftRole.LEADER

    @property
    def term(self) -> int:
        """Return the peer's term; 0 while the process does not run."""
        return self.peer.core.term if self.peer is not None else 0

    async def change_membership(self, name: str) -> None:
        """Add the peer ``name`` to the group, or remove it; the leader may refuse, which is logged."""
        assert self.peer is not None, "only a leader is asked"
        voters = self.peer.core.voters
        changed = [voter for voter in voters if voter != name] if name in voters else [*voters, name]
        try:
            await self.peer.change_membership(changed)
        except RaftError as refusal:
            _log.warning("%s does not change the membership: %s", self.name, refusal)

    async def _start(self) -> None:
        peers = self.world.roles(RaftPeerNode)
        host = self.runtime.identity.host_ip
        self.applied = []
        self.peer = RaftPeer(
            self.runtime,
            self.name,
            {role.name: f"{role.runtime.identity.host_ip}:{PEER_PORT}" for role in peers},
            [role.name for role in peers if role.spec.is_voter],
            self.applied.append,
            RaftConfig(**of_class(RaftConfig, self.settings)),
            RaftRules(**of_class(RaftRules, self.settings)),
            # A disk that is empty later has lost its data.
            is_first_start=self.incarnation == 0,
        )
        await self.peer.start(host, PEER_PORT)
        tasks = self._tasks = BackgroundTasks(f"{self.name}/commands")
        peer = self.peer
        await self.runtime.network.listen(host, CLIENT_PORT, lambda: _ClientHandler(peer, tasks))

    async def _stop(self) -> None:
        if self.peer is not None and self._tasks is not None:
            await self._tasks.stop()
            await self.peer.shutdown()

    def _forget(self) -> None:
        self.peer = None
        self.applied = []


class _ClientHandler:
    """One client of a peer."""

    def __init__(self, peer: RaftPeer, tasks: BackgroundTasks) -> None:
        self._peer = peer
        self._tasks = tasks
        self._connection: Connection | None = None
        self._waiting = 0

    def connection_made(self, connection: Connection) -> None:
        self._connection = connection

    def frame_received(self, frame: bytes) -> None:
        assert self._connection is not None, "it was made first"
        try:
            command = decode_command_frame(frame)
            if not isinstance(command, RaftCommand) or self._waiting >= COMMANDS_WAITING_MAX:
                raise RaftFrameRefused("too many commands, or none")
        except RaftFrameRefused:
            self._connection.close()
            return
        self._waiting += 1
        self._tasks.spawn(self._answer(command), f"proposes {command.key}")

    def connection_lost(self, reason: str) -> None:
        self._connection = None

    async def _answer(self, command: RaftCommand) -> None:
        answer = await self._propose(command)
        self._waiting -= 1
        if self._connection is not None:
            self._connection.send_frame(encode_command_frame(answer))

    async def _propose(self, command: RaftCommand) -> CommandAnswer:
        number = command.number
        try:
            entry = await self._peer.propose(command.key.encode())
        except NotLeader as refusal:
            return CommandAnswer(number, CommandStatus.NOT_LEADER, refusal.leader)
        except ProposalRefused as refusal:
            return CommandAnswer(number, CommandStatus.REFUSED, detail=str(refusal))
        except OutcomeUnknown as problem:
            return CommandAnswer(number, CommandStatus.UNKNOWN, detail=str(problem))
        return CommandAnswer(number, CommandStatus.COMMITTED, self._peer.name, entry.index, entry.term)


def key_of(entry: RaftEntry) -> str:
    """Return the command in an entry, or a description of any other entry."""
    if entry.kind is EntryKind.DATA:
        return entry.data.decode(errors="replace")
    return "no-op" if entry.kind is EntryKind.NO_OP else "{" + entry.data.decode().replace("\n", ",") + "}"
