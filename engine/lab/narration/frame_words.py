"""A frame in words: who asks whom for what, and what is answered. What is only housekeeping has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from engine.lab.narration.sent_frames import NOTHING, SentFrame, SentFrames, Texts, Words
from engine.lab.narration.what_matters import frame_matters
from engine.lab.nodes.broker_role import BrokerRole
from engine.protocol.body.bodies import LockBatchRequestBody, LockBatchResponseBody
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.command.send_message_headers import SendMessageRequestHeader
from engine.protocol.errors import ProtocolError
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.message.message_properties import (
    PROPERTY_KEYS,
    PROPERTY_TRANSACTION_PREPARED,
    decode_properties,
)
from engine.protocol.names import RETRY_GROUP_TOPIC_PREFIX
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import TRANSACTION_COMMIT_TYPE, TRANSACTION_ROLLBACK_TYPE
from engine.texts import Text, plain

if TYPE_CHECKING:
    from engine.lab.world.world import ScenarioWorld

#: Keys of one frame that are told.
KEYS_TOLD = 3
#: Stands in the body of every reply about locks.
_LOCK_REPLY = b'"lockOKMQSet"'


class FrameWords:
    """Says what the frames of ``world`` are about, from now on. :ivar frames: those."""

    def __init__(self, world: ScenarioWorld) -> None:
        self._world = world
        self.frames = SentFrames(world, self._note_at_once)
        self._requests: dict[str, Callable[[SentFrame, RemotingCommand], Words | None]] = {
            "SEND_MESSAGE": self._send,
            "SEND_MESSAGE_V2": self._send,
            "SEND_BATCH_MESSAGE": self._send,
            "PULL_MESSAGE": self._pull,
            "LOCK_BATCH_MQ": self._lock,
            "UNLOCK_BATCH_MQ": self._unlock,
            "QUERY_CONSUMER_OFFSET": self._asks_offset,
            "UPDATE_CONSUMER_OFFSET": self._tells_offset,
            "NOTIFY_CONSUMER_IDS_CHANGED": self._members,
            "CONSUMER_SEND_MSG_BACK": self._send_back,
            "END_TRANSACTION": self._end_transaction,
            "CHECK_TRANSACTION_STATE": self._check,
        }
        self._replies: dict[str, Callable[[SentFrame, RemotingCommand, SentFrame], Words | None]] = {
            "SEND_MESSAGE": self._stored,
            "SEND_MESSAGE_V2": self._stored,
            "SEND_BATCH_MESSAGE": self._stored,
            "PULL_MESSAGE": self._pulled,
            "LOCK_BATCH_MQ": self._locked,
            "QUERY_CONSUMER_OFFSET": self._offset,
        }

    def _note_at_once(self, frame: SentFrame) -> None:
        """Who holds a lock is known only now: what a reply about locks means must not wait until somebody asks."""
        if _LOCK_REPLY in frame.parcel.data:
            frame.words = self._of(frame)

    def of(self, frame: SentFrame) -> Words | None:
        """What ``frame`` is about; None when that is nothing to tell."""
        if frame.words is None:
            frame.words = self._of(frame) or NOTHING
        return None if frame.words is NOTHING else frame.words

    def _of(self, frame: SentFrame) -> Words | None:
        command, name = frame.command, self.frames.name_of(frame)
        if command is None or not name:
            return None
        if frame.is_lost:
            return Words(Text("moment.lost", **_ends(frame), name=_name(command, name)), kind="lost")
        if not frame_matters(name):
            return None
        try:
            return self._told(frame, command, name)
        except (ProtocolError, KeyError, ValueError):
            # Bytes that mean something else than their code says: the frame is told by its name.
            return self._plainly(frame, name)

    def _told(self, frame: SentFrame, command: RemotingCommand, name: str) -> Words | None:
        if not command.is_response:
            tell = self._requests.get(name)
            return self._plainly(frame, name) if tell is None else tell(frame, command)
        request = self.frames.request_of(frame)
        answer = self._replies.get(name)
        if request is None:
            return None
        if answer is not None and command.code in _WELL:
            return answer(frame, command, request)
        if command.code == ResponseCode.SUCCESS:
            return None
        return Words(Text("moment.refused", **_ends(frame), name=name, code=_code_name(command.code)))

    @staticmethod
    def _plainly(frame: SentFrame, name: str) -> Words:
        return Words(Text("moment.asks", **_ends(frame), name=name))

    # ------------------------------------------------------------------------------ messages

    def _send(self, frame: SentFrame, command: RemotingCommand) -> Words:
        header, keys, is_half = _sent_message(command)
        queue = _queue(header.topic, header.queue_id)
        return Words(
            Text("moment.sends_half" if is_half else "moment.sends", **_ends(frame), keys=keys_told(keys), queue=queue),
            keys,
            "transaction" if is_half else "frame",
        )

    def _stored(self, frame: SentFrame, command: RemotingCommand, request: SentFrame) -> Words:
        assert request.command is not None
        header, keys, is_half = _sent_message(request.command)
        if is_half:
            return Words(Text("moment.half_stored", **_ends(frame), keys=keys_told(keys)), keys, "transaction")
        fields = command.ext_fields
        queue = _queue(header.topic, int(fields["queueId"]))
        if command.code != ResponseCode.SUCCESS:
            detail = _code_name(command.code)
            return Words(
                Text("moment.stored_but", **_ends(frame), keys=keys_told(keys), queue=queue, code=detail), keys
            )
        offset = fields["queueOffset"]
        return Words(Text("moment.stored", **_ends(frame), keys=keys_told(keys), queue=queue, offset=offset), keys)

    def _pull(self, frame: SentFrame, command: RemotingCommand) -> Words:
        fields = command.ext_fields
        return Words(
            Text("moment.asks_pull", **_ends(frame), queue=_queue_of(command), offset=fields["queueOffset"]),
        )

    def _pulled(self, frame: SentFrame, command: RemotingCommand, request: SentFrame) -> Words:
        assert request.command is not None
        queue = _queue_of(request.command)
        if command.code != ResponseCode.SUCCESS:
            return Words(Text("moment.nothing_new", **_ends(frame), queue=queue))
        keys = _keys_in(command.body)
        return Words(Text("moment.gives", **_ends(frame), keys=keys_told(keys), queue=queue), keys)

    def _send_back(self, frame: SentFrame, command: RemotingCommand) -> Words:
        return Words(Text("moment.sends_back", **_ends(frame)))

    # ------------------------------------------------------------------------------ locks

    def _lock(self, frame: SentFrame, command: RemotingCommand) -> Words | None:
        body = LockBatchRequestBody.from_json(command.body)
        if not body.mq_set:
            return None
        return Words(Text("moment.asks_lock", **_ends(frame), queues=_queues(body.mq_set)), kind="lock")

    def _unlock(self, frame: SentFrame, command: RemotingCommand) -> Words:
        body = LockBatchRequestBody.from_json(command.body)
        return Words(Text("moment.unlocks", **_ends(frame), queues=_queues(body.mq_set)), kind="lock")

    def _locked(self, frame: SentFrame, command: RemotingCommand, request: SentFrame) -> Words | None:
        assert request.command is not None
        asked = LockBatchRequestBody.from_json(request.command.body)
        granted = LockBatchResponseBody.from_json(command.body).lock_ok_mq_set
        refused = [queue for queue in asked.mq_set if queue not in granted]
        role = self._world.nodes.get(frame.parcel.source)
        if not isinstance(role, BrokerRole) or role.broker is None or not asked.mq_set:
            return None
        table = role.broker.rebalance_lock_manager
        holders = {queue: entry.client_id for group, queue, entry in table.entries() if group == asked.consumer_group}
        if refused:
            holder = self._node_of(holders.get(refused[0], ""))
            queues = _queues(refused)
            return Words(Text("moment.refuses", **_ends(frame), queues=queues, holder=holder), kind="lock")
        if not table.enabled:
            taken = self._consumer_with(asked.consumer_group, granted, frame.parcel.target)
            if taken:
                text = Text("moment.grants_taken", **_ends(frame), queues=_queues(granted), holder=taken)
            else:
                text = Text("moment.grants_unlocked", **_ends(frame), queues=_queues(granted))
            return Words(text, kind="lock")
        seconds = f"{table.lock_lease_ms / 1_000:g}"
        return Words(Text("moment.grants", **_ends(frame), queues=_queues(granted), seconds=seconds), kind="lock")

    def _node_of(self, client_id: str) -> str:
        ip = client_id.partition("@")[0]
        for name, role in self._world.nodes.items():
            if role.runtime.identity.host_ip == ip:
                return name
        return client_id or "-"

    def _consumer_with(self, group: str, queues: Iterable[MessageQueue], but: str) -> str:
        """Another member of the group that has one of the queues."""
        wanted = {(queue.topic, queue.queue_id): None for queue in queues}
        for role in self._world.consumers():
            if role.name == but or role.spec.group != group or role.consumer is None:
                continue
            if any((queue.topic, queue.queue_id) in wanted for queue in role.consumer.process_queues):
                return role.name
        return ""

    # ------------------------------------------------------------------------------ groups and transactions

    def _asks_offset(self, frame: SentFrame, command: RemotingCommand) -> Words:
        group = command.ext_fields["consumerGroup"]
        return Words(Text("moment.asks_offset", **_ends(frame), group=group, queue=_queue_of(command)))

    def _offset(self, frame: SentFrame, command: RemotingCommand, request: SentFrame) -> Words:
        assert request.command is not None
        group, queue = request.command.ext_fields["consumerGroup"], _queue_of(request.command)
        if command.code == ResponseCode.QUERY_NOT_FOUND:
            return Words(Text("moment.no_offset", **_ends(frame), group=group, queue=queue))
        offset = command.ext_fields["offset"]
        return Words(Text("moment.tells_offset", **_ends(frame), group=group, queue=queue, offset=offset))

    def _tells_offset(self, frame: SentFrame, command: RemotingCommand) -> Words:
        group, offset = command.ext_fields["consumerGroup"], command.ext_fields["commitOffset"]
        return Words(Text("moment.tells_offset", **_ends(frame), group=group, queue=_queue_of(command), offset=offset))

    def _members(self, frame: SentFrame, command: RemotingCommand) -> Words:
        return Words(Text("moment.members", **_ends(frame), group=command.ext_fields["consumerGroup"]))

    def _end_transaction(self, frame: SentFrame, command: RemotingCommand) -> Words:
        ends = {TRANSACTION_COMMIT_TYPE: "commits", TRANSACTION_ROLLBACK_TYPE: "rolls_back"}
        end = ends.get(int(command.ext_fields["commitOrRollback"]), "undecided")
        return Words(Text(f"moment.{end}", **_ends(frame)), kind="transaction")

    def _check(self, frame: SentFrame, command: RemotingCommand) -> Words:
        keys = _keys_in(command.body)
        return Words(Text("moment.checks", **_ends(frame), keys=keys_told(keys)), keys, "transaction")


#: Codes with which an answer has something to say of its own.
_WELL = (
    ResponseCode.SUCCESS,
    ResponseCode.FLUSH_DISK_TIMEOUT,
    ResponseCode.PULL_NOT_FOUND,
    ResponseCode.QUERY_NOT_FOUND,
)


def _ends(frame: SentFrame) -> dict[str, str]:
    return {"source": frame.parcel.source, "target": frame.parcel.target}


def _name(command: RemotingCommand, name: str) -> Texts:
    return Text("moment.reply_to", name=name) if command.is_response else plain(name)


def _code_name(code: int) -> str:
    try:
        return ResponseCode(code).name
    except ValueError:
        return str(code)


def _sent_message(command: RemotingCommand) -> tuple[SendMessageRequestHeader, tuple[str, ...], bool]:
    """Its header, its keys, and whether it is a half message."""
    fields = command.ext_fields
    header = SendMessageRequestHeader.decode_v2(fields) if "b" in fields else SendMessageRequestHeader.decode(fields)
    properties = decode_properties(header.properties or "")
    keys = tuple(properties.get(PROPERTY_KEYS, "").split())
    return header, keys, properties.get(PROPERTY_TRANSACTION_PREPARED) == "true"


def _keys_in(body: bytes) -> tuple[str, ...]:
    messages = decode_messages(body, decompress=False)
    return tuple(message.keys[0] for message in messages if message.keys)


def keys_told(keys: tuple[str, ...]) -> Texts:
    """``a, b, c``, or ``a, b and 7 more``."""
    if not keys:
        return Text("moment.a_message")
    if len(keys) <= KEYS_TOLD:
        return plain(", ".join(keys))
    return Text("moment.more", keys=", ".join(keys[: KEYS_TOLD - 1]), count=len(keys) - KEYS_TOLD + 1)


def _queue_of(command: RemotingCommand) -> str:
    return _queue(command.ext_fields["topic"], int(command.ext_fields["queueId"]))


def _queues(queues: Iterable[MessageQueue]) -> str:
    return ", ".join(sorted(_queue(queue.topic, queue.queue_id) for queue in queues))


def _queue(topic: str, queue_id: int) -> str:
    """``Q1``, as the stage calls it; a retry topic's is named in full."""
    return f"{topic} Q{queue_id}" if topic.startswith(RETRY_GROUP_TOPIC_PREFIX) else f"Q{queue_id}"
