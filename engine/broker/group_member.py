"""One broker of a group whose log is committed by majority (RocketMQ: a broker with ``enableDLegerCommitLog``;
``DLedgerRoleChangeHandler``).

A follower has a store, and appends committed entries to it. The leader has a broker as soon as it has applied
everything that was committed before its term; it registers with the name servers as the master, where clients find it.

Simplified: a follower serves no readers (DLedger's do, as slaves).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial

from engine.broker.broker import Broker
from engine.broker.foundation.broker_config import BrokerConfig
from engine.replication.majority.applied_mark import AppliedMark, load_mark, save_mark
from engine.replication.majority.errors import EntryRefused
from engine.replication.majority.group_config import GroupConfig
from engine.replication.majority.majority_entry import LogPiece, TableEntry, TopicsDeleted, decode_entry
from engine.replication.majority.majority_log import MajorityLog
from engine.replication.majority.shared_tables import FollowedTables
from engine.replication.raft.errors import CommittedEntryConflict
from engine.replication.raft.hard_state import JoinReason
from engine.replication.raft.raft_log import EntryKind, RaftEntry
from engine.replication.raft.raft_peer import RaftPeer
from engine.replication.raft.raft_role import RaftRole
from engine.replication.raft.raft_rules import RaftConfig
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import DiskFault, Runtime, RuntimeFault
from engine.runtime.started_parts import StartedParts, end_all
from engine.runtime.state_table import next_state
from engine.store.files.store_config import MessageStoreConfig
from engine.store.message_store import MessageStore
from engine.store.recovery.store_recovery import KnownBounds
from engine.store.services.replica_log import ReplicaLog, WrongPiece
from engine.texts import LANGUAGES, Text

_log = logging.getLogger("glassmq.replication")

MARK_INTERVAL_MS = 1_000
#: The interval between attempts of a member to rejoin after a fault of its disk or its port: everything that it needs
#: is on the disk.
REJOIN_INTERVAL_MS = 5_000
#: A minute: far longer than a leader takes to record that a half message was committed, or the progress of delayed
#: messages. The next leader examines what is younger.
MARKS_KEPT = 60


class MemberState(StrEnum):
    """The state of a member."""

    #: It has a store and follows.
    FOLLOWS = "follows"
    #: It has a broker and serves.
    LEADS = "leads"
    #: It has neither: it has not begun, has ended, or is changing to the other state.
    RESTS = "rests"


class MemberEvent(StrEnum):
    """The events that change the state."""

    FOLLOW = "follow"
    LEAD = "lead"
    STOP = "stop"


STATE_CHANGES: Mapping[tuple[MemberState, MemberEvent], MemberState] = {
    (MemberState.RESTS, MemberEvent.FOLLOW): MemberState.FOLLOWS,
    (MemberState.RESTS, MemberEvent.LEAD): MemberState.LEADS,
    (MemberState.FOLLOWS, MemberEvent.STOP): MemberState.RESTS,
    (MemberState.LEADS, MemberEvent.STOP): MemberState.RESTS,
}


class MemberStanding(StrEnum):
    """The role of a member in its group: its peer's role, or stopped."""

    FOLLOWER = RaftRole.FOLLOWER.value
    JOINING = RaftRole.JOINING.value
    PRE_CANDIDATE = RaftRole.PRE_CANDIDATE.value
    CANDIDATE = RaftRole.CANDIDATE.value
    LEADER = RaftRole.LEADER.value
    STOPPED = "stopped"


