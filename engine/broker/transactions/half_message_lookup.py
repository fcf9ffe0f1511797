"""The lookup of a half message by name, and of its outcome (RocketMQ has none; its tools use offsets).

END_TRANSACTION names a half message by its offset, and each check-back gives it a new one. Users name it by what does
not change: its unique id, or one of its keys. Both are in the index, for every copy. The newest copy is the one to act
on; an op message that names any of them means that the message is decided. RocketMQ's broker does not check for op
messages when END_TRANSACTION arrives, so a manual action has to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Protocol

from engine.broker.foundation.store_lookups import message_with_id
from engine.broker.transactions.half_message import HALF_QUEUE_ID, check_times, decided_offset
from engine.protocol.errors import ProtocolError
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.names import TRANSACTION_CHECK_MAX_TIME_TOPIC, TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC
from engine.store.message_store import MessageStore
from engine.texts import Text

#: The maximum number of op messages that one search reads, newest first; each blocks the broker for some 10 us.
OPS_SEARCHED_MAX = 20_000
#: The maximum number of copies of a half message that are examined, newest first.
COPIES_MAX = 64
_OPS_PER_READ = 64
_END_OF_TIME_MS = 2**62
#: How many unique ids a refusal lists.
_IDS_NAMED_MAX = 5


class HalfMessageAction(StrEnum):
    """The manual actions. ``RESUME``: a message that was given up is checked again, from 0 checks on."""

    COMMIT = "commit"
    ROLLBACK = "rollback"
    RESUME = "resume"


class HalfMessageRefusal(StrEnum):
    """The reason for which an action is refused. The value is the key of its text."""

    NO_SUCH = "half_message.no_such"
    AMBIGUOUS = "half_message.ambiguous"
    DECIDED = "half_message.decided"
    GIVEN_UP = "half_message.given_up"
    NOT_GIVEN_UP = "half_message.not_given_up"
    RESUMED = "half_message.resumed"
    TOO_FAR_BACK = "half_message.too_far_back"
    OPS_UNREADABLE = "half_message.ops_unreadable"
    NO_INDEX = "half_message.no_index"
    BY_BROKER = "half_message.by_broker"


#: There is no such message.
NOT_FOUND = (HalfMessageRefusal.NO_SUCH, HalfMessageRefusal.NOT_GIVEN_UP)


class HalfMessageRefused(ProtocolError):
    """The refusal of an action on a half message. ``values`` fill the placeholders of ``refusal``."""

    def __init__(self, refusal: HalfMessageRefusal, **values: object) -> None:
        self.refusal = refusal
        self.text = Text(refusal.value, **values)
        super().__init__(str(self.text))


class HalfMessageSource(Protocol):
    """A source of messages for a lookup: a broker's store, or what was fetched from a remote broker."""

    def called(self, topic: str, name: str) -> list[MessageExt]:
        """Return messages of ``topic`` with this unique id, key or offset message id, oldest first."""
        ...

    def ops_newest_first(self, name: str) -> Iterator[tuple[int, MessageExt]]:
        """Yield ``(queue offset, op message)``, newest first.

        Raises :class:`HalfMessageRefused` if it may not read on; ``name`` is the message of the search.
        """
        ...


