"""Half messages of a remote broker, with the requests that any tool may send.

The half queue, the op queue and the messages that were given up are topics that can be pulled and searched like others;
the position of the check service is the offset of its group. Works with a real RocketMQ 4.x too, but its op queue has
no topic configuration and cannot be pulled: decisions there are not known to tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from app.remote.remote_broker import PER_PULL, RemoteBroker
from engine.broker.transactions.half_message import HALF_QUEUE_ID, decided_offset
from engine.broker.transactions.half_message_administrator import request_for
from engine.broker.transactions.half_message_lookup import (
    COPIES_MAX,
    OPS_SEARCHED_MAX,
    HalfMessageAction,
    HalfMessageLookup,
    HalfMessageRefusal,
    HalfMessageRefused,
    deciding_op,
)
from engine.client.foundation.errors import MQBrokerError
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.question import group_offset
from engine.protocol.message.message import MessageExt
from engine.protocol.names import (
    TRANSACTION_CHECK_GROUP,
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
)
from engine.protocol.response_code import ResponseCode

#: Op messages that one search fetches at most, newest first.
OPS_FETCHED_MAX = OPS_SEARCHED_MAX
_PER_PULL = PER_PULL


@dataclass(frozen=True, slots=True)
class Undecided:
    """Half messages of one broker from the position of its check service, oldest first.

    :ivar decided: half offset -> offset of the op message that names it; None when the op queue cannot be read.
    """

    half_offset: int
    half_end: int
    messages: list[MessageExt]
    decided: dict[int, int] | None


@dataclass(slots=True)
class _Fetched:
    """A :class:`engine.broker.transactions.half_message_lookup.HalfMessageSource` of data that was fetched before."""

    messages: dict[tuple[str, str], list[MessageExt]] = field(default_factory=dict)
    #: Op messages, newest first, with all that name one of the messages.
    ops: list[tuple[int, MessageExt]] = field(default_factory=list)
    #: Why older op messages are not known.
    unknown_ops: HalfMessageRefusal | None = None

    def called(self, topic: str, name: str) -> list[MessageExt]:
        return self.messages.get((topic, name), [])

    def ops_newest_first(self, name: str) -> Iterator[tuple[int, MessageExt]]:
        yield from self.ops
        if self.unknown_ops is not None:
            raise HalfMessageRefused(self.unknown_ops, name=name, limit=OPS_FETCHED_MAX)


class RemoteHalfMessages:
    """The half messages of ``broker``. Every method raises an ``MQClientError`` when it does not answer."""

    def __init__(self, broker: RemoteBroker) -> None:
        self._broker = broker

    # ------------------------------------------------------------------------------ listing

    async def undecided(self, limit: int) -> Undecided:
        """Return at most ``limit``, the newest ones."""
        half_offset = await self._progress(TRANSACTION_HALF_TOPIC)
        end = await self._end(TRANSACTION_HALF_TOPIC)
        first_op = await self._progress(TRANSACTION_OP_HALF_TOPIC)
        op_end = await self._end(TRANSACTION_OP_HALF_TOPIC)
        ops = await self._ops(max(first_op, op_end - OPS_FETCHED_MAX), op_end)
        decided: dict[int, int] | None = None if ops is None else {}
        for op in ops or ():
            offset = decided_offset(op)
            if offset is not None and decided is not None:
                decided.setdefault(offset, op.queue_offset)
        messages = await self._read(TRANSACTION_HALF_TOPIC, max(half_offset, end - limit), end)
        return Undecided(half_offset, end, messages, decided)

    async def given_up(self, limit: int) -> list[MessageExt]:
        """Return at most ``limit`` messages of TRANS_CHECK_MAX_TIME_TOPIC, the newest ones, oldest first."""
        end = await self._end(TRANSACTION_CHECK_MAX_TIME_TOPIC)
        return await self._read(TRANSACTION_CHECK_MAX_TIME_TOPIC, max(0, end - limit), end)

    # ---------------------------------------------------------------------------- actions

    async def lookup(self, name: str) -> HalfMessageLookup:
        """Fetch the messages that may match ``name`` (unique id, key or offset message id), and return their lookup.

        Raises :class:`HalfMessageRefused`.
        """
        fetched = _Fetched()
        both = (TRANSACTION_HALF_TOPIC, TRANSACTION_CHECK_MAX_TIME_TOPIC)
        for topic in both:
            fetched.messages[topic, name] = await self._called(topic, name)
        if not any(fetched.messages.values()) and not await self._broker.has_index():
            raise HalfMessageRefused(HalfMessageRefusal.NO_INDEX)
        ids = dict.fromkeys(message.message_id for found in fetched.messages.values() for message in found)
        if len(ids) == 1:
            for identity in ids:
                for topic in both:
                    fetched.messages[topic, identity] = await self._called(topic, identity)
        copies = [
            one for (topic, _), found in fetched.messages.items() if topic == TRANSACTION_HALF_TOPIC for one in found
        ]
        if copies:
            end = await self._end(TRANSACTION_OP_HALF_TOPIC)
            fetched.ops, fetched.unknown_ops = await self._ops_naming(copies, end)
            meanwhile = await self._ops(end, await self._end(TRANSACTION_OP_HALF_TOPIC)) or ()
            fetched.ops[:0] = [(op.queue_offset, op) for op in reversed(meanwhile)]
        return HalfMessageLookup(fetched)

    async def _called(self, topic: str, name: str) -> list[MessageExt]:
        found = await self._broker.called(topic, name, COPIES_MAX)
        if found:
            return found
        # An offset id names messages whose sender gave them no unique id.
        message = await self._broker.message_with_id(name)
        return [message] if message is not None and message.topic == topic and message.message_id == name else []

    async def act(self, action: HalfMessageAction, message: MessageExt) -> None:
        """Carry out an action. Raises :class:`HalfMessageRefused` when the broker refuses."""
        reply = await self._broker.exchange(request_for(action, message), f"{action} a half message")
        if reply.code != ResponseCode.SUCCESS:
            raise HalfMessageRefused(HalfMessageRefusal.BY_BROKER, remark=reply.remark or f"code {reply.code}")

    async def _ops_naming(
        self, copies: Sequence[MessageExt], end: int
    ) -> tuple[list[tuple[int, MessageExt]], HalfMessageRefusal | None]:
        """Return the op messages before ``end`` that name one of ``copies``, newest first, back to one that decides
        them or is older than all; and why not that far.
        """
        found: list[tuple[int, MessageExt]] = []
        places, oldest = {copy.queue_offset for copy in copies}, min(copy.commit_log_offset for copy in copies)
        position = end
        while position > 0:
            first = max(0, position - _PER_PULL)
            ops = await self._ops(first, position)
            if ops is None:
                return found, HalfMessageRefusal.OPS_UNREADABLE
            found += [(op.queue_offset, op) for op in reversed(ops) if decided_offset(op) in places]
            if not ops or ops[0].commit_log_offset < oldest or deciding_op(found, copies) is not None:
                break
            if end - first >= OPS_FETCHED_MAX:
                return found, HalfMessageRefusal.TOO_FAR_BACK
            position = first
        return found, None

    async def _ops(self, first: int, end: int) -> list[MessageExt] | None:
        """Return op messages; None where the broker refuses to return them."""
        try:
            return await self._read(TRANSACTION_OP_HALF_TOPIC, first, end)
        except MQBrokerError as error:
            if error.code == ResponseCode.TOPIC_NOT_EXIST:
                return None
            raise

    async def _read(self, topic: str, first: int, end: int) -> list[MessageExt]:
        return await self._broker.read(topic, HALF_QUEUE_ID, first, end)

    async def _end(self, topic: str) -> int:
        return await self._broker.end_offset(topic, HALF_QUEUE_ID)

    async def _progress(self, topic: str) -> int:
        """Return the position of the check service; 0 before its first round."""
        asked = group_offset(TRANSACTION_CHECK_GROUP, MessageQueue(topic, "", HALF_QUEUE_ID))
        return await self._broker.offset(asked, "report the progress of the checks") or 0