class GroupMember:
    """A member of a group. Use: ``await start()``, ``await shutdown()``.

    :param broker_changed: called when ``broker`` has changed or is gone.
    :ivar broker: while this member leads; else None.
    :ivar failure: why the member left its group; empty if it has not. After a disk fault it rejoins by itself.
    """

    def __init__(
        self,
        runtime: Runtime,
        group: GroupConfig,
        broker_config: BrokerConfig,
        store_config: MessageStoreConfig,
        broker_changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.group = group
        self.broker: Broker | None = None
        self.failure = ""
        self.state = MemberState.RESTS
        self._runtime = runtime
        self._broker_config = broker_config
        self.peer = self._new_peer()
        self._store_config = store_config
        self._broker_changed = broker_changed
        self._tasks = BackgroundTasks(f"{runtime.node_name}/member")
        self._parts = StartedParts(f"member {group.name}")
        self._store: MessageStore
        self._replica: ReplicaLog
        self._majority: MajorityLog
        self._tables = FollowedTables(runtime.disk)
        #: The term in which it leads, and the last term whose first leader entry it has applied.
        self._term = 0
        self._begun_term = 0
        self._applied = AppliedMark()
        self._saved = AppliedMark()
        #: The ends of the commit log, one second apart; the first is :attr:`AppliedMark.settled_offset`.
        self._log_ends: deque[int] = deque(maxlen=MARKS_KEPT)
        #: Committed entries that are not applied while the member changes its state.
        self._waiting: deque[RaftEntry] = deque()
        self._changed = asyncio.Event()

    # --- life cycle --------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Follow until elected. Raises ``RuntimeFault``,
        :class:`~engine.replication.majority.errors.NotOfThisGroup`.
        """
        async with self._parts.starting():
            self._parts.add(partial(self._leave, Broker.shutdown, MessageStore.shutdown))
            await self._enter()
            self._parts.add(self._tasks.stop)
            self._parts.add(self._mark)
            self._tasks.spawn(self._run(), "group member")
            self._tasks.every(MARK_INTERVAL_MS, self._mark, "mark what is applied")

    def _new_peer(self) -> RaftPeer:
        group, config = self.group, self._broker_config
        times = RaftConfig(
            heartbeat_ms=config.group_heartbeat_interval_ms,
            election_timeout_min_ms=config.group_election_timeout_min_ms,
            election_timeout_max_ms=config.group_election_timeout_max_ms,
        )
        return RaftPeer(self._runtime, group.name, group.addresses, list(group.addresses), self._committed, times)

    async def _enter(self) -> None:
        """Join the group with the state in the files."""
        self._applied = self._saved = load_mark(self._runtime.disk)
        self._log_ends.append(self._applied.settled_offset)
        await self._follow()
        self.peer.applied_index = self._applied.index
        try:
            await self.peer.start(*self.group.own_address)
        except BaseException:
            self._change(MemberEvent.STOP)
            await self._store.abandon()
            raise
        self.peer.on_change = self._changed.set

    async def shutdown(self) -> None:
        """Leave the group cleanly: applied entries are on disk and marked as applied."""
        await self._parts.end()

    async def abandon(self) -> None:
        """End like a killed process."""
        await self._parts.end((self._tasks.stop, partial(self._leave, Broker.abandon, MessageStore.abandon)))

    async def _leave(
        self,
        end_broker: Callable[[Broker], Coroutine[object, object, None]],
        end_store: Callable[[MessageStore], Coroutine[object, object, None]],
    ) -> None:
        endings = (self.peer.shutdown, partial(self._end_state, end_broker, end_store))
        await end_all(endings, f"member {self.group.name}")

    async def _end_state(
        self,
        end_broker: Callable[[Broker], Coroutine[object, object, None]],
        end_store: Callable[[MessageStore], Coroutine[object, object, None]],
    ) -> None:
        if self.broker is not None:
            broker, self.broker = self.broker, None
            self._broker_changed()
            await end_broker(broker)
        elif self.state is MemberState.FOLLOWS:
            self._tables.close()
            await end_store(self._store)
        if self.state is not MemberState.RESTS:
            self._change(MemberEvent.STOP)

    @property
    def standing(self) -> MemberStanding:
        """Return the role of this member in its group, as words for users."""
        if self.failure:
            return MemberStanding.STOPPED
        return MemberStanding(self.peer.core.role.value)

    @property
    def why(self) -> Mapping[str, str]:
        """Return the reason why this member is joining or stopped, by language; else empty."""
        if self.failure:
            return dict.fromkeys(LANGUAGES, self.failure)
        reason = self.peer.core.hard_state.reason
        return {} if reason is JoinReason.NONE else Text(f"raft.joins.{reason.name.lower()}")

    def _change(self, event: MemberEvent) -> None:
        self.state = next_state(STATE_CHANGES, self.state, event, f"member {self.group.name}")

    async def _run(self) -> None:
        while True:
            try:
                while True:
                    await self._changed.wait()
                    self._changed.clear()
                    await self._go_on()
            except Exception as fault:
                # In any case a member that applies no entries must not be elected, nor appear to follow.
                known = (RuntimeFault, EntryRefused, WrongPiece, CommittedEntryConflict)
                self.failure = str(fault) if isinstance(fault, known) else repr(fault)
                unknown = None if isinstance(fault, known) else fault
                _log.error("%s leaves its group: %s", self.group.name, self.failure, exc_info=unknown)
                await self._leave(Broker.abandon, MessageStore.abandon)
                if not isinstance(fault, RuntimeFault):
                    return  # Its log is not the group's or is unreadable: only a person can find out why.
            await self._come_back()

    async def _come_back(self) -> None:
        """Rejoin as soon as the disk allows it."""
        while self.failure:
            await asyncio.sleep(REJOIN_INTERVAL_MS / 1_000)
            self.peer = self._new_peer()
            self._waiting.clear()
            self._log_ends.clear()
            self._term = self._begun_term = 0
            try:
                await self._enter()
            except RuntimeFault as fault:
                self.failure = str(fault)
            else:
                self.failure = ""
        _log.info("%s takes part in its group again", self.group.name)
        self._changed.set()

    async def _go_on(self) -> None:
        if self.peer.fault is not None:
            raise self.peer.fault
        core = self.peer.core
        leads_term = core.term if core.role is RaftRole.LEADER else 0
        if self.state is MemberState.LEADS and leads_term != self._term:
            await self._step_down()
        while self._waiting:
            await self._apply(self._waiting.popleft())
            # A member that catches up with thousands of entries must answer heartbeats meanwhile.
            await asyncio.sleep(0)
        if self.state is MemberState.FOLLOWS and leads_term and leads_term == self._begun_term:
            await self._take_office(leads_term)

    # --- follower and leader -----------------------------------------------------------------------------------------

    async def _follow(self, *, has_led: bool = False) -> None:
        store = self._store = MessageStore(self._runtime, self._store_config)
        known = KnownBounds(self._applied.log_end_offset, is_own_doing=has_led)
        try:
            await self._runtime.disk.off_loop(lambda: store.load(known))
        except BaseException:
            await store.abandon()
            raise
        self._replica = store.follow()
        store.start()
        if self._replica.end_offset < self._applied.log_end_offset:
            # The disk has lost flushed data. The Raft log has it, too, so continue from its beginning.
            self._applied = AppliedMark(0, self._replica.end_offset)
        self._change(MemberEvent.FOLLOW)

    async def _take_office(self, term: int) -> None:
        self._change(MemberEvent.STOP)
        self._tables.close()
        await self._store.abandon()
        majority = self._majority = MajorityLog(
            self.peer, self._broker_config.slave_timeout_ms, self._runtime.clock.now_ms
        )
        broker = Broker(self._runtime, self._broker_config, self._store_config, majority)
        await broker.start(KnownBounds(self._applied.log_end_offset, self._log_ends[0], is_own_doing=True))
        port = int(broker.address.rpartition(":")[2])
        self._broker_config = replace(self._broker_config, port=port)
        self.broker, self._term = broker, term
        self._change(MemberEvent.LEAD)
        _log.info("%s leads its group in term %d", self.group.name, term)
        self._broker_changed()

    async def _step_down(self) -> None:
        why = self.peer.core.why_not_leading or f"it was elected again, in term {self.peer.core.term}"
        _log.info("%s no longer leads its group: %s", self.group.name, why)
        broker, self.broker = self.broker, None
        assert broker is not None, "a member that leads has a broker"
        self._change(MemberEvent.STOP)
        self._broker_changed()
        # Requests that wait for a majority are dropped with it; their senders see their connections close, and ask the
        # next leader.
        await broker.abandon()
        await self._follow(has_led=True)

    # --- entries -----------------------------------------------------------------------------------------------------

    def _committed(self, entry: RaftEntry) -> None:
        self._waiting.append(entry)
        self._changed.set()

    async def _apply(self, entry: RaftEntry) -> None:
        applied = self._applied
        if entry.kind is EntryKind.NO_OP:
            self._begun_term = entry.term
        if entry.index <= applied.index:
            return
        end_offset = applied.log_end_offset
        if entry.kind is EntryKind.DATA:
            said = decode_entry(entry.data)
            if isinstance(said, LogPiece):
                self._append(entry.index, said)
                end_offset = max(end_offset, said.end_offset)
            elif self.state is MemberState.FOLLOWS:
                await self._keep(said)
        self._applied = AppliedMark(entry.index, end_offset)

    def _append(self, index: int, piece: LogPiece) -> None:
        if self.state is MemberState.LEADS:
            self._majority.committed(index, piece)
        else:
            # The first pieces again, after a disk has lost some data.
            known = min(len(piece.data), max(0, self._replica.end_offset - piece.offset))
            # Data older than the oldest file was deleted, and is not compared.
            old = min(known, max(0, self._store.commit_log.min_offset - piece.offset))
            if self._store.commit_log.files.read(piece.offset + old, known - old) != piece.data[old:known]:
                raise WrongPiece(
                    f"entry {index} is another one than the commit log holds at byte {piece.offset}: this folder has "
                    "followed another log than the group's; begin with an empty one"
                )
            if known < len(piece.data):
                self._replica.append(piece.offset + known, piece.data[known:])

    async def _keep(self, entry: TableEntry) -> None:
        if not isinstance(entry, TopicsDeleted):
            await self._tables.keep(entry)
        elif self._replica.end_offset <= entry.log_end_offset:
            # Otherwise it was deleted before the log was read again from its beginning, and may have been created again
            # since.
            self._store.delete_topics(entry.topics)
            await self._store.make_deletions_last()

    async def _mark(self) -> None:
        """Record which entries are applied, once they are on disk."""
        store = self._store if self.broker is None else self.broker.store
        end_offset = self._applied.log_end_offset
        self._log_ends.append(end_offset)
        mark = replace(self._applied, settled_offset=self._log_ends[0])
        if self.state is MemberState.RESTS or mark == self._saved:
            return
        try:
            if await store.flushed(end_offset):
                disk = self._runtime.disk
                await disk.off_loop(lambda: save_mark(disk, mark))
                self._saved = mark
                # A member that lags this far gets the entries from the disk.
                log = self.peer.core.log
                log.release(min(mark.index, log.commit_index))
        except DiskFault as fault:
            _log.warning("%s: what is applied could not be marked: %s", self.group.name, fault)