class HalfMessageLookup:
    """A lookup in one broker's messages. Methods raise :class:`HalfMessageRefused`."""

    def __init__(self, source: HalfMessageSource) -> None:
        self._source = source

    def message_for(self, action: HalfMessageAction, name: str, *, anyway: bool = False) -> MessageExt:
        """Return the message that ``action`` applies to; with ``anyway``, even one that is decided already."""
        if action is HalfMessageAction.RESUME:
            return self._given_up(name)
        copies = self._half(name)
        op = None if anyway else deciding_op(self._source.ops_newest_first(name), copies)
        if op is not None:
            raise HalfMessageRefused(HalfMessageRefusal.DECIDED, name=name, op=op)
        return copies[-1]

    def _half(self, name: str) -> list[MessageExt]:
        """Return all copies of a half message that was not given up; the last one is the newest, and the one to
        act on.
        """
        copies = one_message(self._source.called(TRANSACTION_HALF_TOPIC, name), name)
        given_up = self._source.called(TRANSACTION_CHECK_MAX_TIME_TOPIC, copies[-1].message_id if copies else name)
        if given_up and (not copies or given_up[-1].commit_log_offset > copies[-1].commit_log_offset):
            raise HalfMessageRefused(HalfMessageRefusal.GIVEN_UP, name=name, checks=check_times(given_up[-1]))
        if not copies:
            raise HalfMessageRefused(HalfMessageRefusal.NO_SUCH, name=name)
        return copies

    def _given_up(self, name: str) -> MessageExt:
        """Return the message with this unique id, key or offset message id that was given up and not decided since."""
        found = one_message(self._source.called(TRANSACTION_CHECK_MAX_TIME_TOPIC, name), name)
        if not found:
            raise HalfMessageRefused(HalfMessageRefusal.NOT_GIVEN_UP, name=name)
        again = self.half_after(found[-1])
        if again is not None:
            raise HalfMessageRefused(HalfMessageRefusal.RESUMED, name=name, offset=again)
        copies = self._source.called(TRANSACTION_HALF_TOPIC, found[-1].message_id)
        op = deciding_op(self._source.ops_newest_first(name), copies)
        if op is not None:
            raise HalfMessageRefused(HalfMessageRefusal.DECIDED, name=name, op=op)
        return found[-1]

    def half_after(self, given_up: MessageExt) -> int | None:
        """Return the half-queue offset of the copy with which ``given_up`` is being checked again; None if it
        is not.
        """
        copies = self._source.called(TRANSACTION_HALF_TOPIC, given_up.message_id)
        is_later = bool(copies) and copies[-1].commit_log_offset > given_up.commit_log_offset
        return copies[-1].queue_offset if is_later else None


class StoredHalfMessages:
    """The :class:`HalfMessageSource` of a broker in this process; used in the broker's thread."""

    def __init__(self, store: MessageStore) -> None:
        self._store = store

    def called(self, topic: str, name: str) -> list[MessageExt]:
        if not self._store.config.message_index_enable:
            raise HalfMessageRefused(HalfMessageRefusal.NO_INDEX)
        buffers = self._store.query_message(topic, name, COPIES_MAX, 0, _END_OF_TIME_MS).buffers
        found = [decode_stored_message(buffer) for buffer in buffers] or self._at_offset_id(topic, name)
        return sorted(found, key=lambda message: message.commit_log_offset)

    def _at_offset_id(self, topic: str, name: str) -> list[MessageExt]:
        """Return the message at an offset id, which names messages whose sender gave them no unique id."""
        message = message_with_id(self._store, name)
        return [message] if message is not None and message.topic == topic and message.message_id == name else []

    def ops_newest_first(self, name: str) -> Iterator[tuple[int, MessageExt]]:
        store = self._store
        end = store.max_offset(TRANSACTION_OP_HALF_TOPIC, HALF_QUEUE_ID)
        first_op = store.min_offset(TRANSACTION_OP_HALF_TOPIC, HALF_QUEUE_ID)
        lowest = max(first_op, end - OPS_SEARCHED_MAX)
        while end > lowest:
            first = max(lowest, end - _OPS_PER_READ)
            for queue_offset in range(end - 1, first - 1, -1):
                op = store.message_in_queue(TRANSACTION_OP_HALF_TOPIC, HALF_QUEUE_ID, queue_offset)
                if op is not None:
                    yield queue_offset, op
            end = first
        if lowest > first_op:
            raise HalfMessageRefused(HalfMessageRefusal.TOO_FAR_BACK, name=name, limit=OPS_SEARCHED_MAX)


def one_message(copies: Sequence[MessageExt], name: str) -> list[MessageExt]:
    """Return ``copies`` if they all are copies of one message.

    Raises :class:`HalfMessageRefused` if the name matches several.
    """
    ids = list(dict.fromkeys(copy.message_id for copy in copies))
    if len(ids) > 1 and name not in ids:
        listed = ", ".join(ids[-_IDS_NAMED_MAX:])
        raise HalfMessageRefused(HalfMessageRefusal.AMBIGUOUS, name=name, count=len(ids), ids=listed)
    return [copy for copy in copies if len(ids) == 1 or copy.message_id == name]


def deciding_op(ops_newest_first: Iterable[tuple[int, MessageExt]], copies: Sequence[MessageExt]) -> int | None:
    """Return the queue offset of the newest op message that names one of ``copies``; None if none does.

    Stops at op messages older than all copies, because in the log a decision follows the message that it decides.
    """
    places = {copy.queue_offset: copy.commit_log_offset for copy in copies}
    oldest = min(places.values(), default=0)
    for queue_offset, op in ops_newest_first:
        if op.commit_log_offset < oldest:
            break
        half_offset = decided_offset(op)
        if half_offset in places and op.commit_log_offset > places[half_offset]:
            return queue_offset
    return None
