"""The record of one message's work, and its states.

::

                 take                     complete
    (no record) ------> CONSUMING --------------------> CONSUMED
         ^                |   ^  |                          |
         |    release     |   |  | expired, and somebody    | retention over
         +----------------+   |  | takes it: a new owner    |
         |                    +--+                          |
         +--------------------------------------------------+
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

#: Default of how long work may take before its record counts as abandoned: 10 minutes, as in the article.
DEFAULT_EXPIRY_MS = 600_000
#: Default of how long finished work is remembered: 3 days, as long as RocketMQ keeps its files.
DEFAULT_RETENTION_MS = 3 * 86_400_000


class RecordState(StrEnum):
    """State of a record, as stored in columns and values."""

    CONSUMING = "consuming"
    CONSUMED = "consumed"


class RecordKey(NamedTuple):
    """Key of a record. ``scope`` is the consumer group (with the generation, see
    :class:`..idempotent_listener.IdempotentListener`): two groups each do their own work for a message.
    ``business_key`` identifies the work within the group.
    """

    scope: str
    business_key: str


class IdempotenceRecord(NamedTuple):
    """The record that a store holds under a key.

    :ivar owner: token of the attempt that owns it; each attempt has its own.
    :ivar digest: digest of the message's body from :func:`..business_key.digest_of`; empty: unknown.
    :ivar message_id: unique id of the message for which it was made.
    :ivar taken_ms: when it was taken, by the consumer's clock.
    :ivar expires_ms: when it expires, by the clock of the consumer (a relational database) or of the store (Redis).
    """

    key: RecordKey
    state: RecordState
    owner: str
    digest: str
    message_id: str
    taken_ms: int
    expires_ms: int


class Claim(NamedTuple):
    """An attempt's claim to the record of a key."""

    key: RecordKey
    owner: str
    digest: str
    message_id: str
    now_ms: int
    expiry_ms: int


class Taking(StrEnum):
    """Answer of a store to a claim."""

    #: There was no record: the claimer owns it now.
    FIRST = "first"
    #: The previous owner let it expire: the claimer owns it now. Redis cannot distinguish this from FIRST, because its
    #: TTL removes the record.
    TAKEN_OVER = "taken-over"
    #: Another attempt is in progress.
    BUSY = "busy"
    #: The work is done.
    CONSUMED = "consumed"
    #: There is a record of a message with another body.
    DIFFERENT_BODY = "different-body"
