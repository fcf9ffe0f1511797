"""A description of a frame in words: the sender, the receiver, the request or the reply, as far as the frame shows
them.

It is the common source for the lab's narrator and for the view of frames held at a live broker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from engine.protocol.body.bodies import LockBatchRequestBody
from engine.protocol.body.heartbeat_data import HeartbeatData
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.command.send_header_reader import decode_send_header_v2
from engine.protocol.command.send_message_headers import SendMessageRequestHeader
from engine.protocol.errors import ProtocolError
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.message.message_properties import (
    PROPERTY_KEYS,
    PROPERTY_TRANSACTION_PREPARED,
    decode_properties,
    split_keys,
)
from engine.protocol.names import RETRY_GROUP_TOPIC_PREFIX
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import TRANSACTION_COMMIT_TYPE, TRANSACTION_ROLLBACK_TYPE
from engine.texts import Text, plain

#: The maximum number of keys of one frame that are listed.
KEYS_SHOWN = 3

Texts = Mapping[str, str]


class MeaningWords(NamedTuple):
    """A sentence, and the keys of the messages in it. ``kind``: ``frame``, ``lock``, ``transaction`` or ``lost``."""

    text: Texts
    keys: tuple[str, ...] = ()
    kind: str = "frame"


class Ends(NamedTuple):
    """The sender and the receiver of a frame, by the names that people use."""

    source: str
    target: str

    @property
    def said(self) -> dict[str, str]:
        """Return the ends as values for a text."""
        return self._asdict()


def request_words(name: str, command: RemotingCommand, ends: Ends) -> MeaningWords | None:
    """Return what the request ``name`` asks for, or None if nothing; only its name if its bytes mean something else."""
    report = _REQUESTS.get(name)
    try:
        return _plainly(name, ends) if report is None else report(ends.said, command)
    except (ProtocolError, KeyError, ValueError):
        return _plainly(name, ends)


def reply_words(name: str, command: RemotingCommand, request: RemotingCommand, ends: Ends) -> MeaningWords | None:
    """Return what the reply to ``request``, which is called ``name``, says; None if it only reports success."""
    answer = _REPLIES.get(name)
    try:
        if answer is not None and command.code in _WELL:
            return answer(ends.said, command, request)
    except (ProtocolError, KeyError, ValueError):
        return _plainly(name, ends)
    if command.code == ResponseCode.SUCCESS:
        return None
    return answered(name, command, ends)


def answered(name: str, command: RemotingCommand, ends: Ends) -> MeaningWords:
    """Return the words that say that the request ``name`` is answered with a code."""
    return MeaningWords(Text("moment.refused", **ends.said, name=name, code=_code_name(command.code)))


def _plainly(name: str, ends: Ends) -> MeaningWords:
    return MeaningWords(Text("moment.asks", **ends.said, name=name))


# ---------------------------------------------------------------------------------- messages


def _send(ends: dict[str, str], command: RemotingCommand) -> MeaningWords:
    header, keys, is_half = _sent_message(command)
    queue = _queue(header.topic, header.queue_id)
    return MeaningWords(
        Text("moment.sends_half" if is_half else "moment.sends", **ends, keys=keys_text(keys), queue=queue),
        keys,
        "transaction" if is_half else "frame",
    )


def _stored(ends: dict[str, str], command: RemotingCommand, request: RemotingCommand) -> MeaningWords:
    header, keys, is_half = _sent_message(request)
    if is_half:
        return MeaningWords(Text("moment.half_stored", **ends, keys=keys_text(keys)), keys, "transaction")
    fields = command.ext_fields
    queue = _queue(header.topic, int(fields["queueId"]))
    if command.code != ResponseCode.SUCCESS:
        detail = _code_name(command.code)
        return MeaningWords(Text("moment.stored_but", **ends, keys=keys_text(keys), queue=queue, code=detail), keys)
    offset = fields["queueOffset"]
    return MeaningWords(Text("moment.stored", **ends, keys=keys_text(keys), queue=queue, offset=offset), keys)


def _pull(ends: dict[str, str], command: RemotingCommand) -> MeaningWords:
    fields = command.ext_fields
    return MeaningWords(Text("moment.asks_pull", **ends, queue=_queue_of(command), offset=fields["queueOffset"]))


def _pulled(ends: dict[str, str], command: RemotingCommand, request: RemotingCommand) -> MeaningWords:
    queue = _queue_of(request)
    if command.code != ResponseCode.SUCCESS:
        return MeaningWords(Text("moment.nothing_new", **ends, queue=queue))
    keys = _keys_in(command.body)
    return MeaningWords(Text("moment.gives", **ends, keys=keys_text(keys), queue=queue), keys)


def _send_back(ends: dict[str, str], command: RemotingCommand) -> MeaningWords:
    return MeaningWords(Text("moment.sends_back", **ends))


# ------------------------------------------------------------------------------------- locks


def _lock(ends: dict[str, str], command: RemotingCommand) -> MeaningWords | None:
    body = LockBatchRequestBody.from_json(command.body)
    if not body.mq_set:
        return None
    return MeaningWords(Text("moment.asks_lock", **ends, queues=queues_text(body.mq_set)), kind="lock")


def _unlock(ends: dict[str, str], command: RemotingCommand) -> MeaningWords:
    body = LockBatchRequestBody.from_json(command.body)
    return MeaningWords(Text("moment.unlocks", **ends, queues=queues_text(body.mq_set)), kind="lock")


# ------------------------------------------------------------------ groups and transactions


def _asks_offset(ends: dict[str, str], command: RemotingCommand) -> MeaningWords:
    group = command.ext_fields["consumerGroup"]
    return MeaningWords(Text("moment.asks_offset", **ends, group=group, queue=_queue_of(command)))


def _offset(ends: dict[str, str], command: RemotingCommand, request: RemotingCommand) -> MeaningWords:
    group, queue = request.ext_fields["consumerGroup"], _queue_of(request)
    if command.code == ResponseCode.QUERY_NOT_FOUND:
        return MeaningWords(Text("moment.no_offset", **ends, group=group, queue=queue))
    offset = command.ext_fields["offset"]
    return MeaningWords(Text("moment.tells_offset", **ends, group=group, queue=queue, offset=offset))


def _reports_offset(ends: dict[str, str], command: RemotingCommand) -> MeaningWords:
    group, offset = command.ext_fields["consumerGroup"], command.ext_fields["commitOffset"]
    return MeaningWords(Text("moment.tells_offset", **ends, group=group, queue=_queue_of(command), offset=offset))


def _members(ends: dict[str, str], command: RemotingCommand) -> MeaningWords:
    return MeaningWords(Text("moment.members", **ends, group=command.ext_fields["consumerGroup"]))


def _heartbeat(ends: dict[str, str], command: RemotingCommand) -> MeaningWords:
    data = HeartbeatData.from_json(command.body)
    groups = (*data.producer_groups, *(consumer.group_name for consumer in data.consumers))
    return MeaningWords(Text("moment.heartbeat", **ends, groups=", ".join(groups) or "-"))


def _end_transaction(ends: dict[str, str], command: RemotingCommand) -> MeaningWords:
    known = {TRANSACTION_COMMIT_TYPE: "commits", TRANSACTION_ROLLBACK_TYPE: "rolls_back"}
    end = known.get(int(command.ext_fields["commitOrRollback"]), "undecided")
    return MeaningWords(Text(f"moment.{end}", **ends), kind="transaction")


def _check(ends: dict[str, str], command: RemotingCommand) -> MeaningWords:
    keys = _keys_in(command.body)
    return MeaningWords(Text("moment.checks", **ends, keys=keys_text(keys)), keys, "transaction")


_REQUESTS: dict[str, Callable[[dict[str, str], RemotingCommand], MeaningWords | None]] = {
    "SEND_MESSAGE": _send,
    "SEND_MESSAGE_V2": _send,
    "SEND_BATCH_MESSAGE": _send,
    "PULL_MESSAGE": _pull,
    "LOCK_BATCH_MQ": _lock,
    "UNLOCK_BATCH_MQ": _unlock,
    "QUERY_CONSUMER_OFFSET": _asks_offset,
    "UPDATE_CONSUMER_OFFSET": _reports_offset,
    "HEART_BEAT": _heartbeat,
    "NOTIFY_CONSUMER_IDS_CHANGED": _members,
    "CONSUMER_SEND_MSG_BACK": _send_back,
    "END_TRANSACTION": _end_transaction,
    "CHECK_TRANSACTION_STATE": _check,
}
_REPLIES: dict[str, Callable[[dict[str, str], RemotingCommand, RemotingCommand], MeaningWords]] = {
    "SEND_MESSAGE": _stored,
    "SEND_MESSAGE_V2": _stored,
    "SEND_BATCH_MESSAGE": _stored,
    "PULL_MESSAGE": _pulled,
    "QUERY_CONSUMER_OFFSET": _offset,
}
#: Codes with which a reply has a description of its own.
_WELL = (
    ResponseCode.SUCCESS,
    ResponseCode.FLUSH_DISK_TIMEOUT,
    ResponseCode.PULL_NOT_FOUND,
    ResponseCode.QUERY_NOT_FOUND,
)


def _code_name(code: int) -> str:
    try:
        return ResponseCode(code).name
    except ValueError:
        return str(code)


def _sent_message(command: RemotingCommand) -> tuple[SendMessageRequestHeader, tuple[str, ...], bool]:
    """Return the message's header, its keys, and whether it is a half message."""
    fields = command.ext_fields
    header = decode_send_header_v2(fields) if "b" in fields else SendMessageRequestHeader.decode(fields)
    properties = decode_properties(header.properties or "")
    keys = tuple(split_keys(properties.get(PROPERTY_KEYS, "")))
    return header, keys, properties.get(PROPERTY_TRANSACTION_PREPARED) == "true"


def _keys_in(body: bytes) -> tuple[str, ...]:
    messages = decode_messages(body, decompress=False)
    return tuple(message.keys[0] for message in messages if message.keys)


def keys_text(keys: tuple[str, ...]) -> Texts:
    """Return keys as ``a, b, c``, or ``a, b and 7 more``."""
    if not keys:
        return Text("moment.a_message")
    if len(keys) <= KEYS_SHOWN:
        return plain(", ".join(keys))
    return Text("moment.more", keys=", ".join(keys[: KEYS_SHOWN - 1]), count=len(keys) - KEYS_SHOWN + 1)


def _queue_of(command: RemotingCommand) -> str:
    return _queue(command.ext_fields["topic"], int(command.ext_fields["queueId"]))


def queues_text(queues: Iterable[MessageQueue]) -> str:
    """Return queues as ``Q0, Q3``."""
    return ", ".join(sorted(_queue(queue.topic, queue.queue_id) for queue in queues))


def _queue(topic: str, queue_id: int) -> str:
    """Return a queue as ``Q1``, as the stage shows it; a retry topic's is named in full."""
    return f"{topic} Q{queue_id}" if topic.startswith(RETRY_GROUP_TOPIC_PREFIX) else f"Q{queue_id}"
