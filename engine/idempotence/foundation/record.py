"""The record of one message's work, and its life.

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

#: How long work may take before its record counts as left behind, unless said otherwise: 10 minutes, as in the article.
DEFAULT_EXPIRY_MS = 600_000
#: How long "done" is remembered, unless said otherwise: 3 days, as long as RocketMQ keeps its files.
DEFAULT_RETENTION_MS = 3 * 86_400_000


class RecordState(StrEnum):
    """See the module. What the columns and values of stores hold."""

    CONSUMING = "consuming"
    CONSUMED = "consumed"


class RecordKey(NamedTuple):
    """``scope`` is the consumer group (with the generation, see :class:`..idempotent_listener.IdempotentListener`): two
    groups each do their own work for a message. ``business_key`` names the work among all of the group's.
    """

    scope: str
    business_key: str


class Record(NamedTuple):
    """What a store holds under a key.

    :ivar owner: token of the attempt that has it; each attempt has one of its own.
    :ivar digest: of the message's body, see :func:`..business_key.digest_of`; empty: not known.
    :ivar message_id: unique id of the message that it was made for.
    :ivar taken_ms: when, by the clock of the consumer.
    :ivar expires_ms: by the clock of the consumer (a relational database) or of the store (Redis).
    """

    key: RecordKey
    state: RecordState
    owner: str
    digest: str
    message_id: str
    taken_ms: int
    expires_ms: int


class Claim(NamedTuple):
    """An attempt asks for the record of a key: "I am at it now"."""

    key: RecordKey
    owner: str
    digest: str
    message_id: str
    now_ms: int
    expiry_ms: int


class Taking(StrEnum):
    """How a store answers a claim."""

    #: There was no record: it is the claimer's.
    FIRST = "first"
    #: The owner before has let it expire: it is the claimer's now. Redis cannot tell it from FIRST: its TTL takes the
    #: record away.
    TAKEN_OVER = "taken-over"
    #: Somebody else is at it.
    BUSY = "busy"
    #: It is done.
    CONSUMED = "consumed"
    #: There is a record of a message with another body.
    DIFFERENT_BODY = "different-body"
