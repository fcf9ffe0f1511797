"""A frame in words, with what only the world knows: whether it is lost, and who holds a lock that is refused.

Housekeeping frames have no words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from engine.faults.frame_meaning import Ends, MeaningWords, queues_text, reply_words, request_words
from engine.lab.narration.kafka_words import kafka_words
from engine.lab.narration.raft_words import raft_words
from engine.lab.narration.relevance import is_frame_relevant
from engine.lab.narration.store_words import store_words
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.witness.frame_log import SentParcel
from engine.lab.work.store_frames import StoreRequestCode
from engine.protocol.body.bodies import LockBatchRequestBody, LockBatchResponseBody
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.response_code import ResponseCode
from engine.replication.ha import ha_frames
from engine.replication.ha.ha_config import HaRole
from engine.replication.raft.raft_messages import RAFT_MAGIC
from engine.runtime.lab.lab_link_fault import Parcel
from engine.texts import Text, plain

if TYPE_CHECKING:
    from engine.lab.world.world import ScenarioWorld

#: The newest frames that have words.
FRAMES_WORDED = 512
#: Part of the body of every reply about locks.
_LOCK_REPLY = b'"lockOKMQSet"'


class FrameWords:
    """Describe the frames of ``world`` from now on."""

    def __init__(self, world: ScenarioWorld) -> None:
        self._world = world
        self._frames = world.witness.frames
        self._since = self._frames.count
        #: Number of a frame -> its words, the newest last; None: there is nothing to report.
        self._words: dict[int, MeaningWords | None] = {}
        world.watch_parcels(self._note_at_once)

    def _note_at_once(self, parcel: Parcel, delays_us: tuple[int, ...]) -> None:
        """Describe a reply about locks and a frame between Raft peers immediately: who holds a lock, and whether an
        answer is news, is known only now.
        """
        if _LOCK_REPLY in parcel.data or parcel.data[4:8] == RAFT_MAGIC:
            self.of(self._frames.newest)

    def newest(self) -> Iterator[SentParcel]:
        """Yield the frames that have words, the last one first."""
        return takewhile(lambda frame: frame.number > self._since, self._frames.newest_frames(FRAMES_WORDED))

    def of(self, frame: SentParcel) -> MeaningWords | None:
        """Return the words for ``frame``; None if there is nothing to report."""
        if frame.number not in self._words:
            if len(self._words) >= FRAMES_WORDED:
                del self._words[min(self._words)]
            self._words[frame.number] = self._of(frame)
        return self._words[frame.number]

    def _of(self, frame: SentParcel) -> MeaningWords | None:
        said, name = self._frames.reading(frame), self._frames.request_name_of(frame)
        if said is None or not name:
            return None
        ends = Ends(frame.source, frame.target)
        if frame.is_dropped:
            reported = plain(name) if said.name else Text("moment.reply_to", name=name)
            return MeaningWords(Text("moment.lost", **ends.said, name=reported), kind="lost")
        request = frame if said.name else self._frames.request_of(frame)
        request_said = None if request is None else self._frames.reading(request)
        if request is None or request_said is None:
            return None
        if ha_frames.frame_name(frame.data) == name:
            return self._copying(name, frame.data, ends)
        if frame.data[4:8] == RAFT_MAGIC:
            return raft_words(frame.data, ends, self._world)
        command, asked = said.command, request_said.command
        if command is None or asked is None:
            return kafka_words(frame.data, request.data, ends) if is_frame_relevant(name) else None
        if asked.code in tuple(StoreRequestCode):
            return store_words(command, asked, ends)
        if not is_frame_relevant(name):
            return None
        if not command.is_response:
            return request_words(name, command, ends)
        if name == "LOCK_BATCH_MQ" and command.code == ResponseCode.SUCCESS:
            try:
                return self._locked(command, asked, ends)
            except ProtocolError:
                return None
        return reply_words(name, command, asked, ends)

    def _locked(self, command: RemotingCommand, request: RemotingCommand, ends: Ends) -> MeaningWords | None:
        asked = LockBatchRequestBody.from_json(request.body)
        granted = LockBatchResponseBody.from_json(command.body).lock_ok_mq_set
        refused = [queue for queue in asked.mq_set if queue not in granted]
        role = self._world.find(BrokerNode, ends.source)
        if role is None or role.broker is None or not asked.mq_set:
            return None
        table = role.broker.rebalance_lock_manager
        holders = {queue: entry.client_id for group, queue, entry in table.entries() if group == asked.consumer_group}
        if refused:
            holder = self._node_of(holders.get(refused[0], ""))
            queues = queues_text(refused)
            return MeaningWords(Text("moment.refuses", **ends.said, queues=queues, holder=holder), kind="lock")
        if not table.enabled:
            taken = self._consumer_with(asked.consumer_group, granted, ends.target)
            if taken:
                text = Text("moment.grants_taken", **ends.said, queues=queues_text(granted), holder=taken)
            else:
                text = Text("moment.grants_unlocked", **ends.said, queues=queues_text(granted))
            return MeaningWords(text, kind="lock")
        seconds = f"{table.lock_lease_ms / 1_000:g}"
        return MeaningWords(
            Text("moment.grants", **ends.said, queues=queues_text(granted), seconds=seconds), kind="lock"
        )

    def _copying(self, name: str, data: bytes, ends: Ends) -> MeaningWords | None:
        """Return the words for the replication frames of slave and master."""
        if name == "HA_REPORT":
            return MeaningWords(Text("moment.ha_report", **ends.said, end=ha_frames.decode_report(data)))
        offset, piece = ha_frames.decode_piece(data)
        if not piece:
            return None
        master = self._world.find(BrokerNode, ends.source)
        is_sync = master is not None and master.settings.get("broker_role") == HaRole.SYNC_MASTER.value
        key = "moment.ha_piece_sync" if is_sync else "moment.ha_piece"
        return MeaningWords(Text(key, **ends.said, start=offset, end=offset + len(piece)))

    def _node_of(self, client_id: str) -> str:
        ip = client_id.partition("@")[0]
        for name, role in self._world.nodes.items():
            if role.runtime.identity.host_ip == ip:
                return name
        return client_id or "-"

    def _consumer_with(self, group: str, queues: Iterable[MessageQueue], but: str) -> str:
        """Return another member of the group that has one of the queues."""
        wanted = {(queue.topic, queue.queue_id): None for queue in queues}
        for role in self._world.consumers():
            if role.name == but or role.spec.group != group or role.consumer is None:
                continue
            if any((queue.topic, queue.queue_id) in wanted for queue in role.consumer.process_queues):
                return role.name
        return ""
