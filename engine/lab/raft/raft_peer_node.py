"""A node that is a peer of a Raft group, with its disk; it accepts commands of clients."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from engine.lab.nodes.history import ElectionStep
from engine.lab.nodes.scenario_node import ScenarioDiskNode, WorldContext
from engine.lab.scenario.kinds.raft import RaftPeerSpec
from engine.replication.raft.errors import NotLeader, OutcomeUnknown, ProposalRefused, RaftError, RaftFrameRefused
from engine.replication.raft.raft_commands import (
    CommandAnswer,
    CommandStatus,
    RaftCommand,
    decode_command_frame,
    encode_command_frame,
)
from engine.replication.raft.raft_log import EntryKind, RaftEntry
from engine.replication.raft.raft_messages import VoteVerdict
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
#: Roles that ask for votes -> the step of an election that begins with it.
_CANDIDACIES: Mapping[RaftRole, str] = {RaftRole.PRE_CANDIDATE: "asks", RaftRole.CANDIDATE: "stands"}

_log = logging.getLogger("glassmq.lab")


class RaftPeerNode(ScenarioDiskNode):
    """A Raft peer's node.

    :ivar peer: None while the process does not run.
    :ivar applied: what it has applied since it was started, in order.
    """

    spec: RaftPeerSpec

    peer: RaftPeer | None = None
    #: Role and term when the peer last decided something, and the answers to its last candidacy.
    _seen: tuple[RaftRole, int, Mapping[str, VoteVerdict]] = (RaftRole.FOLLOWER, 0, {})

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
            self.config(RaftConfig),
            self.config(RaftRules),
            # A disk that is empty later has lost its data.
            is_first_start=self.incarnation == 0,
        )
        self.peer.on_change = self._note_election
        await self.peer.start(host, PEER_PORT)
        self._seen = (self.peer.core.role, self.peer.core.term, self.peer.core.answers)
        tasks = self._tasks = BackgroundTasks(f"{self.name}/commands")
        peer = self.peer
        await self.runtime.network.listen(host, CLIENT_PORT, lambda: _ClientHandler(peer, tasks))

    async def _stop(self) -> None:
        if self.peer is not None and self._tasks is not None:
            await self._tasks.stop()
            await self.peer.shutdown()

    def _note_election(self) -> None:
        assert self.peer is not None, "it has decided something"
        core, (before, term, answers) = self.peer.core, self._seen
        self._seen = (core.role, core.term, core.answers)
        what = ""
        if core.role in _CANDIDACIES and core.answers is not answers:
            has_failed = before is RaftRole.CANDIDATE or before is core.role
            what = "no_majority" if has_failed else _CANDIDACIES[core.role]
        elif core.role is not before and core.role is RaftRole.LEADER:
            what = "leads"
        elif core.role is not before and before is RaftRole.LEADER:
            is_removed = self.name not in core.voters
            what = "removed" if is_removed else "newer_term" if core.term > term else "silence"
        elif core.role is not before and before is RaftRole.JOINING:
            what = "counts_again"
        if what:
            counted = answers if what == "no_majority" else core.answers
            votes = sum(verdict is VoteVerdict.GRANTED for verdict in counted.values())
            term = core.term + (core.role is RaftRole.PRE_CANDIDATE)
            step = ElectionStep(*self.here_and_now, what, term, votes, len(core.voters))
            self.world.history.election_steps.append(step)

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
