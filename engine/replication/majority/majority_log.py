"""The leader's side: what its broker appends is proposed, and is committed when a majority has it (DLedger:
``DLedgerCommitLog.asyncPutMessage``, ``DLedgerEntryPusher``).

Until then no consumer sees a message, and its sender waits. A leader that steps down drops what it appended and no
majority has.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engine.replication.majority.majority_entry import LogPiece, encode_entry
from engine.replication.majority.shared_tables import SharingTables
from engine.replication.raft.errors import NotLeader, ProposalRefused
from engine.replication.raft.raft_peer import RaftPeer
from engine.replication.waiting_senders import WaitingSenders
from engine.store.files.config_file import ConfigFile
from engine.store.log.put_message_result import PutMessageStatus
from engine.store.message_store import MessageStore
from engine.store.queues.dispatch_request import DispatchRequest

#: Largest piece, unless a single message is longer. A piece takes all messages that arrive while the one before it is
#: flushed.
PIECE_MAX_BYTES = 1_048_576
#: Pieces proposed and not yet committed: one is written here while the one before it is written on the followers.
PIECES_AHEAD = 4
#: How often tables and followers are checked.
LOOK_INTERVAL_MS = 100
#: The end offsets of this many pieces are kept. The lag of a follower that lacks more is reported as unknown.
_ENDS_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class FollowerView:
    """State of a member as its leader knows it.

    :ivar acknowledged_offset: the member has everything of the commit log before it; -1: unknown.
    :ivar caught_up_ms: when the member was last seen to have everything, or when this was first checked.
    """

    name: str
    acknowledged_offset: int
    caught_up_ms: int


class MajorityLog:
    """Replicate the commit log of one leader during its term.

    :param timeout_ms: how long a sender waits (``slaveTimeout``).
    :param now_ms: returns the time of day.
    :ivar committed_offset: a majority has everything before it.
    :ivar timeouts: how many senders received an answer that replication took too long.
    :ivar tables: the tables that the broker keeps alongside its log.
    """

    def __init__(self, peer: RaftPeer, timeout_ms: int, now_ms: Callable[[], int]) -> None:
        self.peer = peer
        self.committed_offset = 0
        self.timeouts = 0
        self.tables = SharingTables(peer, timeout_ms)
        self._timeout_ms = timeout_ms
        self._now_ms = now_ms
        #: Follower -> when it was last seen to have all of the log.
        self._caught_up_ms: dict[str, int] = {}
        #: (index, end offset) of the pieces that were committed last.
        self._ends: deque[tuple[int, int]] = deque(maxlen=_ENDS_KEPT)
        self._store: MessageStore
        self._proposed_offset = 0
        self._pieces_ahead = 0
        self._senders = WaitingSenders()

    def begin(self, store: MessageStore, files: Iterable[ConfigFile]) -> None:
        """Begin the term, before the broker accepts messages; everything in its store is committed."""
        self._store = store
        self.committed_offset = self._proposed_offset = store.commit_log.max_offset
        self._ends.append((self.peer.core.log.commit_index, self.committed_offset))
        store.dispatcher.hold_back = self._propose
        self.tables.begin(files)

    def _propose(self, waiting: Sequence[DispatchRequest]) -> int:
        """Propose messages that wait to become visible; return the offset from which they still wait."""
        while self._pieces_ahead < PIECES_AHEAD and waiting[-1].end_offset > self._proposed_offset:
            start = self._proposed_offset
            first = bisect_right(waiting, start, key=_end_offset)
            # At least one message, and whole ones only: a log that ends with a part of one could not be recovered.
            count = max(first + 1, bisect_right(waiting, start + PIECE_MAX_BYTES, key=_end_offset))
            end = waiting[count - 1].end_offset
            data = self._store.commit_log.files.read(start, end - start)
            try:
                self.peer.offer(encode_entry(LogPiece(start, data)))
            except (NotLeader, ProposalRefused):
                break  # the leader is about to step down, or tries again after the next commit
            self._pieces_ahead += 1
            self._proposed_offset = end
        return self.committed_offset

    def committed(self, index: int, piece: LogPiece) -> None:
        """Note that a majority has ``piece``, which this leader has proposed as entry ``index``."""
        self.committed_offset = piece.end_offset
        self._ends.append((index, piece.end_offset))
        self._pieces_ahead -= 1
        self._store.dispatcher.drain()
        self._senders.free(self.committed_offset)

    async def replicated(self, offset: int, end_offset: int) -> PutMessageStatus:
        """Wait until a majority has everything before ``end_offset``: PUT_OK. Return FLUSH_SLAVE_TIMEOUT if that takes
        too long; the majority may still get it.
        """
        if end_offset <= self.committed_offset or await self._senders.wait(offset, end_offset, self._timeout_ms):
            return PutMessageStatus.PUT_OK
        self.timeouts += 1
        return PutMessageStatus.FLUSH_SLAVE_TIMEOUT

    def look(self) -> None:
        """Propose the tables whose files have changed, and note which followers have everything."""
        core = self.peer.core
        for name, progress in core.followers.items():
            if progress.match_index == core.log.last_index:
                self._caught_up_ms[name] = self._now_ms()
        self.tables.look()

    def followers(self) -> list[FollowerView]:
        """Return the state of each follower."""
        began_ms = min(self._caught_up_ms.values(), default=self._now_ms())
        return [
            FollowerView(name, self._log_end_at(progress.match_index), self._caught_up_ms.get(name, began_ms))
            for name, progress in self.peer.core.followers.items()
        ]

    def _log_end_at(self, index: int) -> int:
        """Return the end of the commit log of a member that has the entries up to ``index``; -1 if unknown."""
        return next((end_offset for known, end_offset in reversed(self._ends) if known <= index), -1)


def _end_offset(request: DispatchRequest) -> int:
    return request.end_offset
