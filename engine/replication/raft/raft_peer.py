"""A peer of a group on a node: the core with its timer, its disk and its connections (DLedger: ``DLedgerServer``).

One task writes, sends and applies what the core has decided, in this order; what the core decides meanwhile waits for
the next round. Many entries thus share one flush. If a flush takes longer than a heartbeat may, leader and followers
send heartbeats that claim nothing about the disk. They stop after a while, because another peer may then be the better
leader.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from engine.replication.raft.errors import CommittedEntryConflict, OutcomeUnknown, ProposalRefused, RaftFrameRefused
from engine.replication.raft.raft_core import RaftCore
from engine.replication.raft.raft_link import RaftLink
from engine.replication.raft.raft_log import RaftEntry
from engine.replication.raft.raft_messages import AppendEntries, decode_message
from engine.replication.raft.raft_role import RaftRole
from engine.replication.raft.raft_rules import RaftConfig, RaftRules
from engine.replication.raft.raft_store import RaftStore
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.frame_splitter import FrameSplitter
from engine.runtime.port import Connection, DiskFault, Runtime
from engine.runtime.started_parts import StartedParts

#: Numbers of a joining are below this, so that they fit into a message.
JOINING_MAX = 1 << 63

_log = logging.getLogger("glassmq.raft")


class RaftPeer:
    """Run one peer: ``await start(...)``, ``await propose(...)``, ``await shutdown()``.

    :param addresses: name -> ``"host:port"`` of every present or future voter; messages from others are ignored.
    :param voters: as in :class:`RaftCore`.
    :param apply: called with every committed entry after ``applied_index``, in order.
    :ivar applied_index: index of the last entry that was applied before the start.
    :param is_first_start: as in ``RaftStore``.
    :ivar failure: why it stopped by itself; empty if it did not.
    :ivar fault: the exception that stopped it: ``DiskFault`` or ``CommittedEntryConflict``.
    :ivar on_change: called when the core's state has changed or the peer has failed.
    """

    core: RaftCore

    def __init__(
        self,
        runtime: Runtime,
        name: str,
        addresses: Mapping[str, str],
        voters: Sequence[str],
        apply: Callable[[RaftEntry], None],
        config: RaftConfig | None = None,
        rules: RaftRules | None = None,
        *,
        is_first_start: bool = False,
    ) -> None:
        self.name = name
        self.config = config or RaftConfig()
        self.rules = rules or RaftRules()
        self.failure = ""
        self.fault: DiskFault | CommittedEntryConflict | None = None
        self.applied_index = 0
        self.is_first_start = is_first_start
        self.on_change: Callable[[], None] = lambda: None
        self._runtime = runtime
        self._voters = voters
        self._apply = apply
        self._tasks = BackgroundTasks(f"{name}/raft")
        timeout_ms = self.config.election_timeout_min_ms
        self._links = {
            other: RaftLink(runtime.network, self._tasks, other, address, timeout_ms)
            for other, address in addresses.items()
            if other != name
        }
        self._parts = StartedParts(f"{name}/raft")
        #: Index and term -> the caller that waits for the proposal; at most as many as the core accepts.
        self._proposals: dict[tuple[int, int], asyncio.Future[RaftEntry]] = {}
        self._changed = asyncio.Event()
        self._is_rearmed = asyncio.Event()
        self._role, self._led_term = RaftRole.FOLLOWER, 0
        #: When the present round began to write; None while it does not write.
        self._writes_since_ms: int | None = None

    async def start(self, host: str, port: int) -> str:
        """Read the files, listen and take part; return ``"host:port"``. Raises ``DiskFault``, ``AddressInUse``."""
        numbers = self._runtime.random_for("raft joining")
        async with self._parts.starting():
            store = RaftStore(
                self._runtime.disk,
                self.applied_index,
                draw_number=lambda: numbers.randrange(1, JOINING_MAX),
                is_first_start=self.is_first_start,
            )
            self._parts.add(store.close)
            generator = self._runtime.random_for("raft elections")
            self.core = RaftCore(
                self.name, self._voters, self.rules, self.config, generator, self._now_ms(), store.saved
            )
            log = self.core.log
            log.read_data = store.data_of
            log.commit_index = min(self.applied_index, log.last_index)
            log.release(log.commit_index)
            self._parts.add(partial(self._give_up_proposals, is_over=True))
            self._parts.add(self._close_links)
            self._parts.add(self._tasks.stop)
            listener = await self._runtime.network.listen(host, port, lambda: _InboundHandler(self))
            self._parts.add(listener.close)
            self._tasks.spawn(self._carry_out(store), "raft disk")
            self._tasks.spawn(self._keep_time(), "raft timer")
        return listener.address

    async def shutdown(self) -> None:
        """Stop without notifying the group: if this is the leader, the others elect another."""
        await self._parts.end()

    def _close_links(self) -> None:
        for link in self._links.values():
            link.close()

    async def propose(self, data: bytes) -> RaftEntry:
        """Append ``data`` to the log; return its entry when it is committed and applied here.

        Raises ``NotLeader``, ``ProposalRefused``, ``OutcomeUnknown``.
        """
        return await self._committed(lambda: self.core.propose(data))

    def offer(self, data: bytes) -> RaftEntry:
        """Append ``data`` to the log without waiting; ``apply`` is called if it is committed. Raises ``NotLeader``,
        ``ProposalRefused``.
        """
        return self._take(lambda: self.core.propose(data))

    async def change_membership(self, voters: Sequence[str]) -> RaftEntry:
        """Change the group to ``voters``, one more or one fewer than now. Raises what :meth:`propose` raises."""
        return await self._committed(lambda: self.core.change_membership(voters))

    def receive(self, frame: bytes, connection: Connection) -> None:
        """Handle a frame from any sender."""
        try:
            message = decode_message(frame)
            if message.sender not in self._links:
                raise RaftFrameRefused(f"{message.sender!r} is not a peer of {self.name}")
        except RaftFrameRefused as refusal:
            _log.warning("connection from %s closed: %s", connection.remote_address, refusal)
            connection.close()
            return
        if not self.failure:
            self._decide(lambda: self.core.receive(message, self._now_ms()))
            if isinstance(message, AppendEntries) and message.sender == self.core.leader and self._is_disk_slow:
                self._links[message.sender].send(self.core.answer_of_life())

    # --- rounds ------------------------------------------------------------------------------------------------------

    def _now_ms(self) -> int:
        return self._runtime.clock.monotonic_us() // 1_000

    @property
    def _is_disk_slow(self) -> bool:
        began_ms = self._writes_since_ms
        if began_ms is None:
            return False
        return self.config.heartbeat_ms <= self._now_ms() - began_ms < 2 * self.config.election_timeout_max_ms

    def _decide(self, decide: Callable[[], None]) -> None:
        """Let the core decide something; an error after which it cannot go on stops this peer."""
        try:
            decide()
        except (DiskFault, CommittedEntryConflict) as fault:
            self._fail(fault)
        else:
            self._look()

    def _fail(self, fault: DiskFault | CommittedEntryConflict) -> None:
        self.fault, self.failure = fault, str(fault)
        _log.error("%s leaves its group: %s", self.name, fault)
        self._tasks.spawn(self.shutdown(), "leaves the group")
        self.on_change()

    def _look(self) -> None:
        """Handle a change of the core."""
        self._changed.set()
        self._is_rearmed.set()
        self._log_role()
        if self.core.role is not RaftRole.LEADER:
            self._give_up_proposals()
        self.on_change()

    def _log_role(self) -> None:
        core, before = self.core, self._role
        self._role = core.role
        if before is RaftRole.LEADER and (core.role is not RaftRole.LEADER or core.term != self._led_term):
            _log.warning("%s no longer leads (term %d): %s", self.name, self._led_term, core.why_not_leading)
        elif before is RaftRole.FOLLOWER and core.role in (RaftRole.PRE_CANDIDATE, RaftRole.CANDIDATE):
            _log.info("%s hears no leader in term %d, and asks for votes", self.name, core.term)
        if core.role is RaftRole.LEADER:
            self._led_term = core.term

    def _take(self, take: Callable[[], RaftEntry]) -> RaftEntry:
        if self.failure:
            raise ProposalRefused(f"{self.name} has left its group: {self.failure}")
        try:
            entry = take()
        except DiskFault as fault:
            self._fail(fault)
            raise ProposalRefused(f"{self.name} has left its group: {fault}") from fault
        self._look()
        return entry

    async def _committed(self, take: Callable[[], RaftEntry]) -> RaftEntry:
        entry = self._take(take)
        committed: asyncio.Future[RaftEntry] = asyncio.get_running_loop().create_future()
        self._proposals[entry.index, entry.term] = committed
        try:
            return await committed
        finally:
            self._proposals.pop((entry.index, entry.term), None)

    def _give_up_proposals(self, *, is_over: bool = False) -> None:
        log = self.core.log
        for (index, term), waiting in self._proposals.items():
            # Committed entries are applied in a moment: a leader may commit its own removal and no longer lead.
            is_committed = index <= log.commit_index and log.term_at(index) == term
            if not waiting.done() and (is_over or not is_committed):
                waiting.set_exception(OutcomeUnknown(f"{self.name} leads no longer"))

    async def _keep_time(self) -> None:
        while not self.failure:
            self._is_rearmed.clear()
            due_ms = self.core.due_ms
            try:
                async with asyncio.timeout((due_ms - self._now_ms()) / 1_000):
                    while self.core.due_ms == due_ms:
                        await self._is_rearmed.wait()
                        self._is_rearmed.clear()
            except TimeoutError:
                now_ms = self._now_ms()
                self._decide(partial(self.core.tick, now_ms, now_ms - due_ms))
                if self._is_disk_slow:
                    for follower in self.core.followers:
                        self._links[follower].send(self.core.sign_of_life(follower))

    async def _carry_out(self, store: RaftStore) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            output = self.core.take_output()
            self._writes_since_ms = self._now_ms()
            try:
                await store.write(output, flushes_state=self.rules.persists_vote_before_answering)
            except DiskFault as error:
                # It is unknown what is on disk now: a peer that cannot write must not send anything.
                self._fail(error)
                return
            finally:
                self._writes_since_ms = None
            for target, message in output.messages:
                if target in self._links:
                    self._links[target].send(message)
            for entry in output.committed:
                self._apply(entry)
                waiting = self._proposals.get((entry.index, entry.term))
                if waiting is not None and not waiting.done():
                    waiting.set_result(entry)


class _InboundHandler:
    """Handler of the connection from another peer."""

    _connection: Connection

    def __init__(self, peer: RaftPeer) -> None:
        #: A splitter of its own, as these are not RocketMQ commands.
        self.splitter = FrameSplitter()
        self._peer = peer

    def connection_made(self, connection: Connection) -> None:
        self._connection = connection

    def frame_received(self, frame: bytes) -> None:
        self._peer.receive(frame, self._connection)

    def connection_lost(self, reason: str) -> None: ...
